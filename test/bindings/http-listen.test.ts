import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { bindHost, listen, urlOf } from "../../src/bindings/http/listen.ts";
import { json } from "../../src/bindings/http/reply.ts";
import type { HttpRequest } from "../../src/bindings/http/request.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { until } from "./contract.ts";
import { post, raw, remembering, serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const occupy = async (port: number): Promise<Server> => {
	const server = createServer();
	await new Promise<void>((resolve, reject) => server.once("error", reject).listen(port, "127.0.0.1", resolve));
	return server;
};
const portOf = (server: Server) => (server.address() as AddressInfo).port;
const shut = (server: Server) => new Promise((resolve) => server.close(resolve));
const ok = async () => json(200, { ok: true });

describe("the address to bind", () => {
	it("is loopback without a token, whatever is wanted", () => {
		for (const wanted of [
			"0.0.0.0",
			"::",
			"192.168.1.20",
			"some.name",
			"*",
			"",
			"  ",
			"localhost",
			"127.evil.example",
		]) {
			assert.equal(bindHost(wanted, false), "127.0.0.1", wanted);
		}
		assert.equal(bindHost("127.0.0.9", false), "127.0.0.9");
		assert.equal(bindHost("[::1]", false), "::1");
	});

	it("is the one wanted with a token; blank still means loopback", () => {
		assert.equal(bindHost("0.0.0.0", true), "0.0.0.0");
		assert.equal(bindHost("[::]", true), "::");
		for (const blank of ["", "   ", "localhost"]) assert.equal(bindHost(blank, true), "127.0.0.1");
	});

	it("is printed as a URL that can be called", () => {
		assert.equal(urlOf("127.0.0.1", 9910), "http://127.0.0.1:9910/");
		assert.equal(urlOf("::1", 1), "http://[::1]:1/");
		assert.equal(urlOf("0.0.0.0", 1), "http://127.0.0.1:1/");
		assert.equal(urlOf("::", 1), "http://[::1]:1/");
	});
});

describe("a port that is taken", () => {
	it("gives way to the next ones, then to any", async () => {
		const first = await occupy(0);
		const port = portOf(first);
		const log = remembering();
		const one = await listen(ok, { host: "127.0.0.1", port, portFallback: 5, log });
		assert.ok(one.port > port && one.port <= port + 5);
		assert.equal(one.url, `http://127.0.0.1:${one.port}/`);
		assert.match(log.lines.join(), new RegExp(`${port}.*${one.port}`));
		assert.equal((await fetch(one.url)).status, 200);
		const any = await listen(ok, { host: "127.0.0.1", port, portFallback: 0, log });
		assert.notEqual(any.port, port);
		await Promise.all([one.close(), any.close(), shut(first)]);
	});

	it("is not looked for beyond the last one", async () => {
		const last = await occupy(65_535).catch(() => undefined);
		const server = await listen(ok, { host: "127.0.0.1", port: 65_535, portFallback: 10, log: remembering() });
		assert.ok(server.port > 0);
		await server.close();
		if (last) await shut(last);
	});

	it("is not the same as an address that is not ours", async () => {
		const options = { host: "203.0.113.7", port: 0, portFallback: 3, log: remembering() };
		await assert.rejects(listen(ok, options), /Cannot listen on 203\.0\.113\.7 port 0: /);
	});
});

describe("a body sent to the HTTP server", () => {
	const head = (more: string) => `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${more}\r\n`;
	const answered = (text: string) => text.includes("\r\n\r\n{") && text.endsWith("}");

	// R140
	it("is refused by its announced length before it is sent, and the connection closed", async () => {
		const server = await serve({ agent: new ScriptedAgent() });
		for (const expect of ["", "expect: 100-continue\r\n"]) {
			const text = await raw(server.port, head(`content-length: 20000000\r\n${expect}`));
			assert.match(text, /^HTTP\/1\.1 413/);
			assert.match(text, /connection: close/i);
			assert.match(text, /"code":-32600/);
		}
		await server.close();
	});

	it("is refused as soon as it is too long when its length was not announced", async () => {
		const server = await serve({ agent: new ScriptedAgent(), maxBodyBytes: 100_000 });
		const chunk = `8000\r\n${"a".repeat(0x8000)}\r\n`;
		const text = await raw(server.port, head("transfer-encoding: chunked\r\n") + chunk.repeat(40));
		assert.match(text, /^HTTP\/1\.1 413/);
		await server.close();
	});

	it("that is too large lets its sender see why, though it is still sending", async () => {
		const agent = new ScriptedAgent();
		const server = await serve({ agent });
		const response = await fetch(server.url, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: "x".repeat(48 * 1024 * 1024),
		});
		assert.equal(response.status, 413);
		assert.match(await response.text(), /"jsonrpc":"2\.0"/);
		assert.equal(agent.seen.length, 0);
		await server.close();
	});

	it("may be waited for with 100-continue", async () => {
		const server = await serve({ agent: new ScriptedAgent() });
		const body = '{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"none"}}';
		const text = await raw(
			server.port,
			head(`content-length: ${body.length}\r\nexpect: 100-continue\r\nconnection: close\r\n`) + body,
		);
		assert.match(text, /^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200/);
		await server.close();
	});

	it("that stops half way is given up", async () => {
		const clock = manualClock();
		const server = await serve({ agent: new ScriptedAgent(), clock });
		const answer = raw(server.port, `${head("content-length: 1000\r\n")}{"json`, answered);
		await until(() => clock.pending > 0);
		await clock.advance(14_000);
		assert.equal(clock.pending, 1);
		await clock.advance(2_000);
		assert.match(await answer, /^HTTP\/1\.1 408/);
		await Promise.all([server.close(), clock.advance(5_000)]);
	});

	it("whose sender leaves half way harms nobody", async () => {
		const agent = new ScriptedAgent();
		const server = await serve({ agent });
		await new Promise<void>((resolve) => {
			const socket = connect(server.port, "127.0.0.1", () => {
				socket.write(`${head("content-length: 1000\r\n")}{"json`, () => setImmediate(() => socket.destroy()));
			});
			socket.once("close", () => resolve());
		});
		assert.match(await raw(server.port, post('{"jsonrpc":"2.0","id":1,"method":"x"}')), /-32601/);
		assert.equal(agent.seen.length, 0);
		await server.close();
	});

	it("that is ended half way has not arrived: its sender is told so, and may send it again", async () => {
		const agent = new ScriptedAgent();
		const server = await serve({ agent });
		const whole = `${head("content-length: 1000\r\n")}{"json`;
		for (const part of [whole, whole.slice(0, 30)]) {
			const answer = await new Promise<string>((resolve) => {
				let text = "";
				const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true }, () => socket.end(part));
				socket.on("data", (chunk) => (text += chunk)).once("end", () => resolve(text));
			});
			assert.match(answer, /^HTTP\/1\.1 408 /);
		}
		assert.match(await raw(server.port, "NO HTTP\r\n\r\n"), /^HTTP\/1\.1 400 /);
		assert.equal(agent.seen.length, 0);
		await server.close();
	});

	it("of brackets, or deeper than any message, is refused quickly", async () => {
		const server = await serve({ agent: new ScriptedAgent() });
		for (const body of ["[".repeat(200_000), `${"[".repeat(20_000)}${"]".repeat(20_000)}`]) {
			const before = performance.now();
			assert.match(await raw(server.port, post(body)), /"code":-32(?:7|6)00/);
			assert.ok(performance.now() - before < 1_000);
		}
		await server.close();
	});
});

