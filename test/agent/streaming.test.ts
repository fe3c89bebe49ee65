import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import { apply, toEvent } from "../../src/protocol/task.ts";
import type { StreamResponse, Task } from "../../src/protocol/types.ts";
import {
	alice,
	all,
	bench,
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

const flags = (items: readonly StreamResponse[]) =>
	items.flatMap((item) =>
		"artifactUpdate" in item ? [[item.artifactUpdate.append, item.artifactUpdate.lastChunk]] : [],
	);

describe("SendStreamingMessage", () => {
	it("begins with the task as it was accepted, tells what happens, and ends with the terminal state", async () => {
		const { stream } = bench(echo);
		assert.deepEqual((await stream("hi ")).map(brief), ["task:SUBMITTED", "WORKING", "text:hi ", "text:", "COMPLETED"]);
	});

	it("sends text as pieces of one artifact: opened once, appended to, closed by the last one alone", async () => {
		const { stream, get } = bench(async function* () {
			for (const delta of ["Hel", "lo ", "you "]) yield { type: "text", delta };
		});
		const items = await stream("x");
		const seen = flags(items); // R050
		assert.deepEqual(seen, [[false, false], ...seen.slice(1, -1).map(() => [true, false]), [true, true]]);
		const task = replay(items);
		assert.equal(replyOf(task), "Hello you ");
		assert.deepEqual(await get(task.id), { ...task, history: (await get(task.id)).history });
	});

	it("gives in stream, answer and GetTask the same text, which has no secret, also when it came in pieces", async () => {
		const secret = `ghp_${"a1B2c3D4e5".repeat(4).slice(0, 36)}`;
		const text = `The token is ${secret} — ünïcödé 🐢, and that is all.`;
		const script: Script = async function* () {
			for (let at = 0; at < text.length; at += 7) yield { type: "text", delta: text.slice(at, at + 7) };
		};
		const streamed = bench(script);
		const task = replay(await streamed.stream("x"));
		assert.equal(replyOf(task).includes(secret.slice(0, 12)), false);
		assert.match(replyOf(task), /ünïcödé 🐢, and that is all\.$/);
		assert.equal(replyOf(await streamed.get(task.id)), replyOf(task));
		assert.equal(replyOf(await bench(script).send("x")), replyOf(task));
	});

	it("has the full text also of an agent that only wrote deltas or ended on a tool call", async () => {
		const { stream, get } = bench(async function* () {
			yield { type: "text", delta: "Looking. " };
			yield { type: "activity", activity: { type: "tool", name: "read", detail: "README.md" } };
		});
		const task = replay(await stream("x")); // R049
		assert.equal(replyOf(task), "Looking. ");
		assert.equal(replyOf(await get(task.id)), "Looking. ");
	});

	it("lets a piece go out the moment it is written", async () => {
		const more = gate();
		const { agent, clock } = bench(async function* () {
			yield { type: "text", delta: "first " };
			await more.opened;
		});
		const seen: string[] = [];
		const reading = (async () => {
			for await (const item of agent.stream("SendStreamingMessage", { message: message("x") }, call())) {
				seen.push(brief(item));
			}
		})();
		await clock.advance(0);
		assert.deepEqual(seen, ["task:SUBMITTED", "WORKING", "text:first "]);
		more.open();
		await reading;
	});

	it("replaces what was sent when the agent starts its reply again", async () => {
		const { stream, get } = bench(async function* () {
			yield { type: "text", delta: "wrong " };
			yield { type: "text", delta: "start " };
			yield { type: "restart" };
			yield { type: "text", delta: "right " };
			yield { type: "text", delta: "one" };
		});
		const items = await stream("x");
		assert.deepEqual(flags(items), [
			[false, false],
			[true, false],
			[false, false],
			[true, true],
		]);
		assert.equal(replyOf(replay(items)), "right one");
		assert.equal(replyOf(await get(replay(items).id)), "right one");
	});

	it("does not count text that was taken back as a reply", async () => {
		const { stream } = bench(async function* () {
			yield { type: "text", delta: "void " };
			yield { type: "restart" };
		});
		const task = replay(await stream("x"));
		assert.equal(task.status.state, "TASK_STATE_FAILED");
		assert.equal(replyOf(task), "");
	});

	it("shows tool calls as status updates, with structured facts, on one clean line", async () => {
		const { stream, get } = bench(async function* () {
			yield { type: "activity", activity: { type: "tool", name: "bash", detail: "echo\n\u001b[31mred\u001b[0m" } };
			yield { type: "activity", activity: { type: "tool-end", name: "bash" } };
			yield { type: "activity", activity: { type: "retry", name: "retrying", detail: "503" } };
			yield { type: "text", delta: "done" };
		});
		const items = await stream("x");
		const updates = items.flatMap((item) => ("statusUpdate" in item ? [item.statusUpdate.status.message] : []));
		assert.deepEqual(
			updates.map((each) => each && [each.parts, each.metadata]),
			[
				undefined,
				[[{ text: "⚙ bash echo red" }], { "pi/activity": { type: "tool", name: "bash", detail: "echo red" } }],
				[[{ text: "retrying 503" }], { "pi/activity": { type: "retry", name: "retrying", detail: "503" } }],
				undefined,
			],
		);
		const task = await get(replay(items).id);
		assert.equal(task.history?.length, 1);
		assert.equal(task.status.message, undefined);
	});

	it("keeps a question visible by a status update, whatever came before it", async () => {
		const { agent, clock } = bench(async function* () {
			yield { type: "activity", activity: { type: "note", name: "thinking" } };
			yield { type: "input-required", question: "pick one" };
		});
		const leaving = new AbortController();
		const how = call(alice, leaving.signal);
		const items = all(agent.stream("SendStreamingMessage", { message: message("x") }, how));
		await clock.advance(20);
		leaving.abort();
		const last = (await items).at(-1);
		assert.ok(last && "statusUpdate" in last);
		assert.deepEqual(last.statusUpdate.status.message?.parts, [{ text: "pick one" }]);
		assert.ok((await items).every((item) => !("message" in item)));
	});

	it("ends when the task waits for its caller, whose answer can be streamed in turn", async () => {
		const { stream, tasks } = bench(async function* (turn) {
			if (turn.resumed) yield { type: "text", delta: "thanks" };
			else yield { type: "input-required", question: "?" };
		});
		assert.deepEqual((await stream("x")).map(brief), ["task:SUBMITTED", "WORKING", "INPUT_REQUIRED"]);
		const [log] = tasks.all();
		assert.ok(log);
		assert.deepEqual((await stream("answer", { task: log.id })).map(brief), [
			"task:WORKING",
			"text:thanks",
			"COMPLETED",
		]);
	});

	it("is one message and nothing else when the agent answers directly", async () => {
		const { stream } = bench(async function* () {
			yield { type: "message", parts: [{ text: "hello" }] };
		});
		assert.deepEqual((await stream("x")).map(brief), ["message"]);
	});

	it("shows the same task to a message that is sent again", async () => {
		const { stream, runner } = bench(echo);
		const first = replay(await stream("x", { id: "m" }));
		const again = await stream("x", { id: "m" });
		assert.deepEqual(again.map(brief), ["task:COMPLETED"]);
		assert.equal(replay(again).id, first.id);
		assert.equal(runner.turns.length, 1);
	});

	it("goes on without a reader who left", async () => {
		const done = gate();
		const { agent, tasks, clock } = bench(async function* () {
			await done.opened;
			yield { type: "text", delta: "ok" };
		});
		const items = agent.stream("SendStreamingMessage", { message: message("x") }, call())[Symbol.asyncIterator]();
		const first = items.next();
		await clock.advance(20);
		assert.equal((await first).done, false);
		await items.return?.();
		const [log] = tasks.running();
		assert.ok(log);
		done.open();
		await clock.advance(0);
		assert.equal(log.state, "TASK_STATE_COMPLETED");
		assert.equal(log.readers, 0);
	});

	it("is refused before its first item", async () => {
		const { agent } = bench(echo);
		const made = agent.stream("SendStreamingMessage", { message: message("x", { task: "made-up" }) }, call());
		await assert.rejects(all(made), named("TaskNotFoundError"));
	});

	it("is closed by the async window, counted from its start", async () => {
		const { stream, clock } = bench(untilAborted, {
			limits: { maxConcurrent: 1, replyTimeoutMs: 1_000, asyncTimeoutMs: 2_000 },
		});
		const items = stream("x");
		await clock.advance(2_000);
		assert.deepEqual((await items).map(brief), ["task:SUBMITTED", "WORKING", "FAILED"]);
	});

	it("is not shortened by returnImmediately", async () => {
		const { agent } = bench(echo);
		const params = { message: message("x"), configuration: { returnImmediately: true, historyLength: 0 } };
		const items = await all(agent.stream("SendStreamingMessage", params, call()));
		assert.deepEqual(brief(items.at(-1) as StreamResponse), "COMPLETED");
		assert.ok(items[0] && "task" in items[0] && !("history" in items[0].task));
	});
});
