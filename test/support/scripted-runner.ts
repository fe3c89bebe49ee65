/** A runner whose turns are scripts, an agent over it on a manual clock, and gates that scripts wait at. */
import assert from "node:assert/strict";
import { type AgentParts, createAgent } from "../../src/agent/agent.ts";
import type { RunEvent, Runner, Turn } from "../../src/agent/runner.ts";
import { createRedactor } from "../../src/guard/redact.ts";
import { type ManualClock, manualClock } from "../../src/lib/clock.ts";
import type { Call, Caller } from "../../src/protocol/agent.ts";
import { replyText, textOf } from "../../src/protocol/parts.ts";
import { isTerminal } from "../../src/protocol/task.ts";
import { contextId, type Message, type StreamResponse, type Task, taskId } from "../../src/protocol/types.ts";
import { TaskStore } from "../../src/tasks/store.ts";

export type Script = (turn: Turn) => AsyncIterable<RunEvent>;

/** Something to wait for that the test opens. */
export function gate(): { readonly opened: Promise<void>; open(): void } {
	let open: () => void = () => undefined;
	const opened = new Promise<void>((resolve) => {
		open = resolve;
	});
	return { opened, open: () => open() };
}

/** Resolves when the signal aborts. */
export const aborted = (signal: AbortSignal): Promise<void> =>
	new Promise((resolve) => {
		if (signal.aborted) resolve();
		signal.addEventListener("abort", () => resolve(), { once: true });
	});

/** A runner that plays `script` for every turn and remembers what it was asked. */
export function scriptedRunner(script: Script): Runner & { readonly turns: Turn[]; readonly closed: () => number } {
	const turns: Turn[] = [];
	let closed = 0;
	return {
		turns,
		closed: () => closed,
		async *run(turn) {
			turns.push(turn);
			yield* script(turn);
		},
		async close() {
			closed += 1;
		},
	};
}

/** A turn's text. */
export const said = (turn: Turn): string => textOf(turn.message.parts);

/** Says back what was said. */
export const echo: Script = async function* (turn) {
	yield { type: "text", delta: said(turn) };
};

/** A script that says nothing: it ends when `work` does. */
export function silent(work: (turn: Turn) => unknown): Script {
	return (turn) => ({
		[Symbol.asyncIterator]: () => ({
			async next() {
				await work(turn);
				return { done: true, value: undefined };
			},
		}),
	});
}

/** A script that works until it is told to stop. */
export const untilAborted: Script = silent((turn) => aborted(turn.signal));

export const alice: Caller = { id: "peer:alice", label: "alice", authenticated: true, loopback: true };
export const bob: Caller = { id: "peer:bob", label: "bob", authenticated: true, loopback: true };

/** A call of 1.0 by `caller`. */
export function call(caller: Caller = alice, signal: AbortSignal = new AbortController().signal): Call {
	return { caller, signal, service: { version: "1.0", extensions: [] } };
}

/** A user's message; its id is its text unless given. */
export function message(text: string, over: { id?: string; task?: string; context?: string } = {}): Message {
	return {
		messageId: over.id ?? text,
		role: "ROLE_USER",
		parts: [{ text }],
		...(over.task === undefined ? {} : { taskId: taskId(over.task) }),
		...(over.context === undefined ? {} : { contextId: contextId(over.context) }),
	};
}

export interface Bench {
	readonly agent: ReturnType<typeof createAgent>;
	readonly tasks: TaskStore;
	readonly clock: ManualClock;
	readonly runner: ReturnType<typeof scriptedRunner>;
	readonly warnings: string[];
	/** Sends and waits for the end; the answer must be a task. */
	send(text: string, over?: Parameters<typeof message>[1], how?: Call): Promise<Task>;
	/** Sends with returnImmediately. */
	start(text: string, over?: Parameters<typeof message>[1], how?: Call): Promise<Task>;
	get(id: string, how?: Call): Promise<Task>;
	cancel(id: string, how?: Call): Promise<Task>;
	/** Every item of a SendStreamingMessage, to its end. */
	stream(text: string, over?: Parameters<typeof message>[1]): Promise<StreamResponse[]>;
}

/** An agent that plays `script`. Limits are three turns, and windows of 300 s and 86400 s, unless given. */
export function bench(script: Script, over: Partial<AgentParts> & { maxFinished?: number } = {}): Bench {
	const clock = manualClock();
	const warnings: string[] = [];
	const log = { warn: (text: string) => void warnings.push(text), info: () => undefined };
	const tasks = new TaskStore({ limits: { maxFinished: over.maxFinished ?? 500 }, clock, log });
	const runner = scriptedRunner(script);
	const agent = createAgent({
		tasks,
		runner,
		clock,
		limits: { maxConcurrent: 3, replyTimeoutMs: 300_000, asyncTimeoutMs: 86_400_000 },
		redact: createRedactor,
		card: () => undefined,
		capabilities: { streaming: true, push: false, extended: false },
		log,
		...over,
	});
	async function task(text: string, ids: Parameters<typeof message>[1], how: Call, returnImmediately: boolean) {
		const params = { message: message(text, ids), configuration: { returnImmediately } };
		const answer = await agent.request("SendMessage", params, how);
		if (!("task" in answer)) throw new Error("a message came instead of a task");
		return answer.task;
	}
	return {
		agent,
		tasks,
		clock,
		runner,
		warnings,
		send: (text, ids, how = call()) => task(text, ids, how, false),
		async start(text, ids, how = call()) {
			const started = task(text, ids, how, true);
			await clock.advance(20);
			return started;
		},
		get: (id, how = call()) => agent.request("GetTask", { id: taskId(id) }, how),
		cancel: (id, how = call()) => agent.request("CancelTask", { id: taskId(id) }, how),
		async stream(text, ids) {
			const items = all(agent.stream("SendStreamingMessage", { message: message(text, ids) }, call()));
			await clock.advance(20);
			return items;
		},
	};
}

/** Everything that an iteration gives. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
	const list: T[] = [];
	for await (const item of items) list.push(item);
	return list;
}

/** The text of a task's artifacts. */
export const replyOf = (task: Task): string => replyText(task.artifacts);

/** The text of a task's status. */
export const statusText = (task: Task): string => textOf(task.status.message?.parts ?? []);

/** `COMPLETED` for a status update or a task in that state, `text:…` for a piece of an artifact, `message`. */
export function brief(item: StreamResponse): string {
	const state = (text: string) => text.replace("TASK_STATE_", "");
	if ("task" in item) return `task:${state(item.task.status.state)}`;
	if ("statusUpdate" in item) return state(item.statusUpdate.status.state);
	return "message" in item ? "message" : `text:${textOf(item.artifactUpdate.artifact.parts)}`;
}

/** Nothing that was started is left: no turn, no timer, no reader of a task that has ended. */
export async function assertIdle({ tasks, clock }: Bench): Promise<void> {
	await clock.advance(0);
	assert.deepEqual(tasks.running(), []);
	assert.equal(clock.pending, 0);
	for (const log of tasks.all()) if (isTerminal(log.state)) assert.equal(log.readers, 0);
}
