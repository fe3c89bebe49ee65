import assert from "node:assert/strict";
import type { AgentParts } from "../../src/agent/agent.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import type { Task } from "../../src/protocol/types.ts";
import {
	all,
	assertIdle,
	bench,
	bob,
	brief,
	call,
	gate,
	message,
	replyOf,
	type Script,
	said,
	statusText,
	untilAborted,
} from "../support/scripted-runner.ts";
import { journalRig } from "../tasks/journal-rig.ts";

const limits = (over: Partial<AgentParts["limits"]> = {}) => ({
	limits: { maxConcurrent: 1, queueSize: 4, replyTimeoutMs: 0, asyncTimeoutMs: 0, ...over },
});
const placeOf = (task: Task): unknown => task.status.message?.metadata?.["pi/queue"];
/** Checks a refusal and gives what it says. */
async function refused(sending: Promise<unknown>): Promise<A2AError> {
	const error = await sending.then(
		() => undefined,
		(reason: unknown) => reason,
	);
	assert.ok(error instanceof A2AError && error.name === "BusyError", String(error));
	return error;
}

/** Sends and does not wait, not even for the acceptance. */
const detached = ({ agent }: ReturnType<typeof bench>, text: string) =>
	agent.request("SendMessage", { message: message(text), configuration: { returnImmediately: true } }, call());

/** Turns that end one by one when the test says so, with what was said. */
function stepwise() {
	const gates = new Map<string, ReturnType<typeof gate>>();
	const begun: string[] = [];
	const script: Script = async function* (turn) {
		const text = said(turn);
		begun.push(text);
		const done = gate();
		gates.set(text, done);
		turn.signal.addEventListener("abort", () => done.open());
		await done.opened;
		yield { type: "text", delta: text };
	};
	return { script, begun, finish: (text: string) => gates.get(text)?.open() };
}

