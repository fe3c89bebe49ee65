/**
 * Takes credentials out of text before it leaves this process or is written down: tokens by their shape, values by
 * the name they stand under, private keys, passwords in addresses, email addresses, and values that are known to be
 * secret. Each is replaced by `[redacted:<kind>]`. The cost is linear in the text.
 */
import type { Agent } from "../protocol/agent.ts";
import type { Json, Message, Part, SendMessageRequest } from "../protocol/types.ts";
import { isSecretName, isSecretValue } from "./redact-patterns.ts";
import { Scan } from "./redact-scan.ts";

/**
 * A redactor for text that arrives in pieces. It keeps back the word that is being written, since that may still
 * become a secret; what `push` gives back, followed by `end`, equals the redacted whole.
 */
export interface Redactor {
	/** Takes the next piece; gives what can safely go out now, perhaps nothing. */
	push(delta: string): string;
	/** Gives the redacted rest. The redactor is empty afterwards and may be used for another text. */
	end(): string;
}

/** Both ways to redact, with the same rules. */
export interface Redaction {
	/** The text without credentials. The same text gives the same result, and a redacted text stays as it is. */
	redact(text: string): string;
	/** A new redactor for one streamed text. */
	createRedactor(): Redactor;
	/** The text without the known values and nothing else changed: for the words of others, who may say ours back. */
	withoutKnown(text: string): string;
}

/** The longest piece of a word that is looked at as one, and so the most that a redactor keeps back, in characters. */
const MAX_WORD = 4096;

// Words are runs of printable ASCII and accented Latin letters. Zero-width characters count too: they are used to
// hide what a word is. Other scripts are not held back, they are no part of a credential.
const WORD_CHARS = "\\u0021-\\u007e\\u00c0-\\u024f\\u00ad\\u034f\\u200b-\\u200f\\u2060-\\u2064\\ufeff";
const WORD = new RegExp(`[${WORD_CHARS}]{1,${MAX_WORD}}`, "y");
const GAP = new RegExp(`[^${WORD_CHARS}]+`, "y");
/** What a token may go on with. */
const RUN = /[\w+/=.~-]*/y;
const HIDDEN = /[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]|\u034f/;

// One expression decides whether a word is looked at: a long run, or a part that announces a secret. What it does not
// match costs nothing more.
const SUSPECT =
	"@|%40|0040|(?<![\\w+/.~%:=&;#\\\\-])[\\w+/.~%:=&;#\\\\-]{20}|pass|pwd|pw=|secret|token|key|auth|bearer|basic|cred|cookie|sess|jwt|jwe|" +
	"psk|pat|-{4}|begin|private|login|sign|identified|(?:name|field|header|variable|[\"'\\\\][dpqk][pqi]?)[\"'\\\\]*[:=]|" +
	"(?<!\\S)-{1,2}[a-z]";

function isWordCode(code: number): boolean {
	if (code < 0x7f) return code > 0x20;
	if (code < 0x250) return code >= 0xc0 || code === 0xad;
	return (code >= 0x200b && code <= 0x200f) || (code >= 0x2060 && code <= 0x2064) || code === 0xfeff || code === 0x34f;
}

/** Where the word around `index` begins, not before `from`. */
function wordStart(text: string, index: number, from: number): number {
	let start = index;
	while (start > from && isWordCode(text.charCodeAt(start - 1))) start--;
	return start;
}

/** The ways in which a known value may be written: as it is, base64, percent-encoded, escaped for JSON. */
function spellings(value: string): string[] {
	const base64 = Buffer.from(value).toString("base64").replace(/=+$/, "");
	return [...new Set([value, base64, encodeURIComponent(value), JSON.stringify(value).slice(1, -1)])];
}

/** Too short a value would take ordinary words for secrets. */
const MIN_KNOWN = 8;

/**
 * The rules, and with them `known`: values that are secret whatever they look like (configured tokens), in plain and
 * in the usual encodings. Values under 8 characters or with blanks are left out.
 */
