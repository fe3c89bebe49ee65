import assert from "node:assert/strict";
import { decodeResult } from "../../src/protocol/decode.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { OPERATIONS, type OperationName } from "../../src/protocol/operations.ts";
import { refusedReply as refused } from "./refused.ts";

describe("decodeResult of a stream", () => {
	it("gives the same events for every version's form of them", () => {
		// R085
		const status = { statusUpdate: { taskId: "t1", contextId: "", status: { state: "TASK_STATE_COMPLETED" } } };
		const forms: unknown[] = [
			status,
			{ statusUpdate: { taskId: "t1", status: { state: "completed" } } },
			{ kind: "status-update", taskId: "t1", status: { state: "completed" }, final: true },
			{ taskId: "t1", status: { state: "completed" } },
			{ status_update: { task_id: "t1", status: { state: "TASK_STATE_COMPLETED" } } },
			{ statusUpdate: { kind: "status-update", taskId: "t1", status: { state: "completed" }, final: true } },
		];
		for (const form of forms) {
			assert.deepEqual(decodeResult.SendStreamingMessage(form), status);
			assert.deepEqual(decodeResult.SubscribeToTask(form), status);
		}
	});

	it("reads artifact updates, whatever their flags", () => {
		// R053
		const artifact = { artifactId: "a", parts: [{ text: "lo" }] };
		const update = { taskId: "t", contextId: "c", artifact };
		assert.deepEqual(
			decodeResult.SendStreamingMessage({ artifactUpdate: { ...update, append: true, lastChunk: true } }),
			{
				artifactUpdate: { ...update, append: true, lastChunk: true },
			},
		);
		assert.deepEqual(
			decodeResult.SendStreamingMessage({
				kind: "artifact-update",
				...update,
				artifact: { artifactId: "a", parts: [{ kind: "text", text: "lo" }] },
				append: false,
				lastChunk: null,
			}),
			{ artifactUpdate: update },
		);
		assert.deepEqual(decodeResult.SendStreamingMessage({ artifactUpdate: { artifact: { parts: [] } } }), {
			artifactUpdate: { taskId: "", contextId: "", artifact: { artifactId: "artifact-1", parts: [] } },
		});
		refused(() => decodeResult.SendStreamingMessage({ artifactUpdate: { taskId: "t" } }), /artifactUpdate\.artifact/);
	});

	it("reads tasks and messages among the events", () => {
		assert.deepEqual(
			Object.keys(decodeResult.SendStreamingMessage({ kind: "task", id: "t", status: { state: "working" } })),
			["task"],
		);
		assert.deepEqual(
			decodeResult.SendStreamingMessage({ message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "done" }] } }),
			{
				message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "done" }] },
			},
		);
	});
});

describe("decodeResult of the other operations", () => {
	it("reads a list with its page, or fills in what the page lacks", () => {
		const task = { id: "t", contextId: "c", status: { state: "TASK_STATE_COMPLETED" } };
		const page = { tasks: [task], nextPageToken: "n", pageSize: 50, totalSize: 7 };
		assert.deepEqual(decodeResult.ListTasks(page), page);
		assert.deepEqual(decodeResult.ListTasks({ tasks: [task], pageSize: "50" }), {
			...page,
			nextPageToken: "",
			totalSize: 1,
		});
		assert.deepEqual(decodeResult.ListTasks({ tasks: [] }), {
			tasks: [],
			nextPageToken: "",
			pageSize: 0,
			totalSize: 0,
		});
		assert.deepEqual(decodeResult.ListTasks({}), { tasks: [], nextPageToken: "", pageSize: 0, totalSize: 0 });
		refused(() => decodeResult.ListTasks({ tasks: "none" }), /tasks/);
		refused(() => decodeResult.ListTasks({ tasks: [{ status: {} }] }), /\[0\]\.id/);
	});

	it("reads the stubs and the bare array that older peers list", () => {
		assert.deepEqual(decodeResult.ListTasks({ tasks: [{ id: "t", state: "TASK_STATE_WORKING" }] }).tasks, [
			{ id: "t", contextId: "", status: { state: "TASK_STATE_WORKING" } },
		]);
		assert.equal(decodeResult.ListTasks([{ kind: "task", id: "t", status: { state: "failed" } }]).totalSize, 1);
	});

	it("reads push notification configurations, flat or nested", () => {
		const flat = {
			url: "https://h.example/x",
			id: "p",
			taskId: "t",
			token: "k",
			authentication: { scheme: "Bearer", credentials: "c" },
		};
		const nested = {
			taskId: "t",
			pushNotificationConfig: {
				url: flat.url,
				id: "p",
				token: "k",
				authentication: { schemes: ["Bearer"], credentials: "c" },
			},
		};
		for (const operation of ["CreateTaskPushNotificationConfig", "GetTaskPushNotificationConfig"] as const) {
			assert.deepEqual(decodeResult[operation](flat), flat);
			assert.deepEqual(decodeResult[operation](nested), flat);
			refused(() => decodeResult[operation](null), /not a push notification configuration/);
		}
		assert.deepEqual(decodeResult.ListTaskPushNotificationConfigs({ configs: [flat], nextPageToken: "n" }), {
			configs: [flat],
			nextPageToken: "n",
		});
		assert.deepEqual(decodeResult.ListTaskPushNotificationConfigs([nested]), { configs: [flat], nextPageToken: "" });
		assert.deepEqual(decodeResult.ListTaskPushNotificationConfigs({}), { configs: [], nextPageToken: "" });
	});

	it("is content with any answer to a deletion", () => {
		for (const result of [null, {}, undefined, true])
			assert.deepEqual(decodeResult.DeleteTaskPushNotificationConfig(result), {});
	});

	it("answers anything at all with a value or an InvalidAgentResponseError", () => {
		let deep: unknown = {};
		for (let i = 0; i < 50_000; i += 1) deep = { task: deep };
		const values = [
			undefined,
			null,
			0,
			"x",
			true,
			[],
			{},
			[[]],
			[null],
			{ task: [] },
			{ message: 1 },
			{ kind: {} },
			{ kind: "task" },
			{ status: [] },
			{ parts: {} },
			{ tasks: [5] },
			{ configs: [1] },
			deep,
		];
		for (const operation of Object.keys(OPERATIONS) as OperationName[])
			for (const value of values) {
				try {
					decodeResult[operation](value);
				} catch (error) {
					assert.ok(error instanceof A2AError && error.name === "InvalidAgentResponseError", `${operation}: ${error}`);
				}
			}
	});
});
