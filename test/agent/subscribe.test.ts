import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import { apply, toEvent } from "../../src/protocol/task.ts";
import type { StreamResponse, Task } from "../../src/protocol/types.ts";
import { alice, all, bench, bob, brief, call, echo, gate, replyOf, untilAborted } from "../support/scripted-runner.ts";

const named = (name: string) => (error: unknown) => error instanceof A2AError && error.name === name;

/** What a reader makes of a stream. */
function replay(items: readonly StreamResponse[]): Task {
	const [first, ...rest] = items;
	assert.ok(first && "task" in first);
	return rest.reduce((task, item) => {
		const event = toEvent(item);
		assert.ok(event);
		return apply(task, event);
	}, first.task);
}

describe("SubscribeToTask", () => {
	const subscribe = (it: ReturnType<typeof bench>, id: Task["id"], how = call()) =>
		it.agent.stream("SubscribeToTask", { id }, how);

	it("begins with the task as it is, then tells all that follows, and ends with the task", async () => {
		const [half, rest] = [gate(), gate()];
		const it = bench(async function* () {
			yield { type: "text", delta: "one " };
			await half.opened;
			yield { type: "text", delta: "two " };
			await rest.opened;
			yield { type: "text", delta: "three " };
		});
		const task = await it.start("x");
		const items = all(subscribe(it, task.id));
		await it.clock.advance(0);
		half.open();
		rest.open();
		assert.deepEqual((await items).map(brief), ["task:WORKING", "text:two ", "text:three ", "text:", "COMPLETED"]); // R018
		assert.equal(replyOf(replay(await items)), "one two three ");
	});

	it("ends also when the task ends in the moment of subscribing", async () => {
		const it = bench(untilAborted);
		const task = await it.start("x");
		const items = subscribe(it, task.id)[Symbol.asyncIterator]();
		const first = await items.next();
		await it.cancel(task.id);
		const second = await items.next();
		assert.deepEqual(
			[first, second].map((each) => brief(each.value)),
			["task:WORKING", "CANCELED"],
		);
		assert.equal((await items.next()).done, true);
	});

	it("loses nothing between the first item and the live ones", async () => {
		const [begin] = [gate()];
		const it = bench(async function* () {
			await begin.opened;
			for (let n = 0; n < 1_000; n++) yield { type: "text", delta: `${n} ` };
		});
		const task = await it.start("x");
		begin.open();
		const readers = await Promise.all(
			Array.from({ length: 10 }, async (_, n) => {
				for (let step = 0; step < n * 50; step++) await Promise.resolve();
				return all(subscribe(it, task.id));
			}),
		);
		const whole = replyOf(await it.get(task.id));
		for (const items of readers) assert.equal(replyOf(replay(items)), whole);
	});

	it("shows the same events in the same order to everyone", async () => {
		const begin = gate();
		const it = bench(async function* () {
			await begin.opened;
			yield { type: "activity", activity: { type: "tool", name: "ls" } };
			yield { type: "text", delta: "done" };
		});
		const task = await it.start("x");
		const two = [all(subscribe(it, task.id)), all(subscribe(it, task.id))];
		await it.clock.advance(0);
		begin.open();
		const [first, second] = await Promise.all(two);
		assert.deepEqual(first, second);
		// One object for all, so that a binding need not write it twice.
		assert.equal(first?.[1], second?.[1]);
	});

	it("gives the stored task while it waits for its caller, and what the answer brings", async () => {
		const it = bench(async function* (turn) {
			if (turn.resumed) yield { type: "text", delta: "thanks" };
			else yield { type: "input-required", question: "?" };
		});
		const task = await it.send("x");
		const items = all(subscribe(it, task.id)); // R019
		await it.clock.advance(0);
		await it.send("answer", { task: task.id });
		assert.deepEqual((await items).map(brief), ["task:INPUT_REQUIRED", "WORKING", "text:thanks", "COMPLETED"]);
	});

	it("is refused for a task that has ended, is unknown, or is somebody else's", async () => {
		const it = bench(echo);
		const task = await it.send("x");
		await assert.rejects(all(subscribe(it, task.id)), named("UnsupportedOperationError")); // R034
		await assert.rejects(all(subscribe(it, task.id, call(bob))), named("TaskNotFoundError"));
	});

	it("leaves the task and the other reader alone when one reader goes", async () => {
		const done = gate();
		const it = bench(async function* () {
			await done.opened;
			yield { type: "text", delta: "ok" };
		});
		const task = await it.start("x");
		const leaving = new AbortController();
		const leaver = all(subscribe(it, task.id, call(alice, leaving.signal)));
		const stayer = all(subscribe(it, task.id));
		await it.clock.advance(0);
		leaving.abort();
		assert.deepEqual((await leaver).map(brief), ["task:WORKING"]);
		done.open();
		assert.equal(brief((await stayer).at(-1) as StreamResponse), "COMPLETED");
	});

	it("cuts off a reader that is too slow, without holding up the task", async () => {
		const it = bench(async function* () {
			yield { type: "text", delta: "begin " };
			await it.clock.sleep(100);
			for (let n = 0; n < 10_000; n++) yield { type: "text", delta: "word " };
		});
		const task = await it.start("x");
		const slow = subscribe(it, task.id)[Symbol.asyncIterator]();
		await slow.next();
		await it.clock.advance(100);
		while ((await it.get(task.id)).status.state === "TASK_STATE_WORKING") await it.clock.advance(0);
		await assert.rejects(async () => {
			while (!(await slow.next()).done);
		}, /too slowly/);
	});
});

describe("what has been handed out", () => {
	it("never changes afterwards", async () => {
		const it = bench(async function* () {
			yield { type: "text", delta: "one " };
			await it.clock.sleep(100);
			yield { type: "text", delta: "two " };
			yield { type: "failed", reason: "and then it failed" };
		});
		const answer = await it.start("x");
		const copy = structuredClone(answer);
		const got = await it.get(answer.id);
		const gotCopy = structuredClone(got);
		const items = it.agent.stream("SubscribeToTask", { id: answer.id }, call())[Symbol.asyncIterator]();
		const first = (await items.next()).value;
		const firstCopy = structuredClone(first);
		await it.clock.advance(100);
		assert.equal((await it.get(answer.id)).status.state, "TASK_STATE_FAILED");
		assert.deepEqual([answer, got, first], [copy, gotCopy, firstCopy]); // R040
		assert.equal(answer.status.state, "TASK_STATE_WORKING");
	});

	it("shows each state in turn even when they follow in one moment", async () => {
		const { stream } = bench(async function* () {
			yield { type: "failed", reason: "at once" };
		});
		assert.deepEqual((await stream("x")).map(brief), ["task:SUBMITTED", "WORKING", "FAILED"]);
	});
});
