import assert from "node:assert/strict";
import { createHttpPool } from "../../src/bindings/http/pool.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { nullLog } from "../../src/lib/log.ts";
import { callPeer } from "../../src/peers/call.ts";
import { createConnect, openHttp } from "../../src/peers/connect.ts";
import { createDirectory } from "../../src/peers/directory.ts";
import { asPeerError, PeerError } from "../../src/peers/reply.ts";
import type { Registrant } from "../support/switchboard.ts";
import { Fleet, type Session, until } from "./gateway-support.ts";
import { serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const never = new AbortController().signal;

/** An accepted peer that nobody registered. */
const other = (name: string, more: Partial<Registrant> = {}): [string, Registrant] => [
	name,
	{ name, url: "http://127.0.0.1:1/", state: "accepted", healthy: true, callerToken: `${name}-token`, ...more },
];

describe("the peers of a gateway", () => {
	const fleet = new Fleet();
	const pool = createHttpPool();
	beforeEach(() => fleet.begin());
	afterEach(() => fleet.end());
	after(() => pool.close());

	it("are named by gateway and name, with what they can do, and without us", async () => {
		const board = await fleet.board();
		const skills = [{ id: "sum", name: "Sums\nand more", tags: ["math"] }, { id: 5 }, null, "x"];
		board.peers.set(...other("alice", { card: { capabilities: {}, skills: skills as object[] } }));
		board.peers.set(...other("ill", { healthy: false, card: { capabilities: {} } }));
		board.peers.set(...other("bare"));
		board.peers.set(...other("waits", { state: "pending" }));
		const session = fleet.session({ work: fleet.at(board) });
		session.serve();
		await until("registered", () => session.at("work")?.state === "registered");
		assert.deepEqual(await session.names(), ["gw/work/alice", "gw/work/ill", "gw/work/bare"]);
		const alice = await session.peer("gw/work/alice");
		assert.deepEqual([alice.capabilities, alice.skills], [["sum", "Sums and more", "math"], ["Sums and more"]]);
		assert.equal(alice.source, "gateway");
		assert.equal(alice.description, undefined);
		assert.match((await session.peer("gw/work/ill")).description ?? "", /not reachable/);
		// F16: what speaks another protocol shows no agent card.
		assert.match((await session.peer("gw/work/bare")).description ?? "", /no agent card/);
	});

	it("are listed with the shared token and called with the one minted for us, once we are accepted", async () => {
		const board = await fleet.board();
		board.peers.set(...other("alice"));
		const session = fleet.session({ work: fleet.at(board, { token: board.token }) });
		assert.equal((await session.peer("gw/work/alice")).token, board.token, "before there is a server");
		session.serve();
		await until("pending", () => session.at("work")?.state === "pending");
		assert.equal((await session.peer("gw/work/alice")).token, board.token);
		board.admit("pi-9910");
		await fleet.beat(session);
		assert.equal((await session.peer("gw/work/alice")).token, board.peers.get("pi-9910")?.callerToken);
		const asked = board.seen.filter(({ path }) => path.startsWith("/.well-known"));
		assert.deepEqual([...new Set(asked.map(({ as }) => as))], ["fleet"]);
	});

	it("are reached through the gateway, whatever their entries say", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: { ...fleet.at(board), url: `${board.url}/base` } });
		const urls = [
			"http://evil/",
			"//evil/peer/x/",
			"/peer/../admin/",
			"\\\\evil",
			"/peer/%2e%2e/",
			"file:///etc",
			5,
			null,
		];
		const names = [
			"x",
			"a.b",
			"..",
			".",
			"a/b",
			"%2e%2e",
			"a b",
			"",
			"x".repeat(65),
			5,
			null,
			"http://evil",
			"ok-name",
		];
		const peers = names.map((name, n) => ({ name, url: urls[n % urls.length], skills: [], healthy: true }));
		board.intercept = () => ({ status: 200, body: JSON.stringify({ peers: [...peers, null, 7, "x", []] }) });
		const listed = await session.source.list();
		assert.deepEqual(
			listed.map(({ name, address }) => [name, address.via === "http" ? address.url.href : ""]),
			["x", "a.b", "ok-name"].map((name) => [`gw/work/${name}`, `${board.url}/base/peer/${name}/`]),
		);
		for (const { address } of listed) assert.equal(address.via === "http" && address.pin, board.url);
	});

	it("are not more than can be shown", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board) });
		const peers = Array.from({ length: 2_000 }, (_, n) => ({ name: `p${n}` }));
		board.intercept = () => ({ status: 200, body: JSON.stringify({ peers }) });
		assert.equal((await session.source.list()).length, 500);
	});

	// R146
	it("of one gateway stay when another is switched off, fails and comes back", async () => {
		const [one, two] = [await fleet.board(), await fleet.board()];
		one.peers.set(...other("alice"));
		two.peers.set(...other("bob"));
		const session = fleet.session({ one: fleet.at(one), two: fleet.at(two) });
		assert.deepEqual(await session.names(), ["gw/one/alice", "gw/two/bob"]);
		session.config.gateways = { one: fleet.at(one, { enabled: false }), two: fleet.at(two) };
		assert.deepEqual(await session.names(), ["gw/two/bob"]);
		session.config.gateways = { one: fleet.at(one), two: fleet.at(two) };
		one.intercept = () => ({ status: 500 });
		assert.deepEqual(await session.names(), ["gw/two/bob"]);
		const asked = () => one.seen.length;
		for (const pause of [2_000, 4_000, 8_000]) {
			const before = asked();
			await fleet.clock.advance(pause - 1);
			assert.deepEqual(await session.names(), ["gw/two/bob"]);
			assert.equal(asked(), before, "left alone meanwhile");
			await fleet.clock.advance(1);
			assert.deepEqual(await session.names(), ["gw/two/bob"]);
			assert.equal(asked(), before + 1);
		}
		one.intercept = () => undefined;
		await fleet.clock.advance(16_000);
		assert.deepEqual(await session.names(), ["gw/one/alice", "gw/two/bob"]);
		one.intercept = () => ({ status: 500 });
		await fleet.clock.advance(5_000);
		assert.deepEqual(await session.names(), ["gw/two/bob"]);
		one.intercept = () => undefined;
		await fleet.clock.advance(2_000);
		assert.deepEqual(await session.names(), ["gw/one/alice", "gw/two/bob"], "the pause is the first again");
	});

	it("are back as soon as a heartbeat has come through", async () => {
		const board = await fleet.board();
		board.peers.set(...other("alice"));
		const session = fleet.session({ work: fleet.at(board) });
		board.intercept = () => ({ status: 500 });
		session.serve();
		assert.deepEqual(await session.names(), []);
		await fleet.beat(session);
		assert.deepEqual(await session.names(), []);
		board.intercept = () => undefined;
		await fleet.beat(session);
		assert.deepEqual(await session.names(), ["gw/work/alice"]);
	});

	it("of a slow gateway are those known before, and the others do not wait", async () => {
		const board = await fleet.board();
		const session = fleet.session({ work: fleet.at(board) });
		board.peers.set(...other("alice"));
		assert.deepEqual(await session.names(), ["gw/work/alice"]);
		board.mute = true;
		await fleet.clock.advance(5_000);
		const listing = session.names();
		await until("asked", () => board.seen.length === 2);
		await fleet.clock.advance(2_000);
		assert.deepEqual(await listing, ["gw/work/alice"]);
		await fleet.clock.advance(8_000);
		await until("given up", () => session.log.lines.length === 1);
		assert.deepEqual(await session.names(), []);
	});

	describe("are called", () => {
		let session: Session;

		async function rig() {
			const board = await fleet.board();
			const agent = new ScriptedAgent();
			const peer = await serve({ agent, tokens: { gateway: "its-token" } });
			board.peers.set(...other("alice", { url: peer.url, upstreamToken: "its-token" }));
			session = fleet.session({ work: fleet.at(board) });
			const directory = createDirectory([session.source], { log: nullLog });
			const connect = createConnect({
				open: {
					http: openHttp({
						...{
							identity: "caller-é",
							sendTimeoutMs: 5_000,
							streamTimeoutMs: 5_000,
							retryAttempts: 0,
							verifySsl: true,
						},
						...{ check: () => async () => undefined, pool, clock: systemClock },
					}),
				},
				directory,
				own: { selfIdentity: "", sharedToken: "session-token", peerTokens: {} },
				clock: systemClock,
				redact: (text) => text,
				exchange: () => undefined,
			});
			const call = async (text: string) => {
				const connection = await connect(await directory.resolve("gw/work/alice"), never);
				const facts = { peer: "gw/work/alice", clock: systemClock, pollMs: 100, newMessageId: () => "m1" };
				return callPeer(connection, { text, signal: never, timeoutMs: 5_000 }, facts);
			};
			return { board, agent, peer, call };
		}

		it("through the proxy, with the gateway's credential and our name, and without a stream", async () => {
			const { board, agent, peer, call } = await rig();
			const reply = await call("echo through");
			assert.equal(reply.text, "through");
			assert.equal(agent.seen[0]?.call.caller.id, "peer:gateway");
			assert.deepEqual(
				agent.seen.map(({ operation }) => operation),
				["SendMessage"],
			);
			const proxied = board.seen.filter(({ path }) => path.startsWith("/peer/alice/"));
			assert.ok(proxied.length >= 2, "the card as well");
			for (const { headers, as } of proxied) {
				assert.deepEqual([as, headers["x-gateway-caller"], headers["a2a-version"]], ["operator", "caller-?", "1.0"]);
			}
			await peer.close();
		});

		const refusals: readonly [string, number, string, RegExp, string][] = [
			["our token", 401, rpc(-32001), /gateway at .* does not know our token/, "UnauthorizedError"],
			[
				"the peer, which is not accepted",
				403,
				rpc(-32002),
				/gateway at .* has not accepted this peer/,
				"ForbiddenError",
			],
			["the number of calls", 429, rpc(-32003), /gateway at .* limits how often/, "RateLimitedError"],
			[
				"a peer that it cannot reach",
				502,
				"peer unreachable",
				/gateway at .* could not reach the peer/,
				"PeerUnreachableError",
			],
			["a full queue", 503, "queue full", /gateway at .* too many calls waiting/, "PeerUnreachableError"],
			[
				"a name that it does not know",
				404,
				"unknown",
				/gateway at .* knows no peer of this name/,
				"PeerUnreachableError",
			],
			["a large message", 413, "too large", /gateway at .* carries no message of this size/, "PayloadTooLargeError"],
		];
		for (const [what, status, body, text, name] of refusals)
			it(`and what the gateway refuses is told apart from the peer's errors: ${what}`, async () => {
				const { board, peer, call } = await rig();
				await call("echo first");
				board.intercept = ({ path }) => (path.startsWith("/peer/") ? { status, body, ...typeFor(body) } : undefined);
				const error = await call("echo second").then(
					() => assert.fail("it went well"),
					(reason: unknown) => reason,
				);
				assert.ok(error instanceof PeerError);
				assert.match(error.message, text);
				assert.equal((error.cause as Error).name, name);
				assert.equal(error.hint?.includes("a2a.peers"), undefined, "no advice that is for other peers");
				await peer.close();
			});

		it("and a call that the gateway gave up may go on at the peer", async () => {
			const { board, peer, call } = await rig();
			await call("echo first");
			board.intercept = ({ path }) => (path.startsWith("/peer/") ? { status: 504, body: "timeout" } : undefined);
			const reply = await call("echo second");
			assert.equal(reply.running, true);
			await peer.close();
		});

		it("and an error of the peer itself stays its own", async () => {
			const { peer, call } = await rig();
			for (const name of ["TaskNotFoundError", "BusyError", "UntrustedCallerError", "RateLimitedError"] as const) {
				const error = await call(`throw ${name} says the peer`).then(
					() => assert.fail("it went well"),
					(reason: unknown) => reason,
				);
				assert.match(asPeerError(error, { peer: "" }).message, /says the peer/, name);
				assert.doesNotMatch(String(error), /gateway at/, name);
			}
			await peer.close();
		});
	});
});

function rpc(code: number): string {
	return JSON.stringify({ jsonrpc: "2.0", id: null, error: { code, message: "no" } });
}

const typeFor = (body: string) => (body.startsWith("{") ? { headers: { "content-type": "application/json" } } : {});
