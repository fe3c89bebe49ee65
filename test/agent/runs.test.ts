import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import type { TaskEvent } from "../../src/protocol/task.ts";
import {
	aborted,
	assertIdle,
	bench,
	bob,
	call,
	echo,
	gate,
	replyOf,
	said,
	untilAborted,
} from "../support/scripted-runner.ts";

const named = (name: string) => (error: unknown) => error instanceof A2AError && error.name === name;
const limits = (maxConcurrent: number) => ({ limits: { maxConcurrent, replyTimeoutMs: 0, asyncTimeoutMs: 0 } });

describe("concurrent turns", () => {
	it("are as many as allowed; one more is refused as busy and leaves nothing", async () => {
		const done = gate();
		const it = bench(async function* () {
			await done.opened;
			yield { type: "text", delta: "ok" };
		}, limits(2));
		await it.start("one");
		await it.start("two");
		await assert.rejects(it.send("three"), named("BusyError"));
		assert.equal(it.tasks.all().length, 2);
		done.open();
		await it.clock.advance(0);
		assert.equal(replyOf(await it.send("three")), "ok");
		await assertIdle(it);
	});

	it("include those that wait for their conversation", async () => {
		const it = bench(untilAborted, limits(2));
		const first = await it.start("one", { context: "c" });
		const second = await it.start("two", { context: "c" });
		await assert.rejects(it.send("three"), named("BusyError"));
		await it.cancel(first.id);
		await it.cancel(second.id);
		await assertIdle(it);
	});

	it("hold one slot a turn, whoever cancels, fails or asks", async () => {
		const it = bench(async function* (turn) {
			if (said(turn) === "ask") yield { type: "input-required", question: "?" };
			else if (said(turn) === "throw") throw new Error("broken");
			else if (said(turn) === "fail") yield { type: "failed", reason: "no" };
			else await aborted(turn.signal);
		}, limits(1));
		for (const text of ["ask", "throw", "fail", "reject"]) {
			if (text === "reject") await it.cancel((await it.start(text)).id);
			else await it.send(text);
		}
		assert.deepEqual(it.tasks.running(), []);
	});
});

describe("tasks that wait for an answer", () => {
	it("are bounded; one too many ends the oldest of the caller that has most of them, not that of another", async () => {
		const it = bench(
			async function* () {
				yield { type: "input-required", question: "?" };
			},
			{ ...limits(1), maxFinished: 500 },
		);
		const theirs = await it.start("theirs", {}, call(bob));
		const first = await it.start("first");
		for (let n = 1; n < 1_000; n++) await it.start(`ask ${n}`);
		const state = async (id: string, how = call()) => (await it.get(id, how)).status.state;
		assert.equal(await state(theirs.id, call(bob)), "TASK_STATE_INPUT_REQUIRED");
		assert.equal(await state(first.id), "TASK_STATE_FAILED");
	});
});

