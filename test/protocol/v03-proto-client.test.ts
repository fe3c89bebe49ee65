/** What our client sends to a 0.3 peer over HTTP+JSON, and how it reads the answers. */
import assert from "node:assert/strict";
import { decodeParams, decodeResult } from "../../src/protocol/decode.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import type { OperationName, Params, Results } from "../../src/protocol/operations.ts";
import { contextId, type Message, type Task, taskId } from "../../src/protocol/types.ts";
import {
	buildProto,
	fromProtoResult,
	isProtoError,
	protoError,
	protoParams,
	protoResult,
	readProtoError,
} from "../../src/protocol/v03/index.ts";

const message: Message = {
	messageId: "m",
	role: "ROLE_USER",
	parts: [{ text: "" }, { data: { data: { deep: 1 } } }, { raw: "AAAA", filename: "a.bin", mediaType: "a/b" }],
	taskId: taskId("t1"),
	contextId: contextId("c1"),
};
const id = taskId("t1");

describe("requests of 0.3 over HTTP+JSON", () => {
	it("have their paths below /v1, and the card one of its own", () => {
		const at = <K extends OperationName>(operation: K, params: Params[K]) => {
			const { verb, path } = buildProto(operation, params);
			return `${verb} ${path}`;
		};
		const ref = { taskId: id, id: "c 1" };
		assert.equal(at("SendMessage", { message }), "POST /v1/message:send");
		assert.equal(at("SendStreamingMessage", { message }), "POST /v1/message:stream");
		assert.equal(at("GetTask", { id, historyLength: 2 }), "GET /v1/tasks/t1?historyLength=2");
		assert.equal(at("CancelTask", { id }), "POST /v1/tasks/t1:cancel");
		assert.equal(at("SubscribeToTask", { id }), "POST /v1/tasks/t1:subscribe");
		assert.equal(at("GetTaskPushNotificationConfig", ref), "GET /v1/tasks/t1/pushNotificationConfigs/c%201");
		assert.equal(at("DeleteTaskPushNotificationConfig", ref), "DELETE /v1/tasks/t1/pushNotificationConfigs/c%201");
		assert.equal(at("ListTaskPushNotificationConfigs", { taskId: id }), "GET /v1/tasks/t1/pushNotificationConfigs");
		assert.equal(at("GetExtendedAgentCard", {}), "GET /v1/card");
	});

	it("say that they wait, since silence means no, and have no tenant", () => {
		const body = (params: Params["SendMessage"]) => buildProto("SendMessage", params).body as Record<string, unknown>;
		assert.deepEqual(body({ message, tenant: "x" }).configuration, { blocking: true });
		assert.deepEqual(body({ message, configuration: { returnImmediately: true } }).configuration, { blocking: false });
		assert.equal("tenant" in body({ message, tenant: "x" }), false);
		assert.match(buildProto("SendMessage", { message, tenant: "x" }).path, /^\/v1\/message/);
	});

	it("are read by our own server as what was meant", () => {
		const configuration = { taskPushNotificationConfig: { url: "https://h.example/", token: "t" } };
		const { body } = buildProto("SendMessage", { message, configuration, metadata: { a: 1 } });
		const json: unknown = JSON.parse(JSON.stringify(body));
		assert.deepEqual(decodeParams.SendMessage(protoParams("SendMessage", json)), {
			message,
			configuration: { ...configuration, returnImmediately: false },
			metadata: { a: 1 },
		});
		const config = { taskId: id, id: "c1", url: "https://h.example/", token: "t" };
		const made: unknown = JSON.parse(JSON.stringify(buildProto("CreateTaskPushNotificationConfig", config).body));
		const params = protoParams("CreateTaskPushNotificationConfig", { ...(made as object), taskId: id });
		assert.deepEqual(decodeParams.CreateTaskPushNotificationConfig(params), config);
	});
});

describe("answers of 0.3 over HTTP+JSON", () => {
	const said: Message = { ...message, role: "ROLE_AGENT" };
	const task: Task = {
		id,
		contextId: contextId("c1"),
		status: { state: "TASK_STATE_CANCELED", message: said, timestamp: "2026-01-01T00:00:00Z" },
		artifacts: [{ artifactId: "a", parts: message.parts }],
		history: [message],
	};
	const config = { taskId: id, id: "c1", url: "https://h.example/", token: "t" };
	const ids = { taskId: id, contextId: contextId("c1") };

	const ROUND: readonly { readonly [K in OperationName]: readonly [K, Results[K]] }[OperationName][] = [
		["SendMessage", { task }],
		["SendMessage", { message: said }],
		["SubscribeToTask", { statusUpdate: { ...ids, status: task.status } }],
		[
			"SubscribeToTask",
			{ artifactUpdate: { ...ids, artifact: { artifactId: "a", parts: message.parts }, append: true } },
		],
		["GetTask", task],
		["CreateTaskPushNotificationConfig", config],
		["ListTaskPushNotificationConfigs", { configs: [config], nextPageToken: "" }],
	];
	for (const [operation, result] of ROUND)
		it(`${operation}: ${Object.keys(result)[0]} comes back as it went`, () => {
			const json: unknown = JSON.parse(JSON.stringify(protoResult(operation, result)));
			assert.deepEqual(decodeResult[operation](fromProtoResult(operation, json)), result);
		});

	it("name a configuration in its path, which may be the only place that has its id", () => {
		const { id: _, taskId: __, ...inner } = config;
		const value = { name: "tasks/t1/pushNotificationConfigs/c1", pushNotificationConfig: inner };
		const read = fromProtoResult("GetTaskPushNotificationConfig", value);
		assert.deepEqual(decodeResult.GetTaskPushNotificationConfig(read), config);
	});

	it("may hold anything else, and are left to the decoders", () => {
		for (const value of [null, 5, [], "x", { task: 1 }, { configs: "no" }]) {
			for (const operation of Object.keys(decodeResult) as OperationName[]) {
				assert.deepEqual(fromProtoResult(operation, value), value);
			}
		}
	});

	it("tell errors by their code, with the field that was wrong", () => {
		const violations = [{ field: "message.parts", description: "expected a list" }];
		for (const name of ["TaskNotFoundError", "InvalidParamsError", "RateLimitedError"] as const) {
			const { body } = protoError(new A2AError(name, "it was so", { violations }));
			assert.ok(isProtoError(body));
			const error = readProtoError(body);
			assert.deepEqual([error.name, error.message, error.details.violations], [name, "it was so", violations]);
			assert.equal(error.details.metadata?.code, String(body.code));
		}
		for (const value of [null, {}, { code: 404, message: "x" }, { code: -32001 }, { task: {} }])
			assert.equal(isProtoError(value), false);
	});
});