describe("requests to a busy agent that has a queue", () => {
	it("are SUBMITTED with their place, move up, and begin when a slot is free", async () => {
		const { script, begun, finish } = stepwise();
		const it = bench(script, limits());
		await it.start("one");
		const two = await it.start("two");
		const three = await it.start("three", {}, call(bob));
		assert.equal(two.status.state, "TASK_STATE_SUBMITTED");
		assert.deepEqual(placeOf(two), { position: 1, of: 1 });
		assert.equal(statusText(three), "Waiting for a free slot: place 2 of 2");
		finish("one");
		await it.clock.advance(0);
		const begunTask = await it.get(two.id);
		assert.equal(begunTask.status.state, "TASK_STATE_WORKING");
		assert.equal(placeOf(begunTask), undefined);
		assert.deepEqual(placeOf(await it.get(three.id, call(bob))), { position: 1, of: 1 });
		finish("two");
		await it.clock.advance(0);
		finish("three");
		await it.clock.advance(0);
		assert.equal(replyOf(await it.get(three.id, call(bob))), "three");
		assert.deepEqual(begun, ["one", "two", "three"]);
		await assertIdle(it);
	});

	it("wait as long as their caller waits: a blocking call has the reply, a stream shows the places", async () => {
		const { script, finish } = stepwise();
		const it = bench(script, limits());
		await it.start("one");
		const blocking = it.send("two");
		const stream = it.stream("three");
		for (const text of ["one", "two", "three"]) {
			await it.clock.advance(20);
			finish(text);
		}
		await it.clock.advance(0);
		assert.equal(replyOf(await blocking), "two");
		const told = (await stream).filter((item) => "statusUpdate" in item || "task" in item).map(brief);
		assert.deepEqual(told, ["task:SUBMITTED", "SUBMITTED", "SUBMITTED", "WORKING", "COMPLETED"]);
		await assertIdle(it);
	});

	it("are refused when it is full, with a time to come again, and leave nothing", async () => {
		const it = bench(untilAborted, limits({ queueSize: 1 }));
		await it.start("one");
		await it.start("two", {}, call(bob));
		const error = await refused(it.send("three"));
		assert.equal(error.message, `Too many tasks are running; try again in ${error.details.retryAfter} s`);
		assert.equal(it.tasks.all().length, 2);
		await it.agent.close("over");
	});

	it("of one caller leave as many places for others as they take", async () => {
		const it = bench(untilAborted, limits({ queueSize: 6 }));
		await it.start("one");
		for (const text of ["a", "b", "c"]) await it.start(text);
		assert.match((await refused(it.send("d"))).message, /of this caller wait/);
		await it.start("e", {}, call(bob));
		await it.agent.close("over");
	});

	it("begin in turn by caller, however many one of them has sent first", async () => {
		const { script, begun, finish } = stepwise();
		const it = bench(script, limits({ queueSize: 20 }));
		await it.start("a0");
		for (const text of ["a1", "a2", "a3", "a4"]) await it.start(text);
		const first = await it.start("b1", {}, call(bob));
		await it.start("b2", {}, call(bob));
		assert.deepEqual(placeOf(first), { position: 2, of: 5 });
		for (const text of ["a0", "a1", "b1", "a2", "b2", "a3", "a4"]) {
			finish(text);
			await it.clock.advance(0);
		}
		assert.deepEqual(begun, ["a0", "a1", "b1", "a2", "b2", "a3", "a4"]);
		await assertIdle(it);
	});

	it("are FAILED with the reason when no slot becomes free in time, and have not begun", async () => {
		const it = bench(untilAborted, limits({ maxWaitMs: 60_000 }));
		const running = await it.start("one");
		const { id } = await it.start("two");
		await it.clock.advance(59_979);
		assert.equal((await it.get(id)).status.state, "TASK_STATE_SUBMITTED");
		await it.clock.advance(1);
		const task = await it.get(id);
		assert.equal(task.status.state, "TASK_STATE_FAILED");
		assert.equal(statusText(task), "No slot became free within 60 s; the task has not begun: send its message anew");
		assert.equal(it.runner.turns.length, 1);
		await it.cancel(running.id);
		await assertIdle(it);
	});

	it("have their own time for the work, whatever they have waited", async () => {
		const { script, finish } = stepwise();
		const it = bench(script, limits({ asyncTimeoutMs: 1_000 }));
		await it.start("one");
		const { id } = await it.start("two");
		await it.clock.advance(900);
		finish("one");
		await it.clock.advance(999);
		assert.equal((await it.get(id)).status.state, "TASK_STATE_WORKING");
		await it.clock.advance(1);
		assert.equal((await it.get(id)).status.state, "TASK_STATE_FAILED");
		await assertIdle(it);
	});

	it("can be canceled while they wait: they never run, and others move up", async () => {
		const { script, begun, finish } = stepwise();
		const it = bench(script, limits());
		await it.start("one");
		const [two, three] = [await it.start("two"), await it.start("three", {}, call(bob))];
		assert.equal((await it.cancel(two.id)).status.state, "TASK_STATE_CANCELED");
		assert.deepEqual(placeOf(await it.get(three.id, call(bob))), { position: 1, of: 1 });
		finish("one");
		await it.clock.advance(0);
		finish("three");
		await it.clock.advance(0);
		assert.deepEqual(begun, ["one", "three"]);
		await assertIdle(it);
	});

	it("do not overtake each other in one conversation", async () => {
		const { script, begun, finish } = stepwise();
		const it = bench(script, limits({ maxConcurrent: 2, maxDetached: 1 }));
		await it.start("one");
		await it.start("detached", { context: "c" });
		const blocking = it.send("blocking", { context: "c" });
		const other = it.send("other");
		await it.clock.advance(0);
		assert.deepEqual(begun, ["one", "other"]);
		for (const text of ["other", "one", "detached", "blocking"]) {
			finish(text);
			await it.clock.advance(0);
		}
		assert.deepEqual(begun, ["one", "other", "detached", "blocking"]);
		await Promise.all([blocking, other]);
		await assertIdle(it);
	});

	it("that answer a question wait as well, at work again and with their place", async () => {
		const it = bench(async function* (turn) {
			if (turn.resumed) yield { type: "text", delta: said(turn) };
			else if (said(turn) === "ask") yield { type: "input-required", question: "?" };
			else yield* untilAborted(turn);
		}, limits());
		const asked = await it.send("ask");
		const busy = await it.start("busy");
		const waits = await it.start("answer", { task: asked.id });
		assert.equal(waits.status.state, "TASK_STATE_WORKING");
		assert.deepEqual(placeOf(waits), { position: 1, of: 1 });
		await it.cancel(busy.id);
		await it.clock.advance(0);
		assert.equal(replyOf(await it.get(asked.id)), "answer");
		await assertIdle(it);
	});

	it("are told of their place a few times, not of every move", async () => {
		const { script, finish } = stepwise();
		const it = bench(script, limits({ queueSize: 1_000 }));
		await it.start("0");
		for (let n = 1; n <= 300; n++) await it.start(String(n));
		const last = it.tasks.running().find((log) => log.task.history?.[0]?.messageId === "300");
		assert.ok(last);
		let told = 0;
		last.on((event) => {
			if (event.kind === "status") told += 1;
		});
		for (let n = 0; n <= 300; n++) {
			finish(String(n));
			await it.clock.advance(0);
		}
		assert.equal(last.state, "TASK_STATE_COMPLETED");
		assert.ok(told > 10 && told < 40, `${told}`);
		await assertIdle(it);
	});

	it("are begun by the next process, in their order, where tasks are resumed", async () => {
		const rig = journalRig();
		try {
			const live = () => {
				const { script, begun, finish } = stepwise();
				const it = bench(script, limits({ resumeTasks: true }));
				const life = rig.live();
				it.tasks.adopt(life.journal);
				/** Time for the journal, which is written between two turns of the event loop. */
				const pass = async () => {
					for (let n = 0; n < 5; n++) await it.clock.advance(0);
				};
				return { ...it, begun, pass, finish, die: () => life.die() };
			};
			const before = live();
			await before.start("one");
			const queued = [await before.start("two"), await before.start("three")];
			before.die();
			const after = live();
			await after.agent.recover();
			await after.pass();
			assert.deepEqual(after.begun, ["two"]);
			const [two, three] = queued;
			assert.ok(two && three);
			assert.deepEqual(placeOf(await after.get(three.id)), { position: 1, of: 1 });
			after.finish("two");
			await after.pass();
			after.finish("three");
			await after.pass();
			assert.equal(replyOf(await after.get(three.id)), "three");
			assert.deepEqual(after.tasks.running(), []);
			after.die();
		} finally {
			rig.end();
		}
	});
});

