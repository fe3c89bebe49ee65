import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import {
	aborted,
	assertIdle,
	bench,
	echo,
	gate,
	replyOf,
	type Script,
	said,
	silent,
	statusText,
	untilAborted,
} from "../support/scripted-runner.ts";

const named = (name: string) => (error: unknown) => error instanceof A2AError && error.name === name;
const limits = (maxConcurrent: number) => ({ limits: { maxConcurrent, replyTimeoutMs: 0, asyncTimeoutMs: 0 } });

describe("a turn that ends", () => {
	const endOf = async (script: Script) => {
		const it = bench(script);
		const task = await it.send("go");
		await assertIdle(it);
		return { task, warnings: it.warnings };
	};

	it("by its runner throwing is FAILED, in words that give nothing away", async () => {
		const { task, warnings } = await endOf(async function* () {
			yield { type: "text", delta: "some" };
			throw new Error("ENOENT /home/someone/private");
		});
		assert.equal(task.status.state, "TASK_STATE_FAILED"); // R029
		assert.equal(statusText(task), "The agent stopped because of an internal error");
		assert.match(warnings[0] ?? "", /^The run of task-[0-9a-f]+ failed$/);
	});

	it("with a reason is FAILED or REJECTED with it, on one line and without secrets", async () => {
		const secret = `sk-${"a1B2".repeat(12)}`;
		for (const type of ["failed", "rejected"] as const) {
			const { task } = await endOf(async function* () {
				yield { type, reason: `no quota\nfor key ${secret}` };
			});
			assert.equal(task.status.state, type === "failed" ? "TASK_STATE_FAILED" : "TASK_STATE_REJECTED");
			assert.match(statusText(task), /^no quota for key \[redacted/);
		}
	});

	it("without text or artifact is never a success", async () => {
		const useless: Script[] = [
			silent(() => undefined),
			async function* () {
				yield { type: "completed" };
			},
			async function* () {
				yield { type: "text", delta: "" };
				yield { type: "text", delta: " \n" };
			},
			async function* () {
				yield { type: "activity", activity: { type: "tool", name: "bash" } };
			},
		];
		for (const script of useless) {
			const { task } = await endOf(script);
			assert.equal(task.status.state, "TASK_STATE_FAILED"); // R049
			assert.match(statusText(task), /^no usable reply was produced/);
		}
	});

	it("on a tool call keeps the text that came before it", async () => {
		const { task } = await endOf(async function* () {
			yield { type: "text", delta: "I looked." };
			yield { type: "activity", activity: { type: "tool", name: "bash", detail: "ls" } };
			yield { type: "activity", activity: { type: "tool-end", name: "bash" } };
		});
		assert.equal(task.status.state, "TASK_STATE_COMPLETED");
		assert.equal(replyOf(task), "I looked.");
		assert.equal(task.status.message, undefined);
	});

	it("twice has ended the first time", async () => {
		const { task } = await endOf(async function* () {
			yield { type: "text", delta: "x" };
			yield { type: "completed" };
			yield { type: "failed", reason: "late" };
		});
		assert.equal(task.status.state, "TASK_STATE_COMPLETED");
	});

	it("with facts about itself puts them into the task's metadata", async () => {
		const { task } = await endOf(async function* () {
			yield { type: "text", delta: "x" };
			yield { type: "completed", metadata: { tokens: 12 } };
		});
		assert.deepEqual(task.metadata, { tokens: 12 });
	});

	it("by itself is not told to stop, and may put its things in order", async () => {
		let left = false;
		const it = bench(async function* (turn) {
			try {
				yield { type: "text", delta: "x" };
				yield { type: "completed" };
			} finally {
				left = !turn.signal.aborted;
			}
		});
		await it.send("go");
		await it.clock.advance(0);
		assert.equal(left, true);
		assert.equal(it.runner.turns[0]?.signal.aborted, false);
	});
});

describe("the async window", () => {
	const short = { limits: { maxConcurrent: 3, replyTimeoutMs: 1_000, asyncTimeoutMs: 2_000 } };

	it("stops a detached task and fails it with a reason that names the window", async () => {
		const it = bench(untilAborted, short);
		const task = await it.start("x");
		await it.clock.advance(1_979);
		assert.equal((await it.get(task.id)).status.state, "TASK_STATE_WORKING");
		await it.clock.advance(1);
		const failed = await it.get(task.id);
		assert.equal(failed.status.state, "TASK_STATE_FAILED");
		assert.match(statusText(failed), /within the async window of 2 s/);
		assert.equal(it.runner.turns[0]?.signal.aborted, true);
		await assertIdle(it);
	});

	it("begins for a blocking call when the reply window closes", async () => {
		const it = bench(untilAborted, short);
		const answer = it.send("x");
		await it.clock.advance(2_999);
		const { id } = await answer;
		assert.equal((await it.get(id)).status.state, "TASK_STATE_WORKING");
		await it.clock.advance(1);
		assert.equal((await it.get(id)).status.state, "TASK_STATE_FAILED");
		await assertIdle(it);
	});

	it("of 0 never closes, nor does a reply window of 0", async () => {
		const done = gate();
		const it = bench(async function* () {
			await done.opened;
			yield { type: "text", delta: "after a year" };
		}, limits(3));
		const answer = it.send("x");
		const detached = await it.start("y");
		await it.clock.advance(366 * 86_400_000);
		done.open();
		assert.equal(replyOf(await answer), "after a year");
		await it.clock.advance(0);
		assert.equal(replyOf(await it.get(detached.id)), "after a year");
		await assertIdle(it);
	});

	it("lets a silent task work as long as it stays inside", async () => {
		const it = bench(async function* (turn) {
			await it.clock.sleep(1_900, turn.signal);
			yield { type: "text", delta: "ok" };
		}, short);
		const task = await it.start("x");
		await it.clock.advance(1_900);
		assert.equal((await it.get(task.id)).status.state, "TASK_STATE_COMPLETED"); // R028
	});

	it("gives a resumed task a new window", async () => {
		const it = bench(async function* (turn) {
			if (!turn.resumed) yield { type: "input-required", question: "?" };
			await it.clock.sleep(1_900, turn.signal);
			yield { type: "text", delta: "ok" };
		}, short);
		const task = await it.send("x");
		await it.clock.advance(1_500);
		await it.start("answer", { task: task.id });
		await it.clock.advance(1_900);
		assert.equal((await it.get(task.id)).status.state, "TASK_STATE_COMPLETED");
		await assertIdle(it);
	});
});

describe("closing the agent", () => {
	it("stops the turns, closes the runner and then fails what had not ended", async () => {
		const order: string[] = [];
		const it = bench(
			silent(async (turn) => {
				await aborted(turn.signal);
				order.push("stopped");
			}),
		);
		const [running, queued] = [await it.start("1", { context: "c" }), await it.start("2", { context: "c" })];
		it.tasks.get("peer:alice", running.id).on(() => order.push("failed"));
		await it.agent.close("host stopped");
		for (const { id } of [running, queued]) {
			const task = await it.get(id);
			assert.equal(task.status.state, "TASK_STATE_FAILED");
			assert.equal(statusText(task), "host stopped");
		}
		assert.deepEqual(order, ["stopped", "failed"]);
		assert.equal(it.runner.closed(), 1);
		await assertIdle(it);
	});

	it("may be done twice, and nothing is accepted afterwards", async () => {
		const it = bench(echo);
		await Promise.all([it.agent.close("a"), it.agent.close("b")]);
		assert.equal(it.runner.closed(), 1);
		await assert.rejects(it.send("x"), named("BusyError"));
	});

	it("leaves tasks alone that wait for their caller or have ended, and stops their timers", async () => {
		const it = bench(async function* (turn) {
			if (said(turn) === "ask") yield { type: "input-required", question: "?" };
			else yield { type: "text", delta: "done" };
		});
		const [waiting, ended] = [await it.send("ask"), await it.send("x")];
		await it.agent.close("host stopped");
		assert.deepEqual(await it.get(waiting.id), waiting);
		assert.deepEqual(await it.get(ended.id), ended);
		assert.equal(it.clock.pending, 0);
	});

	it("does not wait for ever for a runner that does not stop", async () => {
		const it = bench(silent(() => new Promise<never>(() => undefined)));
		const task = await it.start("x");
		const closed = it.agent.close("host stopped");
		await it.clock.advance(5_000);
		await closed;
		assert.equal((await it.get(task.id)).status.state, "TASK_STATE_FAILED");
	});

	it("ends the streams", async () => {
		const it = bench(untilAborted);
		const items = it.stream("x");
		await it.clock.advance(20);
		await it.agent.close("host stopped");
		const last = (await items).at(-1);
		assert.ok(last && "statusUpdate" in last && last.statusUpdate.status.state === "TASK_STATE_FAILED");
	});
});
