/** Tasks that wait for an answer of their caller: how many, and for how long. */
import type { Clock } from "../lib/clock.ts";
import type { TaskLog } from "../tasks/log.ts";

/**
 * They hold no slot; this many may wait. Then, of the caller that has most of them, the one that has waited longest is
 * given up.
 */
const MOST = 1000;

export class Waiting {
	readonly #clock: Clock;
	readonly #fail: (log: TaskLog, reason: string) => void;
	/** Longest first, and how to stop their timers. */
	readonly #tasks = new Map<TaskLog, () => void>();

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
		this.#tasks.set(log, cancel);
		const leave = log.on((event) => {
			if (event.kind !== "status") return;
			leave();
			cancel();
			this.#tasks.delete(log);
		});
		const crowding = this.#tasks.size > MOST ? this.#crowding() : undefined;
		if (crowding) this.#fail(crowding, "Too many tasks wait for an answer");
	}

	/** Nothing is given up any more; the tasks stay as they are. */
	close(): void {
		for (const cancel of this.#tasks.values()) cancel();
	}

	#crowding(): TaskLog | undefined {
		const logs = [...this.#tasks.keys()];
		const counts = new Map<string, number>();
		for (const { owner } of logs) counts.set(owner, (counts.get(owner) ?? 0) + 1);
		const most = Math.max(...counts.values());
		return logs.find(({ owner }) => counts.get(owner) === most);
	}
}