describe("detached tasks", () => {
	const two = limits({ maxConcurrent: 2, queueSize: 0, maxDetached: 1 });

	it("hold no more slots than they may, so that blocking calls are served", async () => {
		const { script, finish } = stepwise();
		const it = bench(script, two);
		await it.start("long");
		const error = await refused(detached(it, "longer"));
		assert.match(error.message, /^Too many detached tasks are running; try again in \d+ s$/);
		const answer = it.send("quick");
		await it.clock.advance(0);
		finish("quick");
		assert.equal(replyOf(await answer), "quick");
		await it.agent.close("over");
	});

	it("are also those whose caller has stopped waiting: reply window, connection or stream", async () => {
		const ways: ((it: ReturnType<typeof bench>) => Promise<unknown>)[] = [
			async (it) => {
				const answer = it.send("x");
				await it.clock.advance(1_000);
				await answer;
			},
			async (it) => {
				const left = new AbortController();
				const answer = it.send("x", {}, call(undefined, left.signal));
				await it.clock.advance(0);
				left.abort();
				await answer;
			},
			async (it) => {
				const left = new AbortController();
				const how = call(undefined, left.signal);
				const items = all(it.agent.stream("SendStreamingMessage", { message: message("x") }, how));
				await it.clock.advance(20);
				left.abort();
				await items;
			},
		];
		for (const leave of ways) {
			const it = bench(untilAborted, { limits: { ...two.limits, replyTimeoutMs: 1_000 } });
			await leave(it);
			assert.match((await refused(detached(it, "detached"))).message, /detached/);
			await it.agent.close("over");
		}
	});

	it("wait in the queue for their budget and let blocking calls pass", async () => {
		const { script, begun, finish } = stepwise();
		const it = bench(script, limits({ maxConcurrent: 2, maxDetached: 1 }));
		await it.start("long");
		const waits = await it.start("longer");
		assert.deepEqual(placeOf(waits), { position: 1, of: 1 });
		const answer = it.send("quick");
		await it.clock.advance(0);
		finish("quick");
		await answer;
		assert.deepEqual(begun, ["long", "quick"]);
		finish("long");
		await it.clock.advance(0);
		finish("longer");
		await it.clock.advance(0);
		assert.equal(replyOf(await it.get(waits.id)), "longer");
		await assertIdle(it);
	});
});

