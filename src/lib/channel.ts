/**
 * An asynchronous queue between one writer and one reader. The writer never waits: a reader that falls `bound` values
 * behind is cut off instead.
 */
export class Channel<T> implements AsyncIterable<T> {
	readonly #bound: number;
	#values: T[] = [];
	#taken = 0;
	#waiting: (() => void) | undefined;
	#closed = false;
	#overflowed = false;
	#error: { readonly cause: unknown } | undefined;

	/** `bound`: how many unread values are kept. */
	constructor(bound: number = Number.POSITIVE_INFINITY) {
		this.#bound = bound;
	}

	/** The reader was too slow: it gets what was queued, then the end. */
	get overflowed(): boolean {
		return this.#overflowed;
	}

	/** Queues a value. False: the channel is closed, or has just been closed because the reader is too far behind. */
	push(value: T): boolean {
		if (this.#closed) return false;
		if (this.#values.length - this.#taken >= this.#bound) {
			this.#overflowed = true;
			this.end();
			return false;
		}
		this.#values.push(value);
		this.#wake();
		return true;
	}

	/** Closes the channel. The reader gets what is queued, then the end, or `error` thrown when one is given. */
	end(error?: unknown): void {
		if (this.#closed) return;
		this.#closed = true;
		if (error !== undefined) this.#error = { cause: error };
		this.#wake();
	}

	#wake(): void {
		const waiting = this.#waiting;
		this.#waiting = undefined;
		waiting?.();
	}

	#take(): T {
		const value = this.#values[this.#taken] as T;
		this.#taken += 1;
		// Dropping the read half now and then keeps both ends O(1) and the memory bounded.
		if (this.#taken * 2 >= this.#values.length) {
			this.#values = this.#values.slice(this.#taken);
			this.#taken = 0;
		}
		return value;
	}

	/** The values in order. Leaving the loop closes the channel and drops what was not read. */
	async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
		try {
			for (;;) {
				while (this.#taken < this.#values.length) yield this.#take();
				if (this.#closed) break;
				await new Promise<void>((resolve) => {
					this.#waiting = resolve;
				});
			}
			if (this.#error) throw this.#error.cause;
		} finally {
			this.end();
			this.#values = [];
			this.#taken = 0;
		}
	}
}
