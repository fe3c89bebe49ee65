import assert from "node:assert/strict";
import { cardUrls } from "../../src/bindings/http/cards.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { Bench, cardFor, send, task } from "./client-support.ts";
import { until } from "./contract.ts";

const NEW = "/.well-known/agent-card.json";
const OLD = "/.well-known/agent.json";

describe("the card of a peer", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.close());

	const failure = async (work: Promise<unknown>): Promise<A2AError> => {
		const error = await work.catch((thrown) => thrown);
		assert.ok(error instanceof A2AError, String(error));
		return error;
	};
	/** A peer with files; every POST is answered by a completed task. */
	const files = async (content: (url: string) => Readonly<Record<string, object>>, missing = 404) => {
		const peer = await bench.bare((request, wire) => {
			if (request.method === "POST") return wire.result(task("COMPLETED"));
			const found = content(peer.url)[request.path];
			return found ? wire.json(found) : wire.send(missing, "nothing here");
		});
		return peer;
	};
	const paths = (peer: { requests: readonly { path: string }[] }) => peer.requests.map(({ path }) => path);

	// R090
	it("is found below its URL or at its origin, with few probes", async () => {
		const below = await files((url) => ({ [`/a2a${NEW}`]: cardFor(`${url}a2a`) }));
		await send(await bench.connect(`${below.url}a2a`));
		assert.deepEqual(paths(below), [`/a2a${NEW}`, "/a2a"]);
		const above = await files((url) => ({ [NEW]: cardFor(`${url}a2a`) }));
		await send(await bench.connect(`${above.url}a2a/`));
		assert.deepEqual(paths(above), [`/a2a${NEW}`, NEW, "/a2a"]);
		for (const url of [
			"https://h.example/",
			"https://h.example",
			"https://h.example/a/b",
			"https://h.example/a/?q=1",
		]) {
			assert.ok(cardUrls(new URL(url), false).length <= 3);
		}
	});

	it("may be named by its own URL", async () => {
		const peer = await files((url) => ({ "/cards/one.json": cardFor(`${url}rpc`) }));
		await send(await bench.connect(`${peer.url}cards/one.json`));
		assert.deepEqual(paths(peer), ["/cards/one.json", "/rpc"]);
		assert.match((await failure(bench.connect(`${peer.url}cards/two.json`))).message, /no agent card at .*two\.json/);
	});

	// R092
	it("is looked for under its old name where the new one is not there, and only then", async () => {
		for (const missing of [404, 405]) {
			const peer = await files((url) => ({ [OLD]: cardFor(url) }), missing);
			await send(await bench.connect(peer.url));
			assert.deepEqual(paths(peer), [NEW, OLD, "/"]);
		}
		const broken = await bench.bare((request, wire) =>
			request.path === OLD
				? wire.json(cardFor(broken.url))
				: wire.send(200, "{broken", { "content-type": "application/json" }),
		);
		assert.match((await failure(bench.connect(broken.url))).message, /no agent card/);
		const failing = await files(() => ({}), 500);
		assert.match((await failure(bench.connect(failing.url))).message, /HTTP 500/);
		assert.deepEqual(paths(failing), [NEW]);
	});

	it("that is something else is reported as what it is", async () => {
		for (const body of ["<html>", "[]", "{}", '"x"', ""]) {
			const peer = await bench.bare((_request, wire) => wire.send(200, body, { "content-type": "text/html" }));
			const error = await failure(bench.connect(peer.url));
			assert.equal(error.name, "InvalidAgentResponseError");
			assert.match(error.message, /^What http:[^\n]* \(text\/html\) is no agent card: [^\n]+$/, body);
		}
	});

	it("that asks for a token gets that of its peer; without one this is said, and is not the same as missing", async () => {
		const peer = await bench.bare((request, wire) => {
			if (request.method === "POST") return wire.result(task("COMPLETED"));
			if (request.headers.authorization !== "Bearer tok") return wire.send(401, "");
			return wire.json(cardFor(peer.url));
		});
		const error = await failure(bench.connect(peer.url));
		assert.equal(error.name, "UnauthorizedError");
		assert.match(error.message, /credentials.*HTTP 401/);
		assert.deepEqual(paths(peer), [NEW]);
		assert.equal((await failure(bench.connect(peer.url, { token: "bad" }))).name, "UnauthorizedError");
		await send(await bench.connect(peer.url, { token: "tok" }));
		// Read without the token first: the card of most peers is public.
		assert.equal(peer.requests[3]?.headers.authorization, undefined);
	});

	// R094
	it("cannot send calls, or a token, to another origin; the error says which and why", async () => {
		const evil = await files((url) => ({ [NEW]: cardFor(url) }));
		const elsewhere = [evil.url, "https://evil.example/rpc", "http://169.254.169.254/", "http://10.0.0.1/"];
		for (const [token, url] of [undefined, "tok"].flatMap((each) => elsewhere.map((where) => [each, where] as const))) {
			const peer = await files(() => ({ [NEW]: cardFor(url ?? "") }));
			const error = await failure(bench.connect(peer.url, { token }));
			assert.equal(error.name, "ForbiddenError");
			assert.match(error.message, /card sends calls to .*known as http:\/\/127\.0\.0\.1/);
			assert.deepEqual(paths(peer), [NEW]);
		}
		const sameHost = await files((url) => ({ [NEW]: cardFor(url.replace("http:", "https:")) }));
		assert.equal((await failure(bench.connect(sameHost.url, { token: "tok" }))).name, "ForbiddenError");
		const redirected = await bench.bare((_request, wire) =>
			wire.send(302, "", { location: `${evil.url}.well-known/agent-card.json` }),
		);
		assert.match((await failure(bench.connect(redirected.url, { token: "tok" }))).message, /another origin/);
		assert.deepEqual(evil.requests, []);
	});

	it("may name this machine, or all its addresses, by another name: the one we know is called", async () => {
		for (const host of ["localhost", "[::1]", "0.0.0.0", "[::]", "127.0.0.2"]) {
			const peer = await files((url) => ({ [NEW]: cardFor(`${url.replace("127.0.0.1", host)}rpc`) }));
			await send(await bench.connect(peer.url, { token: "tok" }));
			assert.equal(peer.requests[1]?.path, "/rpc");
			assert.equal(peer.requests[1]?.headers.host, `127.0.0.1:${peer.port}`);
			assert.equal(peer.requests[1]?.headers.authorization, "Bearer tok");
		}
	});

	it("does not say where to call a pinned peer, and is not looked for above its path", async () => {
		const peer = await files((url) => ({
			[NEW]: cardFor(url),
			[`/peer/one${OLD}`]: cardFor("https://inside.example/"),
		}));
		await send(await bench.connect(`${peer.url}peer/one/`, { pinned: true, token: "tok" }));
		assert.deepEqual(paths(peer), [`/peer/one${NEW}`, `/peer/one${OLD}`, "/peer/one/"]);
	});

	it("without an interface that can be called is an error that lists what there is", async () => {
		const supportedInterfaces = [{ url: "https://h.example/", protocolBinding: "GRPC", protocolVersion: "1.0" }];
		const peer = await files(() => ({ [NEW]: cardFor("", { supportedInterfaces }) }));
		assert.match((await failure(bench.connect(peer.url))).message, /GRPC 1\.0/);
		const none = await files(() => ({ [NEW]: cardFor("", { supportedInterfaces: [] }) }));
		assert.match((await failure(bench.connect(none.url))).message, /lists: none/);
	});

	// R095
	it("is not read beyond a size, a number of skills or a time", async () => {
		const huge = await bench.bare(async (_request, wire) => {
			await wire.head(200, { "content-type": "application/json" });
			for (let i = 0; i < 100; i++) await wire.write(" ".repeat(1024 * 1024));
			await wire.write("{}");
		});
		assert.match((await failure(bench.connect(huge.url))).message, /larger than/);
		const skills = Array.from({ length: 1_000 }, (_, i) => ({ id: `s${i}`, name: "s", description: "", tags: ["t"] }));
		const skilled = await files((url) => ({ [NEW]: cardFor(url, { skills }) }));
		assert.match((await failure(bench.connect(skilled.url))).message, /1000 skills/);
		const clock = manualClock();
		const slow = await bench.bare(async (_request, wire) => {
			await wire.head(200, { "content-type": "application/json" });
			await wire.write("{");
		});
		const result = failure(bench.connect(slow.url, { clock }));
		await until(() => slow.requests.length === 1 && clock.pending === 1);
		for (let second = 0; second < 10; second++) await clock.advance(1_000);
		const error = await result;
		assert.equal(error.name, "PeerTimeoutError");
		assert.match(error.message, /card.*10 s, our own limit/);
		await until(() => slow.open === 0);
	});

	it("is kept while it is fresh, then asked for by its tag", async () => {
		const clock = manualClock();
		let name = "one";
		const peer = await bench.bare((request, wire) => {
			const etag = `"${name}"`;
			const headers = { etag, "cache-control": "max-age=30" };
			if (request.headers["if-none-match"] === etag) return wire.head(304, headers);
			return wire.json(cardFor(peer.url, { name }), 200, headers);
		});
		const read = async () => (await bench.connect(peer.url, { clock })).card()?.name;
		assert.deepEqual([await read(), await read()], ["one", "one"]);
		assert.equal(peer.requests.length, 1);
		await clock.advance(30_000);
		assert.equal(await read(), "one");
		assert.equal(peer.requests[1]?.headers["if-none-match"], '"one"');
		assert.equal(await read(), "one");
		assert.equal(peer.requests.length, 2);
		name = "two";
		await clock.advance(30_000);
		assert.equal(await read(), "two");
	});

	it("of one lookup without a token is not taken for that of one with", async () => {
		const peer = await files((url) => ({ [NEW]: cardFor(url) }));
		await bench.connect(peer.url);
		await bench.connect(peer.url, { token: "tok" });
		assert.equal(peer.requests.length, 2);
	});
});
