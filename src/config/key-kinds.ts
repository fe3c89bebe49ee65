/** What a value can be: how it is read from JSON, from the text of a variable or an input line, and how it is shown. */
import { clip, oneLine } from "../lib/text.ts";
import { isObject } from "./json.ts";
import { referenceIn, shownReference } from "./secret-refs.ts";

/** What stands for a secret wherever it is shown. */
export const MASK = "••••";

/** A value that cannot be used. */
export interface Fault {
	/** Place below the key, such as `alice.url`; empty for the key itself. */
	readonly at: string;
	/** What was found, fit to be shown: secrets masked, one short line. Absent when there is nothing to show. */
	readonly found?: string;
	/** Completes "expected …". */
	readonly expected: string;
	/** Nothing was lost: only a name that nobody knows. */
	readonly hint?: boolean;
}
export type Report = (fault: Fault) => void;

/** One sort of value. Methods keep no state. */
export interface Kind<T> {
	/** Completes "expected …". */
	readonly expected: string;
	/** The same in a few characters, for tables. */
	readonly takes: string;
	/** Never shown. */
	readonly secret?: boolean;
	/** From JSON. `undefined`: unset (`null`, empty text) or, after a word to `report`, not usable. */
	read(value: unknown, report: Report): T | undefined;
	/** From the text of a variable or an input line to what `read` takes. */
	parse(text: string): unknown;
	/** For people, one line, secrets masked. */
	show(value: T): string;
	/** How much a value allows, for keys that a repository may only lower. */
	rank?(value: T): number;
	/** Of a map: the kind of one entry. */
	readonly entry?: Kind<unknown>;
	/** Of a map: what stands at `rest`, a name or a name and a field, below it; `undefined` when nothing can. */
	below?(rest: string): { readonly kind: Kind<unknown>; readonly path: readonly string[] } | undefined;
}

/** The value of a kind. */
export type ValueOf<K> = K extends Kind<infer T> ? T : never;

