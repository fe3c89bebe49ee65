import assert from "node:assert/strict";
import { allowedHosts, bearerToken, hostOf, isLoopback } from "../../src/bindings/http/gate.ts";
import type { Listening } from "../../src/bindings/http/listen.ts";
import { post, raw, serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const SEND = JSON.stringify({
	jsonrpc: "2.0",
	id: 1,
	method: "SendMessage",
	params: { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "echo hi" }] } },
});
const status = (text: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0);
const get = (path: string, headers: string) => `GET ${path} HTTP/1.1\r\n${headers}connection: close\r\n\r\n`;

describe("the gate of the HTTP server", () => {
	let agent: ScriptedAgent;
	let server: Listening;
	const ask = (bytes: string) => raw(server.port, bytes);

	beforeEach(async () => {
		agent = new ScriptedAgent();
		server = await serve({ agent });
	});
	afterEach(() => server.close());

	// R126, R098
	it("answers under every name of this machine and no other, on every route", async () => {
		for (const host of ["[::1]:9910", "::1", "localhost:9910", "127.0.0.1", "LOCALHOST", "127.8.9.1:1"]) {
			assert.equal(status(await ask(post(SEND, { host }))), 200, host);
		}
		const foreign = [
			"evil.example:9910",
			"127.0.0.1.evil.example",
			"localhost.evil.example:9910",
			"127.0.0.1:80@evil.example",
			"evil.example, localhost",
			"local host",
			"",
		];
		for (const host of foreign) {
			for (const path of ["/", "/health", "/.well-known/agent-card.json", "/.well-known/agent.json", "/nothing"]) {
				assert.equal(status(await ask(get(path, `host: ${host}\r\n`))), 403, `GET ${path} as ${host}`);
			}
			assert.equal(status(await ask(post(SEND, { host }))), 403, `POST as ${host}`);
		}
		assert.equal(agent.seen.length, 6);
	});

	it("refuses two Host headers, whichever is the good one, and none", async () => {
		for (const [one, two] of [
			["localhost", "evil.example"],
			["evil.example", "localhost"],
			["localhost", "localhost"],
		]) {
			assert.equal(status(await ask(get("/health", `host: ${one}\r\nhost: ${two}\r\n`))), 403);
		}
		assert.ok([400, 403].includes(status(await ask("GET /health HTTP/1.1\r\nconnection: close\r\n\r\n"))));
		assert.equal(status(await ask("GET /health HTTP/1.0\r\n\r\n")), 403);
	});

	it("does not take another host from the request line", async () => {
		const text = await ask(get("http://evil.example/health", "host: localhost\r\n"));
		assert.equal(status(text), 404);
		assert.equal(status(await ask(get("//evil.example/", "host: localhost\r\n"))), 404);
	});

	it("serves no web page, whatever its origin, and gives no permission to one", async () => {
		for (const origin of ["https://evil.example", "null", "http://127.0.0.1:9910", "http://localhost"]) {
			for (const bytes of [
				post(SEND, { origin }),
				get("/.well-known/agent-card.json", `host: localhost\r\norigin: ${origin}\r\n`),
				`OPTIONS / HTTP/1.1\r\nhost: localhost\r\norigin: ${origin}\r\nconnection: close\r\n\r\n`,
			]) {
				const text = await ask(bytes);
				assert.equal(status(text), 403, bytes);
				assert.doesNotMatch(text, /access-control-allow/i);
			}
		}
		assert.equal(status(await ask(post(SEND, { "sec-fetch-site": "cross-site" }))), 403);
		assert.equal(
			status(await ask(get("/.well-known/agent-card.json", "host: localhost\r\nsec-fetch-site: none\r\n"))),
			200,
		);
		assert.equal(agent.seen.length, 0);
	});

	it("refuses what was forwarded while no token keeps strangers out", async () => {
		const marks = ["forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-anything", "x-real-ip", "via"];
		for (const mark of marks) {
			const text = await ask(post(SEND, { [mark]: "203.0.113.9" }));
			assert.equal(status(text), 403, mark);
			assert.match(text, /token/);
		}
		assert.equal(agent.seen.length, 0);
		const guarded = await serve({ agent, tokens: { alice: "token-of-alice" } });
		const headers = { "x-forwarded-for": "203.0.113.9", authorization: "Bearer token-of-alice" };
		assert.equal(status(await raw(guarded.port, post(SEND, headers))), 200);
		await guarded.close();
	});

	it("sees a forwarding mark behind any number of other headers", async () => {
		let filler = "";
		for (let i = 0; i < 1_900; i++) filler += "a:\r\n";
		const head = `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${filler}via: x\r\n`;
		const text = await ask(`${head}content-length: ${SEND.length}\r\nconnection: close\r\n\r\n${SEND}`);
		assert.equal(status(text), 403);
	});

	it("takes JSON by its media type, parameters or not, and nothing else", async () => {
		const good = ["application/json", "application/json; charset=utf-8", "Application/JSON", "application/a2a+json"];
		for (const type of good) assert.equal(status(await ask(post(SEND, { "content-type": type }))), 200, type);
		const bad = [
			"text/plain;json",
			"text/plain; charset=application/json",
			"application/jsonx",
			"application/x-www-form-urlencoded",
			"multipart/form-data; boundary=json",
			"",
		];
		for (const type of bad) assert.equal(status(await ask(post(SEND, { "content-type": type }))), 415, type);
		assert.equal(status(await ask(post(SEND, { "content-encoding": "gzip" }))), 415);
		assert.equal(agent.seen.length, good.length);
	});

	it("answers in JSON for paths and methods that are not served", async () => {
		const nothing = await ask(get("/nothing?x=1", "host: localhost\r\n"));
		assert.equal(status(nothing), 404);
		assert.match(nothing, /content-type: application\/json[\s\S]*"code":404/i);
		const wrong = await ask(get("/", "host: localhost\r\n"));
		assert.equal(status(wrong), 405);
		assert.match(wrong, /allow: POST\r\n/i);
		assert.match(wrong, /"code":405/);
		const card = await ask(post(SEND, {}, "/.well-known/agent-card.json"));
		assert.equal(status(card), 405);
		assert.match(card, /allow: GET, HEAD\r\n/i);
		for (const path of [
			"/../../etc/passwd",
			"/%00",
			"/.well-known/../../secret",
			"/.well-known/agent-card.json%00.html",
		]) {
			assert.equal(status(await ask(get(path, "host: localhost\r\n"))), 404, path);
		}
		const socket = "host: localhost\r\nupgrade: websocket\r\nconnection: upgrade\r\n";
		const refused = await raw(server.port, `GET / HTTP/1.1\r\n${socket}\r\n`, (text) => text.includes("\r\n\r\n"));
		assert.equal(status(refused), 400);
	});

	// R093
	it("serves an endpoint with and without a slash at its end, without redirects", async () => {
		for (const path of ["/health", "/health/"]) {
			assert.equal(status(await ask(get(path, "host: localhost\r\n"))), 200, path);
		}
		for (const path of ["/", "/?x=1", "//"]) assert.equal(status(await ask(post(SEND, {}, path))), 200, path);
	});
});

