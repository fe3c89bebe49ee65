import assert from "node:assert/strict";
import {
	apply,
	forPeer,
	isInterrupted,
	isTerminal,
	mayFollow,
	type TaskEvent,
	toEvent,
} from "../../src/protocol/task.ts";
import {
	type Artifact,
	contextId,
	type Message,
	type Part,
	TASK_STATES,
	type Task,
	taskId,
} from "../../src/protocol/types.ts";

const T1: Task = { id: taskId("t1"), contextId: contextId("c1"), status: { state: "TASK_STATE_WORKING" } };

function chunk(parts: readonly Part[], append: boolean, more: Partial<Artifact> = {}): TaskEvent {
	return { kind: "artifact", artifact: { artifactId: "a1", parts, ...more }, append, lastChunk: false };
}
const fold = (...events: readonly TaskEvent[]): Task => events.reduce(apply, T1);

describe("the states of a task", () => {
	it("end in four and pause in two", () => {
		assert.deepEqual(TASK_STATES.filter(isTerminal), [
			"TASK_STATE_COMPLETED",
			"TASK_STATE_FAILED",
			"TASK_STATE_CANCELED",
			"TASK_STATE_REJECTED",
		]);
		assert.deepEqual(TASK_STATES.filter(isInterrupted), ["TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"]);
	});

	it("never follow an ended one", () => {
		for (const from of TASK_STATES.filter(isTerminal)) {
			assert.deepEqual(
				TASK_STATES.filter((to) => mayFollow(from, to)),
				[],
			);
		}
	});

	it("never lead back to SUBMITTED nor to UNSPECIFIED", () => {
		for (const from of ["TASK_STATE_WORKING", "TASK_STATE_INPUT_REQUIRED", "TASK_STATE_AUTH_REQUIRED"] as const) {
			assert.equal(mayFollow(from, "TASK_STATE_SUBMITTED"), false);
			assert.equal(mayFollow(from, "TASK_STATE_UNSPECIFIED"), false);
			assert.equal(mayFollow(from, "TASK_STATE_WORKING"), true);
			assert.equal(mayFollow(from, "TASK_STATE_CANCELED"), true);
		}
		assert.equal(mayFollow("TASK_STATE_SUBMITTED", "TASK_STATE_SUBMITTED"), true);
	});
});