/** A found value, fit to be shown. The inside of lists and objects, and the user part of a URL, may be a secret. */
export function found(value: unknown, secret = false): string {
	if (Array.isArray(value)) return "a list";
	if (isObject(value)) return "an object";
	if (secret) return MASK;
	const text = typeof value === "string" ? JSON.stringify(value.replace(/[^/\s"]*@/, `${MASK}@`)) : String(value);
	return oneLine(text, 60);
}

/** A fault about the value itself. */
export const wrong = (value: unknown, kind: Pick<Kind<unknown>, "expected" | "secret">): Fault => ({
	at: "",
	found: found(value, kind.secret),
	expected: kind.expected,
});

/** `report` for what stands below `name`. */
export function under(name: string, report: Report): Report {
	return (fault) => report({ ...fault, at: fault.at ? `${name}.${fault.at}` : name });
}

const TRUE = ["true", "1", "yes", "on"];
const FALSE = ["false", "0", "no", "off"];

/** `true` or `false`; as text also 1/0, yes/no, on/off. */
export function flag(): Kind<boolean> {
	return {
		expected: "true or false",
		takes: "true, false",
		read(value, report) {
			if (typeof value === "boolean") return value;
			if (value !== null) report(wrong(value, this));
			return undefined;
		},
		parse: (text) => {
			const word = text.toLowerCase();
			return TRUE.includes(word) ? true : FALSE.includes(word) ? false : text;
		},
		show: String,
	};
}

/** A whole number from `min` to `max`. `zero`: what zero means when that is "no limit". */
export function whole(min: number, max: number, zero?: "no limit"): Kind<number> {
	return {
		expected: `a whole number from ${min} to ${max}${zero ? ` (0: ${zero})` : ""}`,
		takes: `${min}–${max}${zero ? ` (0: ${zero})` : ""}`,
		read(value, report) {
			if (typeof value === "number" && Number.isInteger(value) && value >= min && value <= max) return value;
			if (value !== null) report(wrong(value, this));
			return undefined;
		},
		parse: (text) => (/^[+-]?\d+(\.\d+)?$/.test(text) ? Number(text) : text),
		show: String,
		rank: (value) => (zero && value === 0 ? Number.POSITIVE_INFINITY : value),
	};
}

/** Kinds that are one line of text; `accept` gives the value that is meant, or `undefined`. */
function textual(
	expected: string,
	takes: string,
	accept: (text: string) => string | undefined,
	secret = false,
): Kind<string> {
	return {
		expected,
		takes,
		...(secret ? { secret } : {}),
		read(value, report) {
			if (value === null || value === "") return undefined;
			const accepted = typeof value === "string" ? accept(value) : undefined;
			if (accepted === undefined) report(wrong(value, this));
			return accepted;
		},
		parse: (text) => text,
		show: (value) => (value === "" ? "(not set)" : secret ? MASK : oneLine(value)),
	};
}

const CONTROL = /[\x00-\x1f\x7f-\x9f\u2028\u2029]/;

/** Text that is fit to be shown: one line without control characters, at most `max` characters. */
export function line(max: number, expected = `one line of text, at most ${max} characters`): Kind<string> {
	return textual(expected, "text", (text) => (text.length <= max && !CONTROL.test(text) ? text.trim() : undefined));
}

/** Text that matches `pattern` as a whole. */
export function word(pattern: RegExp, expected: string, takes = "text"): Kind<string> {
	return textual(expected, takes, (text) => (pattern.test(text) ? text : undefined));
}

/**
 * A bearer token of at most `max` characters: it must survive a header, so visible ASCII without spaces. Or a reference
 * to one, see secret-refs.ts.
 */
export function token(max = 4096): Kind<string> {
	const isToken = (text: string) => text.length <= max && /^[\x21-\x7e]+$/.test(text);
	const isCommand = (text: string) => text.length <= 4096 && /^!\s*\S/.test(text) && !CONTROL.test(text);
	const accept = (text: string) => (isToken(text) || isCommand(text) ? text : undefined);
	const expected = `a token of at most ${max} characters, without spaces and control characters; or $VAR or !command`;
	const kind = textual(expected, "token", accept, true);
	return {
		...kind,
		show: (value) => {
			const reference = referenceIn(value);
			return reference ? shownReference(reference) : kind.show(value);
		},
	};
}

/** An http or https URL; credentials do not belong into it. */
export function httpUrl(): Kind<string> {
	const accept = (text: string) => {
		const url =
			/^https?:\/\/[^\s\\]+$/i.test(text.trim()) && URL.canParse(text.trim()) ? new URL(text.trim()) : undefined;
		return url && url.username === "" && url.password === "" ? text.trim() : undefined;
	};
	const kind = textual("an http or https URL without user name and password", "URL", accept);
	// What stands behind `?` may be a key.
	return { ...kind, show: (value) => kind.show(value.replace(/\?.*/, "?…")) };
}

/** A list; as text its elements stand between commas. A bad element is reported and left out. */
export function list<T>(item: Kind<T>, takes: string): Kind<readonly T[]> {
	return {
		expected: `a list, each element ${item.expected}`,
		takes,
		read(value, report) {
			if (value === null) return undefined;
			if (!Array.isArray(value)) return void report(wrong(value, this));
			const good = value.flatMap((each: unknown, index) => {
				const read = item.read(each, under(String(index), report));
				return read === undefined ? [] : [read];
			});
			// An empty list may mean "no restriction", which a list of mistakes must not.
			return good.length === 0 && value.length > 0 ? undefined : good;
		},
		parse: commas,
		show: (value) => clip(value.map((each) => item.show(each)).join(", ") || "(none)", 500),
	};
}

/** The texts between commas, without the empty ones. */
export function commas(text: string): string[] {
	const parts = text.split(",").map((part) => part.trim());
	return parts.filter((part) => part !== "");
}