describe("callers of a server with tokens", () => {
	// R133
	it("get the public card and nothing else without the right token", async () => {
		const agent = new ScriptedAgent();
		const server = await serve({ agent, tokens: { alice: "token-of-alice" }, metrics: () => ({ calls: 1 }) });
		const wrong = [
			undefined,
			"Bearer",
			"Bearer ",
			"Bearer wrong",
			"Bearer TOKEN-OF-ALICE",
			"Bearer token-of-alice, Bearer token-of-alice",
			"Bearer token-of-alice token-of-alice",
			"Basic dG9rZW4tb2YtYWxpY2U6",
			"Token token-of-alice",
			"token-of-alice",
		];
		for (const authorization of wrong) {
			const auth = authorization === undefined ? {} : { authorization };
			const line = authorization === undefined ? "" : `authorization: ${authorization}\r\n`;
			for (const bytes of [
				post(SEND, auth),
				post(SEND, auth, "/?access_token=token-of-alice&token=token-of-alice"),
				get("/health", `host: localhost\r\n${line}`),
				get("/metrics", `host: localhost\r\n${line}`),
			]) {
				const text = await raw(server.port, bytes);
				assert.equal(status(text), 401, bytes);
				assert.match(text, /www-authenticate: Bearer/i);
				assert.doesNotMatch(text, /tester|calls/);
			}
			assert.equal(
				status(await raw(server.port, get("/.well-known/agent-card.json", `host: localhost\r\n${line}`))),
				200,
			);
		}
		assert.equal(agent.seen.length, 0);
		for (const authorization of ["Bearer token-of-alice", "bearer token-of-alice", "BEARER  token-of-alice"]) {
			assert.equal(status(await raw(server.port, post(SEND, { authorization }))), 200, authorization);
			const line = `host: localhost\r\nauthorization: ${authorization}\r\n`;
			assert.equal(status(await raw(server.port, get("/health", line))), 200);
			assert.match(await raw(server.port, get("/metrics", line)), /"calls":1/);
		}
		await server.close();
	});

	it("are told so before they have sent their body", async () => {
		const server = await serve({ agent: new ScriptedAgent(), tokens: { alice: "token-of-alice" } });
		const head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n";
		const text = await raw(server.port, head, (so) => so.includes("\r\n\r\n"));
		assert.equal(status(text), 401);
		await server.close();
	});
});