export function redaction(known: Iterable<string> = []): Redaction {
	const values = [...known].filter((value) => value.length >= MIN_KNOWN && !/\s/.test(value)).flatMap(spellings);
	const escaped = values.map((value) =>
		value.replace(/[^\w]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`),
	);
	const suspect = new RegExp([SUSPECT, ...escaped].join("|"), "gi");
	// The longest first: one value may be the beginning of another.
	const ours =
		escaped.length > 0 ? new RegExp([...escaped].sort((a, b) => b.length - a.length).join("|"), "g") : undefined;
	const isSuspect = (text: string): boolean => {
		suspect.lastIndex = 0;
		return suspect.test(text);
	};

	function createRedactor(): Redactor {
		let scan = new Scan(values);
		let rest = "";
		/** Inside a run that was too long for one piece: the run so far was a secret, or shown. */
		let run: "secret" | "shown" | undefined;
		/** A piece of the word has been taken off already. */
		let inside = false;

		function word(text: string, next: string): string {
			const clean = HIDDEN.test(text) ? text.split(HIDDEN).join("") : text;
			const shown = scan.word(clean, next);
			return shown === clean ? text : shown;
		}

		/** A first piece of a word of `MAX_WORD` or more: up to a sign that ends values if there is one. */
		function piece(window: string): { readonly shown: string; readonly length: number } {
			const cut = window.search(/[,;{}()<>|"'`&][^,;{}()<>|"'`&]*$/) + 1;
			if (cut > MAX_WORD / 4) return { shown: word(window.slice(0, cut), ""), length: cut };
			const shown = word(window, "");
			run = shown.endsWith("]") && !window.endsWith("]") ? "secret" : "shown";
			return { shown, length: MAX_WORD };
		}

		function walk(text: string, final: boolean): string {
			let out = "";
			let at = 0;
			// Where the word that is still being written begins.
			const open = final ? text.length : wordStart(text, text.length, 0);
			while (at < text.length) {
				if (run) {
					RUN.lastIndex = at;
					const same = RUN.exec(text)?.[0] ?? "";
					if (run === "shown") out += same;
					at += same.length;
					if (at < text.length) run = undefined;
					continue;
				}
				if (scan.idle && !inside) {
					suspect.lastIndex = at;
					const found = suspect.exec(text);
					const start = Math.min(open, found ? wordStart(text, found.index, at) : open);
					if (start > at) {
						const plain = text.slice(at, start);
						scan.skip(plain);
						out += plain;
						at = start;
					}
					if (!found && at >= open && text.length - at < MAX_WORD) break;
				}
				GAP.lastIndex = at;
				const gap = GAP.exec(text)?.[0];
				if (gap !== undefined) {
					inside = false;
					out += scan.gap(gap);
					at += gap.length;
					continue;
				}
				WORD.lastIndex = at;
				const whole = WORD.exec(text)?.[0] ?? "";
				if (whole.length >= MAX_WORD) {
					inside = true;
					const first = piece(whole);
					out += first.shown;
					at += first.length;
				} else if (at >= open && !final) break;
				else {
					out += word(whole, text[at + whole.length] ?? "");
					at += whole.length;
				}
			}
			rest = text.slice(at);
			return out;
		}

		return {
			push: (delta) => (delta === "" ? "" : walk(rest + delta, false)),
			end() {
				const last = walk(rest, true) + scan.end();
				scan = new Scan(values);
				rest = "";
				run = undefined;
				inside = false;
				return last;
			},
		};
	}

	return {
		createRedactor,
		redact(text) {
			if (!isSuspect(text)) return text;
			const redactor = createRedactor();
			return redactor.push(text) + redactor.end();
		},
		withoutKnown: (text) => (ours ? text.replace(ours, "[redacted:secret]") : text),
	};
}

/** `value` with every string in it, at any depth, as `text` makes it; what is not plain data stays as it is. */
export function eachText<T>(value: T, text: (plain: string) => string): T {
	const walk = (inner: unknown): unknown => {
		if (typeof inner === "string") return text(inner);
		if (Array.isArray(inner)) return inner.map(walk);
		if (typeof inner !== "object" || inner === null || Object.getPrototypeOf(inner) !== Object.prototype) return inner;
		return Object.fromEntries(Object.entries(inner).map(([key, each]) => [key, walk(each)]));
	};
	return walk(value) as T;
}

/** The rules alone. */
export const byLooks: Redaction = redaction();

/** The text without credentials, by the rules alone. */
export const redact: (text: string) => string = byLooks.redact;

/** A redactor for one streamed text, by the rules alone. */
export const createRedactor: () => Redactor = byLooks.createRedactor;

/** `value` with every string redacted; a string under a secret's name counts as its value. */
export function redactJson(value: Json, text: (plain: string) => string = redact, name = ""): Json {
	if (typeof value === "string") return isSecretName(name) && isSecretValue(value) ? "[redacted:secret]" : text(value);
	if (typeof value !== "object" || value === null) return value;
	if (Array.isArray(value)) return value.map((item: Json) => redactJson(item, text, name));
	return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redactJson(item, text, key)]));
}

/** The part with its text or data as `text` makes it; addresses and files stay as they are. */
export function redactPart(part: Part, text: (plain: string) => string = redact): Part {
	if ("text" in part) return { ...part, text: text(part.text) };
	return "data" in part ? { ...part, data: redactJson(part.data, text) } : part;
}

/** The file with its content as `text` makes it where that is text, whatever it is called; other files stay as they are. */
export function redactFile<T extends { readonly raw: string }>(part: T, text: (plain: string) => string = redact): T {
	const bytes = Buffer.from(part.raw, "base64");
	const content = bytes.toString("utf8");
	if (content.includes("\0") || !Buffer.from(content).equals(bytes)) return part;
	const safe = text(content);
	return safe === content ? part : { ...part, raw: Buffer.from(safe).toString("base64") };
}

/**
 * `agent` with the text and data of outgoing messages redacted. Addresses and files pass as they are: a scrubbed
 * address would be another address, and a file is what the user asked to send.
 */
export function redacting(agent: Agent, text: (plain: string) => string = redact): Agent {
	const clean = (message: Message): Message => ({
		...message,
		parts: message.parts.map((part) => redactPart(part, text)),
	});
	const cleaned = <T>(operation: string, params: T): T =>
		operation === "SendMessage" || operation === "SendStreamingMessage"
			? { ...params, message: clean((params as SendMessageRequest).message) }
			: params;
	return {
		request: (operation, params, call) => agent.request(operation, cleaned(operation, params), call),
		stream: (operation, params, call) => agent.stream(operation, cleaned(operation, params), call),
	};
}
