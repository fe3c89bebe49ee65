import assert from "node:assert/strict";
import { manualClock } from "../../src/lib/clock.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import {
	contextId,
	type ListTasksRequest,
	type Message,
	type TaskId,
	type TaskState,
	taskId,
} from "../../src/protocol/types.ts";
import type { TaskLog } from "../../src/tasks/log.ts";
import { TaskStore } from "../../src/tasks/store.ts";

const named = (name: string) => (error: unknown) => error instanceof A2AError && error.name === name;

function bench(maxFinished = 100) {
	const clock = manualClock();
	const warnings: string[] = [];
	const log = { warn: (text: string) => void warnings.push(text), info: () => undefined };
	const tasks = new TaskStore({ limits: { maxFinished }, clock, log });
	const open = (id: string, over: { owner?: string; context?: string; v03?: boolean } = {}): TaskLog =>
		tasks.open({
			id: taskId(id),
			contextId: contextId(over.context ?? "c"),
			owner: over.owner ?? "alice",
			label: "Alice",
			v03: over.v03 ?? false,
		});
	const set = (log: TaskLog, state: TaskState) => log.append({ kind: "status", status: { state } });
	/** `n` completed tasks t0, t1, …, a second apart. */
	const completed = async (n: number) => {
		for (let i = 0; i < n; i++) {
			set(open(`t${i}`), "TASK_STATE_COMPLETED");
			await clock.advance(1_000);
		}
	};
	const list = (request: ListTasksRequest = {}, owner = "alice") => tasks.list(owner, request);
	return { clock, tasks, open, set, completed, list, warnings };
}
const idsOf = (page: { readonly tasks: readonly { readonly id: TaskId }[] }) => page.tasks.map((each) => each.id);

describe("the task store", () => {
	it("shows a task to its owner alone, and to others as if there were none", () => {
		const { tasks, open } = bench();
		const log = open("t1");
		assert.equal(tasks.get("alice", taskId("t1")), log);
		const failure = (owner: string, id: string) => {
			try {
				return tasks.get(owner, taskId(id)).id;
			} catch (error) {
				return error instanceof A2AError ? [error.name, error.message] : error;
			}
		};
		assert.deepEqual(failure("bob", "t1"), failure("bob", "unknown"));
		assert.throws(() => tasks.get("bob", taskId("t1")), named("TaskNotFoundError"));
		assert.deepEqual(tasks.list("bob", {}).tasks, []);
	});

	it("knows which of the owner's tasks came with the 0.3 shape", () => {
		const { tasks, open } = bench();
		open("old", { v03: true });
		open("new");
		const isV03 = (owner: string, id: string) => tasks.isV03(owner, taskId(id));
		assert.deepEqual([isV03("alice", "old"), isV03("alice", "new")], [true, false]);
		assert.deepEqual([isV03("bob", "old"), isV03("alice", "unknown")], [false, false]);
	});

	it("tells of new tasks before anything happens to them, until it is asked to stop", () => {
		const { tasks, open } = bench();
		const seen: string[] = [];
		const leave = tasks.onOpen((log) => seen.push(`${log.id} ${log.label} ${log.state}`));
		open("t1");
		leave();
		open("t2");
		assert.deepEqual(seen, ["t1 Alice TASK_STATE_SUBMITTED"]);
	});

	it("opens a task even when somebody who is told of it fails", () => {
		const { tasks, open, warnings } = bench();
		tasks.onOpen(() => {
			throw new Error("broken reader");
		});
		assert.equal(open("t1").state, "TASK_STATE_SUBMITTED");
		assert.deepEqual(warnings, ["A reader of new tasks failed on t1"]);
	});

	it("counts as running what has neither ended nor waits for its caller", () => {
		const { tasks, open, set } = bench();
		set(open("a"), "TASK_STATE_WORKING");
		set(open("b"), "TASK_STATE_INPUT_REQUIRED");
		set(open("c"), "TASK_STATE_FAILED");
		open("d");
		assert.deepEqual(
			tasks.running().map((log) => log.id),
			["a", "d"],
		);
	});

	it("keeps a bounded number of ended tasks, those that ended last, and every other one", async () => {
		const { tasks, open, set, completed, list } = bench(3);
		const waiting = open("waiting");
		set(waiting, "TASK_STATE_INPUT_REQUIRED");
		open("running");
		await completed(2_000);
		assert.deepEqual(idsOf(list()), ["t1999", "t1998", "t1997", "running", "waiting"]); // R141
		assert.equal(tasks.all().length, 5);
		assert.throws(() => tasks.get("alice", taskId("t0")), named("TaskNotFoundError"));
	});

	it("forgets the ended tasks of whoever has most of them, so that nobody crowds out others", () => {
		const { tasks, open, set } = bench(10);
		set(open("theirs", { owner: "bob" }), "TASK_STATE_COMPLETED");
		for (let n = 0; n < 1_000; n++) set(open(`t${n}`), "TASK_STATE_COMPLETED");
		assert.equal(tasks.get("bob", taskId("theirs")).state, "TASK_STATE_COMPLETED");
		assert.equal(tasks.all().length, 10);
		for (let n = 0; n < 50; n++) set(open(`of-${n}`, { owner: `owner-${n}` }), "TASK_STATE_COMPLETED");
		assert.equal(tasks.all().length, 10);
	});

	it("finds the task of a message by owner, id and content, until the task is gone", () => {
		const { tasks, open } = bench();
		const log = open("t1");
		const sent: Message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hi" }] };
		assert.equal(tasks.withMessage("alice", sent), undefined);
		log.append({ kind: "message", message: { ...sent, taskId: log.id, contextId: log.contextId } });
		assert.equal(tasks.withMessage("alice", sent), log);
		assert.equal(tasks.withMessage("bob", sent), undefined);
		assert.equal(tasks.withMessage("alice", { ...sent, parts: [{ text: "other" }] }), undefined);
		assert.equal(tasks.withMessage("alice", { ...sent, contextId: contextId("c2") }), undefined);
		tasks.drop(log);
		assert.equal(tasks.withMessage("alice", sent), undefined);
	});

	it("takes no notice of a task that was dropped and goes on", () => {
		const { tasks, open, set, list } = bench();
		const log = open("t1");
		tasks.drop(log);
		assert.equal(set(log, "TASK_STATE_COMPLETED"), true);
		assert.deepEqual([list().tasks, tasks.all()], [[], []]);
	});
});

