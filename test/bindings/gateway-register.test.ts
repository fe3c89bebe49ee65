import assert from "node:assert/strict";
import { mkdir, stat, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { Fleet, until } from "./gateway-support.ts";

describe("a session at a gateway", () => {
	const fleet = new Fleet();
	beforeEach(() => fleet.begin());
	afterEach(() => fleet.end());

	it("registers with the shared token and renews with the token that was minted for it", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board, { token: board.token }) });
		session.serve();
		await until("registered", () => session.at("work")?.state === "pending");
		const [first] = board.seen;
		assert.equal(first?.body.name, "pi-9910");
		assert.equal(first?.body.url, "http://127.0.0.1:9910/");
		assert.equal(first?.body.card.name, "pi");
		assert.equal(first?.body.upstream_token, session.minted().get("work"));
		const { callerToken } = board.peers.get("pi-9910") ?? {};
		await until("stored", () => session.at("work")?.state === "pending");
		assert.deepEqual(await fleet.files("work"), { "pi-9910.json": { name: "pi-9910", callerToken } });
		await fleet.beat(session);
		await fleet.beat(session);
		assert.deepEqual(board.registrations, ["POST fleet", "PATCH peer pi-9910", "PATCH peer pi-9910"]);
		assert.equal(board.seen.at(-1)?.body.card.skills[0].id, "sums", "the whole card goes along");
	});

	it("keeps its token where only its owner can read it", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board) });
		session.serve();
		await until("registered", () => session.at("work")?.state === "registered");
		const folder = join(fleet.root, "a2a_gateways", "work");
		assert.equal((await stat(join(folder, "pi-9910.json"))).mode & 0o777, 0o600);
		assert.equal((await stat(folder)).mode & 0o777, 0o700);
	});

	it("waits to be accepted, and says for what", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board, { token: board.token }) });
		session.serve();
		await until("pending", () => session.at("work")?.state === "pending");
		assert.match(session.at("work")?.detail ?? "", /has to accept pi-9910/);
		board.admit("pi-9910");
		await fleet.beat(session);
		await until("registered", () => session.at("work")?.state === "registered");
		board.admit("pi-9910", "revoked");
		await fleet.beat(session);
		await until("revoked", () => session.at("work")?.state === "revoked");
	});

	it("renews at once after a crash, with the token on disk", async () => {
		const board = await fleet.board();
		const folder = join(fleet.root, "a2a_gateways", "work");
		await mkdir(folder, { recursive: true });
		await writeFile(join(folder, "pi-9910.json"), '{"name":"pi-9910","callerToken":"abc"}');
		// The process that claimed the name is gone.
		const claim = { owner: "x", pid: 999_999_999, host: hostname() };
		await writeFile(join(folder, "pi-9910.claim"), JSON.stringify(claim));
		await writeFile(join(folder, "pi-9911.json"), '{"name":"other","callerToken":"abc"}');
		board.peers.set("pi-9910", {
			...{ name: "pi-9910", url: "http://127.0.0.1:1/", callerToken: "abc" },
			...{ state: "accepted", healthy: false },
		});
		const session = fleet.session({ work: fleet.at(board) });
		session.serve();
		await until("registered", () => session.at("work")?.state === "registered");
		assert.deepEqual(board.registrations, ["PATCH peer pi-9910"]);
		assert.equal(board.peers.get("pi-9910")?.url, "http://127.0.0.1:9910/", "the address is the new one");
	});

	it("does not believe a token file of another name, nor one that is none", async () => {
		const board = await fleet.board();
		const folder = join(fleet.root, "a2a_gateways", "work");
		await mkdir(folder, { recursive: true });
		for (const text of [
			'{"name":"other","callerToken":"abc"}',
			"{",
			'{"name":"pi-9910","callerToken":"a b\\r\\nx: y"}',
		]) {
			await writeFile(join(folder, "pi-9910.json"), text);
			const session = fleet.session({ work: fleet.at(board) });
			session.serve();
			await until("registered", () => session.at("work")?.state === "registered");
			await session.close();
		}
		assert.deepEqual(
			board.registrations.filter((each) => !each.startsWith("DELETE")),
			["POST operator", "POST operator", "POST operator"],
		);
	});

	for (const [what, stays] of [
		["no longer knows its token", true],
		["has forgotten it", false],
	] as const)
		it(`registers anew with the shared token when the gateway ${what}`, async () => {
			const board = await fleet.board();
			const session = fleet.session({ work: fleet.at(board) });
			session.serve();
			await until("registered", () => session.at("work")?.state === "registered");
			if (stays) delete board.peers.get("pi-9910")?.callerToken;
			else board.peers.clear();
			await fleet.beat(session);
			assert.deepEqual(board.registrations, ["POST operator", "PATCH unknown", "POST operator"]);
			assert.equal(session.at("work")?.state, "registered");
			assert.equal(session.at("work")?.name, "pi-9910");
		});

	it("posts at every heartbeat to a gateway that knows no PATCH, minting or not", async () => {
		for (const mint of [true, false]) {
			const board = await fleet.board({ patch: false, mint });
			const session = fleet.session({ old: fleet.at(board) });
			session.serve();
			await fleet.beat(session, "old");
			const wanted = mint
				? ["POST operator", "PATCH peer pi-9910", "POST operator", "POST peer pi-9910"]
				: ["POST operator", "POST operator"];
			await until("renewed", () => board.registrations.length === wanted.length);
			assert.deepEqual(board.registrations, wanted);
			assert.equal(session.at("old")?.state, "registered");
			await session.close();
		}
	});

	// R144: a stale entry with our name already there.
	it("takes a name of its own, once, where its name belongs to somebody else", async () => {
		const board = await fleet.board();
		const stale = { name: "pi-9910", url: "http://127.0.0.1:1/", callerToken: "lost", healthy: false } as const;
		board.peers.set("pi-9910", { ...stale, state: "accepted" });
		const session = fleet.session({ work: fleet.at(board) });
		session.serve();
		await until("registered", () => session.at("work")?.state === "registered");
		const name = session.at("work")?.name ?? "";
		assert.match(name, /^pi-9910-[0-9a-f]{6}$/);
		await fleet.beat(session);
		assert.deepEqual(board.registrations, ["POST operator", "POST operator", `PATCH peer ${name}`]);
		assert.deepEqual(Object.keys(await fleet.files("work")), [`${name}.json`]);
		await session.stop();
		assert.deepEqual([...board.peers.keys()], ["pi-9910"], "the other one stays");
	});

	it("does not rename itself for ever", async () => {
		const board = await fleet.board();
		board.intercept = ({ path }) => (path === "/register" ? { status: 409, body: '{"error":"taken"}' } : undefined);
		const session = fleet.session({ work: fleet.at(board) });
		session.serve();
		await until("refused", () => session.at("work")?.state === "backing off");
		for (let n = 0; n < 3; n++) await fleet.beat(session);
		const names = new Set(board.seen.map(({ body }) => body.name));
		assert.equal(names.size, 2);
		assert.match(session.at("work")?.detail ?? "", /belongs to somebody else.*taken/);
	});

	// R144: two sessions, one gateway key, one name; three heartbeats each; leaving one never removes the other.
	it("shares no name with another session of the same settings", async () => {
		const board = await fleet.board();
		const settings = { work: fleet.at(board, { name: "pi" }) };
		const one = fleet.session(settings);
		const two = fleet.session(settings);
		one.serve(9910);
		await until("registered", () => one.at("work")?.state === "registered");
		two.serve(9911);
		await until("registered", () => two.at("work")?.state === "registered");
		const other = two.at("work")?.name ?? "";
		assert.match(other, /^pi-[0-9a-f]{6}$/);
		for (let n = 0; n < 3; n++) await Promise.all([fleet.beat(one), until("both", () => two.at("work")?.next)]);
		assert.deepEqual(
			new Set(board.registrations),
			new Set(["POST operator", "PATCH peer pi", `PATCH peer ${other}`]),
			"no heartbeat is refused",
		);
		assert.equal(board.peers.get("pi")?.url, "http://127.0.0.1:9910/");
		await two.stop();
		assert.deepEqual([...board.peers.keys()], ["pi"]);
		await one.stop();
		assert.deepEqual([...board.peers.keys()], []);
	});

	it("moves to a new name with a new port, and gives the old one back first", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board) });
		session.serve(9910);
		await until("registered", () => session.at("work")?.state === "registered");
		session.serve(9920);
		await until("moved", () => board.peers.has("pi-9920"));
		assert.deepEqual([...board.peers.keys()], ["pi-9920"]);
		assert.deepEqual(board.registrations, ["POST operator", "DELETE peer pi-9910", "POST operator"]);
	});

	it("tells news at once, and is not asked anew for what has not changed", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board) });
		session.serve();
		await until("registered", () => session.at("work")?.state === "registered");
		await until("resting", () => session.at("work")?.next);
		session.serve(9910, { url: () => "https://pi.example/a2a" });
		await until("told", () => board.peers.get("pi-9910")?.url === "https://pi.example/a2a");
		assert.deepEqual(board.registrations, ["POST operator", "PATCH peer pi-9910"]);
	});

	it("names the address by which the gateway can reach it when it is bound to all of them", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board) });
		session.serve(9910, { url: () => undefined });
		await until("registered", () => session.at("work")?.state === "registered");
		assert.equal(board.peers.get("pi-9910")?.url, "http://127.0.0.1:9910/");
	});

	it("makes a name that a gateway takes of any agent name", async () => {
		const board = await fleet.board();
		for (const [agent, name] of [
			["Jörg's Mac (2)", "J-rg-s-Mac-2--9910"],
			["..", "pi-9910"],
			["x".repeat(90), `${"x".repeat(59)}-9910`],
		] as const) {
			const session = fleet.session({ work: fleet.at(board) }, agent);
			session.serve();
			await until("registered", () => session.at("work")?.state === "registered");
			assert.equal(session.at("work")?.name, name);
			await session.close();
		}
	});

	it("sends a card that the gateway takes, or none", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board) });
		const card = (description: string, count: number) => (url: string) => ({
			...{ name: "pi", description: "", version: "1", capabilities: {}, defaultInputModes: [], defaultOutputModes: [] },
			supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
			skills: Array.from({ length: count }, (_, n) => ({ id: `s${n}`, name: `s${n}`, description, tags: [] })),
		});
		session.serve(9910, { card: card("d".repeat(2000), 200) });
		await until("registered", () => session.at("work")?.state === "registered");
		assert.equal(board.seen[0]?.body.card.skills.length, 200);
		assert.ok(JSON.stringify(board.seen[0]?.body).length < 256 * 1024);
		await until("resting", () => session.at("work")?.next);
		session.serve(9910, { card: card("d", 20_000) });
		await until("renewed", () => board.seen.length === 2);
		assert.equal(board.seen[1]?.body.card, undefined);
	});
});
