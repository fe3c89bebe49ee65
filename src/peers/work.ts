/** One piece of work at a peer, followed until it settles, whatever way its news travel. */
import type { Connection } from "../bindings/binding.ts";
import type { Clock } from "../lib/clock.ts";
import { oneLine } from "../lib/text.ts";
import { A2AError, type ErrorName } from "../protocol/errors.ts";
import { isInterrupted, isTerminal } from "../protocol/task.ts";
import { type ContextId, eventId, type StreamResponse, type Task, type TaskId } from "../protocol/types.ts";
import { type Bounds, bounds } from "./bounds.ts";
import { asPeerError, PeerError, type PeerReply, type Progress } from "./reply.ts";
import { conclude, fold, isSettled, progressOf, type Seen } from "./seen.ts";

export interface WorkParts {
	/** The peer's name, for replies and errors. */
	readonly peer: string;
	readonly connection: Connection;
	readonly clock: Clock;
	/** Longest pause between two polls, in milliseconds. */
	readonly pollMs: number;
	/** The context that the work was sent into. */
	readonly contextId?: ContextId | undefined;
	/** The task, when it is known before the peer says anything. */
	readonly taskId?: TaskId | undefined;
	/** Finds our own message again in a peer's list of tasks. */
	readonly messageId?: string | undefined;
	readonly onProgress?: ((progress: Progress) => void) | undefined;
	/** What progress tells of the peer's words passes it. */
	readonly clean?: ((said: string) => string) | undefined;
}

/** How long the peer has for what we ask of it on the way out: a cancellation, the name of its task. */
const LAST_WORD_MS = 2_000;
const FIRST_PAUSE_MS = 200;
/** Polls that may fail in a row, and subscriptions that may bring nothing new. */
const PATIENCE = 3;

/** Errors that asking once more does not cure. */
const FINAL: ReadonlySet<ErrorName> = new Set<ErrorName>([
	"TaskNotFoundError",
	"UnauthorizedError",
	"UntrustedCallerError",
	"ForbiddenError",
	"MethodNotFoundError",
	"InvalidParamsError",
	"InvalidRequestError",
	"UnsupportedOperationError",
	"VersionNotSupportedError",
	"InvalidAgentResponseError",
]);

const isFinal = (error: unknown): boolean => error instanceof A2AError && FINAL.has(error.name);

/** The peer cannot or will not stream this: ask in another way. */
export function refusesStream(error: unknown): boolean {
	return error instanceof A2AError && ["UnsupportedOperationError", "MethodNotFoundError"].includes(error.name);
}

/** Our patience or that of somebody in between ended: whether the peer works on is not known. */
export function isTimeout(error: unknown): boolean {
	return error instanceof A2AError && error.name === "PeerTimeoutError";
}

/** The same, or the line broke, or somebody in between failed after the message had been sent. */
export function isLost(error: unknown): boolean {
	if (!(error instanceof A2AError)) return false;
	const { broken, status = "" } = error.details.metadata ?? {};
	const failed = error.name === "PeerUnreachableError" && status !== "" && status !== "503";
	return isTimeout(error) || broken !== undefined || failed;
}

export class Work {
	readonly #parts: WorkParts;
	readonly #began: number;
	readonly notes: string[] = [];
	seen: Seen = {};
	/** Id of the last event that a stream of the task has brought; undefined when it was no event that was last. */
	#after: string | undefined;

	constructor(parts: WorkParts) {
		this.#parts = parts;
		this.#began = parts.clock.now();
	}

	/** The peer has named a task or answered. */
	get isKnown(): boolean {
		return this.seen.task !== undefined || this.seen.message !== undefined;
	}

	get taskId(): TaskId | undefined {
		return this.seen.task?.id ?? this.seen.message?.taskId ?? this.#parts.taskId;
	}

	get contextId(): ContextId | undefined {
		return this.seen.task?.contextId || this.#parts.contextId;
	}

