/**
 * The slots of the agent: who may work now, who waits for a slot, and who is sent away. Fair by caller: requests begin in
 * the order of their arrival as if every caller stood in a line of its own and the lines were served in turn.
 */
import type { Clock } from "../lib/clock.ts";
import { A2AError } from "../protocol/errors.ts";

/** Read at each use. */
export interface SlotLimits {
	/** Turns that may hold a slot at the same time. */
	readonly maxConcurrent: number;
	/** How many of these may be turns that nobody waits for; `Infinity`: all. */
	readonly maxDetached: number;
	/** Turns that may wait for a slot; 0: none, they are refused. */
	readonly queueSize: number;
}

/** Who wants a slot. */
export interface Wish {
	/** `Caller.id` */
	readonly owner: string;
	/** Turns of one conversation never overtake each other. */
	readonly conversation: string;
	/** Nobody waits for the end of the turn. */
	readonly detached: boolean;
	/** It was let in by an earlier process and is not sent away now, however many wait. */
	readonly known?: boolean;
}

/** A place in the queue, the first is 1. */
export interface Place {
	readonly position: number;
	/** How many wait. */
	readonly of: number;
}

/** A slot, or a place in the queue for one. */
export interface Ticket {
	readonly waits: boolean;
	/** `begin` is called once the slot is there, at once when it is; until then `moved` whenever the place has changed notably. */
	attend(begin: () => void, moved: (place: Place) => void): void;
	/** Nobody waits for the end of the turn any more. */
	detach(): void;
	/** Gives the slot or the place back. May be called twice. */
	leave(): void;
}

interface Held {
	readonly wish: Wish;
	/** Its turn among those of all callers: the lower, the sooner. */
	readonly rank: number;
	detached: boolean;
	/** When it got its slot, in milliseconds since the epoch. */
	since: number;
	/** The position that was told last. */
	told: number;
	begin: (() => void) | undefined;
	moved: ((place: Place) => void) | undefined;
}

/** How long a turn takes as long as nothing is known. */
const FIRST_MS = 30_000;
/** Turns that the estimate looks back on. */
const SPANS = 20;
/** Bounds of the estimate, in seconds. */
const SOONEST = 1;
const LATEST = 600;

export class Slots {
	readonly #limits: SlotLimits;
	readonly #clock: Clock;
	readonly #held = new Set<Held>();
	/** In the order in which they begin. */
	readonly #waiting: Held[] = [];
	readonly #spans: number[] = [FIRST_MS];
	/** The rank that was served last. */
	#rank = 0;
	#closed = false;

	constructor(limits: SlotLimits, clock: Clock) {
		this.#limits = limits;
		this.#clock = clock;
	}

	/** Turns that hold a slot. */
	get running(): number {
		return this.#held.size;
	}

	/** Turns that wait for one. */
	get queued(): number {
		return this.#waiting.length;
	}

	/** A slot when one is free for it, else a place in the queue. Throws BusyError, and then nothing has changed. */
	take(wish: Wish): Ticket {
		// A limit may have been raised.
		this.#serve();
		const own = this.#waiting.filter(({ wish: { owner } }) => owner === wish.owner);
		const rank = Math.max(this.#rank, own.at(-1)?.rank ?? 0) + 1;
		const { detached } = wish;
		const held: Held = { wish, rank, detached, since: 0, told: 0, begin: undefined, moved: undefined };
		if (this.#fits(held) && !own.some((each) => each.wish.conversation === wish.conversation)) this.#hold(held);
		else {
			if (!wish.known) this.#check(wish, own.length);
			const at = this.#waiting.findIndex((each) => each.rank > rank);
			this.#waiting.splice(at === -1 ? this.#waiting.length : at, 0, held);
			this.#tell();
		}
		return this.#ticket(held);
	}

	/** Nothing that waits begins any more. */
	close(): void {
		this.#closed = true;
	}

	/** Seconds after which a request that is refused now has a fair chance, judged by how long turns take here. */
	estimate(): number {
		const now = this.#clock.now();
		// A turn that has worked for long will go on for long.
		const spans = [...this.#spans, ...[...this.#held].map(({ since }) => now - since)];
		const typical = spans.reduce((sum, span) => sum + span, 0) / spans.length / 1000;
		const seconds = (typical * (this.#waiting.length + 1)) / this.#limits.maxConcurrent;
		return Math.min(LATEST, Math.max(SOONEST, Math.ceil(seconds)));
	}

	/** Throws when there is no place for one more who has `own` of them. */
	#check({ detached }: Wish, own: number): void {
		const free = this.#limits.queueSize - this.#waiting.length;
		// Whoever has places leaves as many for others.
		if (free > own) return;
		const retryAfter = this.estimate();
		const what =
			free > 0
				? "Too many requests of this caller wait for a slot"
				: detached && this.#held.size < this.#limits.maxConcurrent
					? "Too many detached tasks are running"
					: "Too many tasks are running";
		throw new A2AError("BusyError", `${what}; try again in ${retryAfter} s`, { retryAfter });
	}

	#fits({ detached }: Held): boolean {
		const { maxConcurrent, maxDetached } = this.#limits;
		if (this.#held.size >= maxConcurrent) return false;
		if (!detached || maxDetached >= maxConcurrent) return true;
		return [...this.#held].filter((each) => each.detached).length < maxDetached;
	}

	#hold(held: Held): void {
		held.since = this.#clock.now();
		this.#held.add(held);
	}

	#ticket(held: Held): Ticket {
		const slots = this.#held;
		return {
			get waits() {
				return !slots.has(held);
			},
			attend: (begin, moved) => {
				if (slots.has(held)) return begin();
				held.begin = begin;
				held.moved = moved;
				this.#tell();
			},
			detach: () => {
				held.detached = true;
			},
			leave: () => this.#leave(held),
		};
	}

	#leave(held: Held): void {
		if (this.#held.delete(held)) {
			this.#spans.push(this.#clock.now() - held.since);
			if (this.#spans.length > SPANS) this.#spans.shift();
		} else if (!this.#remove(held)) return;
		this.#serve();
	}

	#remove(held: Held): boolean {
		const at = this.#waiting.indexOf(held);
		if (at !== -1) this.#waiting.splice(at, 1);
		return at !== -1;
	}

	#serve(): void {
		if (this.#closed) return;
		for (let next = this.#next(); next; next = this.#next()) {
			this.#remove(next);
			this.#rank = Math.max(this.#rank, next.rank);
			this.#hold(next);
			next.begin?.();
		}
		this.#tell();
	}

	/** The first that may begin: one that waits for the budget of detached turns holds up its own conversation only. */
	#next(): Held | undefined {
		const waits = new Set<string>();
		return this.#waiting.find((held) => {
			const key = JSON.stringify([held.wish.owner, held.wish.conversation]);
			if (!waits.has(key) && this.#fits(held)) return true;
			waits.add(key);
			return false;
		});
	}

	/** Tells places that have changed by a quarter or more: some thirty times for the last of a thousand. */
	#tell(): void {
		const of = this.#waiting.length;
		for (const [index, held] of [...this.#waiting].entries()) {
			const position = index + 1;
			if (!held.moved || Math.abs(position - held.told) * 4 < Math.max(1, held.told)) continue;
			// Being told may have made others leave.
			if (!this.#waiting.includes(held)) continue;
			held.told = position;
			held.moved({ position, of });
		}
	}
}
