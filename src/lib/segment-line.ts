/** A line of a file of `Segments`. */

/** Where a line stands. */
export interface Place {
	readonly segment: number;
	/** In bytes. */
	readonly offset: number;
	/** In bytes, without the line break. */
	readonly length: number;
}

/** A line in place; its text is made when it is asked for. */
export class Line {
	readonly place: Place;
	readonly #bytes: Buffer;
	readonly #start: number;
	readonly #end: number;

	constructor(bytes: Buffer, segment: number, start: number, end: number) {
		this.place = { segment, offset: start, length: end - start };
		this.#bytes = bytes;
		this.#start = start;
		this.#end = end;
	}

	/** The byte at an index. */
	at(index: number): number | undefined {
		return this.#bytes[this.#start + index];
	}

	/** Where `mark`, which is ASCII, begins; -1 when the line does not have it. */
	find(mark: string, from = 0): number {
		// Without a view of its own for each line: there are many.
		const found = this.#bytes.indexOf(mark, this.#start + from);
		return found === -1 || found + mark.length > this.#end ? -1 : found - this.#start;
	}

	/** The text between two bytes. */
	text(from = 0, to = this.place.length): string {
		return this.#bytes.toString("utf8", this.#start + from, this.#start + to);
	}
}
