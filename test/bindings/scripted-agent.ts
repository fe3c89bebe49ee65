/** A tiny agent that does what the text of a message says, for tests of what carries messages. */
import type { Agent, Call } from "../../src/protocol/agent.ts";
import { A2AError, type ErrorName } from "../../src/protocol/errors.ts";
import type { ManyReply, OneReply, Params, Results } from "../../src/protocol/operations.ts";
import { textOf } from "../../src/protocol/parts.ts";
import {
	contextId,
	type Message,
	type StreamResponse,
	type Task,
	type TaskState,
	taskId,
} from "../../src/protocol/types.ts";

export interface Seen {
	readonly operation: string;
	readonly params: unknown;
	readonly call: Call;
}

/**
 * `echo X`: a completed task with the artifact X. `message X`: a direct message. `throw Name text`: that error.
 * `crash`: a fault of its own. `later Name`: in a stream, that error after the first item. `hold`: works until
 * `release`. Anything else is echoed. Tasks belong to their caller.
 */
export class ScriptedAgent implements Agent {
	readonly seen: Seen[] = [];
	readonly tasks = new Map<string, { owner: string; task: Task }>();
	/** Streams that somebody reads. */
	open = 0;
	/** Streams that were left before their end. */
	left = 0;
	#held: (() => void)[] = [];
	#count = 0;

	/** How many wait for `release`. */
	get holding(): number {
		return this.#held.length;
	}

	release(): void {
		for (const go of this.#held.splice(0)) go();
	}

	async request<K extends OneReply>(operation: K, params: Params[K], call: Call): Promise<Results[K]> {
		this.seen.push({ operation, params, call });
		return (await this.#one(operation, params, call)) as Results[K];
	}

	async #one(operation: OneReply, params: unknown, call: Call): Promise<unknown> {
		if (operation === "SendMessage") {
			const { message } = params as Params["SendMessage"];
			const text = textOf(message.parts);
			fail(text);
			if (text.startsWith("message ")) return { message: reply(text.slice(8)) };
			if (text === "hold") await this.#holding(call.signal);
			return { task: this.#task(message, call, "TASK_STATE_COMPLETED") };
		}
		if (operation === "ListTasks") {
			const tasks = [...this.tasks.values()].filter((each) => each.owner === call.caller.id).map((each) => each.task);
			return { tasks, nextPageToken: "", pageSize: 50, totalSize: tasks.length };
		}
		if (operation === "GetTask" || operation === "CancelTask") return this.#owned((params as { id: string }).id, call);
		throw new A2AError("UnsupportedOperationError");
	}

	async *stream<K extends ManyReply>(operation: K, params: Params[K], call: Call): AsyncGenerator<Results[K]> {
		this.seen.push({ operation, params, call });
		const text = "message" in params ? textOf(params.message.parts) : "hold";
		fail(text);
		const sent = "message" in params ? this.#task(params.message, call, "TASK_STATE_WORKING") : undefined;
		const task = sent ?? this.#owned((params as Params["SubscribeToTask"]).id, call);
		this.open += 1;
		let ended = false;
		try {
			yield { task } as StreamResponse;
			if (text.startsWith("later ")) throw new A2AError(text.slice(6) as ErrorName, "it broke later");
			if (text === "hold") await this.#holding(call.signal);
			if (call.signal.aborted) return;
			for (const item of this.#ending(task, text)) yield item;
			ended = true;
		} finally {
			this.open -= 1;
			if (!ended) this.left += 1;
		}
	}

	#ending(task: Task, text: string): StreamResponse[] {
		const ids = { taskId: task.id, contextId: task.contextId };
		const parts = [{ text: text.replace(/^echo /, "") }];
		const artifact = { artifactId: "reply", parts };
		return [
			{ artifactUpdate: { ...ids, artifact, append: false, lastChunk: true } },
			{ statusUpdate: { ...ids, status: { state: "TASK_STATE_COMPLETED", timestamp: "2026-01-01T00:00:00.000Z" } } },
		];
	}

	#task(message: Message, call: Call, state: TaskState): Task {
		const id = taskId(`task-${++this.#count}`);
		const text = textOf(message.parts).replace(/^echo /, "");
		const task: Task = {
			id,
			contextId: message.contextId ?? contextId("ctx-1"),
			status: { state, timestamp: "2026-01-01T00:00:00.000Z" },
			artifacts: state === "TASK_STATE_COMPLETED" ? [{ artifactId: "reply", parts: [{ text }] }] : [],
			history: [message],
		};
		this.tasks.set(id, { owner: call.caller.id, task });
		return task;
	}

	#owned(id: string, call: Call): Task {
		const found = this.tasks.get(id);
		if (found?.owner !== call.caller.id)
			throw new A2AError("TaskNotFoundError", undefined, { metadata: { taskId: id } });
		return found.task;
	}

	#holding(signal: AbortSignal): Promise<void> {
		return new Promise((resolve) => {
			this.#held.push(resolve);
			signal.addEventListener("abort", () => resolve(), { once: true });
		});
	}
}

function fail(text: string): void {
	if (text === "crash") throw new TypeError("secret detail at /home/someone/file.ts:1:1");
	const [word, name, ...rest] = text.split(" ");
	if (word === "throw") throw new A2AError(name as ErrorName, rest.join(" ") || undefined);
}

function reply(text: string): Message {
	return { messageId: "msg-1", role: "ROLE_AGENT", parts: [{ text }] };
}
