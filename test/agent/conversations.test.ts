import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import { bench, bob, call, echo, message, replyOf, type Script, said, statusText } from "../support/scripted-runner.ts";

const named = (name: string) => (error: unknown) => error instanceof A2AError && error.name === name;

/** Asks which module, and does what the answer says. */
const asks: Script = async function* (turn) {
	if (turn.resumed) yield { type: "text", delta: `renamed ${said(turn)}` };
	else yield { type: "input-required", question: "Which module?" };
};

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

	it("is given up when a thousand younger ones wait", async () => {
		const { send, get } = bench(asks);
		const first = await send("0");
		const second = await send("1");
		for (let n = 2; n <= 1_000; n++) await send(`${n}`);
		const failed = await get(first.id);
		assert.equal(failed.status.state, "TASK_STATE_FAILED");
		assert.match(statusText(failed), /Too many tasks wait/);
		assert.equal((await get(second.id)).status.state, "TASK_STATE_INPUT_REQUIRED");
	});

	it("is given up for its size when what waits is too much to hold, of the caller who has most of it", async () => {
		const { send, get } = bench(asks);
		const small = await send("small");
		const large = "x".repeat(14 * 1024 * 1024);
		const ids: string[] = [];
		for (let n = 0; n < 6; n++) ids.push((await send(large, { id: `m${n}` }, call(bob))).id);
		const states = await Promise.all(ids.map(async (id) => (await get(id, call(bob))).status.state));
		assert.equal(states[0], "TASK_STATE_FAILED");
		assert.deepEqual(states.slice(-4), Array(4).fill("TASK_STATE_INPUT_REQUIRED"));
		assert.equal((await get(small.id)).status.state, "TASK_STATE_INPUT_REQUIRED");
	});

	it("holds neither slot nor limit of the turn that asked", async () => {
		const { send, clock } = bench(asks, { limits: { maxConcurrent: 1, replyTimeoutMs: 1_000, asyncTimeoutMs: 0 } });
		await send("first");
		await send("second");
		assert.equal((await send("third")).status.state, "TASK_STATE_INPUT_REQUIRED");
		assert.equal(clock.pending, 0);
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
