import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import type { Task } from "../../src/protocol/types.ts";
import { bench, bob, call, echo, gate, message, replyOf, type Script, said } from "../support/scripted-runner.ts";

const named = (name: string) => (error: unknown) => error instanceof A2AError && error.name === name;

/** Asks which module, and does what the answer says. */
const asks: Script = async function* (turn) {
	if (turn.resumed) yield { type: "text", delta: `renamed ${said(turn)}` };
	else yield { type: "input-required", question: "Which module?" };
};

describe("a message that is sent again", () => {
	it("joins the one run while it lasts and after it ended", async () => {
		const done = gate();
		const { send, runner, clock } = bench(async function* () {
			await done.opened;
			yield { type: "text", delta: "once" };
		});
		const again = () => send("work", { id: "m-77" });
		const [first, second] = [again(), again()];
		await clock.advance(0);
		done.open();
		const answers: Task[] = [await first, await second, await again()];
		assert.equal(new Set(answers.map((each) => each.id)).size, 1); // R059
		assert.deepEqual(answers.map(replyOf), ["once", "once", "once"]);
		assert.equal(runner.turns.length, 1);
	});

	it("begins a task of its own for another caller", async () => {
		const { send, runner } = bench(echo);
		const mine = await send("work", { id: "m-77" });
		const theirs = await send("work", { id: "m-77" }, call(bob));
		assert.notEqual(mine.id, theirs.id);
		assert.notEqual(mine.contextId, theirs.contextId);
		assert.equal(runner.turns.length, 2);
	});

	it("is a new message when it says something else or stands in another conversation", async () => {
		const { send, runner } = bench(echo);
		await send("one", { id: "m1" });
		assert.equal(replyOf(await send("two", { id: "m1" })), "two");
		await send("two", { id: "m1", context: "elsewhere" });
		assert.equal(runner.turns.length, 3);
	});

	it("resumes a waiting task but once", async () => {
		const { send, runner } = bench(asks);
		const task = await send("go");
		const answers = [send("core", { task: task.id, id: "m2" }), send("core", { task: task.id, id: "m2" })];
		assert.deepEqual((await Promise.all(answers)).map(replyOf), ["renamed core", "renamed core"]);
		assert.equal(runner.turns.length, 2);
	});

	it("is forgotten with its task", async () => {
		const { send, runner } = bench(echo, { maxFinished: 1 });
		const first = await send("a");
		await send("b");
		assert.notEqual((await send("a")).id, first.id);
		assert.equal(runner.turns.length, 3);
	});

	it("may come again after it was refused", async () => {
		const done = gate();
		const { send, start, clock } = bench(
			async function* () {
				await done.opened;
				yield { type: "text", delta: "ok" };
			},
			{ limits: { maxConcurrent: 1, replyTimeoutMs: 0, asyncTimeoutMs: 0 } },
		);
		await start("holds the slot");
		await assert.rejects(send("m"), named("BusyError"));
		done.open();
		await clock.advance(0);
		assert.equal(replyOf(await send("m")), "ok");
	});
});

describe("a direct message", () => {
	const direct: Script = async function* (turn) {
		yield { type: "message", parts: [{ text: `hi ${said(turn)}` }] };
	};

	it("is the answer, in the caller's context, and there is no task", async () => {
		const { agent, tasks } = bench(direct);
		const answer = await agent.request("SendMessage", { message: message("you", { context: "c" }) }, call());
		assert.ok("message" in answer);
		const { messageId, ...rest } = answer.message;
		assert.match(messageId, /^msg-/);
		assert.deepEqual(rest, { role: "ROLE_AGENT", contextId: "c", parts: [{ text: "hi you" }] });
		assert.deepEqual(tasks.all(), []);
		const list = await agent.request("ListTasks", {}, call());
		assert.deepEqual([list.tasks, list.totalSize], [[], 0]);
	});

	it("is the answer also when the caller wants an answer at once", async () => {
		const { agent } = bench(direct);
		const params = { message: message("you"), configuration: { returnImmediately: true } };
		assert.ok("message" in (await agent.request("SendMessage", params, call())));
	});

	it("becomes the task's reply when the task has been given out before", async () => {
		const late = gate();
		const { start, get, clock } = bench(async function* () {
			await late.opened;
			yield { type: "message", parts: [{ text: "late" }] };
		});
		const task = await start("you");
		late.open();
		await clock.advance(0);
		const done = await get(task.id);
		assert.equal(done.status.state, "TASK_STATE_COMPLETED");
		assert.equal(replyOf(done), "late");
	});

	it("is seen with its text by those who watch the host's tasks", async () => {
		const { agent, tasks } = bench(direct);
		const seen: string[] = [];
		tasks.onOpen((log) =>
			log.on(() => {
				if (log.state === "TASK_STATE_COMPLETED") seen.push(replyOf(log.task));
			}),
		);
		await agent.request("SendMessage", { message: message("you") }, call());
		assert.deepEqual(seen, ["hi you"]);
	});
});
