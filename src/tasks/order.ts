/** How many touches back a moment is remembered exactly; further back, an item touched since may be left out. */
const REMEMBERED = 4096;

interface Entry<T> {
	readonly item: T;
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
	readonly #current = new Map<T, Entry<T>>();
	/** By `touched`, ascending. */
	#entries: Entry<T>[] = [];
	#now = 0;

	/** The present moment: how many touches there have been. */
	get now(): number {
		return this.#now;
	}

	get size(): number {
		return this.#current.size;
	}

	/** Puts `item` in front. */
	touch(item: T): void {
		this.#now += 1;
		const before = this.#current.get(item);
		if (before) before.superseded = this.#now;
		const entry = { item, touched: this.#now, superseded: Number.POSITIVE_INFINITY };
		this.#current.set(item, entry);
		this.#entries.push(entry);
		if (this.#entries.length > 2 * (this.#current.size + REMEMBERED)) this.#tidy();
	}

	delete(item: T): void {
		this.#current.delete(item);
	}

	/** What was there at `moment`, last touched first, from just below the touch `below` on. */
	*walk(moment: number, below: number): Generator<{ readonly item: T; readonly touched: number }> {
		for (let at = this.#place(Math.min(moment, below - 1)); at >= 0; at--) {
			const entry = this.#entries[at];
			if (entry && entry.superseded > moment && this.#current.has(entry.item)) yield entry;
		}
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
		this.#entries = this.#entries.filter((entry) => entry.superseded > since && this.#current.has(entry.item));
	}
}