	/** Adds news and reports progress. */
	take(item: StreamResponse): void {
		this.seen = fold(this.seen, item);
		const { onProgress, clock, clean } = this.#parts;
		onProgress?.(progressOf(this.seen, clock.now() - this.#began, clean));
	}

	/**
	 * Takes what a stream brings until the work settles. Gives the number of items. Throws what the stream throws.
	 * `answers`: the stream is that of a message which answers a question of the task.
	 */
	async read(stream: AsyncIterable<StreamResponse>, signal: AbortSignal, answers = false): Promise<number> {
		let items = 0;
		for await (const item of stream) {
			items += 1;
			this.take(answers && items === 1 ? answered(item) : item);
			this.#after = item[eventId];
			if (isSettled(this.seen)) break;
		}
		signal.throwIfAborted();
		return items;
	}

	/** Asks for the task once. Throws `A2AError`. */
	async fetch(id: TaskId, signal: AbortSignal): Promise<void> {
		const { agent, call } = this.#parts.connection;
		this.take({ task: await agent.request("GetTask", { id }, call(signal)) });
		this.#after = undefined;
	}

	/**
	 * Subscribes where the peer can stream, polls where it cannot, until the work settles or `signal` aborts (then it
	 * throws). A stream whose events have ids is gone on with after the last of them; else the task is asked for, and the
	 * stream begins with it. Bears with a few failures in a row; throws the last of them.
	 */
	async follow(signal: AbortSignal): Promise<void> {
		let subscriptions = this.#parts.connection.streaming ? PATIENCE : 0;
		let failures = 0;
		let pause = FIRST_PAUSE_MS;
		while (!isSettled(this.seen)) {
			const id = this.taskId;
			if (!id) throw new Error("ended without naming a task or giving an answer");
			const from = this.#after;
			const isAsked = from === undefined || subscriptions <= 0;
			let step: "ask" | "listen" = "ask";
			let news = 0;
			try {
				if (isAsked) await this.fetch(id, signal);
				failures = 0;
				// The peer has answered by a message already; its task's state is all that was still to be learned.
				if (this.seen.message || isSettled(this.seen)) return;
				step = "listen";
				// The first thing is the task once more, where it was not gone on with.
				if (subscriptions > 0) news = (await this.#subscribe(id, signal)) - (isAsked ? 1 : 0);
			} catch (error) {
				signal.throwIfAborted();
				if (step === "ask" && this.seen.message) return this.note("The state of its task could not be read", error);
				if (step === "listen" && refusesStream(error)) subscriptions = 0;
				else if (isFinal(error)) throw error;
				else if (step === "ask" && ++failures >= PATIENCE) throw error;
				if (this.#after === from) this.#after = undefined;
				else if (this.#after !== undefined) news = 1;
			}
			if (isSettled(this.seen)) return;
			if (step === "listen") subscriptions = news > 0 ? PATIENCE : subscriptions - 1;
			if (news > 0) pause = FIRST_PAUSE_MS;
			await this.#parts.clock.sleep(Math.min(pause, this.#parts.pollMs), signal);
			signal.throwIfAborted();
			pause = Math.min(pause * 2, this.#parts.pollMs);
		}
	}

	async #subscribe(id: TaskId, signal: AbortSignal): Promise<number> {
		const { agent, call } = this.#parts.connection;
		const after = this.#after;
		const asked = { ...call(signal), ...(after === undefined ? {} : { after }) };
		return this.read(agent.stream("SubscribeToTask", { id }, asked), signal);
	}

	/** Looks for the task in the peer's list when the peer could not name it. Never throws; gives whether it is known. */
	async recover(): Promise<boolean> {
		if (this.taskId) return true;
		const { connection, contextId, messageId } = this.#parts;
		if (!contextId) return false;
		const asked = await this.#lastWord(async (signal) => {
			// A list leaves artifacts out unless asked (§3.1.4), and a task that has ended is not asked for again.
			const request = { contextId, pageSize: 10, historyLength: 10, includeArtifacts: true };
			const { tasks } = await connection.agent.request("ListTasks", request, connection.call(signal));
			const ours = tasks.filter((task) => task.contextId === contextId);
			const holds = (task: Task) => task.history?.some((message) => message.messageId === messageId);
			const live = ours.filter((task) => !isTerminal(task.status.state));
			return ours.find(holds) ?? (live.length === 1 ? live[0] : undefined);
		});
		if (!("value" in asked) || !asked.value) return false;
		this.take({ task: asked.value });
		return true;
	}

	/** Cancels the task at the peer. Never throws; says in words what came of it. */
	async cancel(): Promise<string> {
		await this.recover();
		const id = this.taskId;
		if (!id) return "The peer has not named its task, so it could not be told.";
		const { agent, call } = this.#parts.connection;
		const asked = await this.#lastWord((signal) => agent.request("CancelTask", { id }, call(signal)));
		if ("value" in asked) {
			this.seen = fold(this.seen, { task: asked.value });
			return `The peer was told to stop task ${id}.`;
		}
		if (asked.error instanceof A2AError && asked.error.name === "TaskNotCancelableError") {
			return `Task ${id} had already ended.`;
		}
		return `Task ${id} may go on at the peer: it could not be told (${reasonOf(asked.error)}).`;
	}

	/** The result of `ask` or its error, within two seconds, whatever has become of the call. */
	async #lastWord<T>(ask: (signal: AbortSignal) => Promise<T>): Promise<{ value: T } | { error: unknown }> {
		const within: Bounds = bounds(this.#parts.clock, LAST_WORD_MS, new AbortController().signal);
		try {
			return { value: await ask(within.signal) };
		} catch (error) {
			return { error: within.ended ? new Error("no answer within 2 s") : error };
		} finally {
			within.release();
		}
	}

	/** Adds a sentence for the reader, and why. */
	note(text: string, error?: unknown): void {
		this.notes.push(error === undefined ? text : `${text} (${reasonOf(error)}).`);
	}

	/** The reply as it stands. Throws a `PeerError` when the task did not end well. */
	conclude(): PeerReply {
		const { peer, contextId } = this.#parts;
		const reply = conclude(this.seen, {
			peer,
			contextId,
			durationMs: this.#parts.clock.now() - this.#began,
			notes: this.notes,
		});
		const id = reply.taskId ?? this.taskId;
		return id ? { ...reply, taskId: id } : reply;
	}

	/** `error` with what is known of the work. */
	explain(error: unknown): PeerError {
		const { peer } = this.#parts;
		const told = asPeerError(error, { peer, taskId: this.taskId, contextId: this.contextId });
		if (this.notes.length === 0 || told === error) return told;
		return new PeerError(`${told.message} ${this.notes.join(" ")}`, { ...told, peer, cause: told.cause });
	}
}

/**
 * The first thing that a peer says to a message that answers a question. Many begin with the task as the message found
 * it: the question in it is the one that has just been answered, so it is not taken for a new one.
 */
export function answered(item: StreamResponse): StreamResponse {
	if (!("task" in item) || !isInterrupted(item.task.status.state)) return item;
	return { task: { ...item.task, status: { state: "TASK_STATE_WORKING" } } };
}

function reasonOf(error: unknown): string {
	return oneLine(error instanceof Error ? error.message : String(error), 200);
}