describe("the fold of a task's events", () => {
	it("leaves the task that it was given as it was", () => {
		const before = structuredClone(T1);
		fold(chunk([{ text: "x" }], false), { kind: "status", status: { state: "TASK_STATE_COMPLETED" } });
		assert.deepEqual(T1, before);
	});

	it("makes one text of text that came in pieces", () => {
		const task = fold(chunk([{ text: "Hel" }], false), chunk([{ text: "lo " }], true), chunk([{ text: "you" }], true));
		assert.deepEqual(task.artifacts, [{ artifactId: "a1", parts: [{ text: "Hello you" }] }]); // R050
	});

	it("keeps one artifact a name, with its parts in order, and replaces it when told so", () => {
		const file = { url: "https://files.example/a" };
		const two = [chunk([{ text: "one" }], false), chunk([file], true)];
		assert.deepEqual(fold(...two).artifacts, [{ artifactId: "a1", parts: [{ text: "one" }, file] }]); // R052
		const three = fold(...two, chunk([{ text: "three" }], false));
		assert.deepEqual(three.artifacts, [{ artifactId: "a1", parts: [{ text: "three" }] }]);
	});

	it("keeps artifacts in the order in which they were opened when one is replaced", () => {
		const other: TaskEvent = {
			kind: "artifact",
			artifact: { artifactId: "a2", parts: [{ text: "2" }] },
			append: false,
			lastChunk: true,
		};
		const task = fold(chunk([{ text: "1" }], false), other, chunk([{ text: "new" }], false));
		assert.deepEqual(
			task.artifacts?.map((each) => each.artifactId),
			["a1", "a2"],
		);
	});

	it("creates an artifact that was appended to without having been opened", () => {
		assert.deepEqual(fold(chunk([{ text: "kept" }], true)).artifacts, [
			{ artifactId: "a1", parts: [{ text: "kept" }] },
		]); // R053
	});

	it("merges metadata of an append, the later key winning, and takes over its name", () => {
		const task = fold(
			chunk([{ text: "a" }], false, { metadata: { x: 1, z: "old" }, extensions: ["e1"] }),
			chunk([{ text: "b" }], true, { metadata: { y: 2, z: "new" }, name: "report.md", extensions: ["e1", "e2"] }),
		);
		assert.deepEqual(task.artifacts?.[0]?.metadata, { x: 1, y: 2, z: "new" }); // R058
		assert.equal(task.artifacts?.[0]?.name, "report.md");
		assert.deepEqual(task.artifacts?.[0]?.extensions, ["e1", "e2"]);
	});

	it("keeps the name of the opening when an append has none", () => {
		const task = fold(chunk([{ text: "a" }], false, { name: "n" }), chunk([{ text: "b" }], true));
		assert.equal(task.artifacts?.[0]?.name, "n");
	});

	it("never merges a part that is more than text", () => {
		const noted = { text: "b", metadata: { k: 1 } };
		const parts = fold(chunk([{ text: "a" }], false), chunk([noted], true), chunk([{ text: "c" }], true)).artifacts?.[0]
			?.parts;
		assert.deepEqual(parts, [{ text: "a" }, noted, { text: "c" }]);
	});

	it("drops empty pieces of text unless nothing else is there", () => {
		const file = { raw: "YQ==", mediaType: "text/plain" };
		assert.deepEqual(fold(chunk([file], false), chunk([{ text: "" }], true)).artifacts?.[0]?.parts, [file]);
		assert.deepEqual(fold(chunk([{ text: "" }], false), chunk([file], true)).artifacts?.[0]?.parts, [file]);
		assert.deepEqual(fold(chunk([{ text: "" }], false)).artifacts?.[0]?.parts, [{ text: "" }]);
	});

	it("takes time in proportion to the text, however many pieces it came in", () => {
		const time = (pieces: number) => {
			const start = process.hrtime.bigint();
			let task = apply(T1, chunk([{ text: "start " }], false));
			for (let n = 0; n < pieces; n++) task = apply(task, chunk([{ text: "word after word " }], true));
			assert.equal(JSON.stringify(task.artifacts).length > pieces * 16, true);
			return Number(process.hrtime.bigint() - start);
		};
		time(2_000);
		// Copying the text at each piece would make forty times the pieces cost more than a thousand times as much.
		assert.ok(time(80_000) < 400 * time(2_000));
	});

	it("adds messages to the history and metadata of a status to the task, and ignores activities", () => {
		const message: Message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };
		const task = fold(
			{ kind: "message", message },
			{ kind: "status", status: { state: "TASK_STATE_WORKING" }, metadata: { a: 1 } },
			{ kind: "activity", activity: { type: "tool", name: "bash" } },
			{ kind: "status", status: { state: "TASK_STATE_COMPLETED" }, metadata: { b: 2 } },
		);
		assert.deepEqual(task, {
			...T1,
			status: { state: "TASK_STATE_COMPLETED" },
			history: [message],
			metadata: { a: 1, b: 2 },
		});
	});
});

describe("what a peer is told", () => {
	it("names the task and its context", () => {
		const status = { state: "TASK_STATE_COMPLETED" } as const;
		assert.deepEqual(forPeer(T1, { kind: "status", status, metadata: { n: 1 } }), {
			statusUpdate: { taskId: "t1", contextId: "c1", status, metadata: { n: 1 } },
		});
		const artifact = { artifactId: "a1", parts: [{ text: "x" }] };
		assert.deepEqual(forPeer(T1, { kind: "artifact", artifact, append: true, lastChunk: false }), {
			artifactUpdate: { taskId: "t1", contextId: "c1", artifact, append: true, lastChunk: false },
		});
	});

	it("leaves out what is for the host alone", () => {
		const message: Message = { messageId: "m", role: "ROLE_USER", parts: [] };
		assert.equal(forPeer(T1, { kind: "activity", activity: { type: "tool", name: "bash" } }), undefined);
		assert.equal(forPeer(T1, { kind: "message", message }), undefined);
	});

	it("is read back as the same event", () => {
		const events: TaskEvent[] = [
			{ kind: "status", status: { state: "TASK_STATE_WORKING" } },
			{ kind: "status", status: { state: "TASK_STATE_FAILED" }, metadata: { k: "v" } },
			chunk([{ text: "x" }], true),
		];
		for (const event of events) {
			const item = forPeer(T1, event);
			assert.ok(item);
			assert.deepEqual(toEvent(item), event);
		}
	});

	it("is no event when it is a whole task or message", () => {
		assert.equal(toEvent({ task: T1 }), undefined);
		assert.equal(toEvent({ message: { messageId: "m", role: "ROLE_AGENT", parts: [] } }), undefined);
	});

	it("counts a piece without flags as one that opens an artifact", () => {
		const artifact = { artifactId: "a1", parts: [{ text: "x" }] };
		const item = { artifactUpdate: { taskId: T1.id, contextId: T1.contextId, artifact } };
		assert.deepEqual(toEvent(item), { kind: "artifact", artifact, append: false, lastChunk: false });
	});
});
