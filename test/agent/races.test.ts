import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import { apply, isTerminal, toEvent } from "../../src/protocol/task.ts";
import { type StreamResponse, type Task, type TaskState, taskId } from "../../src/protocol/types.ts";
import { all, bench, call, gate, message, replyOf } from "../support/scripted-runner.ts";
import { journalRig } from "../tasks/journal-rig.ts";
import { receiver } from "./push-support.ts";

const RUNS = 200;

/** The task that somebody has who was told `items`. */
function followed(items: readonly StreamResponse[]): Task {
	let task: Task | undefined;
	for (const item of items) {
		if ("task" in item) task = item.task;
		const event = toEvent(item);
		if (task && event) task = apply(task, event);
	}
	assert.ok(task);
	return task;
}

describe("ends of a task that race", () => {
	/**
	 * Runs a task to an end that `race` brings about while the work may finish, and checks that all who read it see the
	 * same: the call that waits, two streams, GetTask at once and later, a webhook, and the next process from the journal.
	 */
	async function raced(step: number, race: (it: ReturnType<typeof bench>, id: string) => Promise<unknown>) {
		const rig = journalRig();
		const finish = gate();
		const hook = receiver();
		const it = bench(
			async function* () {
				yield { type: "text", delta: "done by now" };
				await finish.opened;
				yield { type: "text", delta: " and ended" };
			},
			{ capabilities: { streaming: true, push: true, extended: false }, webhooks: hook.webhooks },
		);
		const life = rig.live();
		it.tasks.adopt(life.journal);
		const blocking = it.send(`m${step}`);
		await it.clock.advance(0);
		const [log] = it.tasks.running();
		assert.ok(log);
		const { id } = log;
		await it.agent.request("CreateTaskPushNotificationConfig", { taskId: id, url: "https://hook.example/" }, call());
		const streams = [
			all(it.agent.stream("SubscribeToTask", { id }, call())),
			all(it.agent.stream("SendStreamingMessage", { message: message(`m${step}`) }, call())),
		];
		await it.clock.advance(0);
		const ends: TaskState[] = [];
		log.on(() => isTerminal(log.state) && ends.push(log.state));
		// The other end comes some steps after the work may finish, a different number in each run.
		finish.open();
		for (let n = 0; n < step % 24; n++) await Promise.resolve();
		const outcome = await race(it, id).catch((error: unknown) => error);
		const seen = await it.get(id);
		const { state } = seen.status;
		assert.deepEqual(ends, [state]);
		await it.clock.advance(1_000);
		for (let n = 0; n < 20; n++) await it.clock.advance(0);
		const readers = [await blocking, await it.get(id), ...(await Promise.all(streams)).map(followed)];
		for (const task of readers) {
			assert.deepEqual(task.status, seen.status);
			assert.equal(replyOf(task), replyOf(seen));
		}
		const told = hook.items().at(-1);
		assert.ok(told && "statusUpdate" in told);
		assert.deepEqual(told.statusUpdate.status, seen.status);
		life.die();
		const next = rig.live();
		assert.deepEqual(next.get(id, "peer:alice"), seen);
		rig.end();
		return { state, outcome };
	}

	it("canceling and completing have one winner that every reader sees", async function () {
		this.timeout(60_000);
		let canceled = 0;
		for (let run = 0; run < RUNS; run++) {
			const { state, outcome } = await raced(run, (it, id) => it.cancel(id)); // R031
			if (state === "TASK_STATE_CANCELED") canceled += 1;
			else assert.ok(outcome instanceof A2AError && outcome.name === "TaskNotCancelableError", String(outcome));
		}
		assert.ok(canceled > 0 && canceled < RUNS, `both must happen, canceled ${canceled} times`);
	});

	it("stopping the agent, canceling and completing have one winner too", async function () {
		this.timeout(60_000);
		const states = new Set<TaskState>();
		for (let run = 0; run < 48; run++) {
			const { state } = await raced(run, async (it, id) => {
				const closed = it.agent.close("host stopped");
				if (run % 2 === 0) await it.agent.request("CancelTask", { id: taskId(id) }, call()).catch(() => undefined);
				await closed;
			});
			states.add(state);
		}
		assert.deepEqual([...states].sort(), ["TASK_STATE_CANCELED", "TASK_STATE_COMPLETED", "TASK_STATE_FAILED"]);
	});
});