describe("turns of one conversation", () => {
	it("run one after another, each seeing the end of the one before", async () => {
		const story: string[] = [];
		const it = bench(async function* (turn) {
			story.push(`begin ${said(turn)}`);
			await it.clock.sleep(10, turn.signal);
			yield { type: "text", delta: said(turn) };
			story.push(`end ${said(turn)}`);
		});
		const answers = ["a", "b", "c"].map((text) => it.send(text, { context: "c1" }));
		await it.clock.advance(30);
		assert.deepEqual((await Promise.all(answers)).map(replyOf), ["a", "b", "c"]); // R061
		assert.deepEqual(story, ["begin a", "end a", "begin b", "end b", "begin c", "end c"]);
		await assertIdle(it);
	});

	it("stay SUBMITTED while they wait, and say on the host that they are queued", async () => {
		const it = bench(untilAborted);
		const events: TaskEvent[] = [];
		const first = await it.start("one", { context: "c1" });
		it.tasks.onOpen((log) => log.on((event) => events.push(event)));
		const second = await it.start("two", { context: "c1" });
		assert.equal(second.status.state, "TASK_STATE_SUBMITTED");
		assert.deepEqual(events.find((event) => event.kind === "activity")?.activity.type, "queued");
		await it.cancel(first.id);
		await it.clock.advance(0);
		assert.equal((await it.get(second.id)).status.state, "TASK_STATE_WORKING");
		await it.cancel(second.id);
		await assertIdle(it);
	});

	it("that were canceled while they waited never run", async () => {
		const it = bench(untilAborted);
		const first = await it.start("one", { context: "c1" });
		const second = await it.start("two", { context: "c1" });
		await it.cancel(second.id);
		await it.cancel(first.id);
		await it.clock.advance(0);
		assert.deepEqual(it.runner.turns.map(said), ["one"]);
		await assertIdle(it);
	});

	it("do not wait for turns of another context, nor of another caller with the same context", async () => {
		const it = bench(untilAborted);
		const ids = [await it.start("1", { context: "c1" }), await it.start("2", { context: "c2" })];
		const theirs = await it.start("3", { context: "c1" }, call(bob));
		assert.deepEqual(it.runner.turns.map(said), ["1", "2", "3"]);
		for (const { id } of ids) await it.cancel(id);
		await it.cancel(theirs.id, call(bob));
		await assertIdle(it);
	});

	it("wait until the runner of the one before has really stopped", async () => {
		const stopped = gate();
		const it = bench(async function* (turn) {
			if (said(turn) === "two") yield { type: "text", delta: "ok" };
			else await stopped.opened;
		});
		const first = await it.start("one", { context: "c1" });
		const second = await it.start("two", { context: "c1" });
		await it.cancel(first.id);
		await it.clock.advance(0);
		assert.equal((await it.get(second.id)).status.state, "TASK_STATE_SUBMITTED");
		stopped.open();
		await it.clock.advance(0);
		assert.equal((await it.get(second.id)).status.state, "TASK_STATE_COMPLETED");
		await assertIdle(it);
	});

	it("do not wait for ever for a runner that does not stop", async () => {
		const it = bench(async function* (turn) {
			if (said(turn) === "one") await new Promise<never>(() => undefined);
			yield { type: "text", delta: "ok" };
		});
		const first = await it.start("one", { context: "c1" });
		const second = await it.start("two", { context: "c1" });
		await it.cancel(first.id);
		await it.clock.advance(10_000);
		assert.equal(replyOf(await it.get(second.id)), "ok");
		assert.match(it.warnings[0] ?? "", /has not stopped 10 s after/);
		await assertIdle(it);
	});
});

describe("cancelling", () => {
	it("marks the task CANCELED at once, aborts the turn and frees the only slot", async () => {
		const it = bench(async function* (turn) {
			if (said(turn) === "two") yield { type: "text", delta: "ok" };
			else await aborted(turn.signal);
		}, limits(1));
		const first = await it.start("one");
		const canceled = await it.cancel(first.id);
		assert.equal(canceled.status.state, "TASK_STATE_CANCELED");
		assert.equal(it.runner.turns[0]?.signal.aborted, true); // R033
		assert.equal(replyOf(await it.send("two")), "ok");
		await assertIdle(it);
	});

	it("answers the call that waits for the task", async () => {
		const it = bench(untilAborted);
		const waiting = it.send("one");
		await it.clock.advance(0);
		const [log] = it.tasks.running();
		assert.ok(log);
		await it.cancel(log.id);
		assert.equal((await waiting).status.state, "TASK_STATE_CANCELED");
		await assertIdle(it);
	});

	it("is refused once the task has ended, and never undoes an end", async () => {
		const it = bench(echo);
		const task = await it.send("one");
		await assert.rejects(it.cancel(task.id), named("TaskNotCancelableError"));
		assert.deepEqual(await it.get(task.id), task);
		await assert.rejects(it.cancel("unknown"), named("TaskNotFoundError"));
		await assert.rejects(it.cancel(task.id, call(bob)), named("TaskNotFoundError"));
	});

	it("works on a task that waits for its caller", async () => {
		const it = bench(async function* () {
			yield { type: "input-required", question: "?" };
		});
		const task = await it.send("one");
		assert.equal((await it.cancel(task.id)).status.state, "TASK_STATE_CANCELED");
		await assertIdle(it);
	});

	it("wins against what a stubborn runner says afterwards", async () => {
		const it = bench(async function* (turn) {
			yield { type: "text", delta: "before " };
			await aborted(turn.signal);
			yield { type: "text", delta: "after" };
			yield { type: "completed" };
		});
		const task = await it.start("one");
		await it.cancel(task.id);
		await it.clock.advance(1_000);
		const end = await it.get(task.id);
		assert.equal(end.status.state, "TASK_STATE_CANCELED");
		assert.equal(replyOf(end), "before ");
	});
});
