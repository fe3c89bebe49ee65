/** Tasks that wait for an answer of their caller: how many, and for how long. */
import type { Clock } from "../lib/clock.ts";
import type { TaskLog } from "../tasks/log.ts";
import { weightOf } from "../tasks/residents.ts";

/**
 * They hold no slot; this many may wait, and no more characters of what came with them. Then, of the caller that has most
 * of them, the one that has waited longest is given up.
 */
const MOST = 1000;
const MOST_CHARACTERS = 64 * 1024 * 1024;

export class Waiting {
	readonly #clock: Clock;
	readonly #fail: (log: TaskLog, reason: string) => void;
	/** Longest first, and how to stop their timers. */
	readonly #tasks = new Map<TaskLog, { readonly cancel: () => void; readonly weight: number }>();
	#weight = 0;

	/** `fail` ends a task that is given up. */
	constructor(clock: Clock, fail: (log: TaskLog, reason: string) => void) {
		this.#clock = clock;
		this.#fail = fail;
	}

	has(log: TaskLog): boolean {
		return this.#tasks.has(log);
	}

	/** The task waits from now on: for `ms` milliseconds, then it is given up with `reason`. */
	add(log: TaskLog, ms: number, reason: string): void {
		const cancel = this.#clock.after(ms, () => this.#fail(log, reason));
		const weight = weightOf(log.task);
		this.#tasks.set(log, { cancel, weight });
		this.#weight += weight;
		const leave = log.on((event) => {
			if (event.kind !== "status") return;
			leave();
			cancel();
			this.#tasks.delete(log);
			this.#weight -= weight;
		});
		const why = "Too many tasks wait for an answer";
		if (this.#tasks.size > MOST)
			this.#fail(
				this.#crowding(() => 1),
				why,
			);
		// One alone may be as large as a request.
		const weigh = (each: TaskLog): number => this.#tasks.get(each)?.weight ?? 0;
		while (this.#weight > MOST_CHARACTERS && this.#tasks.size > 1) {
			const before = this.#weight;
			this.#fail(this.#crowding(weigh), why);
			if (this.#weight === before) return;
		}
	}

	/** Nothing is given up any more; the tasks stay as they are. */
	close(): void {
		for (const { cancel } of this.#tasks.values()) cancel();
	}

	/** There is one: something waits. */
	#crowding(weigh: (log: TaskLog) => number): TaskLog {
		const logs = [...this.#tasks.keys()];
		const loads = new Map<string, number>();
		for (const log of logs) loads.set(log.owner, (loads.get(log.owner) ?? 0) + weigh(log));
		const most = Math.max(...loads.values());
		const found = logs.find(({ owner }) => loads.get(owner) === most);
		if (!found) throw new Error("no task waits");
		return found;
	}
}
