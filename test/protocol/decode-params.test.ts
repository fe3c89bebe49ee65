import assert from "node:assert/strict";
import { decodeParams } from "../../src/protocol/decode.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { parseJson } from "../../src/protocol/json.ts";
import type { OperationName } from "../../src/protocol/operations.ts";
import { refusedParams as refused } from "./refused.ts";

describe("decodeParams of the other operations", () => {
	it("reads a task's id, and a history length as number or decimal string", () => {
		assert.deepEqual(decodeParams.GetTask({ id: "t", historyLength: 0, tenant: "x", metadata: {} }), {
			id: "t",
			historyLength: 0,
			tenant: "x",
		});
		assert.deepEqual(decodeParams.GetTask({ id: "constructor", historyLength: "12" }), {
			id: "constructor",
			historyLength: 12,
		});
		assert.deepEqual(decodeParams.CancelTask({ id: "t", metadata: { a: 1 } }), { id: "t", metadata: { a: 1 } });
		assert.deepEqual(decodeParams.SubscribeToTask({ id: "t" }), { id: "t" });
	});

	it("refuses a task's id that is missing, empty, absurdly long or no string", () => {
		for (const operation of ["GetTask", "CancelTask", "SubscribeToTask"] as const)
			for (const id of [undefined, null, "", 5, true, {}, ["x"], "x".repeat(5000)])
				refused(() => decodeParams[operation]({ id }), "id");
		refused(() => decodeParams.GetTask(parseJson('{"__proto__":{"id":"x"}}')), "id");
	});

	it("refuses a history length that is negative or none", () => {
		// R080
		for (const historyLength of [-5, "-5", "many", 1.5, "1.5", {}, true, 1e12])
			refused(() => decodeParams.GetTask({ id: "t", historyLength }), "historyLength");
	});

	it("lists without parameters", () => {
		assert.deepEqual(decodeParams.ListTasks(undefined), {});
		assert.deepEqual(decodeParams.ListTasks(null), {});
		assert.deepEqual(decodeParams.ListTasks({ contextId: "", pageToken: "", status: "TASK_STATE_UNSPECIFIED" }), {});
	});

	it("reads every filter of a list", () => {
		const request = {
			contextId: "c",
			status: "TASK_STATE_WORKING",
			pageSize: 100,
			pageToken: "p",
			historyLength: 1,
			statusTimestampAfter: "2025-01-31T12:00:00.500Z",
			includeArtifacts: true,
		};
		assert.deepEqual(decodeParams.ListTasks(request), request);
	});

	it("gives timestamps in UTC with milliseconds, however they were written", () => {
		for (const [given, wanted] of [
			["2025-01-31T12:00:00Z", "2025-01-31T12:00:00.000Z"],
			["2025-01-31T14:00:00+02:00", "2025-01-31T12:00:00.000Z"],
			["2025-01-31T12:00:00.123456789Z", "2025-01-31T12:00:00.123Z"],
		])
			assert.equal(decodeParams.ListTasks({ statusTimestampAfter: given }).statusTimestampAfter, wanted);
	});

	it("refuses filters that cannot be", () => {
		for (const pageSize of [0, -1, 101, "abc", 1.5, "0", {}])
			refused(() => decodeParams.ListTasks({ pageSize }), "pageSize");
		for (const status of ["TASK_STATE_RUNNING", "completed", "DONE", 3, ""])
			refused(() => decodeParams.ListTasks({ status }), "status");
		for (const time of ["yesterday", "2025-01-31", 5, "2025-13-40T99:00:00Z", ""])
			refused(() => decodeParams.ListTasks({ statusTimestampAfter: time }), "statusTimestampAfter");
		refused(() => decodeParams.ListTasks({ includeArtifacts: "maybe" }), "includeArtifacts");
		refused(() => decodeParams.ListTasks({ pageToken: 5 }), "pageToken");
		refused(() => decodeParams.ListTasks({ historyLength: -5 }), "historyLength");
	});

	it("reads push notification configurations and references to them", () => {
		const config = { url: "https://h.example/x", taskId: "t", id: "p", authentication: { scheme: "Bearer" } };
		assert.deepEqual(decodeParams.CreateTaskPushNotificationConfig(config), config);
		assert.deepEqual(decodeParams.CreateTaskPushNotificationConfig({ ...config, id: "" }).id, undefined);
		assert.deepEqual(decodeParams.GetTaskPushNotificationConfig({ taskId: "t", id: "p" }), { taskId: "t", id: "p" });
		assert.deepEqual(decodeParams.DeleteTaskPushNotificationConfig({ task_id: "t", id: "p" }), {
			taskId: "t",
			id: "p",
		});
		assert.deepEqual(decodeParams.ListTaskPushNotificationConfigs({ taskId: "t", pageSize: 10 }), {
			taskId: "t",
			pageSize: 10,
		});
	});

	it("refuses webhooks that are no http URL, and authentication without a scheme", () => {
		for (const url of [
			undefined,
			"",
			"not a url",
			"/relative",
			"ftp://x.example/",
			"file:///etc/passwd",
			"javascript:alert(1)",
			5,
		])
			refused(() => decodeParams.CreateTaskPushNotificationConfig({ taskId: "t", url }), "url");
		refused(() => decodeParams.CreateTaskPushNotificationConfig({ url: "https://h.example" }), "taskId");
		refused(
			() =>
				decodeParams.CreateTaskPushNotificationConfig({
					taskId: "t",
					url: "https://h.example",
					authentication: { credentials: "c" },
				}),
			"authentication.scheme",
		);
		refused(() => decodeParams.GetTaskPushNotificationConfig({ taskId: "t" }), "id");
		refused(() => decodeParams.DeleteTaskPushNotificationConfig({ id: "t" }), "taskId");
	});

	it("needs no parameters for the extended card", () => {
		for (const params of [undefined, null, {}]) assert.deepEqual(decodeParams.GetExtendedAgentCard(params), {});
	});

	it("answers anything at all with a value or an InvalidParamsError", () => {
		const values = [
			undefined,
			null,
			0,
			"x",
			true,
			[],
			{},
			[[]],
			{ id: 1 },
			{ message: {} },
			{ message: { parts: [{}] } },
			{ taskId: {} },
			{ url: [] },
		];
		for (const operation of Object.keys(decodeParams) as OperationName[])
			for (const value of values) {
				try {
					decodeParams[operation](value);
				} catch (error) {
					assert.ok(
						error instanceof A2AError && error.name === "InvalidParamsError",
						`${operation} ${JSON.stringify(value)}`,
					);
				}
			}
	});
});