describe("a handler that fails", () => {
	it("costs its own connection and nothing else", async () => {
		const log = remembering();
		const failing = async (request: HttpRequest) => {
			if (request.path === "/throw") throw new Error("no reply at all");
			if (request.path === "/break") {
				return {
					status: 200,
					headers: {},
					body: (async function* () {
						yield "one";
						throw new Error("no more");
					})(),
				};
			}
			if (request.path === "/header") return { status: 200, headers: { bad: "line\nbreak" }, body: "" };
			return json(200, {});
		};
		const server = await listen(failing, { host: "127.0.0.1", port: 0, portFallback: 0, log });
		const get = (path: string) =>
			raw(server.port, `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`, (text) => text.endsWith("{}"));
		assert.equal(await get("/throw"), "");
		assert.doesNotMatch(await get("/break"), /0\r\n\r\n$/);
		assert.equal(await get("/header"), "");
		assert.match(await get("/good"), /^HTTP\/1\.1 200/);
		assert.equal(log.lines.length, 3);
		await server.close();
	});
});

describe("a server that is closed", () => {
	it("lets those who wait for its work hear how that ended, and takes nobody new", async () => {
		let finish: (how: string) => void = () => undefined;
		const work = new Promise<string>((resolve) => {
			finish = resolve;
		});
		let asked = 0;
		const waiting = async (request: HttpRequest) => {
			asked++;
			const stream = async function* () {
				yield "begun ";
				yield await work;
			};
			return { status: 200, headers: {}, body: request.path === "/stream" ? stream() : await work };
		};
		const server = await listen(waiting, { host: "127.0.0.1", port: 0, portFallback: 0, log: remembering() });
		const [reply, stream] = ["", "stream"].map((path) => fetch(`${server.url}${path}`).then((got) => got.text()));
		await until(() => asked === 2);
		const closed = server.close(work);
		await assert.rejects(fetch(server.url));
		finish("stopped");
		assert.deepEqual([await reply, await stream], ["stopped", "begun stopped"]);
		await closed;
	});

	it("does not wait for a request that nothing ends", async () => {
		const hung = async (request: HttpRequest) => {
			await new Promise<void>((resolve) => request.signal.addEventListener("abort", () => resolve()));
			return json(200, {});
		};
		const server = await listen(hung, { host: "127.0.0.1", port: 0, portFallback: 0, log: remembering() });
		const reply = fetch(server.url).then(
			() => "answered",
			() => "cut",
		);
		await new Promise((resolve) => setTimeout(resolve, 50));
		const begun = performance.now();
		await server.close(Promise.reject(new Error("the work broke")));
		assert.ok(performance.now() - begun < 2_000);
		assert.match(await reply, /answered|cut/);
	});

	it("is not left with a stream that nobody waits for any more", async () => {
		let ready: () => void = () => undefined;
		let left = 0;
		const slow = async () => {
			await new Promise<void>((resolve) => {
				ready = resolve;
			});
			const body = (async function* () {
				try {
					yield "one";
					yield "two";
				} finally {
					left += 1;
				}
			})();
			return { status: 200, headers: {}, body };
		};
		const server = await listen(slow, { host: "127.0.0.1", port: 0, portFallback: 0, log: remembering() });
		await new Promise<void>((resolve) => {
			const socket = connect(server.port, "127.0.0.1", () => socket.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
			const poll = setInterval(() => {
				if (ready.name !== "ready") socket.destroy();
			}, 2);
			socket.once("close", () => {
				clearInterval(poll);
				resolve();
			});
		});
		await new Promise((resolve) => setTimeout(resolve, 20));
		ready();
		await until(() => left === 1);
		await server.close();
	});
});
