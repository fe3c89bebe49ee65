/** How many touches back a moment is remembered exactly; further back, an item touched since may be left out. */
const REMEMBERED = 4096;

interface Slot<T> {
	readonly item: T;
	/** Its last touch; undefined once it has been deleted. */
	last: Entry<T> | undefined;
}

interface Entry<T> {
	readonly slot: Slot<T>;
	/** The touch that made this entry, and the next touch of the same item. */
	readonly touched: number;
	superseded: number;
}

/**
 * Things in the order of their last touch, now and as it was at an earlier moment. Moments are counted in touches, so
 * someone who walks through pages sees every item once, whatever is touched meanwhile. A page costs what it shows, not
 * what is kept.
 */
export class Order<T> {
	readonly #slots = new Map<T, Slot<T>>();
	/** By `touched`, ascending. */
	#entries: Entry<T>[] = [];
	#now = 0;

	/** The present moment: how many touches there have been. */
	get now(): number {
		return this.#now;
	}

	get size(): number {
		return this.#slots.size;
	}

	/** Puts `item` in front. `at`: the touch that it was in an earlier life of this order, when that is known. */
	touch(item: T, at = 0): void {
		this.#now = Math.max(this.#now + 1, at);
		const known = this.#slots.get(item);
		const slot: Slot<T> = known ?? { item, last: undefined };
		if (!known) this.#slots.set(item, slot);
		if (slot.last) slot.last.superseded = this.#now;
		slot.last = { slot, touched: this.#now, superseded: Number.POSITIVE_INFINITY };
		this.#entries.push(slot.last);
		if (this.#entries.length > 2 * (this.#slots.size + REMEMBERED)) this.#tidy();
	}

	delete(item: T): void {
		const slot = this.#slots.get(item);
		if (slot) slot.last = undefined;
		this.#slots.delete(item);
	}

	/** What was there at `moment`, last touched first, from just below the touch `below` on. */
	*walk(moment: number, below: number): Generator<{ readonly item: T; readonly touched: number }> {
		for (let at = this.#place(Math.min(moment, below - 1)); at >= 0; at--) {
			const entry = this.#entries[at];
			if (entry?.slot.last && entry.superseded > moment) yield { item: entry.slot.item, touched: entry.touched };
		}
	}

	/** How many of those that were there at `moment` match. */
	count(moment: number, matches: (item: T) => boolean): number {
		let found = 0;
		for (let at = this.#place(moment); at >= 0; at--) {
			const entry = this.#entries[at];
			if (entry?.slot.last && entry.superseded > moment && matches(entry.slot.item)) found += 1;
		}
		return found;
	}

	/** Index of the last entry that is not younger than the touch. */
	#place(touched: number): number {
		let low = 0;
		let high = this.#entries.length;
		while (low < high) {
			const middle = (low + high) >>> 1;
			if ((this.#entries[middle]?.touched ?? 0) <= touched) low = middle + 1;
			else high = middle;
		}
		return low - 1;
	}

	#tidy(): void {
		const since = this.#now - REMEMBERED;
		this.#entries = this.#entries.filter((entry) => entry.superseded > since && entry.slot.last);
	}
}