describe("a list of tasks", () => {
	it("has all four members also when there is nothing to list", () => {
		assert.deepEqual(bench().list(), { tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 }); // R079
	});

	it("comes in pages, newest status first, every task once", async () => {
		const { completed, list } = bench();
		await completed(5);
		const first = list({ pageSize: 2 });
		assert.deepEqual(idsOf(first), ["t4", "t3"]);
		assert.deepEqual([first.pageSize, first.totalSize], [2, 5]);
		const second = list({ pageSize: 2, pageToken: first.nextPageToken });
		const third = list({ pageSize: 2, pageToken: second.nextPageToken });
		assert.deepEqual([idsOf(second), idsOf(third)], [["t2", "t1"], ["t0"]]);
		assert.equal(third.nextPageToken, "");
		assert.deepEqual([second.totalSize, third.totalSize], [5, 5]);
	});

	it("announces no further page when the last one is exactly full", async () => {
		const { completed, list } = bench();
		await completed(4);
		const second = list({ pageSize: 2, pageToken: list({ pageSize: 2 }).nextPageToken });
		assert.deepEqual([second.tasks.length, second.nextPageToken], [2, ""]);
	});

	it("shows a task in front when its status changes", async () => {
		const { clock, open, set, list } = bench();
		const first = open("a");
		await clock.advance(1_000);
		open("b");
		assert.deepEqual(idsOf(list()), ["b", "a"]);
		await clock.advance(1_000);
		set(first, "TASK_STATE_WORKING");
		assert.deepEqual(idsOf(list()), ["a", "b"]);
		const times = list().tasks.map((each) => each.status.timestamp ?? "");
		assert.deepEqual(times, [...times].sort().reverse());
	});

	it("neither repeats nor misses a task while tasks change and come between pages", async () => {
		const { tasks, open, set, list } = bench();
		for (let n = 0; n < 40; n++) open(`t${n}`);
		const seen: string[] = [];
		let pageToken = "";
		for (let page = 0; ; page++) {
			const result = list({ pageSize: 7, pageToken });
			seen.push(...idsOf(result));
			pageToken = result.nextPageToken;
			if (!pageToken) break;
			open(`new${page}`);
			for (let n = 0; n < 40; n += 3) set(tasks.get("alice", taskId(`t${n}`)), "TASK_STATE_WORKING");
		}
		assert.deepEqual(
			seen,
			Array.from({ length: 40 }, (_, n) => `t${39 - n}`),
		);
	});

	it("stays right and small after a great many changes", () => {
		const { open, set, list } = bench();
		const logs = Array.from({ length: 10 }, (_, n) => open(`t${n}`));
		for (let round = 0; round < 3_000; round++) for (const log of logs) set(log, "TASK_STATE_WORKING");
		const first = list({ pageSize: 5 });
		for (let round = 0; round < 300; round++) for (const log of logs) set(log, "TASK_STATE_WORKING");
		const second = list({ pageSize: 5, pageToken: first.nextPageToken });
		assert.deepEqual([...idsOf(first), ...idsOf(second)], ["t9", "t8", "t7", "t6", "t5", "t4", "t3", "t2", "t1", "t0"]);
	});

	it("filters by context, state and time, and counts what the filter lets through", async () => {
		const { clock, open, set, list } = bench();
		const a = open("a", { context: "c1" });
		await clock.advance(1_000);
		const b = open("b", { context: "c2" });
		await clock.advance(1_000);
		set(open("c", { context: "c1" }), "TASK_STATE_FAILED");
		const ask = (request: ListTasksRequest) => [idsOf(list(request)), list(request).totalSize];
		assert.deepEqual(ask({ contextId: a.contextId }), [["c", "a"], 2]);
		assert.deepEqual(ask({ status: "TASK_STATE_FAILED" }), [["c"], 1]);
		assert.deepEqual(ask({ status: "TASK_STATE_UNSPECIFIED" }), [["c", "b", "a"], 3]);
		assert.deepEqual(ask({ contextId: b.contextId, status: "TASK_STATE_FAILED" }), [[], 0]);
		assert.deepEqual(ask({ statusTimestampAfter: b.task.status.timestamp ?? "" }), [["c", "b"], 2]);
		assert.deepEqual(ask({ statusTimestampAfter: "2100-01-01T00:00:00Z" }), [[], 0]);
		assert.deepEqual(ask({ contextId: a.contextId, pageSize: 1 }), [["c"], 2]);
	});

	it("has artifacts only when they are asked for, then always", () => {
		const { open, list } = bench();
		open("none");
		const some = open("some");
		const artifact = { artifactId: "a", parts: [{ text: "x" }] };
		some.append({ kind: "artifact", artifact, append: false, lastChunk: true });
		assert.ok(list().tasks.every((each) => !("artifacts" in each)));
		assert.ok(list({ includeArtifacts: false }).tasks.every((each) => !("artifacts" in each)));
		assert.deepEqual(
			list({ includeArtifacts: true }).tasks.map((each) => each.artifacts),
			[[artifact], []],
		);
	});

	it("gives as much history as asked for", () => {
		const { open, list } = bench();
		const log = open("t");
		for (const id of ["m1", "m2"]) {
			log.append({ kind: "message", message: { messageId: id, role: "ROLE_USER", parts: [{ text: id }] } });
		}
		const history = (request: ListTasksRequest) => list(request).tasks[0]?.history?.map((each) => each.messageId);
		assert.deepEqual([history({}), history({ historyLength: 1 })], [["m1", "m2"], ["m2"]]);
		assert.equal("history" in (list({ historyLength: 0 }).tasks[0] ?? {}), false);
	});

	it("refuses sizes, tokens, times and lengths that make no sense, naming the field", () => {
		const { open, list } = bench();
		open("t");
		const wrong: [string, ListTasksRequest][] = [
			["pageSize", { pageSize: 0 }],
			["pageSize", { pageSize: -1 }],
			["pageSize", { pageSize: 101 }],
			["pageSize", { pageSize: 1.5 }],
			["pageToken", { pageToken: "conformance-not-a-token" }],
			["pageToken", { pageToken: "p1-2" }],
			["pageToken", { pageToken: "pzzz-1" }],
			["statusTimestampAfter", { statusTimestampAfter: "yesterday" }],
			["historyLength", { historyLength: -5 }],
		];
		for (const [field, request] of wrong) {
			assert.throws(
				() => list(request),
				(error) => named("InvalidParamsError")(error) && (error as A2AError).details.violations?.[0]?.field === field,
				JSON.stringify(request),
			);
		}
		for (const pageSize of [1, 100]) assert.equal(list({ pageSize }).pageSize, pageSize);
	});

	it("costs a page, not what is stored", () => {
		const { open, list } = bench(100_000);
		const time = () => {
			const start = process.hrtime.bigint();
			for (let n = 0; n < 200; n++) list({ pageSize: 10 });
			return Number(process.hrtime.bigint() - start);
		};
		for (let n = 0; n < 100; n++) open(`few${n}`);
		time();
		const few = Math.min(time(), time(), time());
		for (let n = 0; n < 20_000; n++) open(`many${n}`);
		assert.ok(Math.min(time(), time(), time()) < 20 * few);
	});
});
