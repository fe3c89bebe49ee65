/** Private keys in text: the lines between `BEGIN … PRIVATE KEY` and `END`, taken out one by one as they come. */

/** Signs that stand at the start of quoted or commented lines. */
export const QUOTE_MARK = /^(?:[>|#*+-]|\/\/|>+)$/;

const START = /^((?:\\{1,4}[nrt]|["'`+,>])*)((?:[A-Za-z0-9+/=]|\\{1,4}[nrt])*)((?:\\{1,4}[nrt]|["'`+,;)}\]\\])*)$/;
const PLACEHOLDER = "[redacted:private-key]";
/** Longest gap inside a key, in characters. */
const MAX_GAP = 200;

/** What became of a word: what may be shown of it, and what of it still has to be looked at. */
export interface Taken {
	readonly shown: string;
	readonly rest: string;
}

/** The part of a walk that knows whether it is inside a private key. */
export class KeyBlock {
	/** `label`: behind BEGIN; `count`: behind `Private-Lines:`; `body`: in the key. */
	#in: "label" | "count" | "body" | undefined;
	/** The label says PRIVATE. */
	#secret = false;
	/** A line of the key has been taken out. */
	#seen = false;
	/** The rest of the line is a header of the key (`Proc-Type: 4,ENCRYPTED`). */
	#header = false;
	/** Blanks and quote marks between lines: dropped with the next line, shown otherwise. */
	#held = "";

	get active(): boolean {
		return this.#in !== undefined || this.#held !== "";
	}

	/** The word opens a block. `line` is what came before it on its line. Lines of PuTTY's files are announced by number. */
	open(word: string, line: string): boolean {
		if (/-{5}BEGIN$/.test(word) || (word === "BEGIN" && /-{4} $/.test(line))) this.#in = "label";
		else if (word === "Private-Lines:") this.#in = "count";
		else return false;
		this.#secret = this.#in === "count";
		this.#seen = false;
		this.#header = false;
		return true;
	}

	/** What may be shown of a gap. */
	gap(text: string): string {
		if (text.includes("\n")) this.#header = false;
		if (this.#in !== "body" || !this.#seen) return text;
		this.#held += text;
		if (this.#held.length < MAX_GAP) return "";
		this.#in = undefined;
		return this.release();
	}

	/** What was held back and turned out to be no part of the key. */
	release(): string {
		const held = this.#held;
		this.#held = "";
		return held;
	}

	/** Takes a word of the block; undefined when it is none. */
	take(word: string): Taken | undefined {
		const taken = this.#in === undefined ? undefined : this.#take(word);
		if (!taken) this.#in = undefined;
		return taken;
	}

	#take(word: string): Taken | undefined {
		if (this.#in === "label") return this.#label(word);
		if (this.#in === "count") {
			this.#in = "body";
			return /^\d+$/.test(word) ? { shown: word, rest: "" } : undefined;
		}
		if (!this.#seen && /^[A-Z][A-Za-z-]{2,20}:$/.test(word)) this.#header = true;
		if (this.#header || (!this.#seen && QUOTE_MARK.test(word))) return { shown: word, rest: "" };
		if (QUOTE_MARK.test(word)) {
			this.#held += word;
			return { shown: "", rest: "" };
		}
		return this.#body(word);
	}

	#label(word: string): Taken | undefined {
		if (word === "PRIVATE") this.#secret = true;
		if (/^[A-Z0-9]+$/.test(word)) return { shown: word, rest: "" };
		const end = /^(?:KEY|BLOCK)?-{4,5}/.exec(word)?.[0];
		if (end === undefined || !this.#secret) return undefined;
		this.#in = "body";
		const rest = word.slice(end.length);
		if (rest === "") return { shown: word, rest };
		const body = this.#body(rest);
		if (!body) this.#in = undefined;
		return { shown: end + (body?.shown ?? ""), rest: body?.rest ?? rest };
	}

	#body(word: string): Taken | undefined {
		const stop = word.search(/-{4,5} ?END|-{4,5}$/);
		const body = stop < 0 ? word : word.slice(0, stop);
		const [, before = "", lines, after = ""] = START.exec(body) ?? [];
		if (lines === undefined || !(this.#seen || /[A-Za-z0-9+/=]{16}/.test(lines))) return undefined;
		// All lines of the key share one placeholder; the line break before the closing mark stays.
		const first = `${before}${PLACEHOLDER}${/\\n$/.test(lines) ? "\\n" : ""}${after}`;
		const shown = this.#seen ? after : first;
		if (body !== "") this.#held = "";
		this.#seen = true;
		if (stop < 0) return { shown, rest: "" };
		this.#in = undefined;
		return { shown: this.release() + shown, rest: word.slice(stop) };
	}
}
