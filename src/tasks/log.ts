/**
 * A task as the log of what happened to it. Readers come and go; none can lose an event, hold up another or end the
 * task. `append` decides every race: the first terminal state wins, whatever comes later is refused.
 */
import { Channel } from "../lib/channel.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { A2AError } from "../protocol/errors.ts";
import { apply, forPeer, isInterrupted, isTerminal, mayFollow, type TaskEvent } from "../protocol/task.ts";
import {
	type ContextId,
	eventId,
	type Json,
	type StreamResponse,
	type Task,
	type TaskId,
	type TaskState,
} from "../protocol/types.ts";
import { type Happened, Past } from "./past.ts";

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

/** A task as it was written down by an earlier process. */
export interface Kept {
	/** See `TaskLog`. */
	readonly opened: number;
	readonly changed: number;
	readonly touched: number;
	readonly n: number;
	readonly state: TaskState;
	/** Absent for a task that is read when it is asked for. */
	readonly task?: Task;
	readonly note?: Json | undefined;
	/** The events that led from event number `n` to `task`, when they are known without a gap. */
	readonly past?: { readonly n: number; readonly events: readonly Happened[] };
}

/**
 * One task: its present state, as a value that is never changed, so every copy handed out stays as it was at its
 * moment; and its latest events, for readers who come back. A task that has ended may be kept elsewhere and be read
 * from there whenever it is asked for (`rest`).
 */
export class TaskLog {
	readonly id: TaskId;
	readonly contextId: ContextId;
	readonly owner: string;
	readonly label: string;
	readonly v03: boolean;
	/** When it was opened, in milliseconds since the epoch. */
	readonly opened: number;
	/** Its place in the owner's list; the store's business. */
	touched = 0;
	/** What goes with it, such as who has still to be told of it; set by the store's `keep`. No peer is told of it. */
	note: Json | undefined;
	readonly #clock: Clock;
	readonly #log: Log;
	#channels: Set<Channel<StreamResponse>> | undefined;
	#readers: Set<Reader> | undefined;
	#stamp: number;
	#state: TaskState;
	#task: Task | undefined;
	#read: (() => Task) | undefined;
	#n = 0;
	#past: Past | undefined;

	/** A task in SUBMITTED as of now, or `kept`. */
	constructor(opening: Opening, clock: Clock, log: Log, kept?: Kept) {
		this.id = opening.id;
		this.contextId = opening.contextId;
		this.owner = opening.owner;
		this.label = opening.label;
		this.v03 = opening.v03;
		this.#clock = clock;
		this.#log = log;
		this.opened = kept?.opened ?? clock.now();
		this.#stamp = kept?.changed ?? this.opened;
		this.#state = kept?.state ?? "TASK_STATE_SUBMITTED";
		this.#task = kept ? kept.task : newTask(opening, this.opened);
		if (!kept) return;
		this.touched = kept.touched;
		this.note = kept.note;
		this.#n = kept.n;
		if (!kept.past) return;
		this.#past = new Past(kept.past.n);
		for (const each of kept.past.events) this.#past.push(each);
	}

	/** The task as it is now. Throws when it is kept elsewhere and cannot be read. */
	get task(): Task {
		const task = this.#task ?? this.#read?.();
		if (!task) throw new Error(`Task ${this.id} has neither a value nor a place`);
		return task;
	}

	get state(): TaskState {
		return this.#state;
	}

	/** When the status was recorded, in milliseconds since the epoch; never goes back within a task. */
	get changed(): number {
		return this.#stamp;
	}

	/** The number of the last event; activities, which concern nobody but the host, have none. */
	get n(): number {
		return this.#n;
	}

	/** The id of event `n`, by default of the last one. */
	eventId(n: number = this.#n): string {
		return `${this.id}:${n}`;
	}

	/** What happened after the event of that id; undefined when it is not known any more or was never ours. */
	after(id: string | undefined): readonly Happened[] | undefined {
		if (!id?.startsWith(`${this.id}:`)) return undefined;
		const number = id.slice(this.id.length + 1);
		return /^\d{1,15}$/.test(number) ? this.#past?.after(Number(number)) : undefined;
	}

	/** Whether something of that artifact came after the latest message of the caller, as far as that is remembered. */
	written(artifactId: string): boolean {
		return (
			this.#past
				?.since(isAsked)
				.some(({ event: it }) => it.kind === "artifact" && it.artifact.artifactId === artifactId) ?? false
		);
	}

