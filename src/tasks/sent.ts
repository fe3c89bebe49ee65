/** Which message began or continued which task, so that one that is sent again is known (§3.3.1). */
import type { Clock } from "../lib/clock.ts";
import type { TaskId } from "../protocol/types.ts";

/** How long and how many; read at each use. */
export interface SentLimits {
	/** Milliseconds; `Infinity`: as long as the task is kept. */
	readonly windowMs: number;
	/** Messages of one caller. */
	readonly size: number;
}

/** By how much a bound of `size` may be exceeded before it is restored. */
export const slack = (size: number): number => Math.floor(size / 32);

interface Sent {
	readonly id: TaskId;
	/** Milliseconds since the epoch. */
	readonly at: number;
}

/** By caller and message id. What is too old or too much is forgotten, of each caller the oldest first. */
export class SentMessages {
	readonly #limits: SentLimits;
	readonly #clock: Pick<Clock, "now">;
	readonly #owners = new Map<string, Map<string, Sent>>();

	constructor(limits: SentLimits, clock: Pick<Clock, "now">) {
		this.#limits = limits;
		this.#clock = clock;
	}

	/** Remembers a message that arrived at `at`, by default now. */
	add(owner: string, messageId: string, id: TaskId, at: number = this.#clock.now()): void {
		const known = this.#owners.get(owner);
		const messages = known ?? new Map<string, Sent>();
		if (!known) this.#owners.set(owner, messages);
		messages.delete(messageId);
		messages.set(messageId, { id, at });
		const { size } = this.#limits;
		// Many at once: to find the oldest entry of a map costs as much as was deleted before it.
		if (messages.size <= size + slack(size)) return;
		for (const [oldest, each] of messages) {
			if (messages.size <= size && !this.#isOver(each)) break;
			messages.delete(oldest);
		}
		if (messages.size === 0) this.#owners.delete(owner);
	}

	/** The task of a message that was sent before. */
	taskOf(owner: string, messageId: string): TaskId | undefined {
		const sent = this.#owners.get(owner)?.get(messageId);
		return sent && !this.#isOver(sent) ? sent.id : undefined;
	}

	/** Nothing of this caller is kept any more. */
	forgetAll(owner: string): void {
		this.#owners.delete(owner);
	}

	#isOver({ at }: Sent): boolean {
		return this.#clock.now() - at > this.#limits.windowMs;
	}
}