describe("the time after which a busy agent is asked again", () => {
	const judged = async (work: (it: ReturnType<typeof bench>, finish: (text: string) => void) => Promise<void>) => {
		const { script, finish } = stepwise();
		const it = bench(script, limits({ queueSize: 0 }));
		await work(it, finish);
		const error = await refused(it.send("refused"));
		await it.agent.close("over");
		return error.details.retryAfter ?? 0;
	};

	it("follows how long turns take here, within a second and ten minutes", async () => {
		const turns = (ms: number) =>
			judged(async (it, finish) => {
				for (let n = 0; n < 25; n++) {
					await it.start(String(n));
					await it.clock.advance(ms - 20);
					finish(String(n));
					await it.clock.advance(0);
				}
				await it.start("running");
			});
		assert.equal(await turns(20), 1);
		const minute = await turns(60_000);
		assert.ok(minute > 50 && minute <= 60, `${minute}`);
		assert.equal(await turns(86_400_000), 600);
	});

	it("grows with the age of what runs", async () => {
		const seconds = await judged(async (it) => {
			await it.start("running");
			await it.clock.advance(600_000);
		});
		assert.ok(seconds > 300 && seconds <= 600, `${seconds}`);
	});
});

describe("an agent asked whether it is ready", () => {
	it("says ready, busy or draining, and what runs and waits", async () => {
		const it = bench(untilAborted, limits());
		assert.deepEqual(it.agent.readiness(), { readiness: "ready", running: 0, queued: 0, slots: 1 });
		await it.start("one");
		await it.start("two");
		assert.deepEqual(it.agent.readiness(), { readiness: "busy", running: 1, queued: 1, slots: 1 });
		void it.agent.drain(new AbortController().signal);
		assert.equal(it.agent.readiness().readiness, "draining");
		await it.agent.close("over");
		assert.deepEqual(it.agent.readiness(), { readiness: "draining", running: 0, queued: 0, slots: 1 });
	});
});

describe("an agent that drains", () => {
	it("takes no new turn, lets those that it has taken end, also the ones that wait", async () => {
		const { script, finish } = stepwise();
		const it = bench(script, limits());
		const [one, two] = [await it.start("one"), await it.start("two")];
		const drained = it.agent.drain(new AbortController().signal);
		const error = await refused(it.send("three"));
		assert.match(error.message, /stopping/);
		assert.equal(error.details.retryAfter, 30);
		finish("one");
		await it.clock.advance(0);
		finish("two");
		await drained;
		assert.deepEqual([replyOf(await it.get(one.id)), replyOf(await it.get(two.id))], ["one", "two"]);
		await it.agent.close("stopped");
		await assertIdle(it);
	});

	it("takes no answer to a question either, and leaves the task waiting", async () => {
		const it = bench(async function* () {
			yield { type: "input-required", question: "?" };
		}, limits());
		const asked = await it.send("ask");
		await it.agent.drain(new AbortController().signal);
		await refused(it.send("answer", { task: asked.id }));
		assert.deepEqual(await it.get(asked.id), asked);
		await it.agent.close("stopped");
	});

	it("is done when its time is over or cut short; closing then ends what is left", async () => {
		const it = bench(untilAborted, limits());
		const [one, two] = [await it.start("one"), await it.start("two")];
		const over = new AbortController();
		const drained = it.agent.drain(over.signal);
		over.abort();
		await drained;
		// What waits is told its end and nothing of slots that become free.
		const told: string[] = [];
		const waits = it.tasks.get("peer:alice", two.id);
		waits.on(() => told.push(waits.state));
		await it.agent.close("stopped");
		assert.deepEqual(told, ["TASK_STATE_FAILED"]);
		for (const { id } of [one, two]) assert.equal(statusText(await it.get(id)), "stopped");
		assert.equal(it.runner.turns.length, 1);
		await assertIdle(it);
	});
});
