/** Our client and a peer that has only 0.3: over HTTP+JSON, and what some answer over JSON-RPC. */
import assert from "node:assert/strict";
import { SAFE_RETRY_EXTENSION } from "../../src/protocol/card.ts";
import type { A2AError } from "../../src/protocol/errors.ts";
import { taskId } from "../../src/protocol/types.ts";
import type { FaultyPeer, PeerRequest, Wire } from "../support/faulty-peer.ts";
import { Bench, drain, NEVER, send, stream } from "./client-support.ts";

const UPDATE = { taskId: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" }, final: true };
const TASK = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } };
const refusal = (work: Promise<unknown>): Promise<A2AError> =>
	work.then(
		() => assert.fail("no error"),
		(error: A2AError) => error,
	);

describe("the HTTP client and a peer of 0.3", () => {
	const bench = new Bench();
	afterEach(() => bench.close());

	/** A peer with a card of 0.3; `answer` answers everything but the card. */
	async function peerWith(
		transport: "JSONRPC" | "HTTP+JSON",
		answer: (request: PeerRequest, wire: Wire) => unknown,
		capabilities: object = {},
	): Promise<FaultyPeer> {
		const peer: FaultyPeer = await bench.bare((request, wire) => {
			if (!request.path.includes(".well-known")) return answer(request, wire);
			const about = { name: "old", description: "Of 0.3", version: "1", skills: [], protocolVersion: "0.3.0" };
			const how = { url: `${peer.url}a2a/`, preferredTransport: transport };
			return wire.json({ ...about, ...how, capabilities: { streaming: true, ...capabilities } });
		});
		return peer;
	}

	it("speaks the form of its HTTP+JSON: its paths, its media type, its words", async () => {
		const peer = await peerWith("HTTP+JSON", (_request, wire) => wire.json({ task: TASK }, 201));
		const answer = await send(await bench.connect(peer.url), "hi");
		assert.equal("task" in answer && answer.task.status.state, "TASK_STATE_COMPLETED");
		const { method, path, headers, body } = peer.requests.at(-1) ?? assert.fail();
		assert.equal(`${method} ${path}`, "POST /a2a/v1/message:send");
		assert.deepEqual(
			[headers["a2a-version"], headers["content-type"], headers.accept],
			["0.3", "application/json", "application/json"],
		);
		const { message, configuration } = JSON.parse(body);
		assert.deepEqual([message.role, message.content, message.parts], ["ROLE_USER", [{ text: "hi" }], undefined]);
		assert.equal(configuration.blocking, true);
	});

	it("knows its errors by their code, as an answer and in a stream", async () => {
		const error = { code: -32001, message: "no such task" };
		const peer = await peerWith("HTTP+JSON", async ({ path }, wire) => {
			if (!path.endsWith(":stream")) return wire.json(error, 404);
			await wire.events();
			await wire.write(`data: ${JSON.stringify({ task: { ...TASK, status: { state: "TASK_STATE_WORKING" } } })}\n\n`);
			return wire.write(`event: error\ndata: ${JSON.stringify(error)}\n\n`);
		});
		const connection = await bench.connect(peer.url);
		const { agent, call } = connection;
		const asked = await refusal(agent.request("GetTask", { id: taskId("t1") }, call(NEVER)));
		assert.deepEqual([asked.name, asked.message], ["TaskNotFoundError", "no such task"]);
		assert.deepEqual(asked.details.metadata, { code: "-32001", status: "404" });
		const { items, error: later } = await drain(stream(connection));
		assert.equal(items.length, 1);
		assert.equal((later as A2AError | undefined)?.name, "TaskNotFoundError");
	});

	it("reads a stream to its end", async () => {
		const peer = await peerWith("HTTP+JSON", async (_request, wire) => {
			await wire.events();
			return wire.write(`data: ${JSON.stringify({ statusUpdate: UPDATE })}\n\n`);
		});
		const { items, error } = await drain(stream(await bench.connect(peer.url)));
		assert.deepEqual([items.length, error], [1, undefined]);
	});

	it("takes an empty answer to a deletion, and over JSON-RPC one without a result", async () => {
		const ref = { taskId: taskId("t1"), id: "c1" };
		const rest = await peerWith("HTTP+JSON", (_request, wire) => wire.send(204, ""));
		const one = await bench.connect(rest.url);
		assert.deepEqual(await one.agent.request("DeleteTaskPushNotificationConfig", ref, one.call(NEVER)), {});
		assert.equal(rest.requests.at(-1)?.path, "/a2a/v1/tasks/t1/pushNotificationConfigs/c1");
		const bare = await peerWith("JSONRPC", ({ body }, wire) => wire.json({ jsonrpc: "2.0", id: JSON.parse(body).id }));
		const other = await bench.connect(bare.url);
		assert.deepEqual(await other.agent.request("DeleteTaskPushNotificationConfig", ref, other.call(NEVER)), {});
		const { message } = await refusal(other.agent.request("GetTask", { id: taskId("t1") }, other.call(NEVER)));
		assert.match(message, /neither a result nor an error/);
	});

	it("asks for the extensions that it knows, by the header's old name as well", async () => {
		const extensions = [SAFE_RETRY_EXTENSION, { uri: "https://example.com/unknown" }];
		const peer = await peerWith("HTTP+JSON", (_request, wire) => wire.json({ task: TASK }), { extensions });
		await send(await bench.connect(peer.url));
		const { headers } = peer.requests.at(-1) ?? assert.fail();
		const { uri } = SAFE_RETRY_EXTENSION;
		assert.deepEqual([headers["a2a-extensions"], headers["x-a2a-extensions"]], [uri, uri]);
	});
});
