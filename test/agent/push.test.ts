import assert from "node:assert/strict";
import { MAX_PER_TASK, PushConfigs } from "../../src/agent/push.ts";
import { backoff } from "../../src/agent/push-sender.ts";
import type { Call } from "../../src/protocol/agent.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { apply, isTerminal, toEvent } from "../../src/protocol/task.ts";
import { type StreamResponse, type Task, type TaskPushNotificationConfig, taskId } from "../../src/protocol/types.ts";
import { assertIdle, bench, bob, brief, call, echo, gate, message, type Script } from "../support/scripted-runner.ts";
import { type Answer, again, receiver, taken } from "./push-support.ts";

const URL = "https://hook.example/x";
const PUSH = { capabilities: { streaming: true, push: true, extended: false } };
const asks: Script = async function* () {
	yield { type: "input-required", question: "Which?" };
};

function pushing(script: Script = echo, answer?: Answer) {
	const hook = receiver(answer);
	const rig = bench(script, { ...PUSH, webhooks: hook.webhooks });
	const create = (id: string, over: Partial<TaskPushNotificationConfig> = {}, how: Call = call()) =>
		rig.agent.request("CreateTaskPushNotificationConfig", { taskId: taskId(id), url: URL, ...over }, how);
	const list = async (id: string, over: object = {}) =>
		rig.agent.request("ListTaskPushNotificationConfigs", { taskId: taskId(id), ...over }, call());
	const inline = (text: string, over: Partial<TaskPushNotificationConfig> = {}, how: Call = call()) =>
		rig.agent.request(
			"SendMessage",
			{
				message: message(text),
				configuration: { returnImmediately: true, taskPushNotificationConfig: { url: URL, ...over } },
			},
			how,
		);
	/** Lets `ms` pass, and work that a timer began. */
	const pass = async (ms: number) => {
		for (let n = 0; n < 40; n++) await rig.clock.advance(0);
		await rig.clock.advance(ms);
		for (let n = 0; n < 40; n++) await rig.clock.advance(0);
	};
	return { ...rig, hook, create, list, inline, pass };
}

const refusedWith = (name: string, field?: string) => (error: unknown) => {
	assert.ok(error instanceof A2AError);
	assert.equal(error.name, name);
	if (field) assert.equal(error.details.violations?.[0]?.field, field);
	return true;
};

/** The task that a receiver has who was told `items`. */
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

