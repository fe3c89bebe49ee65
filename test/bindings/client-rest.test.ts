import assert from "node:assert/strict";
import type { A2AError } from "../../src/protocol/errors.ts";
import { type TaskId, taskId } from "../../src/protocol/types.ts";
import type { FaultyPeer, PeerRequest, Wire } from "../support/faulty-peer.ts";
import { Bench, cardFor, drain, NEVER, send, states, stream, task, update } from "./client-support.ts";

type Interface = readonly [binding: string, version: string, path: string, more?: object];

const REST: Interface = ["HTTP+JSON", "1.0", "rest/"];
const RPC: Interface = ["JSONRPC", "1.0", "rpc"];
const TYPE = { "content-type": "application/a2a+json" };

describe("the HTTP client and a peer's HTTP+JSON interface", () => {
	const bench = new Bench();
	afterEach(() => bench.close());

	/** A peer whose card lists these interfaces; `answer` answers everything but the card. */
	async function peerWith(
		interfaces: readonly Interface[],
		answer: (request: PeerRequest, wire: Wire) => unknown,
	): Promise<FaultyPeer> {
		const peer: FaultyPeer = await bench.bare((request, wire) => {
			if (!request.path.includes(".well-known")) return answer(request, wire);
			const supportedInterfaces = interfaces.map(([protocolBinding, protocolVersion, path, more]) => ({
				url: `${peer.url}${path}`,
				protocolBinding,
				protocolVersion,
				...more,
			}));
			return wire.json(cardFor("", { supportedInterfaces }));
		});
		return peer;
	}
	const called = (peer: FaultyPeer) =>
		peer.requests.filter(({ path }) => !path.includes(".well-known")).map(({ method, path }) => `${method} ${path}`);
	const failure = async (work: Promise<unknown>): Promise<A2AError> => {
		const error = await work.then(
			() => assert.fail("no error"),
			(thrown: A2AError) => thrown,
		);
		return error;
	};

	it("takes it when the card lists it first, and JSON-RPC when that comes first", async () => {
		const answer = ({ path }: PeerRequest, wire: Wire) =>
			path.startsWith("/rest") ? wire.json(task("COMPLETED"), 200, TYPE) : wire.result(task("COMPLETED"));
		const first = await peerWith([["GRPC", "1.0", "grpc"], REST, RPC], answer);
		await send(await bench.connect(first.url));
		assert.deepEqual(called(first), ["POST /rest/message:send"]);
		const second = await peerWith([RPC, REST], answer);
		await send(await bench.connect(second.url));
		assert.deepEqual(called(second), ["POST /rpc"]);
	});

	it("sends what the binding asks for: version, media types, credential, the message itself", async () => {
		const peer = await peerWith([REST], (_request, wire) => wire.json(task("COMPLETED")));
		await send(await bench.connect(peer.url, { token: "tok", identity: "me" }), "hi");
		const { headers, body } = peer.requests[1] ?? assert.fail();
		assert.equal(headers["a2a-version"], "1.0");
		assert.equal(headers["content-type"], "application/a2a+json");
		assert.match(headers.accept ?? "", /application\/a2a\+json, application\/json/);
		assert.deepEqual([headers.authorization, headers["x-a2a-identity"]], ["Bearer tok", "me"]);
		const { message } = JSON.parse(body);
		assert.deepEqual([message.role, message.parts], ["ROLE_USER", [{ text: "hi" }]]);
	});

	it("puts parameters where they belong: path, query, tenant", async () => {
		const tenanted: Interface = ["HTTP+JSON", "1.0", "base?key=1", { tenant: "a b" }];
		const peer = await peerWith([tenanted], ({ path }, wire) =>
			wire.json(
				path.includes("/tasks?") ? { tasks: [], nextPageToken: "", pageSize: 5, totalSize: 0 } : task("X").task,
			),
		);
		const { agent, call } = await bench.connect(peer.url);
		await agent.request("GetTask", { id: taskId("t/1 ü"), historyLength: 2 }, call(NEVER));
		await agent.request("ListTasks", { pageSize: 5, includeArtifacts: true }, call(NEVER));
		await agent.request("CancelTask", { id: taskId("t") }, call(NEVER));
		assert.deepEqual(called(peer), [
			"GET /base/a%20b/tasks/t%2F1%20%C3%BC?key=1&historyLength=2",
			"GET /base/a%20b/tasks?key=1&pageSize=5&includeArtifacts=true",
			"POST /base/a%20b/tasks/t:cancel?key=1",
		]);
	});

	it("sends no id that would lead to another path", async () => {
		const peer = await peerWith([REST], (_request, wire) => wire.json(task("COMPLETED").task));
		const { agent, call } = await bench.connect(peer.url);
		for (const id of ["..", ".", "", "\ud800"]) {
			const error = await failure(agent.request("GetTask", { id: id as TaskId }, call(NEVER)));
			assert.equal(error.name, "InvalidParamsError");
		}
		assert.deepEqual(called(peer), []);
	});

	it("reads an answer without a body as an empty result, and one that is no JSON as none", async () => {
		const peer = await peerWith([REST], ({ method }, wire) =>
			method === "DELETE" ? wire.send(204, "") : wire.send(200, "<html>", { "content-type": "text/html" }),
		);
		const connection = await bench.connect(peer.url);
		const params = { taskId: taskId("t"), id: "c" };
		const call = connection.call(NEVER);
		assert.deepEqual(await connection.agent.request("DeleteTaskPushNotificationConfig", params, call), {});
		assert.match((await failure(send(connection))).message, /text\/html instead of JSON/);
	});

	it("reads a stream of plain items, and the error that ends one", async () => {
		const peer = await peerWith([REST], async (_request, wire) => {
			await wire.events();
			await wire.write(`data: ${JSON.stringify(task("WORKING"))}\n\ndata: ${JSON.stringify(update("WORKING"))}\n\n`);
			const status = { code: 404, status: "NOT_FOUND", message: "gone", details: [{ reason: "METHOD_NOT_FOUND" }] };
			await wire.write(`event: error\ndata: ${JSON.stringify({ error: status })}\n\n`);
			wire.end();
		});
		const { items, error } = await drain(stream(await bench.connect(peer.url)));
		assert.deepEqual(states(items), ["TASK_STATE_WORKING", "TASK_STATE_WORKING"]);
		assert.equal((error as A2AError).message, "gone");
		assert.deepEqual(called(peer), ["POST /rest/message:stream"]);
	});

	it("knows a refusal by its reason, and takes the word of no one else for the peer's", async () => {
		const details = [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "UNTRUSTED_CALLER" }];
		for (const [status, body, name, said] of [
			[403, { error: { code: 403, message: "not you", details } }, "UntrustedCallerError", /^not you$/],
			[429, { error: { code: 429, message: "slow" } }, "RateLimitedError", /^slow$/],
			[403, { detail: "proxy says no" }, "ForbiddenError", /does not allow.*proxy says no/],
			[502, "<html>", "PeerUnreachableError", /HTTP 502/],
			[400, { error: "odd" }, "InvalidAgentResponseError", /HTTP 400: odd/],
		] as const) {
			const peer = await peerWith([REST], (_request, wire) => wire.json(body, status, { "retry-after": "7" }));
			const error = await failure(send(await bench.connect(peer.url)));
			assert.equal(error.name, name);
			assert.match(error.message, said);
			assert.equal(error.details.retryAfter, 7);
		}
	});

	describe("that is not there", () => {
		const nothing: readonly [string, (wire: Wire) => unknown][] = [
			["404 of whatever", (wire) => wire.send(404, "<h1>Not Found</h1>", { "content-type": "text/html" })],
			["404 in JSON", (wire) => wire.json({ detail: "Not Found" }, 404)],
			["405", (wire) => wire.send(405, "")],
			[
				"the peer's own word",
				(wire) => wire.json({ error: { code: 404, message: "no", details: [{ reason: "METHOD_NOT_FOUND" }] } }, 404),
			],
		];
		for (const [what, nowhere] of nothing)
			it(`gives way to the next one (${what}), for all further calls`, async () => {
				const peer = await peerWith([REST, RPC], async ({ path }, wire) => {
					if (path.startsWith("/rest")) return nowhere(wire);
					await wire.result(task("COMPLETED"));
				});
				const connection = await bench.connect(peer.url);
				const sent = await send(connection);
				assert.ok("task" in sent);
				await send(connection);
				assert.deepEqual(called(peer), ["POST /rest/message:send", "POST /rpc", "POST /rpc"]);
			});

		it("gives way for a stream, and for JSON-RPC that is not there, just so", async () => {
			const peer = await peerWith([RPC, REST], async ({ path }, wire) => {
				if (path === "/rpc") return wire.send(404, "");
				await wire.events();
				await wire.write(`data: ${JSON.stringify(task("COMPLETED"))}\n\n`);
			});
			const { items, error } = await drain(stream(await bench.connect(peer.url)));
			assert.equal(error, undefined);
			assert.deepEqual(states(items), ["TASK_STATE_COMPLETED"]);
			assert.deepEqual(called(peer), ["POST /rpc", "POST /rest/message:stream"]);
		});

		it("is an error when there is no other", async () => {
			const peer = await peerWith([REST], (_request, wire) => wire.send(404, ""));
			assert.match((await failure(send(await bench.connect(peer.url)))).message, /nothing at this address/);
			assert.equal(called(peer).length, 1);
		});
	});

	it("asks nobody else where work may have begun, or the answer is about a task", async () => {
		const missing = { error: { code: 404, message: "none", details: [{ reason: "TASK_NOT_FOUND" }] } };
		const answers: readonly [string, (wire: Wire) => unknown][] = [
			["TaskNotFoundError", (wire) => wire.json(missing, 404)],
			["PeerUnreachableError", (wire) => wire.cut()],
			["PeerUnreachableError", (wire) => wire.send(503, "")],
			["InvalidAgentResponseError", (wire) => wire.json({ odd: true })],
		];
		for (const [name, answer] of answers) {
			const peer = await peerWith([REST, RPC], (_request, wire) => answer(wire));
			assert.equal((await failure(send(await bench.connect(peer.url)))).name, name);
			assert.deepEqual([...new Set(called(peer))], ["POST /rest/message:send"]);
		}
	});

	it("goes to no other origin, but to another interface on this one", async () => {
		const elsewhere = { url: "https://evil.example/rest" };
		const peer = await peerWith([["HTTP+JSON", "1.0", "", elsewhere], RPC], (_request, wire) =>
			wire.result(task("COMPLETED")),
		);
		await send(await bench.connect(peer.url, { token: "tok" }));
		assert.deepEqual(called(peer), ["POST /rpc"]);
		const only = await peerWith([["HTTP+JSON", "1.0", "", elsewhere]], (_request, wire) => wire.json({}));
		assert.equal((await failure(bench.connect(only.url))).name, "ForbiddenError");
	});

	it("is left aside for a pinned peer that has JSON-RPC", async () => {
		const peer = await peerWith([REST, RPC], (_request, wire) => wire.result(task("COMPLETED")));
		await send(await bench.connect(`${peer.url}peer/one/`, { pinned: true }));
		assert.deepEqual(called(peer), ["POST /peer/one/"]);
	});

	it("goes on to the next interface when one refuses the version, and stays there", async () => {
		const details = [{ reason: "VERSION_NOT_SUPPORTED" }];
		const peer = await peerWith([REST, RPC], ({ path }, wire) =>
			path.startsWith("/rest")
				? wire.json({ error: { code: 400, status: "FAILED_PRECONDITION", message: "no", details } }, 400)
				: wire.result(task("COMPLETED")),
		);
		const connection = await bench.connect(peer.url);
		await send(connection);
		await send(connection);
		assert.deepEqual(called(peer), ["POST /rest/message:send", "POST /rpc", "POST /rpc"]);
	});

	it("sends nothing to a peer that requires an extension which is not known here", async () => {
		const uri = "https://example.com/must";
		const peer: FaultyPeer = await bench.bare((_request, wire) =>
			wire.json(cardFor(peer.url, { capabilities: { streaming: true, extensions: [{ uri, required: true }] } })),
		);
		const connection = await bench.connect(peer.url);
		const error = await failure(send(connection));
		assert.equal(error.name, "ExtensionSupportRequiredError");
		assert.match(error.message, /https:\/\/example\.com\/must\. Nothing was sent/);
		assert.deepEqual(called(peer), []);
	});
});
