/** What every binding must do (§5.1), as tests: two callers, one agent, whatever is between them. */
import assert from "node:assert/strict";
import type { Agent, Call } from "../../src/protocol/agent.ts";
import { A2AError, type ErrorName } from "../../src/protocol/errors.ts";
import type { SendMessageRequest, StreamResponse } from "../../src/protocol/types.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

/** One caller's end of a binding. */
export interface End {
	readonly agent: Agent;
	readonly call: (signal: AbortSignal) => Call;
}

export interface Opened {
	/** The end of the caller `alice` or `bob`, who are known to the agent's side as `peer:alice` and `peer:bob`. */
	as(name: "alice" | "bob"): Promise<End>;
	close(): Promise<void>;
}

export interface Options {
	/** Cases that a binding cannot have, and why. */
	readonly skip?: { readonly [title: string]: string };
}

/** Errors that may cross any binding and come out by the same name. */
const CROSSING: readonly ErrorName[] = [
	"TaskNotFoundError",
	"TaskNotCancelableError",
	"PushNotificationNotSupportedError",
	"UnsupportedOperationError",
	"ContentTypeNotSupportedError",
	"ExtendedAgentCardNotConfiguredError",
	"ExtensionSupportRequiredError",
	"VersionNotSupportedError",
	"InvalidParamsError",
	"RateLimitedError",
	"UntrustedCallerError",
	"BusyError",
	"TurnLimitError",
	"ForbiddenError",
];

export function say(text: string): SendMessageRequest {
	return { message: { messageId: `m-${text.length}-${Math.random()}`, role: "ROLE_USER", parts: [{ text }] } };
}

