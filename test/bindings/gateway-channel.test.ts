import assert from "node:assert/strict";
import { openEnvelope, sealReply } from "../../src/bindings/gateway/envelope.ts";
import { createHandler, type HttpRequest } from "../../src/bindings/http/handler.ts";
import { identifier } from "../../src/guard/identity.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { buildCard } from "../../src/protocol/card.ts";
import type { Switchboard, SwitchboardOptions } from "../support/switchboard.ts";
import { Fleet, type Session, until } from "./gateway-support.ts";
import { remembering } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const NAME = "pi-9910";

describe("the channel of a gateway", () => {
	const fleet = new Fleet();
	let agent: ScriptedAgent;
	let board: Switchboard;
	let session: Session;

	beforeEach(async () => {
		await fleet.begin();
		agent = new ScriptedAgent();
	});
	afterEach(() => fleet.end());

	/** A session with tokens of its own, whose channel is open. */
	async function open(options: SwitchboardOptions = {}): Promise<void> {
		board = await fleet.board(options);
		session = fleet.session({ work: fleet.at(board, { channel: true }) });
		session.serve(9910, {
			handler: createHandler({
				agent,
				identify: identifier({ shared: "own-token", peers: {}, clock: systemClock, minted: session.minted }),
				card: () =>
					buildCard({
						...{ name: "pi", description: "", version: "1", url: "http://127.0.0.1:9910/", skills: [] },
						...{ auth: true, v03: true, streaming: true, push: false, extended: false },
					}),
				gate: { hosts: () => [], authRequired: true },
				isV03: () => false,
				log: remembering(),
			}),
		});
		await until("open", () => session.at("work")?.channel === "open");
	}

	const call = (text: string, method = "SendMessage") =>
		Buffer.from(
			JSON.stringify({
				...{ jsonrpc: "2.0", id: 7, method },
				params: { message: { messageId: "m-1", role: "ROLE_USER", parts: [{ text }] } },
			}),
		);
	const ask = (text: string, headers: object = {}, method?: string) =>
		board.ask(NAME, {
			...{ method: "POST", path: "/", body: call(text, method) },
			headers: { "content-type": "application/json", ...headers },
		});

	it("brings a call to the agent, by whoever the gateway says, as a call of the gateway", async () => {
		await open();
		const reply = await ask("echo hello", { "x-gateway-caller": "alice" });
		assert.equal(reply?.status, 200);
		const { result, id } = JSON.parse(reply?.body.toString() ?? "");
		assert.deepEqual([id, result.task.artifacts[0].parts[0].text], [7, "hello"]);
		const { id: who, label, authenticated, loopback } = agent.seen[0]?.call.caller ?? {};
		assert.deepEqual([who, label, authenticated, loopback], ["gateway:work", "alice", true, false]);
	});

	it("serves the proxy of the gateway from end to end", async () => {
		await open();
		const url = `${board.url}/peer/${NAME}/`;
		const headers = {
			authorization: `Bearer ${board.token}`,
			"content-type": "application/json",
			"a2a-version": "1.0",
		};
		const answer = await fetch(url, { method: "POST", headers, body: call("echo through") });
		assert.match(await answer.text(), /through/);
		const card = await fetch(`${url}.well-known/agent-card.json`, { headers });
		assert.equal(((await card.json()) as { name: string }).name, "pi");
	});

	it("drops every header that says who calls, from where or for whom", async () => {
		const seen: HttpRequest[] = [];
		board = await fleet.board();
		session = fleet.session({ work: fleet.at(board, { channel: true }) });
		session.serve(9910, {
			handler: async (request) => {
				seen.push(request);
				return { status: 200, headers: {}, body: "" };
			},
		});
		await until("open", () => session.at("work")?.channel === "open");
		await board.ask(NAME, {
			...{ method: "POST", path: "/", query: "A2A-Version=1.0" },
			headers: {
				...{ Authorization: "Bearer own-token", Host: "evil", "X-A2A-Identity": "admin", cookie: "x", origin: "null" },
				...{ "A2A-Version": "1.0", "Content-Type": "application/json", "x-forwarded-for": "10.0.0.1", accept: 5 },
			},
		});
		assert.deepEqual({ ...seen[0]?.headers }, { "a2a-version": "1.0", "content-type": "application/json" });
		assert.equal(seen[0]?.path, "/?A2A-Version=1.0");
		assert.deepEqual(seen[0]?.via, { gateway: "work" });
	});

	it("answers several requests at the same time, in the order in which they are done", async () => {
		await open();
		const held = ask("hold");
		await until("held", () => agent.holding === 1);
		assert.equal((await ask("echo quick"))?.status, 200);
		agent.release();
		assert.equal((await held)?.status, 200);
		assert.deepEqual(
			board.answers.map(({ id }) => id),
			["2", "1"],
		);
	});

	it("answers a stream when it has ended", async () => {
		await open();
		const reply = await ask("hi", {}, "SendStreamingMessage");
		assert.match(JSON.stringify(reply?.headers), /"content-type":"text\/event-stream"/);
		const events = reply?.body.toString().match(/^data: /gm);
		assert.equal(events?.length, 3);
	});

	it("answers a stream that does not end with what there is, before the gateway gives it up", async () => {
		await open();
		const asked = ask("hold", {}, "SendStreamingMessage");
		await until("held", () => agent.holding === 1);
		// The pings of a gateway go on meanwhile.
		for (let n = 0; n < 59; n++) {
			board.raw(NAME, "event: ping\ndata: keepalive\n\n");
			await new Promise((resolve) => setTimeout(resolve, 2));
			await fleet.clock.advance(10_000);
		}
		const reply = await asked;
		assert.equal(reply?.status, 200);
		assert.equal(reply?.body.toString().match(/^data: /gm)?.length, 1);
	});

	it("runs a request once, and none with another connection's secret", async () => {
		await open();
		const body = call("echo once").toString("base64");
		const one = (secret: string) =>
			`event: request\ndata: {"id":77,"method":"POST","path":"/","query":null,"headers":{"content-type":"application/json"},` +
			`"body_b64":"${body}","chan_secret":"${secret}"}\n\n`;
		board.raw(NAME, one("0123456789abcdef"));
		for (let n = 0; n < 3; n++) board.raw(NAME, one(board.secret(NAME)));
		await ask("echo after");
		assert.equal(agent.seen.length, 2);
	});

	it("outlives what is no request", async () => {
		await open();
		const secret = board.secret(NAME);
		const envelope = (id: unknown, more: object) =>
			board.raw(NAME, `event: request\ndata: ${JSON.stringify({ id, chan_secret: secret, ...more })}\n\n`);
		board.raw(NAME, "event: request\ndata: {\n\n");
		board.raw(NAME, "event: request\ndata: null\n\n");
		board.raw(NAME, "event: hello\ndata: another-secret\n\n");
		board.raw(NAME, ": comment\n\nevent: strange\ndata: x\n\n");
		for (const id of ["5", -1, 1.5, null, {}]) envelope(id, { method: "POST", path: "/", headers: {}, body_b64: "" });
		envelope(101, { method: "POST", path: 7, headers: [], body_b64: "!!!" });
		envelope(102, { method: 3, path: "/", headers: {}, body_b64: "" });
		envelope(103, { method: "GET", path: "/a b\r\n", headers: {}, body_b64: "" });
		envelope(104, { method: "CONNECT", path: "/../..//evil", headers: {}, body_b64: "" });
		await until("answered", () => board.answers.length === 4);
		assert.equal((await ask("echo still here"))?.status, 200);
		assert.equal(agent.seen.length, 1);
		for (const path of ["/metrics", "/health", "/admin", "//evil/", "/%2e%2e/"]) {
			assert.equal((await board.ask(NAME, { method: "GET", path }))?.status, 404, path);
		}
	});

	it("ends a stream of bytes that is no channel, and remembers none of it", async () => {
		await open();
		const before = process.memoryUsage().rss;
		const flood = "x".repeat(1024 * 1024);
		board.raw(NAME, "data: ");
		for (let n = 0; n < 8; n++) board.raw(NAME, flood);
		await until("cut", () => board.channels.length === 0);
		await until("told", () => /larger than/.test(session.at("work")?.detail ?? ""));
		assert.ok(process.memoryUsage().rss - before < 128 * 1024 * 1024);
	});

	it("is opened again, later and later, with a secret of its own", async () => {
		await open();
		const first = board.secret(NAME);
		const opened = () => board.seen.filter(({ path }) => path.startsWith("/channel?")).length;
		for (const pause of [1_000, 2_000, 4_000]) {
			board.cut(NAME);
			await until("broken", () => session.at("work")?.channel === "broken" && fleet.clock.pending === 2);
			const before = opened();
			await fleet.clock.advance(pause - 1);
			assert.equal(opened(), before);
			await fleet.clock.advance(1);
			await until("open", () => session.at("work")?.channel === "open");
		}
		assert.notEqual(board.secret(NAME), first);
		assert.equal((await ask("echo again"))?.status, 200);
	});

	it("gives up the requests of a connection that is lost, and answers none of them on the next", async () => {
		await open();
		const lost = ask("hold");
		await until("held", () => agent.holding === 1);
		board.cut(NAME);
		assert.equal(await lost, undefined);
		await until("told", () => agent.seen[0]?.call.signal.aborted);
		await until("broken", () => session.at("work")?.channel === "broken" && fleet.clock.pending === 2);
		await fleet.clock.advance(1_000);
		await until("open", () => session.at("work")?.channel === "open");
		agent.release();
		assert.equal((await ask("echo next"))?.status, 200);
		assert.deepEqual(board.answers, [{ id: "2", status: 200 }]);
	});

	it("is taken for lost when nothing comes, not even a ping", async () => {
		await open();
		await fleet.clock.advance(49_000);
		board.raw(NAME, "event: ping\ndata: keepalive\n\n");
		await new Promise((resolve) => setTimeout(resolve, 20));
		await fleet.clock.advance(10_000);
		await new Promise((resolve) => setTimeout(resolve, 20));
		assert.equal(session.at("work")?.channel, "open");
		await fleet.clock.advance(50_000);
		await until("cut", () => board.channels.length === 0);
	});

	it("is not asked for before the gateway has accepted us, and closes when it does no longer", async () => {
		board = await fleet.board();
		session = fleet.session({ work: fleet.at(board, { token: board.token, channel: true }) });
		session.serve();
		await until("pending", () => session.at("work")?.next);
		assert.equal(session.at("work")?.channel, undefined);
		board.admit(NAME);
		await fleet.beat(session);
		await until("open", () => session.at("work")?.channel === "open");
		board.admit(NAME, "revoked");
		await fleet.beat(session);
		await until("closed", () => board.channels.length === 0);
		assert.equal(session.at("work")?.channel, undefined);
		const asked = board.seen.filter(({ path }) => path.startsWith("/channel?")).map(({ as }) => as);
		assert.deepEqual([...new Set(asked)], [`peer ${NAME}`]);
	});

	it("says what is wrong when a gateway has none", async () => {
		board = await fleet.board({ channels: false });
		session = fleet.session({ work: fleet.at(board, { channel: true }) });
		session.serve();
		await until("broken", () => session.at("work")?.channel === "broken");
		assert.match(session.at("work")?.detail ?? "", /the channel is not open: it knows no such peer \(HTTP 404/);
		assert.equal(session.at("work")?.state, "registered");
	});

	it("brings an answer again when the gateway asks to wait", async () => {
		await open();
		let refusals = 2;
		board.intercept = ({ path }) =>
			path.startsWith("/channel/response") && refusals-- > 0
				? { status: 429, headers: { "retry-after": "3" } }
				: undefined;
		const asked = ask("echo patience");
		for (let n = 0; n < 2; n++) {
			await until("refused", () => refusals === 1 - n && fleet.clock.pending === 3);
			await fleet.clock.advance(3_000);
		}
		assert.equal((await asked)?.status, 200);
		assert.equal(agent.seen.length, 1);
	});

	it("says so when an answer is too large to be carried", async () => {
		await open();
		const reply = await ask(`echo ${"x".repeat(3 * 1024 * 1024)}`);

		assert.equal(reply?.status, 500);
		assert.match(reply?.body.toString() ?? "", /larger than a gateway carries/);
	});

	it("asks to come again when too much comes at once", async () => {
		await open();
		const asked = Array.from({ length: 34 }, () => ask("hold"));
		await until("held", () => agent.holding === 32 && board.answers.length === 2);
		agent.release();
		const statuses = (await Promise.all(asked)).map((reply) => reply?.status);
		assert.deepEqual(
			[statuses.filter((each) => each === 503).length, statuses.filter((each) => each === 200).length],
			[2, 32],
		);
	});

	it("answers by ids that are larger than a number can be exact", async () => {
		await open({ firstId: 18_446_744_073_709_551_614n });
		assert.equal((await ask("echo far"))?.status, 200);
		assert.deepEqual(board.answers, [{ id: "18446744073709551614", status: 200 }]);
	});
});

describe("an envelope", () => {
	const data = (more: string) => `{${more},"method":"GET","path":"/x","headers":{},"body_b64":null,"chan_secret":"s"}`;

	it("has its id to the last digit, wherever it stands and whatever stands before", () => {
		for (const [text, id] of [
			['"id":9007199254740993', "9007199254740993"],
			['"headers":{"x":"\\"id\\": 1,"},"id" : 9007199254740993 ', "9007199254740993"],
			['"id":12', "12"],
		] as const)
			assert.equal(openEnvelope(data(text), "s")?.id, id);
		assert.equal(openEnvelope(data('"id":1e300'), "s"), undefined);
		assert.equal(openEnvelope(data('"id":1'), "other"), undefined);
	});

	it("is sealed with the same id and secret", () => {
		const text = sealReply("9007199254740993", "s", { status: 200, headers: { a: "b" }, body: Buffer.from("hi") });
		assert.equal(text, '{"id":9007199254740993,"status":200,"headers":{"a":"b"},"body_b64":"aGk=","chan_secret":"s"}');
	});
});