describe("push notification configurations", () => {
	it("get an id, are listed in order, replaced by their id and deleted as often as one likes", async () => {
		const { send, create, list, agent } = pushing();
		const { id } = await send("done");
		const first = await create(id);
		assert.match(first.id ?? "", /^push-[0-9a-f]{16}$/);
		await create(id, { id: "second" });
		await create(id, { id: "second", url: `${URL}/2` });
		assert.deepEqual(
			(await list(id)).configs.map((each) => each.url),
			[URL, `${URL}/2`],
		);
		const ref = { taskId: taskId(id), id: "second" };
		for (let n = 0; n < 2; n++)
			assert.deepEqual(await agent.request("DeleteTaskPushNotificationConfig", ref, call()), {});
		assert.equal((await list(id)).configs.length, 1);
		await assert.rejects(agent.request("GetTaskPushNotificationConfig", ref, call()), refusedWith("TaskNotFoundError"));
	});

	it("are listed in pages that stay right when one is deleted between them", async () => {
		const { send, create, list, agent } = pushing();
		const { id } = await send("done");
		for (const name of ["a", "b", "c"]) await create(id, { id: name });
		const page = await list(id, { pageSize: 2 });
		assert.deepEqual(
			page.configs.map((each) => each.id),
			["a", "b"],
		);
		await agent.request("DeleteTaskPushNotificationConfig", { taskId: taskId(id), id: "b" }, call());
		const rest = await list(id, { pageSize: 2, pageToken: page.nextPageToken });
		assert.deepEqual([rest.configs.map((each) => each.id), rest.nextPageToken], [["c"], ""]);
		await assert.rejects(list(id, { pageToken: "x" }), refusedWith("InvalidParamsError", "pageToken"));
	});

	it("belong to the owner of the task", async () => {
		const { send, create, agent } = pushing();
		const { id } = await send("mine");
		await create(id, { id: "c" });
		const other = call(bob);
		await assert.rejects(create(id, {}, other), refusedWith("TaskNotFoundError"));
		for (const operation of [
			"GetTaskPushNotificationConfig",
			"ListTaskPushNotificationConfigs",
			"DeleteTaskPushNotificationConfig",
		] as const) {
			const params = { taskId: taskId(id), id: "c" };
			await assert.rejects(agent.request(operation, params, other), refusedWith("TaskNotFoundError"));
		}
	});

	it("are never read back with their secrets", async () => {
		const { send, create, list, agent, warnings } = pushing(echo, () => ({ outcome: "refused", why: "no" }));
		const { id } = await send("done");
		const secrets = { token: "tok-1", authentication: { scheme: "Bearer", credentials: "cred-1" } };
		const answers = [
			await create(id, { id: "c", ...secrets }),
			await agent.request("GetTaskPushNotificationConfig", { taskId: taskId(id), id: "c" }, call()),
			await list(id),
			warnings,
		];
		assert.doesNotMatch(JSON.stringify(answers), /tok-1|cred-1/);
		assert.deepEqual((answers[0] as TaskPushNotificationConfig).authentication, { scheme: "Bearer" });
	});

	it("are limited in number for each task, and a replaced one is no new one", async () => {
		const { send, create } = pushing();
		const { id } = await send("done");
		for (let n = 0; n < MAX_PER_TASK; n++) await create(id, { id: `c${n}` });
		await create(id, { id: "c0" });
		await assert.rejects(create(id, { id: "more" }), refusedWith("InvalidParamsError", "id"));
	});

	it("are refused with the field when no header can carry them", async () => {
		const { send, create } = pushing();
		const { id } = await send("done");
		const bad = (over: Partial<TaskPushNotificationConfig>, field: string) =>
			assert.rejects(create(id, over), refusedWith("InvalidParamsError", field));
		await bad({ token: "a\r\nX-Evil: 1" }, "token");
		await bad({ authentication: { scheme: "Bearer x" } }, "authentication.scheme");
		await bad({ authentication: { scheme: "Bearer", credentials: "a\nb" } }, "authentication.credentials");
	});

	it("refuse a message before anything begins when its webhook is not called", async () => {
		const { inline, hook, tasks, runner } = pushing();
		hook.webhooks.check = async () => {
			throw new A2AError("ForbiddenError", "This address is not called: it is private");
		};
		const field = "configuration.taskPushNotificationConfig.url";
		await assert.rejects(inline("x"), refusedWith("InvalidParamsError", field));
		assert.deepEqual([tasks.all().length, runner.turns.length], [0, 0]);
	});

	it("are written down with `all` and taken up with `restore`", async () => {
		const { inline, tasks, clock, pass } = pushing(asks);
		await inline("x", { id: "c", token: "tok-1" });
		const [log] = tasks.all();
		assert.ok(log);
		await pass(0);
		const kept = receiver();
		const log2 = { warn: () => undefined, info: () => undefined };
		const later = new PushConfigs({ tasks, webhooks: kept.webhooks, clock, log: log2 });
		later.restore(log, [{ id: "c", url: URL, token: "tok-1", version: "1.0", loopback: true }]);
		assert.deepEqual(later.all(log), [{ id: "c", url: URL, token: "tok-1", version: "1.0", loopback: true }]);
		await pass(0);
		assert.deepEqual(kept.items().map(brief), ["task:INPUT_REQUIRED"]);
		await later.close();
	});

	it("are taken up as far as they are what was written down, whatever else stands there", async () => {
		const { inline, tasks, clock, pass } = pushing(asks);
		await inline("x", { id: "c" });
		const [log] = tasks.all();
		assert.ok(log);
		const good = { id: "good", url: URL, version: "1.0", loopback: true };
		const wrong = [
			null,
			"x",
			[],
			{},
			{ ...good, url: "x" },
			{ ...good, id: 1 },
			{ ...good, version: "2" },
			{ ...good, loopback: "yes" },
			{ ...good, token: "a\r\nb: c" },
			{ ...good, authentication: "x" },
			{ ...good, authentication: { scheme: "a b" } },
			{ ...good, authentication: { scheme: "Bearer", credentials: "a\nb" } },
		];
		const said: string[] = [];
		const kept = receiver();
		const to = { warn: (text: string) => void said.push(text), info: () => undefined };
		const later = new PushConfigs({ tasks, webhooks: kept.webhooks, clock, log: to });
		const more = Array.from({ length: MAX_PER_TASK }, (_, n) => ({ ...good, id: `more-${n}` }));
		later.restore(log, [...wrong, good, ...more]);
		assert.equal(later.all(log).length, MAX_PER_TASK);
		assert.equal(later.all(log)[0]?.id, "good");
		assert.match(said.join(), /cannot be read/);
		await pass(0);
		await later.close();
	});
});

