import assert from "node:assert/strict";
import { manualClock } from "../../src/lib/clock.ts";
import type { TaskEvent } from "../../src/protocol/task.ts";
import { contextId, type TaskState, taskId } from "../../src/protocol/types.ts";
import { TaskLog } from "../../src/tasks/log.ts";

const status = (state: TaskState): TaskEvent => ({ kind: "status", status: { state } });
const text = (value: string, append = true): TaskEvent => ({
	kind: "artifact",
	artifact: { artifactId: "a", parts: [{ text: value }] },
	append,
	lastChunk: false,
});

function bench() {
	const clock = manualClock();
	const warnings: string[] = [];
	const opening = { id: taskId("t1"), contextId: contextId("c1"), owner: "alice", label: "Alice", v03: false };
	const log = new TaskLog(opening, clock, { warn: (said) => void warnings.push(said), info: () => undefined });
	return { clock, log, warnings };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
	const list: T[] = [];
	for await (const item of items) list.push(item);
	return list;
}
const never = () => new AbortController().signal;

describe("a task's log", () => {
	it("begins SUBMITTED, with the time of its opening", () => {
		const { log, clock } = bench();
		assert.deepEqual(log.task, {
			id: "t1",
			contextId: "c1",
			status: { state: "TASK_STATE_SUBMITTED", timestamp: new Date(clock.now()).toISOString() },
		});
		assert.deepEqual([log.opened, log.changed], [clock.now(), clock.now()]);
	});

	it("takes one end and nothing after it", () => {
		const { log } = bench();
		assert.equal(log.append(status("TASK_STATE_CANCELED")), true);
		const end = log.task;
		for (const event of [status("TASK_STATE_COMPLETED"), status("TASK_STATE_WORKING"), text("late")]) {
			assert.equal(log.append(event), false);
		}
		assert.equal(log.task, end);
	});

	it("never goes back to SUBMITTED", () => {
		const { log } = bench();
		log.append(status("TASK_STATE_WORKING"));
		assert.equal(log.append(status("TASK_STATE_SUBMITTED")), false);
		assert.equal(log.state, "TASK_STATE_WORKING");
	});

	it("stamps each status, and its times never run backwards", async () => {
		const { log, clock } = bench();
		const start = clock.now();
		await clock.advance(1_500);
		log.append(status("TASK_STATE_WORKING"));
		assert.equal(log.task.status.timestamp, new Date(start + 1_500).toISOString());
		assert.match(log.task.status.timestamp ?? "", /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
		await clock.advance(-1_000);
		log.append(status("TASK_STATE_COMPLETED"));
		assert.equal(log.changed, start + 1_500);
		assert.equal(log.task.status.timestamp, new Date(start + 1_500).toISOString());
	});

	it("tells its readers in order, of what was really recorded, until they leave or the task ends", () => {
		const { log } = bench();
		const seen: string[] = [];
		const leave = log.on((event, of) => seen.push(`a ${event.kind} ${of.state}`));
		log.on((event) => seen.push(`b ${event.kind}`));
		log.append(status("TASK_STATE_WORKING"));
		leave();
		log.append(text("x", false));
		log.append(status("TASK_STATE_COMPLETED"));
		log.append(text("y"));
		assert.deepEqual(seen, ["a status TASK_STATE_WORKING", "b status", "b artifact", "b status"]);
		assert.equal(log.readers, 0);
	});

	it("goes on when a reader fails, and says so", () => {
		const { log, warnings } = bench();
		let seen = 0;
		log.on(() => {
			throw new Error("broken");
		});
		log.on(() => {
			seen += 1;
		});
		assert.equal(log.append(status("TASK_STATE_WORKING")), true);
		assert.equal(seen, 1);
		assert.deepEqual(warnings, ["A reader of task t1 failed"]);
	});

	it("hands out items from the moment of asking, also to one that reads later", async () => {
		const { log } = bench();
		log.append(status("TASK_STATE_WORKING"));
		const items = log.items(never());
		log.append(text("a", false));
		log.append({ kind: "activity", activity: { type: "tool", name: "bash" } });
		log.append(status("TASK_STATE_COMPLETED"));
		const kinds = (await all(items)).map((item) => Object.keys(item)[0]);
		assert.deepEqual(kinds, ["artifactUpdate", "statusUpdate"]);
		assert.equal(log.readers, 0);
	});

	it("has no items for one who comes after the end or whose signal is aborted", async () => {
		const { log } = bench();
		const gone = new AbortController();
		gone.abort();
		assert.deepEqual(await all(log.items(gone.signal)), []);
		log.append(status("TASK_STATE_FAILED"));
		assert.deepEqual(await all(log.items(never())), []);
	});

	it("ends a reader's items when its signal aborts, and no others", async () => {
		const { log } = bench();
		const leaving = new AbortController();
		const [first, second] = [all(log.items(leaving.signal)), all(log.items(never()))];
		log.append(text("a", false));
		leaving.abort();
		log.append(status("TASK_STATE_COMPLETED"));
		assert.deepEqual([(await first).length, (await second).length], [1, 2]);
	});

	it("cuts a reader off that is too far behind, without touching the others", async () => {
		const { log } = bench();
		const slow = log.items(never())[Symbol.asyncIterator]();
		const quick = all(log.items(never()));
		const first = slow.next();
		log.append(text("start", false));
		await first;
		for (let n = 0; n < 5_000; n++) {
			log.append(text("x"));
			if (n % 100 === 0) await new Promise(setImmediate);
		}
		log.append(status("TASK_STATE_COMPLETED"));
		assert.equal((await quick).length, 5_002);
		await assert.rejects(async () => {
			while (!(await slow.next()).done);
		}, /read too slowly/);
	});

	it("is settled when the task ends or waits for its caller, or the one who waits gives up", async () => {
		const settled = async (log: TaskLog, signal = never()) => {
			let is = false;
			void log.settled(signal).then(() => {
				is = true;
			});
			await new Promise(setImmediate);
			return () => new Promise((resolve) => setImmediate(() => resolve(is)));
		};
		const { log } = bench();
		const giving = new AbortController();
		const [waits, gives] = [await settled(log), await settled(log, giving.signal)];
		log.append(status("TASK_STATE_WORKING"));
		assert.deepEqual([await waits(), await gives()], [false, false]);
		giving.abort();
		assert.deepEqual([await waits(), await gives()], [false, true]);
		log.append(status("TASK_STATE_INPUT_REQUIRED"));
		assert.equal(await waits(), true);
		assert.equal(log.readers, 0);
		assert.equal(await (await settled(log))(), true);
	});

	it("keeps of an ended task its state alone", () => {
		const { log } = bench();
		log.on(() => undefined);
		log.items(never());
		for (let n = 0; n < 100; n++) log.append(text("x"));
		log.append(status("TASK_STATE_COMPLETED"));
		assert.equal(log.readers, 0);
		assert.deepEqual(log.task.artifacts, [{ artifactId: "a", parts: [{ text: "x".repeat(100) }] }]);
	});
});