describe("a Host header", () => {
	it("is read without port, brackets and case, or not at all", () => {
		assert.equal(hostOf("Example.COM:80"), "example.com");
		assert.equal(hostOf("[0:0:0:0:0:0:0:1]:1"), "::1");
		assert.equal(hostOf("0::1"), "::1");
		for (const bad of ["a:b", "a:123456", "[::1", "::1]", "a/b", "a b", "a@b", ".", "-", "[127.0.0.1]", undefined]) {
			assert.equal(hostOf(bad), undefined, String(bad));
		}
	});

	it("of the public name is accepted, and any name where a token guards more than loopback", () => {
		assert.deepEqual(allowedHosts("127.0.0.1", "https://Agents.example/a2a", false), ["127.0.0.1", "agents.example"]);
		assert.deepEqual(allowedHosts("0.0.0.0", undefined, true), ["*"]);
		assert.deepEqual(allowedHosts("127.0.0.1", undefined, true), ["127.0.0.1"]);
		assert.deepEqual(allowedHosts("127.0.0.1", "no url", true), ["127.0.0.1"]);
		assert.ok(isLoopback("127.0.0.2") && isLoopback("0:0::1") && !isLoopback("10.0.0.1") && !isLoopback("127.evil"));
	});

	it("may be the public one in a request to a loopback server behind a proxy", async () => {
		const options = { agent: new ScriptedAgent(), tokens: { a: "t" }, publicUrl: "https://agents.example/a2a" };
		const server = await serve(options);
		const card = (host: string) => raw(server.port, get("/.well-known/agent-card.json", `host: ${host}\r\n`));
		assert.equal(status(await card("agents.example")), 200);
		assert.equal(status(await card("other.example")), 403);
		await server.close();
	});
});

describe("a bearer token", () => {
	it("is one word behind the scheme", () => {
		assert.equal(bearerToken("Bearer abc.DEF-1"), "abc.DEF-1");
		for (const bad of [undefined, "", "Bearer", "Bearer a b", "Bearer a,b", "Basic a", "xBearer a"]) {
			assert.equal(bearerToken(bad), undefined, bad);
		}
	});
});
