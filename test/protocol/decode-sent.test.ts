import assert from "node:assert/strict";
import { decodeResult } from "../../src/protocol/decode.ts";
import { parseJson } from "../../src/protocol/json.ts";
import { replyText } from "../../src/protocol/parts.ts";
import type { Task } from "../../src/protocol/types.ts";
import { refusedReply as refused } from "./refused.ts";

type Loose = { [key: string]: unknown };

function taskOf(result: unknown): Task {
	const sent = decodeResult.SendMessage(result);
	assert.ok("task" in sent);
	return sent.task;
}

describe("decodeResult of a send", () => {
	it("gives a 1.0 task as it is", () => {
		const task = {
			id: "t1",
			contextId: "c1",
			status: {
				state: "TASK_STATE_COMPLETED",
				timestamp: "2025-01-31T12:00:00.000Z",
				message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "done" }], contextId: "c1", taskId: "t1" },
			},
			artifacts: [
				{
					artifactId: "a",
					name: "reply",
					description: "d",
					parts: [
						{ text: "ok", mediaType: "text/plain", filename: "f", metadata: { a: 1 } },
						{ raw: "aGk=" },
						{ url: "https://x.example/a" },
						{ data: null },
						{ data: [1] },
					],
					metadata: { x: 1 },
					extensions: ["https://e.example"],
				},
			],
			history: [
				{ messageId: "q", role: "ROLE_USER", parts: [{ text: "?" }], referenceTaskIds: ["t0"], extensions: ["e"] },
			],
			metadata: { k: { deep: [true, null] } },
		};
		assert.deepEqual(decodeResult.SendMessage({ task }), { task });
		assert.deepEqual(decodeResult.GetTask(structuredClone(task)), task);
	});

	it("takes a bare task where the wrapper is due, and a wrapped one where a bare one is", () => {
		const task = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_WORKING" } };
		assert.deepEqual(decodeResult.SendMessage(task), { task });
		assert.deepEqual(decodeResult.GetTask({ task }), task);
		assert.deepEqual(decodeResult.CancelTask({ task }), task);
	});

	it("takes a message, wrapped or bare, in either form", () => {
		const message = { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "hi" }], contextId: "c" };
		assert.deepEqual(decodeResult.SendMessage({ message }), { message });
		assert.deepEqual(decodeResult.SendMessage(message), { message });
		assert.deepEqual(
			decodeResult.SendMessage({ ...message, kind: "message", role: "agent", parts: [{ kind: "text", text: "hi" }] }),
			{ message },
		);
		assert.deepEqual(
			decodeResult.SendMessage({
				msg: { message_id: "m", role: "ROLE_AGENT", content: [{ text: "hi" }], context_id: "c" },
			}),
			{
				message,
			},
		);
	});

	it("does without what a task need not have", () => {
		// R046
		const bare = { id: "t1", contextId: "c1", status: { state: "TASK_STATE_SUBMITTED" } };
		assert.deepEqual(taskOf({ task: bare }), bare);
		assert.deepEqual(taskOf({ task: { ...bare, artifacts: [], history: [], metadata: null } }), bare);
		assert.deepEqual(
			taskOf({ task: { ...bare, artifacts: null, status: { state: "submitted", message: null, timestamp: null } } }),
			bare,
		);
		assert.deepEqual(
			taskOf({ task: { ...bare, artifacts: [{ artifactId: "a", parts: [] }, { artifactId: "b" }] } }).artifacts,
			[
				{ artifactId: "a", parts: [] },
				{ artifactId: "b", parts: [] },
			],
		);
		assert.deepEqual(taskOf({ id: "t1", status: { state: "working" } }), {
			id: "t1",
			contextId: "",
			status: { state: "TASK_STATE_WORKING" },
		});
	});

	it("maps every spelling of a state", () => {
		// R067
		const spellings: { readonly [state: string]: readonly unknown[] } = {
			TASK_STATE_SUBMITTED: ["submitted", "SUBMITTED", 1],
			TASK_STATE_WORKING: ["working", "Working", "task_state_working"],
			TASK_STATE_COMPLETED: ["completed", "TASK_STATE_COMPLETED", 3],
			TASK_STATE_FAILED: ["failed"],
			TASK_STATE_CANCELED: ["canceled", "cancelled", "TASK_STATE_CANCELLED", "CANCELLED"],
			TASK_STATE_INPUT_REQUIRED: ["input-required", "input_required", "INPUT REQUIRED", "TASK_STATE_INPUT_REQUIRED"],
			TASK_STATE_REJECTED: ["rejected"],
			TASK_STATE_AUTH_REQUIRED: ["auth-required"],
			TASK_STATE_UNSPECIFIED: ["unknown", "paused", "", null, {}, 99, undefined],
		};
		for (const [wanted, given] of Object.entries(spellings))
			for (const state of given)
				assert.equal(taskOf({ id: "t", status: { state } }).status.state, wanted, String(state));
	});

	it("reads a whole 0.3 task", () => {
		const task = taskOf({
			kind: "task",
			id: "t",
			contextId: "c",
			status: {
				state: "completed",
				message: { kind: "message", messageId: "m", role: "agent", parts: [{ kind: "text", text: "x" }] },
			},
			artifacts: [
				{
					artifactId: "a",
					parts: [
						{ kind: "text", text: "ok" },
						{ kind: "file", file: { bytes: "aGk=", name: "a.txt", mimeType: "text/plain" } },
						{ kind: "file", file: { uri: "https://x.example/a" } },
						{ kind: "data", data: { n: 1 }, metadata: { m: 1 } },
					],
				},
			],
			history: [{ kind: "message", messageId: "q", role: "user", parts: [{ kind: "text", text: "?" }] }],
		});
		assert.deepEqual(task, {
			id: "t",
			contextId: "c",
			status: {
				state: "TASK_STATE_COMPLETED",
				message: { messageId: "m", role: "ROLE_AGENT", parts: [{ text: "x" }] },
			},
			artifacts: [
				{
					artifactId: "a",
					parts: [
						{ text: "ok" },
						{ raw: "aGk=", filename: "a.txt", mediaType: "text/plain" },
						{ url: "https://x.example/a" },
						{ data: { n: 1 }, metadata: { m: 1 } },
					],
				},
			],
			history: [{ messageId: "q", role: "ROLE_USER", parts: [{ text: "?" }] }],
		});
	});

	it("drops parts and artifacts that hold nothing usable, and keeps the rest", () => {
		const task = taskOf({
			id: "t",
			status: "completed",
			artifacts: [
				null,
				"x",
				{ parts: [null, 5, { kind: "video" }, { text: 7 }, { text: "kept" }, "plain"] },
				{ name: "n", parts: "none" },
			],
		});
		assert.deepEqual(task.artifacts, [
			{ artifactId: "artifact-1", parts: [{ text: "kept" }, { text: "plain" }] },
			{ artifactId: "artifact-2", parts: [], name: "n" },
		]);
		assert.equal(replyText(task.artifacts), "keptplain");
	});

	it("leaves the media type of plain text out where a part is text and nothing else", () => {
		const part = (more: object) => ({ text: "x", mediaType: "text/plain", ...more });
		const parts = [part({}), part({ filename: "f" }), part({ metadata: { a: 1 } }), part({ mediaType: "text/html" })];
		const task = taskOf({ id: "t", status: "completed", artifacts: [{ artifactId: "a", parts }] });
		assert.deepEqual(task.artifacts?.[0]?.parts, [{ text: "x" }, ...parts.slice(1)]);
	});

	it("says in one line when a reply is neither a task nor a message, and what was missing", () => {
		// R047
		refused(
			() => decodeResult.SendMessage({ Task: { id: "x", parts: [{ text: "hello" }], snapshot: {} } }),
			/neither a task nor a message: its members are Task, and a status or parts are missing/,
		);
		for (const result of [null, undefined, 5, "done", [], true])
			refused(() => decodeResult.SendMessage(result), /neither a task nor a message/);
		refused(() => decodeResult.SendMessage({}), /no members/);
		refused(() => decodeResult.SendMessage({ id: "t" }), /its members are id/);
		refused(() => decodeResult.SendMessage({ ["evil\n\u001b[31m".repeat(100)]: 1 }), /its members are evil/);
		refused(() => decodeResult.SendMessage({ task: { status: { state: "working" } } }), /task\.id/);
		refused(() => decodeResult.SendMessage({ task: { id: "t" } }), /task\.status/);
		refused(
			() => decodeResult.SendMessage({ kind: "status-update", taskId: "t", status: { state: "working" } }),
			/update event/,
		);
		refused(() => decodeResult.GetTask({ message: { messageId: "m", role: "ROLE_AGENT", parts: [] } }), /not a task/);
	});

	it("leaves no room for a peer's __proto__", () => {
		const sent = decodeResult.SendMessage(
			parseJson(
				'{"task":{"__proto__":{"artifacts":[{}]},"id":"t","status":{"state":"working"},"metadata":{"__proto__":{"polluted":1}}}}',
			),
		);
		assert.ok("task" in sent);
		assert.equal(sent.task.artifacts, undefined);
		assert.equal(JSON.stringify(sent.task.metadata), '{"__proto__":{"polluted":1}}');
		assert.equal(({} as Loose).polluted, undefined);
	});
});
