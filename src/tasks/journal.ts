/**
 * The tasks on disk. What happens in one turn of the event loop is written together at its end; `written` resolves then,
 * and nobody outside is told of it before. A journal that cannot be written stops nobody: tasks live on in memory, that
 * is said once, and everything that is missing is written as soon as it can be.
 */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Line, Place } from "../lib/segments.ts";
import { isTerminal, type TaskEvent } from "../protocol/task.ts";
import type { Task, TaskId } from "../protocol/types.ts";
import { type Loaded, loadRecords, readTask } from "./load.ts";
import type { TaskLog } from "./log.ts";
import type { Happened } from "./past.ts";
import { dropLine, eventLine, type Lines, merged, noteLine, openLine, wholeLine } from "./records.ts";
import { keptOf } from "./tidy.ts";

/** How long after a failed write the next one is tried, in milliseconds. */
const RETRY_MS = 5_000;

/** A line that is to be written, and what is known once it is. */
interface Draft {
	readonly text: string;
	readonly log?: TaskLog;
	readonly what?: "open" | "whole";
}

export class Journal {
	readonly #lines: Lines;
	readonly #clock: Clock;
	readonly #log: Log;
	/** What happened and is not written yet, in the order in which the tasks had their last event. */
	readonly #pending = new Map<TaskLog, Happened[]>();
	/** Tasks of which something was not written; they are written whole. */
	readonly #dirty = new Set<TaskLog>();
	readonly #drops = new Set<TaskId>();
	/** Tasks that have a note on disk. */
	readonly #annotated = new Set<TaskId>();
	/** Tasks whose note is to be written. */
	readonly #notes = new Set<TaskLog>();
	/** Ended tasks, and where they stand. */
	readonly #places = new Map<TaskId, Place>();
	/** Tasks that have not ended, by the file of their first line. */
	readonly #began = new Map<TaskId, number>();
	/** Bytes of each file that ended tasks need. */
	readonly #live = new Map<number, number>();
	#liveBytes = 0;
	#turn: Promise<void> | undefined;
	#problem: string | undefined;
	#retry: (() => void) | undefined;
	#tidying: Generator<void> | undefined;
	#closed = false;

	constructor(parts: { readonly lines: Lines; readonly clock: Clock; readonly log: Log }) {
		this.#lines = parts.lines;
		this.#clock = parts.clock;
		this.#log = parts.log;
	}

	/** Why tasks are kept in memory alone, in a line; undefined when all is well. */
	get problem(): string | undefined {
		return this.#problem;
	}

	/** Bytes that ended tasks take. The files may be twice as long. */
	get bytes(): number {
		return this.#liveBytes;
	}