/** Runs the contract for a binding; `open` puts it in front of an agent. */
export function describeBinding(name: string, open: (agent: Agent) => Promise<Opened>, options: Options = {}): void {
	describe(`the ${name} binding`, () => {
		let agent: ScriptedAgent;
		let opened: Opened;
		let alice: End;
		const never = new AbortController().signal;

		beforeEach(async () => {
			agent = new ScriptedAgent();
			opened = await open(agent);
			alice = await opened.as("alice");
		});
		afterEach(async () => {
			agent.release();
			await opened.close();
			assert.equal(agent.open, 0, "a stream outlived its binding");
		});

		const send = (end: End, text: string) => end.agent.request("SendMessage", say(text), end.call(never));
		const stream = (end: End, text: string, signal = never) =>
			end.agent.stream("SendStreamingMessage", say(text), end.call(signal));

		function check(title: string, test: () => Promise<void>): void {
			const reason = options.skip?.[title];
			if (reason) it.skip(`${title} (${reason})`, test);
			else it(title, test);
		}

		check("delivers a message and its task unchanged", async () => {
			const request = {
				...say("echo état 🧪 北京 ok\n\tand more"),
				configuration: { historyLength: 3 },
				metadata: { a: [1, null, { b: "c" }] },
			};
			const result = await alice.agent.request("SendMessage", request, alice.call(never));
			assert.ok("task" in result);
			assert.deepEqual(agent.seen[0]?.params, request);
			assert.deepEqual(result.task, agent.tasks.get(result.task.id)?.task);
		});

		check("delivers a direct message", async () => {
			const result = await send(alice, "message hello");
			assert.ok("message" in result && result.message.role === "ROLE_AGENT");
			assert.deepEqual(result.message.parts, [{ text: "hello" }]);
		});

		check("tells the agent who calls, in which version and with which extensions", async () => {
			const call = alice.call(never);
			const service = { ...call.service, extensions: ["https://example.com/ext/v1"] };
			await alice.agent.request("SendMessage", say("echo x"), { ...call, service });
			assert.equal(agent.seen[0]?.call.caller.id, "peer:alice");
			assert.deepEqual(agent.seen[0]?.call.service, { version: "1.0", extensions: ["https://example.com/ext/v1"] });
		});

		check("carries every error by its name", async () => {
			for (const error of CROSSING) {
				await assert.rejects(send(alice, `throw ${error} for a reason`), (thrown) => {
					assert.ok(thrown instanceof A2AError);
					assert.equal(thrown.name, error);
					assert.match(thrown.message, /for a reason/);
					return true;
				});
			}
		});

		check("keeps the inside of a fault from the caller", async () => {
			await assert.rejects(send(alice, "crash"), (thrown) => {
				assert.ok(thrown instanceof A2AError && thrown.name === "InternalError");
				assert.doesNotMatch(JSON.stringify([thrown.message, thrown.details]), /secret|home/);
				return true;
			});
		});

		check("delivers the events of a stream in order, then ends it", async () => {
			const items = await collect(stream(alice, "echo hello"));
			assert.deepEqual(items.map(kindOf), ["task", "artifactUpdate", "statusUpdate"]);
			const [, update] = items;
			assert.ok(update && "artifactUpdate" in update);
			assert.deepEqual(update.artifactUpdate.artifact.parts, [{ text: "hello" }]);
		});

		check("delivers an event while the work still goes on", async () => {
			const iterator = stream(alice, "hold")[Symbol.asyncIterator]();
			const first = await iterator.next();
			assert.equal(kindOf(first.value), "task");
			const second = iterator.next();
			await until(() => agent.holding === 1);
			agent.release();
			assert.equal(kindOf((await second).value), "artifactUpdate");
			await iterator.return?.(undefined);
			await until(() => agent.open === 0);
		});

		check("refuses a stream before its first item", async () => {
			const iterator = stream(alice, "throw BusyError")[Symbol.asyncIterator]();
			await assert.rejects(iterator.next(), { name: "BusyError" });
		});

		check("carries an error in the middle of a stream, after the items before it", async () => {
			const items: StreamResponse[] = [];
			await assert.rejects(
				async () => {
					for await (const item of stream(alice, "later BusyError")) items.push(item);
				},
				{ name: "BusyError", message: "it broke later" },
			);
			assert.deepEqual(items.map(kindOf), ["task"]);
		});

		check("lets a viewer leave without disturbing the other or the task", async () => {
			const one = stream(alice, "hold")[Symbol.asyncIterator]();
			const { value } = await one.next();
			const id = (value as { task: { id: Parameters<typeof subscribe>[1] } }).task.id;
			const two = subscribe(alice, id)[Symbol.asyncIterator]();
			assert.deepEqual((await two.next()).value, value);
			await one.return?.(undefined);
			await until(() => agent.left === 1);
			const rest = collect({ [Symbol.asyncIterator]: () => two });
			await until(() => agent.holding > 0);
			agent.release();
			assert.deepEqual((await rest).map(kindOf), ["artifactUpdate", "statusUpdate"]);
			assert.equal(agent.tasks.size, 1);
		});

		check("keeps the tasks of callers apart, and a foreign task looks like none", async () => {
			const bob = await opened.as("bob");
			const sent = await send(alice, "echo mine");
			assert.ok("task" in sent);
			const get = (end: End, id: string) =>
				end.agent.request("GetTask", { id: id as typeof sent.task.id }, end.call(never));
			assert.equal((await get(alice, sent.task.id)).id, sent.task.id);
			const foreign = await get(bob, sent.task.id).catch((error) => error);
			const missing = await get(bob, "task-none").catch((error) => error);
			assert.ok(foreign instanceof A2AError && missing instanceof A2AError);
			assert.deepEqual([foreign.name, foreign.message], ["TaskNotFoundError", missing.message]);
			const list = await bob.agent.request("ListTasks", {}, bob.call(never));
			assert.deepEqual([list.tasks, list.totalSize], [[], 0]);
		});

		check("ends a stream for a caller who gives up", async () => {
			const controller = new AbortController();
			const iterator = stream(alice, "hold", controller.signal)[Symbol.asyncIterator]();
			await iterator.next();
			const next = iterator.next().catch(() => ({ done: true }));
			controller.abort(new Error("enough"));
			assert.equal((await next).done, true);
			await until(() => agent.open === 0);
		});

		function subscribe(end: End, id: import("../../src/protocol/types.ts").TaskId): AsyncIterable<StreamResponse> {
			return end.agent.stream("SubscribeToTask", { id }, end.call(never));
		}
	});
}

export const kindOf = (item: unknown): string => Object.keys(item as object).join();

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
	const all: T[] = [];
	for await (const item of items) all.push(item);
	return all;
}

/** Waits until something is so, turn by turn of the event loop. Fails after two seconds. */
export async function until(test: () => boolean): Promise<void> {
	const end = Date.now() + 2_000;
	while (!test()) {
		assert.ok(Date.now() < end, `waited in vain for ${test}`);
		await new Promise((resolve) => setTimeout(resolve, 2));
	}
}
