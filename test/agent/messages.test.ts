import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import {
	alice,
	bench,
	bob,
	call,
	echo,
	gate,
	message,
	replyOf,
	type Script,
	said,
	untilAborted,
} from "../support/scripted-runner.ts";

const named = (name: string) => (error: unknown) => error instanceof A2AError && error.name === name;

/** Asks which module, and does what the answer says. */
const asks: Script = async function* (turn) {
	if (turn.resumed) yield { type: "text", delta: `renamed ${said(turn)}` };
	else yield { type: "input-required", question: "Which module?" };
};

describe("SendMessage", () => {
	it("waits for the end and answers with state, artifacts and history", async () => {
		const { send, get } = bench(echo);
		const task = await send("hello");
		assert.equal(task.status.state, "TASK_STATE_COMPLETED");
		assert.deepEqual(task.artifacts, [{ artifactId: "reply", name: "reply", parts: [{ text: "hello" }] }]);
		assert.deepEqual(
			task.history?.map((each) => each.messageId),
			["hello"],
		);
		assert.deepEqual(await get(task.id), task);
	});

	it("gives one fresh context to a conversation that has none, on the task and on its message", async () => {
		const { send } = bench(echo);
		const [first, second] = [await send("a"), await send("b")];
		assert.match(first.contextId, /^ctx-[0-9a-f]{16}$/);
		assert.match(first.id, /^task-[0-9a-f]{16}$/);
		assert.equal(first.history?.[0]?.contextId, first.contextId); // R037
		assert.equal(first.history?.[0]?.taskId, first.id);
		assert.notEqual(first.contextId, second.contextId);
	});

	it("keeps the context that the caller chose", async () => {
		const { send } = bench(echo);
		assert.equal((await send("a", { context: "mine" })).contextId, "mine");
	});

	it("starts a new task when a context is continued without a task id", async () => {
		const { send, runner } = bench(echo);
		const first = await send("What is 2+2?");
		const second = await send("And 3+3?", { context: first.contextId });
		assert.equal(first.status.state, "TASK_STATE_COMPLETED"); // R043: done is not waiting
		assert.notEqual(second.id, first.id);
		assert.equal(second.contextId, first.contextId);
		assert.equal(runner.turns[1]?.contextId, first.contextId);
		assert.equal(runner.turns[1]?.resumed, false);
	});

	it("answers at the end of the reply window with the live task, which goes on", async () => {
		const done = gate();
		const { send, get, clock } = bench(async function* () {
			await done.opened;
			yield { type: "text", delta: "late" };
		});
		const answer = send("long");
		await clock.advance(299_999);
		let answered = false;
		void answer.then(() => {
			answered = true;
		});
		await clock.advance(0);
		assert.equal(answered, false);
		await clock.advance(1);
		const task = await answer;
		assert.equal(task.status.state, "TASK_STATE_WORKING"); // R027
		done.open();
		await clock.advance(0);
		const later = await get(task.id);
		assert.equal(later.status.state, "TASK_STATE_COMPLETED");
		assert.equal(replyOf(later), "late");
	});

	it("answers at once when asked to, and the work goes on", async () => {
		const { start, get, clock } = bench(async function* (turn) {
			await clock.sleep(3_000, turn.signal);
			yield { type: "text", delta: "done" };
		});
		const task = await start("long"); // 20 ms of the clock
		assert.equal(task.status.state, "TASK_STATE_WORKING"); // R030
		await clock.advance(3_000);
		assert.equal(replyOf(await get(task.id)), "done");
	});

	it("gives the finished task when it is finished before the answer was due", async () => {
		const { agent } = bench(echo);
		const params = { message: message("quick"), configuration: { returnImmediately: true } };
		const answer = await agent.request("SendMessage", params, call());
		assert.ok("task" in answer);
		assert.equal(answer.task.status.state, "TASK_STATE_COMPLETED");
		assert.equal(replyOf(answer.task), "quick");
	});

	it("is not disturbed by a caller who leaves: the task ends and is stored", async () => {
		const done = gate();
		const { agent, tasks, clock, get } = bench(async function* () {
			await done.opened;
			yield { type: "text", delta: "the answer" };
		});
		const leaving = new AbortController();
		const answer = agent.request("SendMessage", { message: message("q") }, call(alice, leaving.signal));
		await clock.advance(0);
		leaving.abort();
		const left = await answer;
		assert.ok("task" in left);
		assert.equal(left.task.status.state, "TASK_STATE_WORKING");
		done.open();
		await clock.advance(0);
		const task = await get(left.task.id); // R023, R025
		assert.equal(task.status.state, "TASK_STATE_COMPLETED");
		assert.equal(replyOf(task), "the answer");
		assert.deepEqual(tasks.running(), []);
	});

	it("refuses a task id that the caller made up, stores nothing and runs nothing", async () => {
		const { send, tasks, runner } = bench(echo);
		await assert.rejects(send("hi", { task: "made-up" }), named("TaskNotFoundError")); // R035
		assert.deepEqual(tasks.all(), []);
		assert.deepEqual(runner.turns, []);
	});

	it("refuses a message for a task that has ended, and leaves the task as it was", async () => {
		const { send, get } = bench(echo);
		const task = await send("one");
		await assert.rejects(send("two", { task: task.id }), named("UnsupportedOperationError")); // R034
		assert.deepEqual(await get(task.id), task);
	});

	it("refuses a message for a task that is still working", async () => {
		const { start, send, cancel } = bench(untilAborted);
		const task = await start("one");
		await assert.rejects(send("two", { task: task.id }), /still working/);
		await cancel(task.id);
	});

	it("refuses a task of somebody else exactly as one that does not exist", async () => {
		const { send, agent } = bench(asks);
		const task = await send("Rename the module.");
		const failure = async (id: string) => {
			const answer = agent.request("SendMessage", { message: message("x", { task: id }) }, call(bob));
			return answer.catch((error: A2AError) => [error.name, error.message]);
		};
		const refusal = await failure(task.id);
		assert.deepEqual(refusal, await failure("task-unknown"));
		assert.ok(Array.isArray(refusal) && refusal[0] === "TaskNotFoundError");
	});

	it("refuses a context that is not the task's, and leaves the task as it was", async () => {
		const { send, get } = bench(asks);
		const task = await send("Rename the module.");
		await assert.rejects(send("a", { task: task.id, context: "other" }), named("InvalidParamsError"));
		assert.deepEqual(await get(task.id), task);
	});

	it("refuses a push configuration while push is not offered, and runs nothing", async () => {
		const { agent, runner } = bench(echo);
		const configuration = { taskPushNotificationConfig: { url: "https://hook.example/" } };
		const answer = agent.request("SendMessage", { message: message("x"), configuration }, call());
		await assert.rejects(answer, named("PushNotificationNotSupportedError"));
		assert.deepEqual(runner.turns, []);
	});

	it("refuses a file of a kind that the card does not promise, and takes one that it does", async () => {
		const { agent } = bench(echo, { inputModes: ["text/plain", "image/*"] });
		const send = (mediaType: string) => {
			const parts = [{ text: "look" }, { raw: "YQ==", mediaType }];
			return agent.request("SendMessage", { message: { ...message(mediaType), parts } }, call());
		};
		await assert.rejects(send("application/x-unheard-of"), named("ContentTypeNotSupportedError"));
		for (const type of ["image/png", "text/plain; charset=utf-8", "TEXT/PLAIN"])
			assert.ok("task" in (await send(type)));
	});

	it("refuses a history length below zero before anything runs", async () => {
		const { agent, runner } = bench(echo);
		const params = { message: message("x"), configuration: { historyLength: -1 } };
		await assert.rejects(agent.request("SendMessage", params, call()), named("InvalidParamsError"));
		assert.deepEqual(runner.turns, []);
	});
});
