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

	/** Where `mark` begins; -1 when the line does not have it. */
	find(mark: string, from = 0): number {
		const found = this.#bytes.subarray(this.#start + from, this.#end).indexOf(mark);
		return found === -1 ? -1 : found + from;
	}

	/** The text between two bytes. */
	text(from = 0, to = this.place.length): string {
		return this.#bytes.toString("utf8", this.#start + from, this.#start + to);
	}
}
