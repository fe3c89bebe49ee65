import assert from "node:assert/strict";
import { createHttpPool } from "../../src/bindings/http/pool.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { contextId, taskId } from "../../src/protocol/types.ts";
import { Bench, cardFor, drain, NEVER, SAFE, send, states, stream, task, update } from "./client-support.ts";
import { collect, say, until } from "./contract.ts";

const V03_TASK = {
	kind: "task",
	id: "t",
	contextId: "c",
	status: { state: "completed" },
	artifacts: [{ artifactId: "a", parts: [{ kind: "text", text: "ok" }] }],
};

describe("a call of the HTTP client", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.close());

	const failure = async (work: Promise<unknown>): Promise<A2AError> => {
		const error = await work.then(
			() => undefined,
			(thrown) => thrown,
		);
		assert.ok(error instanceof A2AError, String(error));
		return error;
	};

	// R086
	it("says its version and who we are, on every request", async () => {
		const peer = await bench.peer(async ({ rpc }, wire) => {
			if (rpc.method !== "SendStreamingMessage" && rpc.method !== "SubscribeToTask") {
				return wire.result(rpc.method === "SendMessage" ? task("COMPLETED") : task("COMPLETED").task);
			}
			await wire.events();
			await wire.event(update("COMPLETED"));
		});
		const connection = await bench.connect(peer.url, { identity: "pi-kimchi ü\r\nx: y", token: "tok" });
		const { agent, call } = connection;
		await send(connection);
		await drain(stream(connection));
		const id = taskId("t1");
		await agent.request("GetTask", { id }, call(NEVER));
		await agent.request("CancelTask", { id }, call(NEVER));
		await collect(agent.stream("SubscribeToTask", { id }, call(NEVER)));
		assert.equal(peer.requests.length, 6);
		for (const { headers, method } of peer.requests) {
			assert.equal(headers["a2a-version"], "1.0");
			assert.equal(headers["x-a2a-identity"], "pi-kimchi ? x: y");
			assert.equal(headers["accept-encoding"], "identity");
			assert.equal(headers.authorization, method === "POST" ? "Bearer tok" : undefined);
		}
	});

	it("leaves out an identity that there is not, and a token that is empty", async () => {
		const peer = await bench.peer((_request, wire) => wire.result(task("COMPLETED")));
		await send(await bench.connect(peer.url, { identity: "", token: "" }));
		assert.equal(peer.requests.length, 2);
		for (const { headers } of peer.requests) {
			assert.deepEqual([headers["x-a2a-identity"], headers.authorization], [undefined, undefined]);
		}
	});

	it("keeps its connection for the next one, and closes it with the pool", async () => {
		const peer = await bench.peer((_request, wire) => wire.result(task("COMPLETED")), SAFE);
		const connection = await bench.connect(peer.url);
		for (let i = 0; i < 5; i++) await send(connection);
		assert.deepEqual([...new Set(peer.requests.map((each) => each.connection))], [0]);
		bench.pool.close();
		bench.pool.close();
		await until(() => peer.open === 0);
	});

	it("is sent again, uncounted, when the kept connection turns out to be closed", async () => {
		const peer = await bench.peer(
			(_request, wire, call) => (call === 1 ? wire.cut() : wire.result(task("COMPLETED"))),
			SAFE,
		);
		const connection = await bench.connect(peer.url);
		await send(connection);
		assert.ok("task" in (await send(connection)));
		assert.equal(peer.requests.length, 4);
	});

	it("that may not be sent twice takes a connection of its own: a kept one may be closed already", async () => {
		const peer = await bench.peer((_request, wire) => wire.result(task("COMPLETED")));
		const connection = await bench.connect(peer.url);
		await send(connection);
		await send(connection);
		assert.deepEqual(
			peer.requests.map((each) => each.connection),
			[0, 1, 2],
		);
	});

	// R068
	it("to a peer whose card is of 0.3 is a 0.3 call", async () => {
		const peer = await bench.bare((request, wire) => {
			if (request.method === "GET") {
				const { supportedInterfaces, ...rest } = cardFor("") as { supportedInterfaces: unknown };
				return wire.json({ ...rest, url: peer.url, protocolVersion: "0.3.0" });
			}
			if (request.rpc.method !== "message/send") return wire.error(-32601, "Method not found");
			return wire.result(V03_TASK);
		});
		const connection = await bench.connect(peer.url);
		const result = await send(connection, "hi");
		assert.ok("task" in result);
		assert.deepEqual(
			[result.task.status.state, result.task.artifacts?.[0]?.parts],
			["TASK_STATE_COMPLETED", [{ text: "ok" }]],
		);
		const { headers, rpc } = peer.requests[1] ?? assert.fail();
		assert.equal(headers["a2a-version"], "0.3");
		const { kind, role, parts } = (rpc.params?.message ?? {}) as { kind?: string; role?: string; parts?: unknown };
		assert.deepEqual([kind, role, parts], ["message", "user", [{ kind: "text", text: "hi" }]]);
		assert.equal(connection.call(NEVER).service.version, "0.3");
	});

	it("to a peer whose card lists both versions is a 1.0 call, even if 0.3 is listed first", async () => {
		const peer = await bench.bare((request, wire) => {
			if (request.method !== "GET") return wire.result(task("COMPLETED"));
			const at = (protocolBinding: string, protocolVersion: string) => ({
				url: peer.url,
				protocolBinding,
				protocolVersion,
			});
			const supportedInterfaces = [at("JSONRPC", "0.3"), at("GRPC", "1.0"), at("JSONRPC", "1.0")];
			return wire.json(cardFor(peer.url, { supportedInterfaces }));
		});
		await send(await bench.connect(peer.url));
		assert.equal(peer.requests[1]?.rpc.method, "SendMessage");
	});

	it("carries the tenant that the card asks for", async () => {
		const peer = await bench.bare((request, wire) => {
			if (request.method !== "GET") return wire.result(task("COMPLETED"));
			const one = { url: `${peer.url}t`, protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "acme" };
			return wire.json(cardFor("", { supportedInterfaces: [one] }));
		});
		await send(await bench.connect(peer.url));
		assert.deepEqual([peer.requests[1]?.path, peer.requests[1]?.rpc.params?.tenant], ["/t", "acme"]);
	});

	it("to a peer without a card goes to its URL, in 1.0, then in 0.3 when it does not know the name", async () => {
		const peer = await bench.bare((request, wire) => {
			if (request.method === "GET") return wire.send(404, "");
			if (request.rpc.method === "message/send") return wire.result(V03_TASK);
			if (request.rpc.method === "tasks/get") return wire.result(V03_TASK);
			return wire.error(-32601, "Method not found");
		});
		const connection = await bench.connect(`${peer.url}a2a`);
		assert.deepEqual([connection.card(), connection.streaming], [undefined, false]);
		assert.ok("task" in (await send(connection)));
		await connection.agent.request("GetTask", { id: taskId("t") }, connection.call(NEVER));
		const calls = peer.requests.filter(({ method }) => method === "POST");
		assert.deepEqual(
			calls.map(({ path, rpc, headers }) => [path, rpc.method, headers["a2a-version"]]),
			[
				["/a2a", "SendMessage", "1.0"],
				["/a2a", "message/send", "0.3"],
				["/a2a", "tasks/get", "0.3"],
			],
		);
		const bodies = calls.slice(0, 2).map(({ body }) => /"messageId":"([^"]+)"/.exec(body)?.[1]);
		assert.equal(bodies[0], bodies[1]);
	});

	it("falls back once, and not for a peer that has shown that it speaks 1.0", async () => {
		const never = await bench.bare((request, wire) =>
			request.method === "GET" ? wire.send(404, "") : wire.error(-32601, "no"),
		);
		const connection = await bench.connect(never.url);
		assert.equal((await failure(send(connection))).name, "MethodNotFoundError");
		assert.equal((await failure(send(connection))).name, "MethodNotFoundError");
		assert.equal(never.requests.filter(({ method }) => method === "POST").length, 3);
		const newer = await bench.bare((request, wire, number) => {
			if (request.method === "GET") return wire.send(404, "");
			return number < 3 ? wire.result(task("COMPLETED")) : wire.error(-32601, "no");
		});
		const second = await bench.connect(newer.url);
		await send(second);
		await failure(send(second));
		assert.equal(newer.requests.filter(({ method }) => method === "POST").length, 2);
	});

	// R046
	it("bears with every optional member missing or empty", async () => {
		const status = { state: "TASK_STATE_SUBMITTED" };
		const replies = [
			{ task: { id: "t1", contextId: "c1", status } },
			{ task: { id: "t1", contextId: "c1", status: { ...status, message: null }, artifacts: [], history: null } },
			{ task: { id: "t1", contextId: "c1", status, artifacts: [{ artifactId: "a", parts: [] }] } },
		];
		const peer = await bench.peer((_request, wire, call) => wire.result(replies[call]));
		const connection = await bench.connect(peer.url);
		for (const _reply of replies) {
			const result = await send(connection);
			assert.ok("task" in result && result.task.status.state === "TASK_STATE_SUBMITTED");
		}
	});

	// R047
	it("says in one line what is wrong with a reply that is neither a task nor a message", async () => {
		const peer = await bench.peer((_request, wire) =>
			wire.result({ Task: { id: "x", parts: [{ text: "hello" }], snapshot: {} } }),
		);
		const error = await failure(send(await bench.connect(peer.url)));
		assert.equal(error.name, "InvalidAgentResponseError");
		assert.match(error.message, /^[^\n]{1,300}$/);
		assert.match(error.message, /neither a task nor a message/);
	});

	// R067
	it("reads states however they are spelled", async () => {
		const spellings = [
			"completed",
			"COMPLETED",
			"TASK_STATE_COMPLETED",
			"canceled",
			"cancelled",
			"input_required",
			"input-required",
		];
		const peer = await bench.peer((_request, wire, call) =>
			wire.result({ ...V03_TASK, status: { state: spellings[call] } }),
		);
		const connection = await bench.connect(peer.url);
		const read: string[] = [];
		for (const _spelling of spellings) {
			const result = await send(connection);
			assert.ok("task" in result);
			read.push(result.task.status.state.replace("TASK_STATE_", ""));
		}
		assert.deepEqual(read, [
			"COMPLETED",
			"COMPLETED",
			"COMPLETED",
			"CANCELED",
			"CANCELED",
			"INPUT_REQUIRED",
			"INPUT_REQUIRED",
		]);
	});

	// R072
	it("ignores members that it does not know, in card and reply", async () => {
		const peer = await bench.peer(
			(_request, wire) => wire.result({ ...task("COMPLETED", { futureHint: {} }), more: 1 }),
			{
				futureHint: { x: 1 },
			},
		);
		assert.ok("task" in (await send(await bench.connect(peer.url))));
	});

	// R077
	it("takes no reply that is not one to its request", async () => {
		const message = { messageId: "m", role: "ROLE_AGENT", parts: [] };
		const bad = [
			{ id: 1, result: { message } },
			{ jsonrpc: "2.0", id: 999, result: { message } },
			{ jsonrpc: "2.0", id: "1", result: { message } },
			{ jsonrpc: "2.0", id: 1 },
			[],
			null,
			"x",
		];
		const peer = await bench.peer((_request, wire, call) => wire.json(bad[call]));
		for (const _reply of bad) {
			const connection = await bench.connect(peer.url);
			assert.equal((await failure(send(connection))).name, "InvalidAgentResponseError");
		}
	});

	it("gives the peer's own error, whatever the status around it", async () => {
		const answers = [
			[-32001, 200, "TaskNotFoundError"],
			[-32001, 404, "TaskNotFoundError"],
			[-32602, 400, "InvalidParamsError"],
			[-32050, 401, "UnauthorizedError"],
			[-32052, 403, "UntrustedCallerError"],
			[-32053, 503, "BusyError"],
			[-32054, 429, "TurnLimitError"],
			[-31999, 200, "InternalError"],
			// A gateway's own codes, which do not mean what they mean here.
			[-32001, 401, "UnauthorizedError"],
			[-32002, 403, "ForbiddenError"],
			[-32003, 429, "RateLimitedError"],
		] as const;
		const peer = await bench.peer((_request, wire, call) => {
			const [code, status] = answers[call] ?? [0, 0];
			return wire.error(code, "said the peer", status);
		});
		const connection = await bench.connect(peer.url);
		for (const [code, status, name] of answers) {
			const error = await failure(send(connection));
			assert.deepEqual([error.name, error.details.metadata?.code], [name, String(code)], `${code} in ${status}`);
			assert.match(error.message, /said the peer/);
		}
	});

	it("names the status and the place of what is no JSON-RPC at all", async () => {
		const answers = [
			[401, "UnauthorizedError"],
			[403, "ForbiddenError"],
			[404, "InvalidAgentResponseError"],
			[413, "PayloadTooLargeError"],
			[500, "PeerUnreachableError"],
			[503, "PeerUnreachableError"],
			[200, "InvalidAgentResponseError"],
		] as const;
		const peer = await bench.peer((_request, wire, call) =>
			wire.send(answers[call]?.[0] ?? 0, "<html>\nno</html>", { "content-type": "text/html" }),
		);
		const connection = await bench.connect(peer.url);
		for (const [status, name] of answers) {
			const error = await failure(send(connection));
			assert.equal(error.name, name, String(status));
			assert.match(error.message, new RegExp(`^[^\\n]*127\\.0\\.0\\.1:${peer.port}[^\\n]*HTTP ${status}`));
			assert.doesNotMatch(error.message, /<html/);
		}
	});

	it("takes JSON of any media type, or of none said, and no compressed reply", async () => {
		const types = ["application/json; charset=utf-8", "application/a2a+json", "application/vnd.x+json", undefined];
		const peer = await bench.peer(({ rpc }, wire, call) => {
			const body = JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result: task("COMPLETED") });
			const type = types[call];
			const extra = call === types.length ? { "content-encoding": "gzip" } : {};
			return wire.send(200, body, { ...(type ? { "content-type": type } : {}), ...extra });
		});
		const connection = await bench.connect(peer.url);
		for (const _type of types) assert.ok("task" in (await send(connection)));
		assert.match((await failure(send(connection))).message, /compressed/);
	});

	it("stops a reply that does not end", async () => {
		const peer = await bench.peer(async (_request, wire) => {
			await wire.head(200, { "content-type": "application/json" });
			const megabyte = " ".repeat(1024 * 1024);
			for (let i = 0; i < 64; i++) await wire.write(megabyte);
		});
		assert.match((await failure(send(await bench.connect(peer.url)))).message, /larger than 33554432 bytes/);
	});

	// R097
	it("lasts as long as our limit says and no shorter, and the error names the limit", async () => {
		const clock = manualClock();
		const peer = await bench.peer(
			(_request, wire, call) => call === 0 && wire.head(200, { "content-type": "application/json" }),
		);
		const connection = await bench.connect(peer.url, { clock, sendTimeoutMs: 360_000 });
		for (const _try of [1, 2]) {
			const result = failure(send(connection));
			await until(() => clock.pending === 1);
			await clock.advance(359_000);
			assert.equal(clock.pending, 1);
			await clock.advance(1_000);
			const error = await result;
			assert.equal(error.name, "PeerTimeoutError");
			assert.match(error.message, /360 s, our own limit \(timeouts\.send\)/);
			assert.equal(clock.pending, 0);
		}
	});

	it("ends when its caller gives up, with the caller's reason, and its connection is closed", async () => {
		const peer = await bench.peer(() => undefined, SAFE);
		const connection = await bench.connect(peer.url);
		const controller = new AbortController();
		const result = send(connection, "hi", controller.signal);
		await until(() => peer.requests.length === 2);
		controller.abort(new Error("enough"));
		await assert.rejects(result, /enough/);
		await until(() => peer.open === 0);
		await assert.rejects(send(connection, "hi", controller.signal), /enough/);
		assert.equal(peer.requests.length, 2);
	});

	it("sends the message as it is, ids and all", async () => {
		const peer = await bench.peer((_request, wire) => wire.result(task("COMPLETED")));
		const connection = await bench.connect(peer.url);
		const { message } = say("état 🧪");
		const params = {
			message: { ...message, contextId: contextId("c1"), taskId: taskId("t1") },
			configuration: { returnImmediately: true },
		};
		const result = await connection.agent.request("SendMessage", params, connection.call(NEVER));
		assert.deepEqual(states(["task" in result ? { task: result.task } : result]), ["TASK_STATE_COMPLETED"]);
		assert.deepEqual(peer.requests[1]?.rpc.params, params);
	});

	it("leaves nothing that keeps the process alive", async () => {
		const pool = createHttpPool();
		const peer = await bench.peer((_request, wire) => wire.result(task("COMPLETED")));
		await send(await bench.connect(peer.url, { pool }));
		const free = Object.values(pool.agentFor(new URL(peer.url)).freeSockets).flat();
		assert.equal(free.length, 1);
		assert.equal((free[0] as unknown as { _handle: { hasRef(): boolean } })._handle.hasRef(), false);
		pool.close();
	});
});
