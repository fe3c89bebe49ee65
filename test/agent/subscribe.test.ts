import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import { apply, toEvent } from "../../src/protocol/task.ts";
import { eventId, type StreamResponse, type Task } from "../../src/protocol/types.ts";
import {
	alice,
	all,
	bench,
	bob,
	brief,
	call,
	echo,
	gate,
	message,
	replyOf,
	type Script,
	untilAborted,
} from "../support/scripted-runner.ts";

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

describe("a reader who comes back with the id of the last event it saw", () => {
	const lastSeen = (id: string | undefined, how = call()) => ({ ...how, ...(id === undefined ? {} : { after: id }) });
	const subscribe = (it: ReturnType<typeof bench>, id: Task["id"], last?: string, how = call()) =>
		it.agent.stream("SubscribeToTask", { id }, lastSeen(last, how));
	const idOf = (item: StreamResponse | undefined) => item?.[eventId];
	/** A task that says `one `, `two `, `three ` with pauses in which the test moves time. */
	const slowly: Script = async function* (turn) {
		for (const delta of ["one ", "two ", "three "]) {
			yield { type: "text", delta };
			await pause.sleep(100, turn.signal);
		}
	};
	let pause: ReturnType<typeof bench>["clock"];
	const begun = () => {
		const it = bench(slowly);
		pause = it.clock;
		return it;
	};

	it("goes on exactly after it, without the task in between", async () => {
		const it = begun();
		const task = await it.start("x");
		const first = subscribe(it, task.id)[Symbol.asyncIterator]();
		const seen = [(await first.next()).value];
		await it.clock.advance(100);
		seen.push((await first.next()).value);
		await first.return?.();
		await it.clock.advance(1_000);
		const rest = await all(subscribe(it, task.id, idOf(seen[1])));
		assert.deepEqual(rest.map(brief), ["text:three ", "text:", "COMPLETED"]);
		assert.equal(replyOf(replay([...seen, ...rest])), "one two three ");
	});

	it("sees every event once, wherever the connection broke", async () => {
		const it = begun();
		const task = await it.start("x");
		const whole = all(subscribe(it, task.id));
		await it.clock.advance(1_000);
		const items = await whole;
		assert.equal(new Set(items.map(idOf)).size, items.length);
		for (const [index, item] of items.entries()) {
			const rest = await all(subscribe(it, task.id, idOf(item)));
			assert.deepEqual(rest, items.slice(index + 1));
		}
	});

	it("gets the task as a whole when the event is unknown, and of an ended task the refusal", async () => {
		const it = begun();
		const task = await it.start("x");
		for (const unknown of [`${task.id}:999`, `${task.id}:`, `${task.id}:-1`, "task-other:1", "nonsense"]) {
			const items = subscribe(it, task.id, unknown)[Symbol.asyncIterator]();
			assert.equal(brief((await items.next()).value), "task:WORKING", unknown);
			await items.return?.();
		}
		await it.clock.advance(1_000);
		await assert.rejects(all(subscribe(it, task.id, `${task.id}:999`)), named("UnsupportedOperationError"));
	});

	it("gets nothing of somebody else's task", async () => {
		const it = begun();
		const task = await it.start("x");
		await assert.rejects(all(subscribe(it, task.id, `${task.id}:1`, call(bob))), named("TaskNotFoundError"));
		await it.clock.advance(1_000);
	});

	it("may be one whose message is sent again: the stream goes on, up to the question", async () => {
		const it = bench(async function* (turn) {
			yield { type: "text", delta: turn.resumed ? "thanks" : "well " };
			if (!turn.resumed) yield { type: "input-required", question: "which?" };
		});
		const send = (last?: string) =>
			all(it.agent.stream("SendStreamingMessage", { message: message("x") }, lastSeen(last)));
		const begun = send();
		await it.clock.advance(20);
		const items = await begun;
		assert.deepEqual(items.map(brief), ["task:SUBMITTED", "WORKING", "text:well ", "text:", "INPUT_REQUIRED"]);
		assert.deepEqual(await send(idOf(items[2])), items.slice(3));
		assert.deepEqual(await send(idOf(items[4])), []);
		assert.equal(it.runner.turns.length, 1);
	});

	it("may have been cut off for being too slow", async () => {
		const it = bench(async function* () {
			yield { type: "text", delta: "begin " };
			await it.clock.sleep(100);
			for (let n = 0; n < 6_000; n++) yield { type: "text", delta: `${n} ` };
			await it.clock.sleep(100);
		});
		const task = await it.start("x");
		const slow = subscribe(it, task.id)[Symbol.asyncIterator]();
		const seen = [(await slow.next()).value as StreamResponse];
		await it.clock.advance(100);
		for (let n = 0; n < 400; n++) await it.clock.advance(0);
		await assert.rejects(async () => {
			for (let next = await slow.next(); !next.done; next = await slow.next()) seen.push(next.value);
		}, /too slowly/);
		const rest = all(subscribe(it, task.id, idOf(seen.at(-1))));
		await it.clock.advance(1_000);
		const items = await rest;
		const reader = "task" in (items[0] ?? {}) ? items : [...seen, ...items];
		assert.equal(replyOf(replay(reader)), replyOf(await it.get(task.id)));
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
		const item = (await items.next()).value as StreamResponse;
		const first = "task" in item && item.task;
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
