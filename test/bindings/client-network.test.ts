import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import { type AddressInfo, createServer as createPlain } from "node:net";
import { networkInterfaces } from "node:os";
import { manualClock } from "../../src/lib/clock.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { taskId } from "../../src/protocol/types.ts";
import type { PeerRequest, Wire } from "../support/faulty-peer.ts";
import { selfSigned } from "./certificate.ts";
import { Bench, cardFor, drain, NEVER, SAFE, send, states, stream, task, update } from "./client-support.ts";
import { until } from "./contract.ts";

/** Not every machine has it. */
const IPV6 = Object.values(networkInterfaces())
	.flat()
	.some((each) => each?.address === "::1");

const failure = async (work: Promise<unknown>): Promise<A2AError> => {
	const error = await work.catch((thrown) => thrown);
	assert.ok(error instanceof A2AError, String(error));
	return error;
};

describe("retries of the HTTP client", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.close());

	/** A peer whose first answers are `faults`, a connection without waiting and how long it waited in all. */
	async function against(
		faults: readonly ((wire: Wire, request: PeerRequest) => unknown)[],
		retryAttempts = 2,
		card: object = SAFE,
	) {
		const peer = await bench.peer(async (request, wire, call) => {
			const fault = faults[call];
			if (fault) return fault(wire, request);
			if (request.rpc.method !== "SendStreamingMessage") return wire.result(task("COMPLETED"));
			await wire.events();
			await wire.event(update("COMPLETED"));
		}, card);
		let waited = 0;
		const sleep = async (ms: number) => {
			waited += ms;
		};
		const clock = { ...manualClock(), sleep };
		const connection = await bench.connect(peer.url, { retryAttempts, clock });
		return { peer, connection, waited: () => waited, calls: () => peer.requests.slice(1) };
	}

	it("follow a broken connection, a 429 and any 5xx, with the same body each time", async () => {
		const faults = [
			(wire: Wire) => wire.cut(),
			(wire: Wire) => wire.send(500, "oops"),
			(wire: Wire) => wire.send(503, ""),
			(wire: Wire) => wire.error(-32051, "slow down", 429),
		];
		const { connection, calls, waited } = await against(faults, 5);
		assert.ok("task" in (await send(connection)));
		assert.equal(calls().length, 5);
		assert.equal(new Set(calls().map(({ body }) => body)).size, 1);
		assert.match(calls()[0]?.body ?? "", /"messageId"/);
		// The pauses double; at least half of each is waited, the first connection was a kept one and cost none.
		assert.ok(waited() >= 125 + 250 + 500 && waited() <= 250 + 500 + 1000, String(waited()));
	});

	it("follow a reply that broke off, a stream that did before its first event, and a 408", async () => {
		const half = async (wire: Wire) => {
			await wire.head(200, { "content-type": "application/json", "content-length": "1000" });
			await wire.write('{"jsonrpc"');
			wire.end();
		};
		const { connection, calls } = await against([half, (wire) => wire.send(408, "")]);
		assert.ok("task" in (await send(connection)));
		assert.equal(calls().length, 3);
		const silent = async (wire: Wire) => {
			await wire.events();
			wire.cut();
		};
		const ended = async (wire: Wire) => {
			await wire.events();
			wire.end();
		};
		const streamed = await against([silent, ended]);
		assert.deepEqual(states((await drain(stream(streamed.connection))).items), ["TASK_STATE_COMPLETED"]);
		assert.equal(streamed.calls().length, 3);
		assert.equal(new Set(streamed.calls().map(({ body }) => body)).size, 1);
	});

	it("of a message are none to a peer that might do its work twice, but where it cannot have begun", async () => {
		const broken = [
			(wire: Wire) => wire.cut(),
			(wire: Wire) => wire.send(502, ""),
			(wire: Wire) => wire.send(504, ""),
			(wire: Wire) => wire.send(408, ""),
			async (wire: Wire) => {
				await wire.head(200, { "content-type": "application/json", "content-length": "1000" });
				wire.cut();
			},
		];
		for (const fault of broken) {
			const { connection, calls } = await against([fault], 2, {});
			await failure(send(connection));
			assert.equal(calls().length, 1, String(fault));
			const streamed = await against([fault], 2, {});
			const { error } = await drain(stream(streamed.connection));
			assert.ok(error instanceof A2AError);
			assert.equal(streamed.calls().length, 1, String(fault));
		}
		const refused = [(wire: Wire) => wire.send(503, ""), (wire: Wire) => wire.send(429, "")];
		const { connection, calls } = await against(refused, 2, {});
		assert.ok("task" in (await send(connection)));
		assert.equal(calls().length, 3);
	});

	it("are none too many for what begins no work, whoever is asked", async () => {
		const { connection, calls } = await against([(wire) => wire.send(502, ""), (wire) => wire.cut()], 2, {});
		await connection.agent.request("GetTask", { id: taskId("t1") }, connection.call(NEVER));
		assert.equal(calls().length, 3);
	});

	it("end after as many as were asked for, with the last failure", async () => {
		const { connection, calls } = await against(
			Array(9).fill((wire: Wire) => wire.send(503, "")),
			2,
		);
		const error = await failure(send(connection));
		assert.match(error.message, /HTTP 503/);
		assert.equal(calls().length, 3);
	});

	it("never follow another 4xx", async () => {
		for (const status of [400, 401, 403, 404, 409, 413, 415]) {
			const { connection, calls } = await against([(wire) => wire.send(status, "")]);
			await failure(send(connection));
			assert.equal(calls().length, 1, String(status));
		}
	});

	it("wait as long as the peer asks, in seconds or until a date, but not for ever", async () => {
		const asking = (value: string) => (wire: Wire) => wire.send(429, "", { "retry-after": value });
		const seconds = await against([asking("7")]);
		await send(seconds.connection);
		assert.equal(seconds.waited(), 7_000);
		const date = await against([asking(new Date(Date.UTC(2026, 0, 1) + 9_000).toUTCString())]);
		await send(date.connection);
		assert.equal(date.waited(), 9_000);
		const long = await against([asking("3600")]);
		const error = await failure(send(long.connection));
		assert.deepEqual([error.name, error.details.retryAfter, long.waited()], ["RateLimitedError", 3600, 0]);
		assert.match(error.message, /wait 3600 s/);
	});

	it("never follow a stream's first event", async () => {
		const { connection, calls } = await against([
			(wire) => wire.send(503, ""),
			async (wire) => {
				await wire.events();
				await wire.event(task("WORKING"));
				await new Promise((resolve) => setTimeout(resolve, 20));
				wire.cut();
			},
		]);
		const { items, error } = await drain(stream(connection));
		assert.equal(items.length, 1);
		assert.ok(error instanceof A2AError && error.details.metadata?.broken === "stream");
		assert.equal(calls().length, 2);
	});

	it("are over when our limit is", async () => {
		const clock = manualClock();
		const peer = await bench.peer((_request, wire) => wire.send(503, "", { "retry-after": "20" }));
		const connection = await bench.connect(peer.url, { clock, sendTimeoutMs: 30_000, retryAttempts: 5 });
		const result = failure(send(connection));
		await until(() => clock.pending === 2);
		await clock.advance(20_000);
		await until(() => peer.requests.length === 3 && clock.pending === 2);
		await clock.advance(10_000);
		assert.match((await result).message, /30 s, our own limit \(timeouts\.send\)/);
		assert.equal(clock.pending, 0);
	});
});