	/** What earlier processes have written, oldest first. Damaged lines are put aside, and it is said how many. */
	load(): readonly Loaded[] {
		const { tasks, damaged } = loadRecords(this.#lines);
		for (const { opening, kept, place, since } of tasks) {
			if (kept.note !== undefined) this.#annotated.add(opening.id);
			if (place) this.#place(opening.id, place);
			else this.#began.set(opening.id, since);
		}
		const [count, files] = damaged;
		for (const segment of files) for (const _ of this.#rewritten(segment));
		if (count > 0) {
			const lines = count === 1 ? "1 line" : `${count} lines`;
			this.#log.warn(`${lines} of the task journal could not be read; see damaged.txt in ${this.#lines.folder}`);
		}
		this.#tidy();
		return tasks;
	}

	/** Takes down an event that has just been applied. */
	write(log: TaskLog, event: TaskEvent): void {
		if (event.kind === "activity" || this.#closed) return;
		const events = this.#pending.get(log) ?? [];
		const last = events.at(-1);
		const one = merged(last?.event, event);
		if (one) events[events.length - 1] = { n: log.n, event: one };
		else events.push({ n: log.n, event });
		// The order of their ends is the order of their lines.
		if (event.kind === "status") this.#pending.delete(log);
		this.#pending.set(log, events);
		this.#schedule();
	}

	/** Takes down the note of a task. */
	note(log: TaskLog): void {
		if (this.#closed) return;
		this.#notes.add(log);
		if (!isTerminal(log.state) && !this.#pending.has(log)) this.#pending.set(log, []);
		this.#schedule();
	}

	/** Writes the task as a whole with the next write: it came from elsewhere. */
	carry(log: TaskLog): void {
		this.#dirty.add(log);
		if (log.note !== undefined) this.#notes.add(log);
		this.#schedule();
	}

	/** Resolves when everything so far has been handed to the system (or could not be); undefined when there is nothing. */
	written(): Promise<void> | undefined {
		return this.#pending.size + this.#dirty.size + this.#notes.size > 0 ? this.#turn : undefined;
	}

	/** Bytes of an ended task; 0 for one that cannot be read back. */
	sizeOf(log: TaskLog): number {
		return (this.#places.get(log.id)?.length ?? -1) + 1;
	}

	/** An ended task. Throws when it cannot be read. */
	read(log: TaskLog): Task {
		const place = this.#places.get(log.id);
		if (!place) throw new Error(`Task ${log.id} is not in the journal`);
		return readTask(this.#lines, place);
	}

	/** Nobody can ask for the task any more. */
	forget(log: TaskLog): void {
		this.#pending.delete(log);
		this.#dirty.delete(log);
		this.#notes.delete(log);
		this.#annotated.delete(log.id);
		const place = this.#places.get(log.id);
		if (place) this.#account(place, -1);
		this.#places.delete(log.id);
		if (this.#began.delete(log.id)) {
			this.#drops.add(log.id);
			this.#schedule();
		}
	}

	/** Writes what is not written yet. */
	flush(): void {
		if (this.#closed || this.#pending.size + this.#dirty.size + this.#drops.size + this.#notes.size === 0) return;
		if (this.#retry) {
			this.#postpone();
			return;
		}
		const drafts = this.#drafts();
		let places: readonly Place[];
		const active = this.#lines.active;
		try {
			places = this.#lines.append(drafts.map(({ text }) => text));
		} catch (error) {
			this.#failed(error);
			return;
		}
		drafts.forEach((draft, i) => {
			this.#noted(draft, places[i]);
		});
		for (const { id, note } of this.#notes) this.#annotated[note === undefined ? "delete" : "add"](id);
		this.#pending.clear();
		this.#dirty.clear();
		this.#drops.clear();
		this.#notes.clear();
		if (this.#problem !== undefined) this.#log.info("The task journal is written again; nothing is missing in it");
		this.#problem = undefined;
		if (active !== undefined && active !== this.#lines.active) this.#tidy();
	}

	/** Writes what can be written and lets the files go. May be called twice. */
	close(): void {
		if (this.#closed) return;
		for (const last of [false, true]) {
			this.#retry?.();
			this.#retry = undefined;
			if (!last) this.flush();
		}
		this.#closed = true;
		this.#tidying?.return(undefined);
		this.#lines.close();
	}

	#schedule(): void {
		this.#turn ??= new Promise((resolve) => {
			setImmediate(() => {
				this.#turn = undefined;
				this.flush();
				resolve();
			});
		});
	}

	#drafts(): Draft[] {
		const drafts: Draft[] = [...this.#drops].map((id) => ({ text: dropLine(id) }));
		const whole = (log: TaskLog): Draft => ({ text: wholeLine(log, this.#began.get(log.id)), log, what: "whole" });
		for (const log of this.#dirty) if (!this.#pending.has(log)) drafts.push(whole(log));
		for (const [log, events] of this.#pending) {
			if (isTerminal(log.state) || this.#dirty.has(log)) drafts.push(whole(log));
			else {
				if (!this.#began.has(log.id)) drafts.push({ text: openLine(log), log, what: "open" });
				for (const each of events) drafts.push({ text: eventLine(log, each) });
			}
		}
		for (const log of this.#notes) drafts.push({ text: noteLine(log) });
		return drafts;
	}

	#noted({ log, what }: Draft, place: Place | undefined): void {
		if (!log || !place) return;
		if (what === "whole" && isTerminal(log.state)) {
			this.#began.delete(log.id);
			this.#place(log.id, place);
		} else if (!this.#began.has(log.id)) this.#began.set(log.id, place.segment);
	}

	#postpone(): void {
		for (const log of this.#pending.keys()) this.#dirty.add(log);
		this.#pending.clear();
	}

	#failed(error: unknown): void {
		this.#postpone();
		const why = error instanceof Error ? error.message : String(error);
		if (this.#problem === undefined) {
			this.#log.warn(
				"The task journal cannot be written; tasks are kept in memory and would not survive a crash",
				error,
			);
		}
		this.#problem = `tasks are kept in memory only, the journal cannot be written: ${why}`;
		this.#retry = this.#clock.after(RETRY_MS, () => {
			this.#retry = undefined;
			this.flush();
		});
	}

	#place(id: TaskId, place: Place): void {
		const before = this.#places.get(id);
		if (before) this.#account(before, -1);
		this.#places.set(id, place);
		this.#account(place, 1);
	}

	#account({ segment, length }: Place, sign: 1 | -1): void {
		const bytes = sign * (length + 1);
		this.#live.set(segment, (this.#live.get(segment) ?? 0) + bytes);
		this.#liveBytes += bytes;
	}

	/** Rewrites files that are half dead or more, oldest first, a little in each turn of the event loop. */
	#tidy(): void {
		if (this.#tidying) return;
		this.#tidying = this.#tidied();
		this.#step();
	}

	#step(): void {
		if (!this.#tidying || this.#closed || this.#tidying.next().done) this.#tidying = undefined;
		else setImmediate(() => this.#step());
	}

	*#tidied(): Generator<void> {
		for (const segment of [...this.#lines.sizes.keys()]) {
			yield;
			const size = this.#lines.sizes.get(segment) ?? 0;
			if (segment === this.#lines.active || (this.#live.get(segment) ?? 0) * 2 >= size) continue;
			yield* this.#rewritten(segment);
		}
	}

	*#rewritten(segment: number): Generator<void> {
		const known = { places: this.#places, began: this.#began, annotated: this.#annotated };
		const ids: (TaskId | undefined)[] = [];
		const keep = (line: Line): string | undefined => {
			const [text, id] = keptOf(line, this.#lines.sizes.keys().next().value === segment, known);
			if (text !== undefined) ids.push(id);
			return text;
		};
		const moved = (index: number, from: Place, to: Place): void => {
			const id = ids[index];
			const now = id === undefined ? undefined : this.#places.get(id);
			// It may have been forgotten meanwhile.
			if (id && now?.segment === from.segment && now.offset === from.offset) this.#places.set(id, to);
		};
		try {
			yield* this.#lines.rewrite(segment, keep, moved);
		} catch (error) {
			this.#log.warn("Could not tidy the task journal", error);
		}
	}
}
