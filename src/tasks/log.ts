/**
 * A task as the log of what happened to it. Readers come and go; none can lose an event, hold up another or end the
 * task. `append` decides every race: the first terminal state wins, whatever comes later is refused.
 */
import { Channel } from "../lib/channel.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { A2AError } from "../protocol/errors.ts";
import { apply, forPeer, isInterrupted, isTerminal, mayFollow, type TaskEvent } from "../protocol/task.ts";
import type { ContextId, StreamResponse, Task, TaskId, TaskState } from "../protocol/types.ts";

/** Told of every event after it was applied; runs at once, so it must be quick. What it throws goes to the log. */
export type Reader = (event: TaskEvent, log: TaskLog) => void;

/** Events that a reader may be behind before it is cut off: some megabytes at worst, some seconds of a fast model. */
const BEHIND = 4096;

/** What a new task is made of. */
export interface Opening {
	readonly id: TaskId;
	readonly contextId: ContextId;
	/** `Caller.id` of whoever it belongs to. */
	readonly owner: string;
	/** `Caller.label`: the name to show for the owner. */
	readonly label: string;
	/** Asked about by a name of before 1.0 without a version, 0.3 is meant: unless such a name with 1.0 data created it. */
	readonly v03: boolean;
}

/**
 * One task. Only its present state is kept, as a value that is never changed, so every copy handed out stays as it was
 * at its moment; past events are not kept.
 */
export class TaskLog {
	readonly id: TaskId;
	readonly contextId: ContextId;
	readonly owner: string;
	readonly label: string;
	readonly v03: boolean;
	/** When it was opened, in milliseconds since the epoch. */
	readonly opened: number;
	readonly #clock: Clock;
	readonly #log: Log;
	readonly #channels = new Set<Channel<StreamResponse>>();
	readonly #readers = new Set<Reader>();
	#stamp: number;
	#task: Task;

	/** A task in SUBMITTED as of now. */
	constructor(opening: Opening, clock: Clock, log: Log) {
		this.id = opening.id;
		this.contextId = opening.contextId;
		this.owner = opening.owner;
		this.label = opening.label;
		this.v03 = opening.v03;
		this.#clock = clock;
		this.#log = log;
		this.opened = clock.now();
		this.#stamp = this.opened;
		this.#task = {
			id: opening.id,
			contextId: opening.contextId,
			status: { state: "TASK_STATE_SUBMITTED", timestamp: new Date(this.#stamp).toISOString() },
		};
	}

	/** The task as it is now. */
	get task(): Task {
		return this.#task;
	}

	get state(): TaskState {
		return this.#task.status.state;
	}

	/** When the status was recorded, in milliseconds since the epoch; never goes back within a task. */
	get changed(): number {
		return this.#stamp;
	}

	/**
	 * Records an event and tells every reader. False, and nothing happens, once the task has ended or when its state
	 * may not be followed by that of the event. A status without timestamp gets one.
	 */
	append(event: TaskEvent): boolean {
		if (isTerminal(this.state)) return false;
		if (event.kind === "status" && !mayFollow(this.state, event.status.state)) return false;
		const happened = event.kind === "status" ? this.#stamped(event) : event;
		this.#task = apply(this.#task, happened);
		if (this.#channels.size > 0) this.#send(happened);
		for (const reader of [...this.#readers]) this.#tell(reader, happened);
		if (isTerminal(this.state)) {
			for (const channel of this.#channels) channel.end();
			this.#channels.clear();
			this.#readers.clear();
		}
		return true;
	}

	/**
	 * What peers are told, from this call on (not from the first `next`), until the task ends or `signal` aborts. A
	 * reader that is too slow gets what was queued and then an InternalError; nobody waits for it. All readers get one
	 * and the same object for an event, so that it need be written but once.
	 */
	items(signal: AbortSignal): AsyncIterable<StreamResponse> {
		const channel = new Channel<StreamResponse>(BEHIND);
		const leave = () => {
			this.#channels.delete(channel);
			channel.end();
		};
		if (signal.aborted || isTerminal(this.state)) channel.end();
		else {
			this.#channels.add(channel);
			signal.addEventListener("abort", leave, { once: true });
		}
		return (async function* () {
			try {
				yield* channel;
				if (channel.overflowed) {
					throw new A2AError("InternalError", "This stream was read too slowly to follow the task; subscribe again");
				}
			} finally {
				signal.removeEventListener("abort", leave);
				leave();
			}
		})();
	}

	/** Resolves when the task has ended or waits for its caller, or when `signal` aborts; at once when that is so. */
	settled(signal: AbortSignal): Promise<void> {
		const isSettled = () => isTerminal(this.state) || isInterrupted(this.state);
		return new Promise((resolve) => {
			if (signal.aborted || isSettled()) return resolve();
			const leave = this.on(() => isSettled() && done());
			const done = () => {
				leave();
				signal.removeEventListener("abort", done);
				resolve();
			};
			signal.addEventListener("abort", done, { once: true });
		});
	}

	/** Tells `reader` of every event from now on; the result ends that. Forgotten when the task ends. */
	on(reader: Reader): () => void {
		if (!isTerminal(this.state)) this.#readers.add(reader);
		return () => void this.#readers.delete(reader);
	}

	/** Readers of all kinds that have not left. */
	get readers(): number {
		return this.#channels.size + this.#readers.size;
	}

	#stamped(event: TaskEvent & { readonly kind: "status" }): TaskEvent {
		const { timestamp } = event.status;
		// The machine's clock may be set back; the times of a task never run backwards.
		this.#stamp = Math.max(this.#stamp, timestamp === undefined ? this.#clock.now() : Date.parse(timestamp));
		return { ...event, status: { ...event.status, timestamp: new Date(this.#stamp).toISOString() } };
	}

	#send(event: TaskEvent): void {
		const item = forPeer(this, event);
		if (!item) return;
		for (const channel of this.#channels) if (!channel.push(item)) this.#channels.delete(channel);
	}

	#tell(reader: Reader, event: TaskEvent): void {
		try {
			reader(event, this);
		} catch (error) {
			this.#log.warn(`A reader of task ${this.id} failed`, error);
		}
	}
}
