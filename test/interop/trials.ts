/** One trial for each operation, the same for every pair: what is asked of the server and what has to come of it. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { EventEmitter } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { ManyReply, OneReply, Params, Results } from "../../src/protocol/operations.ts";
import { replyText } from "../../src/protocol/parts.ts";
import { apply, isTerminal, toEvent } from "../../src/protocol/task.ts";
import type { SendMessageRequest, StreamResponse, Task, TaskId } from "../../src/protocol/types.ts";
import { all } from "../support/sdk-us.ts";
import type { Trial } from "./pairs.ts";

/** A client of any implementation, in the words of 1.0. */
export interface Driver {
	request<K extends OneReply>(operation: K, params: Params[K]): Promise<Results[K]>;
	stream<K extends ManyReply>(operation: K, params: Params[K]): AsyncIterable<Results[K]>;
}

function asking(text: string, returnImmediately = false): SendMessageRequest {
	const message = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }] } as const;
	return { message, configuration: { returnImmediately } };
}

function taskIn(answer: Results["SendMessage"]): Task {
	assert.ok("task" in answer, `expected a task, got ${JSON.stringify(answer)}`);
	return answer.task;
}

const sent = async (driver: Driver, text: string) => taskIn(await driver.request("SendMessage", asking(text)));
const begun = async (driver: Driver, text: string) => taskIn(await driver.request("SendMessage", asking(text, true)));

/** The task at the end of a stream that tells all of it. */
function folded(items: readonly StreamResponse[]): Task {
	const [first] = items;
	assert.ok(first && "task" in first, "a stream begins with the task");
	let { task } = first;
	for (const item of items.slice(1)) {
		const event = toEvent(item);
		if (event) task = apply(task, event);
		else if ("task" in item) task = item.task;
	}
	return task;
}

function isDone(task: Task, text: RegExp | string): void {
	assert.equal(task.status.state, "TASK_STATE_COMPLETED");
	const got = replyText(task.artifacts ?? []);
	if (typeof text === "string") assert.equal(got, text);
	else assert.match(got, text);
}

/** Where push notifications come in. */
export interface Hooks {
	readonly url: string;
	/** Headers of the notification that a task has completed, by the path it came to. */
	completed(path: string): Promise<IncomingHttpHeaders>;
	close(): void;
}

/** Starts a receiver on a free port. */
export async function startHooks(): Promise<Hooks> {
	const told = new EventEmitter();
	const server = createServer((request, response) => {
		const chunks: Buffer[] = [];
		request.on("data", (chunk: Buffer) => chunks.push(chunk));
		request.on("end", () => {
			response.writeHead(200).end();
			const body = Buffer.concat(chunks).toString();
			if (/"state":\s*"(TASK_STATE_)?completed"/i.test(body)) told.emit(request.url ?? "", request.headers);
		});
	});
	await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
	return {
		url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
		completed: (path) => new Promise((resolve) => told.once(path, resolve)),
		close() {
			server.closeAllConnections();
			server.close();
		},
	};
}

/** A task that works for `ms` with a push configuration, while `use` runs; canceled at the end of it. */
async function configured(
	driver: Driver,
	hooks: Hooks,
	use: (made: { readonly taskId: TaskId; readonly id: string; readonly url: string }) => Promise<void>,
	ms = 20_000,
): Promise<void> {
	const { id: taskId } = await begun(driver, `slow ${ms}`);
	const url = `${hooks.url}/${taskId}`;
	const made = await driver.request("CreateTaskPushNotificationConfig", { taskId, id: "c1", url, token: "tok-1" });
	assert.equal(made.url, url);
	await use({ taskId, id: made.id ?? "c1", url });
	const { status } = await driver.request("GetTask", { id: taskId });
	if (!isTerminal(status.state)) await driver.request("CancelTask", { id: taskId });
}

export const OPERATION_TRIALS: { readonly [T in Trial]: (driver: Driver, hooks: Hooks) => Promise<void> } = {
	async SendMessage(driver) {
		isDone(await sent(driver, "echo état 🧪 ok"), "état 🧪 ok");
	},
	async SendStreamingMessage(driver) {
		const items = await all(driver.stream("SendStreamingMessage", asking("chunks 3")));
		assert.ok(items.filter((item) => "artifactUpdate" in item).length >= 3);
		isDone(folded(items), "chunk-0;chunk-1;chunk-2;");
	},
	async GetTask(driver) {
		const { id, contextId } = await sent(driver, "echo kept");
		const task = await driver.request("GetTask", { id });
		assert.deepEqual([task.id, task.contextId], [id, contextId]);
		isDone(task, "kept");
	},
	async ListTasks(driver) {
		const { id, contextId } = await sent(driver, "echo listed");
		await sent(driver, "echo of another context");
		const { tasks, totalSize } = await driver.request("ListTasks", { contextId, includeArtifacts: true });
		assert.deepEqual([tasks.map((task) => task.id), totalSize], [[id], 1]);
		const [task] = tasks;
		assert.ok(task);
		isDone(task, "listed");
	},
	async CancelTask(driver) {
		const { id } = await begun(driver, "slow 20000");
		const { status } = await driver.request("CancelTask", { id });
		assert.equal(status.state, "TASK_STATE_CANCELED");
	},
	async SubscribeToTask(driver) {
		const { id } = await begun(driver, "slow 400");
		const items = await all(driver.stream("SubscribeToTask", { id }));
		isDone(folded(items), /^slept 400/);
	},
	CreateTaskPushNotificationConfig: (driver, hooks) => configured(driver, hooks, async () => undefined),
	GetTaskPushNotificationConfig: (driver, hooks) =>
		configured(driver, hooks, async ({ taskId, id, url }) => {
			const config = await driver.request("GetTaskPushNotificationConfig", { taskId, id });
			assert.deepEqual([config.url, config.taskId ?? taskId], [url, taskId]);
		}),
	ListTaskPushNotificationConfigs: (driver, hooks) =>
		configured(driver, hooks, async ({ taskId, id, url }) => {
			const { configs } = await driver.request("ListTaskPushNotificationConfigs", { taskId });
			const found = configs.map((config) => [config.id, config.url]);
			assert.deepEqual(found, [[id, url]]);
		}),
	DeleteTaskPushNotificationConfig: (driver, hooks) =>
		configured(driver, hooks, async ({ taskId, id }) => {
			await driver.request("DeleteTaskPushNotificationConfig", { taskId, id });
			const { configs } = await driver.request("ListTaskPushNotificationConfigs", { taskId });
			assert.deepEqual(configs, []);
		}),
	async PushDelivery(driver, hooks) {
		await configured(
			driver,
			hooks,
			async ({ taskId, url }) => {
				const headers = await hooks.completed(new URL(url).pathname);
				assert.equal(headers["x-a2a-notification-token"], "tok-1");
				assert.ok(isTerminal((await driver.request("GetTask", { id: taskId })).status.state));
			},
			600,
		);
	},
	async GetExtendedAgentCard(driver) {
		const card = await driver.request("GetExtendedAgentCard", {});
		assert.ok(card.name.length > 0);
		assert.deepEqual(
			card.skills.map((skill) => skill.id),
			["directives"],
		);
	},
};