describe("redirects seen by the HTTP client", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.close());

	// R093
	it("of 307 and 308 within the origin are followed once, as a POST with its body", async () => {
		for (const status of [307, 308]) {
			const peer = await bench.bare((request, wire) => {
				if (request.method === "GET") return wire.json(cardFor(`${peer.url}a2a`));
				if (request.path === "/a2a") return wire.send(status, "", { location: "/a2a/" });
				return wire.result(task("COMPLETED"));
			});
			const connection = await bench.connect(peer.url, { token: "tok" });
			assert.ok("task" in (await send(connection)));
			const [, first, second] = peer.requests;
			assert.deepEqual([second?.method, second?.path, second?.body], ["POST", "/a2a/", first?.body]);
			assert.deepEqual([second?.headers["a2a-version"], second?.headers.authorization], ["1.0", "Bearer tok"]);
		}
	});

	it("in a circle end", async () => {
		const peer = await bench.peer((_request, wire) => wire.send(307, "", { location: "/" }));
		assert.match((await failure(send(await bench.connect(peer.url)))).message, /redirects to .* after 1 other/);
		assert.equal(peer.requests.length, 3);
	});

	it("of 301, 302 and 303 never turn a POST into a GET: the error shows the right URL", async () => {
		for (const status of [301, 302, 303]) {
			const peer = await bench.peer((_request, wire) => wire.send(status, "", { location: "/a2a/" }));
			const error = await failure(send(await bench.connect(peer.url)));
			assert.match(error.message, new RegExp(`redirects to ${peer.url}a2a/ \\(HTTP ${status}\\); use that URL`));
			assert.equal(peer.requests.length, 2);
		}
	});

	// R094
	it("to another origin are not followed; nothing is sent there", async () => {
		const other = await bench.bare((_request, wire) => wire.result(task("COMPLETED")));
		for (const location of [
			other.url,
			other.url.replace("127.0.0.1", "localhost"),
			"https://example.com/",
			"file:///etc/passwd",
		]) {
			const peer = await bench.peer((_request, wire) => wire.send(307, "", { location }));
			const error = await failure(send(await bench.connect(peer.url, { token: "tok" })));
			assert.match(error.message, /another origin; nothing was sent there/);
		}
		assert.equal(other.requests.length, 0);
	});
});

