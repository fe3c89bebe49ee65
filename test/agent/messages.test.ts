import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import type { Task } from "../../src/protocol/types.ts";
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
	statusText,
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

describe("a question of the agent", () => {
	it("stops the task with the question, and the answer resumes the same conversation", async () => {
		const { send, runner, tasks } = bench(asks);
		const task = await send("Rename the module.");
		assert.equal(task.status.state, "TASK_STATE_INPUT_REQUIRED"); // R038
		assert.equal(statusText(task), "Which module?");
		assert.equal(task.status.message?.contextId, task.contextId);
		assert.deepEqual(tasks.running(), []);
		const done = await send("core", { task: task.id });
		assert.equal(done.id, task.id);
		assert.equal(done.contextId, task.contextId);
		assert.equal(done.status.state, "TASK_STATE_COMPLETED");
		assert.equal(replyOf(done), "renamed core");
		assert.equal(runner.turns[1]?.resumed, true);
		assert.equal(runner.turns[1]?.contextId, runner.turns[0]?.contextId);
	});

	it("is kept in the history between the messages around it", async () => {
		const { send } = bench(asks);
		const task = await send("Rename the module.");
		const done = await send("core", { task: task.id });
		assert.deepEqual(
			done.history?.map((each) => [each.role, each.parts[0]]),
			[
				["ROLE_USER", { text: "Rename the module." }],
				["ROLE_AGENT", { text: "Which module?" }],
				["ROLE_USER", { text: "core" }],
			],
		);
		assert.ok(done.history?.every((each) => each.taskId === task.id && each.contextId === task.contextId));
	});

	it("keeps what was written before it beside what was written after", async () => {
		const { send } = bench(async function* (turn) {
			yield { type: "text", delta: turn.resumed ? "after" : "before" };
			if (!turn.resumed) yield { type: "auth-required", question: "May I?" };
		});
		const task = await send("go");
		assert.equal(task.status.state, "TASK_STATE_AUTH_REQUIRED");
		assert.equal(replyOf(task), "before");
		const done = await send("yes", { task: task.id });
		assert.deepEqual(
			done.artifacts?.map((each) => [each.artifactId, each.parts]),
			[
				["reply", [{ text: "before" }]],
				["reply-2", [{ text: "after" }]],
			],
		);
	});

	it("fails the task when nobody answers within the async window", async () => {
		const { send, get, clock } = bench(asks);
		const task = await send("go");
		await clock.advance(86_399_999);
		assert.equal((await get(task.id)).status.state, "TASK_STATE_INPUT_REQUIRED");
		await clock.advance(1);
		const failed = await get(task.id);
		assert.equal(failed.status.state, "TASK_STATE_FAILED");
		assert.match(statusText(failed), /No answer arrived within the async window of 86400 s/);
		assert.equal(clock.pending, 0);
	});

	it("holds neither slot nor limit of the turn that asked", async () => {
		const { send, clock } = bench(asks, { limits: { maxConcurrent: 1, replyTimeoutMs: 1_000, asyncTimeoutMs: 0 } });
		await send("first");
		await send("second");
		assert.equal((await send("third")).status.state, "TASK_STATE_INPUT_REQUIRED");
		assert.equal(clock.pending, 0);
	});
});

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

describe("historyLength", () => {
	it("gives all, the latest, or no history at all", async () => {
		const { send, agent } = bench(asks);
		const task = await send("go");
		await send("core", { task: task.id });
		const history = async (historyLength?: number) => {
			const params = { id: task.id, ...(historyLength === undefined ? {} : { historyLength }) };
			return (await agent.request("GetTask", params, call())).history?.map((each) => each.messageId.slice(0, 4));
		};
		assert.deepEqual(await history(), ["go", "msg-", "core"]);
		assert.deepEqual(await history(1), ["core"]); // R080
		assert.deepEqual(await history(2), ["msg-", "core"]);
		assert.deepEqual(await history(1000), ["go", "msg-", "core"]);
		assert.equal("history" in (await agent.request("GetTask", { id: task.id, historyLength: 0 }, call())), false);
		await assert.rejects(history(-5), named("InvalidParamsError"));
	});

	it("holds for the answer of a send too", async () => {
		const { agent } = bench(echo);
		const params = { message: message("x"), configuration: { historyLength: 0 } };
		const answer = await agent.request("SendMessage", params, call());
		assert.ok("task" in answer && !("history" in answer.task));
	});
});
