/**
 * Server-Sent Events, the framing of every stream (§9.4.2, §11.7): a push parser that takes bytes as they come, and a
 * writer. The format is that of the HTML standard, with two differences that suit A2A: an event without data is not
 * reported, and the data of an event that the end of the stream cut off is not thrown away but given by `rest`.
 */
import { A2AError } from "./errors.ts";

/** One event of a stream. */
export interface SseEvent {
	/** Value of the `event` field, `message` when there is none. */
	readonly event: string;
	/** The `data` lines, joined by line feeds. Never empty. */
	readonly data: string;
	/** The `id` field of this very event. */
	readonly id?: string;
	/** The `retry` field of this very event, milliseconds. */
	readonly retry?: number;
}

/** Reads one stream. Chunks may be cut anywhere: inside a character, between CR and LF, inside a field name. */
export class SseParser {
	readonly #maxBytes: number;
	readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });
	/** Pieces of the line that has not ended yet; joined once, so that many small chunks cost no more than one. */
	#line: string[] = [];
	#data: string[] = [];
	#event = "";
	#id: string | undefined;
	#retry: number | undefined;
	/** Characters held for the event being read. */
	#held = 0;
	#atStart = true;
	#skipLineFeed = false;
	#comments = 0;

	/** `maxBytes` bounds what one event may hold (counted in UTF-16 units, of which a text never has more than bytes). */
	constructor(options: { readonly maxBytes: number }) {
		this.#maxBytes = options.maxBytes;
	}

	/** Comments seen since the start: a peer that has nothing to say but sends them is alive. */
	get activity(): number {
		return this.#comments;
	}

	/** The events that `chunk` completes. Throws `InvalidAgentResponseError` when an event outgrows the bound. */
	push(chunk: Uint8Array | string): SseEvent[] {
		return this.#read(typeof chunk === "string" ? chunk : this.#decoder.decode(chunk, { stream: true }));
	}

	/**
	 * When the stream has ended: the data of the event that no blank line closed, "" when there is none. It may be
	 * cut off in the middle: use it when it parses, else ask the peer for the task.
	 */
	rest(): string {
		this.#read(this.#decoder.decode());
		if (this.#line.length > 0) this.#endLine([]);
		return this.#data.join("\n");
	}

	#read(chunk: string): SseEvent[] {
		const events: SseEvent[] = [];
		if (chunk === "") return events;
		let from = this.#atStart && chunk.startsWith("\uFEFF") ? 1 : 0;
		this.#atStart = false;
		if (this.#skipLineFeed && chunk.startsWith("\n", from)) from += 1;
		this.#skipLineFeed = false;
		// Each search starts where the last one of its kind ended: the chunk is looked at once, whatever its line ends.
		let lf = chunk.indexOf("\n", from);
		let cr = chunk.indexOf("\r", from);
		while (lf !== -1 || cr !== -1) {
			const end = lf === -1 || (cr !== -1 && cr < lf) ? cr : lf;
			this.#hold(chunk.slice(from, end));
			this.#endLine(events);
			from = end + 1;
			if (end === cr && from === lf) from += 1;
			if (lf !== -1 && lf < from) lf = chunk.indexOf("\n", from);
			if (cr !== -1 && cr < from) cr = chunk.indexOf("\r", from);
			if (end === chunk.length - 1) this.#skipLineFeed = chunk.endsWith("\r");
		}
		this.#hold(chunk.slice(from));
		return events;
	}

	#hold(piece: string): void {
		if (piece === "") return;
		this.#held += piece.length;
		if (this.#held > this.#maxBytes) {
			this.#line = [];
			this.#data = [];
			throw new A2AError(
				"InvalidAgentResponseError",
				`An event of the stream is larger than the ${this.#maxBytes} bytes allowed`,
			);
		}
		this.#line.push(piece);
	}

	#endLine(events: SseEvent[]): void {
		const line = this.#line.length === 1 ? (this.#line[0] ?? "") : this.#line.join("");
		this.#line = [];
		if (line === "") {
			this.#dispatch(events);
			return;
		}
		const colon = line.indexOf(":");
		if (colon === 0) this.#comments += 1;
		const name = colon === -1 ? line : line.slice(0, colon);
		const value = colon === -1 ? "" : line.slice(line.startsWith(" ", colon + 1) ? colon + 2 : colon + 1);
		if (name === "data") {
			this.#data.push(value);
			// Empty data lines cost memory as well.
			this.#held += 1;
			return;
		}
		// Only data is kept whole; a comment or a field of no meaning counts no longer once its line has ended.
		this.#held -= line.length;
		if (name === "event") this.#event = value.slice(0, 200);
		else if (name === "id" && !value.includes("\0")) this.#id = value.slice(0, 1000);
		else if (name === "retry" && /^\d{1,9}$/.test(value)) this.#retry = Number(value);
	}

	#dispatch(events: SseEvent[]): void {
		const data = this.#data.join("\n");
		if (data !== "") {
			events.push({
				event: this.#event || "message",
				data,
				...(this.#id === undefined ? {} : { id: this.#id }),
				...(this.#retry === undefined ? {} : { retry: this.#retry }),
			});
		}
		this.#data = [];
		this.#event = "";
		this.#id = undefined;
		this.#retry = undefined;
		this.#held = 0;
	}
}

/** One event as text, ready to be written; `data` may have line breaks, which become `data` lines. */
export function formatEvent(data: string, id?: string, event?: "error"): string {
	const body = /[\r\n]/.test(data) ? data.split(/\r\n|\r|\n/).join("\ndata: ") : data;
	const type = event === undefined ? "" : `event: ${event}\n`;
	return `${id === undefined ? "" : `id: ${id.replace(/[\r\n\0]/g, "")}\n`}${type}data: ${body}\n\n`;
}

/** A comment: keeps connections and idle timers alive, and no reader takes it for an event. */
export const HEARTBEAT = ": keep-alive\n\n";