describe("the network under the HTTP client", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.close());

	// R099
	it("is tried at every address of a name", async () => {
		const peer = await bench.peer((_request, wire) => wire.result(task("COMPLETED")));
		const both = [
			{ address: "::1", family: 6 },
			{ address: "127.0.0.1", family: 4 },
		];
		const named = `http://localhost:${peer.port}/`;
		assert.ok("task" in (await send(await bench.connect(named, { check: async () => both }))));
		assert.ok("task" in (await send(await bench.connect(named))));
	});

	it("is named by the address that was tried when nobody listens there", async function () {
		if (!IPV6) return this.skip();
		const peer = await bench.bare(() => undefined, "::1");
		const error = await failure(bench.connect(`http://127.0.0.1:${peer.port}/`));
		assert.equal(error.name, "PeerUnreachableError");
		assert.match(error.message, new RegExp(`127\\.0\\.0\\.1:${peer.port}.*ECONNREFUSED`));
		const both = [
			{ address: "::1", family: 6 },
			{ address: "127.0.0.1", family: 4 },
		];
		await peer.close();
		const neither = await failure(bench.connect(`http://localhost:${peer.port}/`, { check: async () => both }));
		assert.match(neither.message, /ECONNREFUSED ::1:\d+; .*ECONNREFUSED 127\.0\.0\.1:\d+/);
	});

	it("reaches an IPv6 address in a URL", async function () {
		if (!IPV6) return this.skip();
		const peer = await bench.bare(
			(request, wire) => (request.method === "GET" ? wire.json(cardFor(peer.url)) : wire.result(task("COMPLETED"))),
			"::1",
		);
		assert.ok("task" in (await send(await bench.connect(peer.url))));
		assert.equal(peer.requests[0]?.headers.host, `[::1]:${peer.port}`);
	});

	it("is used only for addresses that were checked, however the name is looked up later", async () => {
		const peer = await bench.peer((_request, wire) => wire.result(task("COMPLETED")));
		const seen: string[] = [];
		const check = async (url: URL) => {
			seen.push(url.href);
			return [{ address: "127.0.0.1", family: 4 }];
		};
		const connection = await bench.connect(`http://peer.invalid:${peer.port}/`, { check, pinned: true });
		assert.ok("task" in (await send(connection)));
		assert.equal(peer.requests[1]?.headers.host, `peer.invalid:${peer.port}`);
		assert.equal(seen.length, 2);
		const refused = { check: () => Promise.reject(new A2AError("ForbiddenError", "not there")) };
		assert.match((await failure(bench.connect(peer.url, refused))).message, /not there/);
		assert.equal(peer.requests.length, 2);
	});

	it("is not used for other schemes, or for URLs with a password in them", async () => {
		for (const url of ["ftp://127.0.0.1/", "file:///etc/passwd", "http://user:pw@127.0.0.1:1/"]) {
			const error = await failure(bench.connect(url));
			assert.equal(error.name, "InvalidRequestError");
			assert.doesNotMatch(error.message, /pw/);
		}
	});

	it("that cuts a reply short is an error, and so is one that speaks another language", async () => {
		const peer = await bench.peer(async (_request, wire, call) => {
			if (call === 0) {
				await wire.head(200, { "content-type": "application/json", "content-length": "1000" });
				await wire.write('{"jsonrpc"');
				wire.end();
			} else {
				await wire.write("SSH-2.0-OpenSSH_9.0\r\n");
				wire.end();
			}
		});
		const connection = await bench.connect(peer.url);
		assert.match((await failure(send(connection))).message, /cut in the middle of the answer/);
		assert.equal((await failure(send(connection))).name, "PeerUnreachableError");
	});
});

describe("TLS under the HTTP client", () => {
	let bench: Bench;
	let server: Server;
	let url: string;
	before(async () => {
		server = createServer(selfSigned(), (request, response) => {
			response.setHeader("content-type", "application/json");
			if (request.method === "GET") return response.end(JSON.stringify(cardFor(url)));
			let body = "";
			request.on("data", (chunk) => (body += chunk));
			request.on("end", () =>
				response.end(JSON.stringify({ jsonrpc: "2.0", id: JSON.parse(body).id, result: task("COMPLETED") })),
			);
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
	});
	after(() => {
		server.closeAllConnections();
		server.close();
	});
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.close());

	it("is verified, unless this very peer is said not to be", async () => {
		const refused = await failure(bench.connect(url));
		assert.match(refused.message, /certificate is not accepted/);
		const connection = await bench.connect(url, { verifySsl: false });
		assert.ok("task" in (await send(connection)));
		// The connection that was made without looking is not lent to a call that looks.
		assert.match((await failure(bench.connect(`${url}other`))).message, /certificate is not accepted/);
		assert.equal(process.env.NODE_TLS_REJECT_UNAUTHORIZED, undefined);
	});

	it("spoken to a peer without it says so", async () => {
		const plain = createPlain((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"));
		await new Promise<void>((resolve) => plain.listen(0, "127.0.0.1", resolve));
		const error = await failure(bench.connect(`https://127.0.0.1:${(plain.address() as AddressInfo).port}/`));
		assert.match(error.message, /plain http/);
		plain.close();
	});
});
