import assert from "node:assert/strict";
import { eventId, type StreamResponse } from "../../src/protocol/types.ts";
import {
	all,
	bench,
	bob,
	brief,
	call,
	echo,
	message,
	replyOf,
	type Script,
	said,
	statusText,
} from "../support/scripted-runner.ts";
import { journalRig } from "../tasks/journal-rig.ts";
import { receiver } from "./push-support.ts";

/** Says something and never ends. */
const stuck: Script = async function* (turn) {
	yield { type: "text", delta: `half of ${said(turn)}` };
	await new Promise<void>((resolve) => turn.signal.addEventListener("abort", () => resolve()));
};

describe("an agent with a journal", () => {
	let rig: ReturnType<typeof journalRig>;
	beforeEach(() => {
		rig = journalRig();
	});
	afterEach(() => rig.end());

	/** An agent over the journal of the rig, as a process has it that has just started. */
	async function started(script: Script, over: Parameters<typeof bench>[1] = {}) {
		const it = bench(script, over);
		const life = rig.live();
		it.tasks.adopt(life.journal);
		await it.agent.recover();
		return { ...it, die: () => life.die(), journal: life.journal };
	}
	const ended = (id: string) => new RegExp(`\\{"whole":"${id}".*"state":"TASK_STATE_COMPLETED"`);

	it("answers when the end of the task is on disk, and not before", async () => {
		const it = await started(echo);
		const task = await it.send("x");
		assert.match(rig.text(), ended(task.id));
		it.die();
	});

	it("sends each event of a stream when it is on disk, and not before", async () => {
		const it = await started(async function* () {
			yield { type: "text", delta: "one " };
			await it.clock.sleep(10);
			yield { type: "text", delta: "two " };
		});
		const items = it.agent.stream("SendStreamingMessage", { message: message("x") }, call());
		let told = 0;
		const reading = (async () => {
			for await (const item of items) {
				const text = rig.text();
				const [, n = ""] = (item[eventId] ?? "").split(":");
				const known = [...text.matchAll(/\{"event":"[^"]*","n":(\d+)/g)].map(([, each]) => Number(each));
				assert.ok(text.includes('{"whole"') || Math.max(...known) >= Number(n), `${brief(item)} ${n}`);
				told += 1;
			}
		})();
		await it.clock.advance(20);
		await it.clock.advance(20);
		await reading;
		assert.equal(told, 6);
		it.die();
	});

	it("says of a canceled task only what is on disk", async () => {
		const it = await started(stuck);
		const task = await it.start("x");
		await it.cancel(task.id);
		assert.match(rig.text(), new RegExp(`"whole":"${task.id}".*CANCELED`));
		it.die();
	});

	it("does not run a message again that an earlier process had answered", async () => {
		const before = await started(echo);
		const task = await before.send("x");
		before.die();
		const after = await started(echo);
		assert.deepEqual(await after.send("x"), task); // R059
		assert.equal(after.runner.turns.length, 0);
		assert.notEqual((await after.send("x", {}, call(bob))).id, task.id);
		after.die();
	});

	describe("after its process was killed", () => {
		it("tells a webhook how the task ended, if that was not told before, once", async () => {
			const url = "https://hook.example/x";
			const pushing = (hook: ReturnType<typeof receiver>) =>
				started(echo, {
					capabilities: { streaming: true, push: true, extended: false },
					webhooks: hook.webhooks,
				});
			const deaf = receiver(() => new Promise(() => undefined));
			const before = await pushing(deaf);
			const configuration = { taskPushNotificationConfig: { url } };
			const params = { message: message("x"), configuration };
			const sent = await before.agent.request("SendMessage", params, call());
			assert.ok("task" in sent && sent.task.status.state === "TASK_STATE_COMPLETED");
			before.die();
			const hook = receiver();
			const after = await pushing(hook);
			while (hook.calls.length === 0) await after.clock.advance(1);
			assert.deepEqual(
				hook.items().map((item) => "task" in item && [item.task.id, item.task.status.state]),
				[[sent.task.id, "TASK_STATE_COMPLETED"]],
			);
			for (let n = 0; n < 1000 && !rig.text().includes('"value":null'); n++) await after.clock.advance(1);
			after.die();
			const quiet = receiver();
			const last = await pushing(quiet);
			for (let n = 0; n < 20; n++) await last.clock.advance(1);
			assert.equal(quiet.calls.length, 0);
			last.die();
		});

		it("has FAILED what ran, with the reason and what there was of it", async () => {
			const before = await started(stuck);
			const task = await before.start("the work");
			while (!rig.text().includes("half of")) await new Promise((resolve) => setImmediate(resolve));
			before.die();
			const after = await started(echo);
			const found = await after.get(task.id); // R042
			assert.equal(found.status.state, "TASK_STATE_FAILED");
			assert.equal(statusText(found), "host stopped");
			// The last word may have been the beginning of a secret, so it was held back.
			assert.equal(replyOf(found), "half of the ");
			assert.deepEqual(after.tasks.running(), []);
			after.die();
			const again = await started(echo);
			assert.deepEqual(await again.get(task.id), found);
			again.die();
		});

		it("takes the answer to a question that was asked before", async () => {
			const asks: Script = async function* (turn) {
				if (turn.resumed) yield { type: "text", delta: `renamed ${said(turn)}` };
				else yield { type: "input-required", question: "Which module?" };
			};
			const before = await started(asks);
			const task = await before.send("rename");
			assert.equal(task.status.state, "TASK_STATE_INPUT_REQUIRED");
			before.die();
			const after = await started(asks);
			assert.deepEqual(await after.get(task.id), task);
			assert.equal(replyOf(await after.send("core", { task: task.id })), "renamed core");
			after.die();
		});

		it("gives up a question that nobody answers in time", async () => {
			const asks: Script = async function* () {
				yield { type: "input-required", question: "?" };
			};
			const before = await started(asks);
			const task = await before.send("x");
			before.die();
			const after = await started(asks);
			await after.clock.advance(86_400_000);
			assert.equal((await after.get(task.id)).status.state, "TASK_STATE_FAILED");
			after.die();
		});

		it("continues the stream of a reader after the last event that was told", async () => {
			const before = await started(stuck);
			const task = await before.start("x");
			const items = before.agent.stream("SubscribeToTask", { id: task.id }, call())[Symbol.asyncIterator]();
			const last = (await items.next()).value as StreamResponse;
			before.die();
			const after = bench(echo);
			const life = rig.live();
			after.tasks.adopt(life.journal);
			const rest = all(
				after.agent.stream("SubscribeToTask", { id: task.id }, { ...call(), after: last[eventId] ?? "" }),
			);
			await after.clock.advance(0);
			await after.agent.recover();
			assert.deepEqual((await rest).map(brief), ["FAILED"]);
			life.die();
		});

		describe("where tasks are resumed", () => {
			const limits = { maxConcurrent: 3, replyTimeoutMs: 0, asyncTimeoutMs: 0, resumeTasks: true };
			const resuming = async (script: Script, can: boolean) => {
				const it = bench(script, { limits });
				const life = rig.live();
				it.tasks.adopt(life.journal);
				it.runner.resumable = async () => can;
				await it.agent.recover();
				return { ...it, die: () => life.die() };
			};

			it("goes on with what the runner can take up, and tells it so", async () => {
				const before = await started(stuck);
				const task = await before.start("the work");
				before.die();
				const after = await resuming(echo, true);
				await after.clock.advance(0);
				assert.equal((await after.get(task.id)).status.state, "TASK_STATE_COMPLETED");
				assert.deepEqual(
					after.runner.turns.map(({ afterCrash, message: { messageId } }) => [afterCrash, messageId]),
					[[true, "the work"]],
				);
				after.die();
			});

			it("has FAILED what the runner cannot take up", async () => {
				const before = await started(stuck);
				const task = await before.start("the work");
				before.die();
				const after = await resuming(echo, false);
				assert.equal(statusText(await after.get(task.id)), "host stopped");
				assert.equal(after.runner.turns.length, 0);
				after.die();
			});

			it("begins what had not left the queue", async () => {
				const before = await started(stuck);
				await before.start("first", { context: "c" });
				const queued = await before.start("second", { context: "c" });
				assert.equal(queued.status.state, "TASK_STATE_SUBMITTED");
				before.die();
				const after = await resuming(echo, false);
				await after.clock.advance(0);
				assert.equal(replyOf(await after.get(queued.id)), "second");
				assert.deepEqual(
					after.runner.turns.map((turn) => [said(turn), turn.afterCrash]),
					[["second", undefined]],
				);
				after.die();
			});
		});
	});
});
