import assert from "node:assert/strict";
import { createServer } from "node:net";
import { pauseAfter } from "../../src/bindings/gateway/upstream.ts";
import { Fleet, until } from "./gateway-support.ts";

describe("a gateway that fails", () => {
	const fleet = new Fleet();
	beforeEach(() => fleet.begin());
	afterEach(() => fleet.end());

	it("is asked less and less often, at least every five minutes, and as often as ever once it answers", async () => {
		const board = await fleet.board();
		board.intercept = () => ({ status: 500 });
		const session = fleet.session({ work: fleet.at(board) });
		session.serve();
		await until("refused", () => session.at("work")?.state === "backing off");
		const pauses: number[] = [];
		for (let n = 0; n < 9; n++) pauses.push(await fleet.beat(session));
		assert.deepEqual(pauses, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
		assert.equal(board.registrations.length, 10);
		assert.equal(session.log.lines.length, 1, "said once");
		board.intercept = () => undefined;
		assert.equal(await fleet.beat(session), 300);
		assert.equal(session.at("work")?.state, "registered");
		assert.equal(session.at("work")?.detail, undefined);
		board.intercept = () => ({ status: 500 });
		assert.equal(await fleet.beat(session), 60);
		assert.equal(await fleet.beat(session), 5);
	});

	it("is left alone for as long as it asks, also when there is news", async () => {
		const board = await fleet.board();
		board.intercept = () => ({ status: 429, headers: { "retry-after": "120" } });
		const session = fleet.session({ work: fleet.at(board) });
		session.serve();
		await until("refused", () => session.at("work")?.state === "backing off");
		session.serve();
		board.intercept = () => undefined;
		assert.equal(await fleet.beat(session), 120);
		assert.deepEqual(board.registrations.length, 2);
		await until("registered", () => session.at("work")?.state === "registered");
	});

	it("has the larger of both waits, but not a year", () => {
		assert.equal(pauseAfter(1, 0), 5_000);
		assert.equal(pauseAfter(1, 120_000), 120_000);
		assert.equal(pauseAfter(20, 1_000), 300_000);
		assert.equal(pauseAfter(1, 365 * 86_400_000), 3_600_000);
	});

	it("says why it refuses, in one clean line", async () => {
		const board = await fleet.board();
		for (const [status, body, text] of [
			[401, '{"error":"who\\u001b[31m are\\nyou?"}', /does not know the token \(HTTP 401: who are you\?\)/],
			[422, "bad name", /does not accept the name.*bad name/],
			[500, '{"error":{"message":"boom"}}', /failed \(HTTP 500: boom\)/],
			[200, "<html>", /cannot be used/],
			[200, "[]", /not a JSON object/],
		] as const) {
			board.intercept = ({ path }) => (path === "/register" ? { status, body } : undefined);
			const session = fleet.session({ work: fleet.at(board) });
			session.serve();
			await until("refused", () => session.at("work")?.state === "backing off");
			assert.match(session.at("work")?.detail ?? "", text);
			await session.close();
		}
	});

	it("does not hold up the start of a session, nor its end for more than two seconds", async () => {
		const mute = createServer(() => undefined);
		await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
		const { port } = mute.address() as { port: number };
		const settings = { enabled: true, url: `http://127.0.0.1:${port}`, token: "t", heartbeatSec: 60, channel: true };
		const session = fleet.session({ mute: settings });
		session.serve();
		assert.equal(session.at("mute")?.state, "registering");
		let stopped = false;
		const stopping = session.stop().then(() => {
			stopped = true;
		});
		await fleet.clock.advance(1_999);
		await until("a moment", () => true);
		await fleet.clock.advance(1);
		await until("the end", () => stopped);
		await stopping;
		mute.close();
	});

	it("that does not answer in ten seconds has failed", async () => {
		const mute = createServer(() => undefined);
		await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", resolve));
		const { port } = mute.address() as { port: number };
		const settings = { enabled: true, url: `http://127.0.0.1:${port}`, token: "t", heartbeatSec: 60, channel: false };
		const session = fleet.session({ mute: settings });
		session.serve();
		await until("asking", () => fleet.clock.pending > 0);
		await fleet.clock.advance(10_000);
		await until("given up", () => session.at("mute")?.state === "backing off");
		assert.match(session.at("mute")?.detail ?? "", /no answer within 10 s; next try in 5 s/);
		await session.close();
		mute.close();
	});

	it("gets a farewell from whoever leaves, and no token is kept for it then", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board) });
		session.serve();
		await until("registered", () => session.at("work")?.state === "registered");
		await session.stop();
		await session.stop();
		assert.deepEqual(board.registrations, ["POST operator", "DELETE peer pi-9910"]);
		assert.deepEqual(await fleet.files("work"), {});
		assert.equal(session.at("work")?.state, "stopped");
		session.serve();
		await until("back", () => session.at("work")?.state === "registered");
	});

	it("that cannot hear the farewell is taken up again with the same token", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board) });
		session.serve();
		await until("registered", () => session.at("work")?.state === "registered");
		board.intercept = ({ method }) => (method === "DELETE" ? { status: 500 } : undefined);
		await session.stop();
		assert.deepEqual(Object.keys(await fleet.files("work")), ["pi-9910.json"]);
		const next = fleet.session({ work: fleet.at(board) });
		next.serve();
		await until("back", () => next.at("work")?.state === "registered");
		assert.equal(board.registrations.at(-1), "PATCH peer pi-9910");
		board.intercept = () => undefined;
	});

	it("is not called at all when it is switched off", async () => {
		const board = await fleet.board();
		const session = fleet.session({ off: fleet.at(board, { enabled: false }) });
		session.serve();
		await fleet.clock.advance(60_000);
		assert.deepEqual(await session.names(), []);
		assert.deepEqual(board.seen, []);
		assert.equal(session.at("off")?.state, "off");
		assert.equal(session.minted().size, 0);
	});

	it("is told by settings: what changed starts anew, the rest is left in peace", async () => {
		const one = await fleet.board();
		const two = await fleet.board();
		const session = fleet.session({ one: fleet.at(one), two: fleet.at(two) });
		session.serve();
		await until("both", () => ["one", "two"].every((key) => session.at(key)?.state === "registered"));
		const before = session.minted();
		session.config.gateways = { one: fleet.at(one, { enabled: false }), two: fleet.at(two) };
		session.serve();
		await until("left", () => one.peers.size === 0);
		await until("told", () => two.registrations.length === 2);
		assert.deepEqual(two.registrations, ["POST operator", "PATCH peer pi-9910"]);
		assert.equal(session.minted().get("two"), before.get("two"));
		session.config.gateways = { one: fleet.at(one, { upstreamToken: "operators-own" }), two: fleet.at(two) };
		session.serve();
		await until("back", () => session.at("one")?.state === "registered");
		assert.equal(one.peers.get("pi-9910")?.upstreamToken, "operators-own");
	});

	it("is not called where no gateway can be", async () => {
		const far = { enabled: true, url: "http://192.0.2.1:9920", token: "t", heartbeatSec: 60, channel: false };
		const session = fleet.session({ far });
		session.serve();
		await until("refused", () => session.at("far")?.state === "backing off");
		assert.match(session.at("far")?.detail ?? "", /not called: it is in a range/);
	});

	it("that is elsewhere cannot call a server on loopback, and the status says so", async () => {
		const settings = { enabled: true, url: "http://10.254.253.252:9920", token: "t", heartbeatSec: 60 };
		const session = fleet.session({ far: { ...settings, channel: false }, line: { ...settings, channel: true } });
		session.serve();
		assert.match(session.at("far")?.detail ?? "", /it cannot call http:\/\/127\.0\.0\.1:9910\//);
		assert.equal(session.at("line")?.detail, undefined);
		session.serve(9910, { url: () => "https://pi.example/" });
		assert.equal(session.at("far")?.detail, undefined);
	});
});