	/** From now on the task, which has ended, is read whenever it is asked for. */
	rest(read: () => Task): void {
		this.#read = read;
		this.#task = undefined;
		this.#past = undefined;
	}

	/** The task is in memory again. */
	recall(task: Task): void {
		this.#task = task;
		this.#read = undefined;
	}

	/** Readers who were away are told the task as a whole from now on. */
	forgetPast(): void {
		this.#past = undefined;
	}

	/**
	 * Records an event and tells every reader. False, and nothing happens, once the task has ended or when its state
	 * may not be followed by that of the event. A status without timestamp gets one.
	 */
	append(event: TaskEvent): boolean {
		if (isTerminal(this.#state)) return false;
		if (event.kind === "status" && !mayFollow(this.#state, event.status.state)) return false;
		const happened = event.kind === "status" ? this.#stamped(event) : event;
		this.#task = apply(this.task, happened);
		this.#state = this.#task.status.state;
		if (happened.kind !== "activity") {
			this.#past ??= new Past(this.#n);
			this.#n += 1;
			this.#past.push({ n: this.#n, event: happened });
			if (this.#channels?.size) this.#send(happened);
		}
		for (const reader of [...(this.#readers ?? [])]) this.#tell(reader, happened);
		if (isTerminal(this.#state)) {
			for (const channel of this.#channels ?? []) channel.end();
			this.#channels = undefined;
			this.#readers = undefined;
		}
		return true;
	}

	/**
	 * What peers are told, from this call on (not from the first `next`), until the task ends or `signal` aborts; `past`
	 * comes first. A reader that is too slow gets what was queued and then an InternalError; nobody waits for it. All
	 * live readers get one and the same object for an event, so that it need be written but once.
	 */
	items(signal: AbortSignal, past: readonly Happened[] = []): AsyncIterable<StreamResponse> {
		const channel = new Channel<StreamResponse>(BEHIND);
		const leave = () => {
			this.#channels?.delete(channel);
			channel.end();
		};
		if (signal.aborted || isTerminal(this.#state)) channel.end();
		else {
			this.#channels ??= new Set();
			this.#channels.add(channel);
			signal.addEventListener("abort", leave, { once: true });
		}
		const itemOf = (happened: Happened) => this.#item(happened);
		return (async function* () {
			try {
				for (const each of past) {
					const item = itemOf(each);
					if (signal.aborted) return;
					if (item) yield item;
				}
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
		const isSettled = () => isTerminal(this.#state) || isInterrupted(this.#state);
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
		if (!isTerminal(this.#state)) {
			this.#readers ??= new Set();
			this.#readers.add(reader);
		}
		return () => void this.#readers?.delete(reader);
	}

	/** Readers of all kinds that have not left. */
	get readers(): number {
		return (this.#channels?.size ?? 0) + (this.#readers?.size ?? 0);
	}

	#stamped(event: TaskEvent & { readonly kind: "status" }): TaskEvent {
		const { timestamp } = event.status;
		// The machine's clock may be set back; the times of a task never run backwards.
		this.#stamp = Math.max(this.#stamp, timestamp === undefined ? this.#clock.now() : Date.parse(timestamp));
		return { ...event, status: { ...event.status, timestamp: new Date(this.#stamp).toISOString() } };
	}

	#item({ n, event }: Happened): StreamResponse | undefined {
		const item = forPeer(this, event);
		return item && Object.assign(item, { [eventId]: this.eventId(n) });
	}

	#send(event: TaskEvent): void {
		const item = this.#item({ n: this.#n, event });
		if (!item) return;
		for (const channel of this.#channels ?? []) if (!channel.push(item)) this.#channels?.delete(channel);
	}

	#tell(reader: Reader, event: TaskEvent): void {
		try {
			reader(event, this);
		} catch (error) {
			this.#log.warn(`A reader of task ${this.id} failed`, error);
		}
	}
}

const isAsked = (event: TaskEvent): boolean => event.kind === "message" && event.message.role === "ROLE_USER";

/** A task in SUBMITTED since `opened`. */
export function newTask({ id, contextId }: Pick<Opening, "id" | "contextId">, opened: number): Task {
	return { id, contextId, status: { state: "TASK_STATE_SUBMITTED", timestamp: new Date(opened).toISOString() } };
}