describe("push notifications", () => {
	it("tell the task, its changes of state and its text in order, with the headers that were asked for", async () => {
		const { inline, hook, pass, get, list } = pushing();
		const authentication = { scheme: "Bearer", credentials: "cred-1" };
		const answer = await inline("hello", { token: "tok-1", authentication });
		await pass(1000);
		assert.ok("task" in answer);
		assert.deepEqual(hook.items().map(brief), ["task:SUBMITTED", "WORKING", "text:hello", "COMPLETED"]);
		assert.deepEqual(hook.calls[0]?.headers, {
			"content-type": "application/a2a+json",
			"a2a-version": "1.0",
			"x-a2a-notification-token": "tok-1",
			authorization: "Bearer cred-1",
		});
		assert.deepEqual(followed(hook.items()).artifacts, (await get(answer.task.id)).artifacts);
		// A configuration ends with its task.
		assert.deepEqual((await list(answer.task.id)).configs, []);
	});

	it("tell a receiver of 0.3 the whole task in its shape", async () => {
		const { inline, hook, pass } = pushing();
		await inline("hello", {}, { ...call(), service: { version: "0.3", extensions: [] } });
		await pass(1000);
		const tasks = hook.calls.map(({ body }) => JSON.parse(body));
		assert.deepEqual([...new Set(tasks.map((each) => each.kind))], ["task"]);
		assert.equal(tasks.at(-1)?.status.state, "completed");
		assert.equal(tasks.at(-1)?.artifacts[0].parts[0].text, "hello");
		assert.equal(hook.calls[0]?.headers["content-type"], "application/json");
	});

	it("gather the pieces of a text, and whoever folds them has exactly the artifact", async () => {
		const more = gate();
		const { inline, hook, pass, tasks } = pushing(async function* () {
			for (let n = 0; n < 200; n++) yield { type: "text", delta: `${n} ` };
			await more.opened;
			for (let n = 200; n < 400; n++) yield { type: "text", delta: `${n} ` };
		});
		await inline("count");
		await pass(1000);
		more.open();
		await pass(1000);
		const pieces = hook.items().filter((item) => "artifactUpdate" in item);
		assert.ok(pieces.length >= 2 && pieces.length <= 6, `${pieces.length} notifications`);
		const [log] = tasks.all();
		assert.deepEqual(followed(hook.items()).artifacts, log?.task.artifacts);
		const last = pieces.at(-1);
		assert.ok(last && "artifactUpdate" in last && last.artifactUpdate.lastChunk);
	});

	it("are repeated in order until they are taken", async () => {
		const { inline, hook, pass } = pushing(echo, (_, index) => (index % 2 === 0 ? again : taken));
		await inline("hello");
		await pass(60_000);
		const told = hook.items().map(brief);
		assert.deepEqual(
			told,
			["task:SUBMITTED", "WORKING", "text:hello", "COMPLETED"].flatMap((each) => [each, each]),
		);
	});

	it("are given up after a bounded number of tries, with one line in the log", async () => {
		const { inline, hook, pass, warnings } = pushing(echo, () => again);
		await inline("hello", { token: "tok-1" });
		await pass(3_600_000);
		assert.equal(hook.calls.length, 8);
		assert.equal(warnings.length, 1);
		assert.match(warnings[0] ?? "", /hook\.example.*503.*8 tries/);
		assert.doesNotMatch(warnings[0] ?? "", /tok-1/);
	});

	it("end at once when the receiver refuses one", async () => {
		const { inline, hook, pass, list } = pushing(asks, () => ({ outcome: "refused", why: "it answered HTTP 410" }));
		const answer = await inline("hello");
		await pass(60_000);
		assert.equal(hook.calls.length, 1);
		assert.ok("task" in answer);
		assert.deepEqual((await list(answer.task.id)).configs, []);
	});

	it("wait as long as the receiver asks", async () => {
		const busy = { outcome: "again", why: "it answered HTTP 429", afterMs: 30_000 } as const;
		const { inline, hook, pass } = pushing(asks, (_, index) => (index === 0 ? busy : taken));
		await inline("hello");
		await pass(29_999);
		assert.equal(hook.calls.length, 1);
		await pass(1);
		assert.ok(hook.calls.length > 1);
	});

	it("never slow the task, and a receiver that is far behind is told the whole of it", async () => {
		const open = gate();
		const hang: Answer = async (_, index) => {
			if (index === 0) await open.opened;
			return taken;
		};
		const { inline, hook, pass, tasks } = pushing(async function* () {
			for (let n = 0; n < 500; n++) {
				yield { type: "activity", activity: { type: "note", name: `n${n}` } };
				yield { type: "text", delta: `${n};` };
			}
		}, hang);
		await inline("busy");
		await pass(100);
		const [log] = tasks.all();
		assert.ok(log && isTerminal(log.state));
		open.open();
		await pass(1000);
		assert.ok(hook.calls.length <= 70, `${hook.calls.length} notifications`);
		const { status, artifacts } = followed(hook.items());
		assert.deepEqual([status, artifacts], [log.task.status, log.task.artifacts]);
	});

	it("stop when their configuration is deleted", async () => {
		const { inline, hook, pass, agent, cancel } = pushing(asks);
		const answer = await inline("x", { id: "c" });
		await pass(0);
		assert.ok("task" in answer);
		const told = hook.calls.length;
		await agent.request("DeleteTaskPushNotificationConfig", { taskId: answer.task.id, id: "c" }, call());
		await cancel(answer.task.id);
		await pass(1000);
		assert.equal(hook.calls.length, told);
	});

	it("go on over the turns of a task, and leave nothing behind when it has ended", async () => {
		const rig = pushing(asks);
		const answer = await rig.inline("x");
		await rig.pass(0);
		assert.ok("task" in answer);
		await rig.cancel(answer.task.id);
		await rig.pass(1000);
		assert.equal(rig.hook.items().map(brief).at(-1), "CANCELED");
		await assertIdle(rig);
	});

	it("tell the end before the agent has closed, and give up a receiver that does not answer", async () => {
		const told = pushing(silentUntilStopped);
		const answered = told.inline("x");
		await told.pass(20);
		await answered;
		const closing = told.agent.close("host stopped");
		await told.pass(0);
		await closing;
		assert.equal(told.hook.items().map(brief).at(-1), "FAILED");
		assert.equal(told.hook.closed(), 1);

		const deaf = pushing(asks, () => new Promise(() => undefined));
		await deaf.inline("x");
		await deaf.pass(0);
		const over = deaf.agent.close("host stopped");
		await deaf.pass(2_000);
		await over;
		assert.match(deaf.warnings.at(-1) ?? "", /Stopped before a webhook took/);
	});

	it("back off twice as long each time, half of it chance, up to a minute", () => {
		assert.deepEqual([backoff(1, 0), backoff(1, 1), backoff(2, 1), backoff(20, 1)], [250, 500, 1000, 60_000]);
	});

	it("are forgotten with their task", async () => {
		const hook = receiver();
		const { agent, send, tasks, clock } = bench(echo, { ...PUSH, webhooks: hook.webhooks, maxFinished: 1 });
		const { id } = await send("first");
		const params = { taskId: taskId(id), url: URL, id: "c" };
		await agent.request("CreateTaskPushNotificationConfig", params, call());
		for (let n = 0; n < 200; n++) await send(`more ${n}`);
		await clock.advance(0);
		assert.ok(tasks.all().every((log) => log.id !== id));
		await assert.rejects(
			agent.request("GetTaskPushNotificationConfig", params, call()),
			refusedWith("TaskNotFoundError"),
		);
		assert.equal(clock.pending, 0);
	});
});

const silentUntilStopped: Script = async function* (turn) {
	await new Promise<void>((resolve) => turn.signal.addEventListener("abort", () => resolve(), { once: true }));
	yield { type: "text", delta: "" };
};
