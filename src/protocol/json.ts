/** JSON text from the other side: parsed, and not deeper than it may be. */
import { A2AError } from "./errors.ts";

/** Levels of arrays and objects that a body may have. Whatever walks such a value may then do so by recursion. */
export const MAX_DEPTH = 100;

/** Is `value` nested deeper than `levels`? Looks no further down than that, so its own recursion is bounded. */
export function isDeeperThan(value: unknown, levels: number): boolean {
	if (typeof value !== "object" || value === null) return false;
	if (levels === 0) return true;
	for (const inner of Array.isArray(value) ? value : Object.values(value))
		if (isDeeperThan(inner, levels - 1)) return true;
	return false;
}

/** Is there a number in it that no double holds? It was parsed as Infinity, and would go on its way as null. */
export function hasHugeNumber(value: unknown): boolean {
	if (typeof value === "number") return !Number.isFinite(value);
	if (typeof value !== "object" || value === null) return false;
	for (const inner of Array.isArray(value) ? value : Object.values(value)) if (hasHugeNumber(inner)) return true;
	return false;
}

/**
 * Do the brackets of a JSON text go deeper than `levels`? Reads no further than the bracket that does, and over strings
 * by leaps: a parser would spend seconds on megabytes of open brackets.
 */
function isTextDeeperThan(text: string, levels: number): boolean {
	let depth = 0;
	for (let at = 0; at < text.length; at++) {
		const code = text.charCodeAt(at);
		if (code === QUOTE) at = endOfString(text, at);
		else if (code === 0x5b || code === 0x7b) depth++;
		else if (code === 0x5d || code === 0x7d) depth--;
		if (depth > levels) return true;
	}
	return false;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** Where the string that begins at `start` has its closing quote; the end of the text when it has none. */
function endOfString(text: string, start: number): number {
	for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
		let before = end - 1;
		while (text.charCodeAt(before) === BACKSLASH) before--;
		if ((end - before) % 2 === 1) return end;
	}
	return text.length;
}

/**
 * The value of a JSON text. Throws `ParseError` when it is none (§9.5), `InvalidRequestError` when it is nested more
 * than 100 levels deep. Whether such a text is whole is not looked into: that would be to read what was refused for its
 * depth, and 200 000 open brackets cost a parser seconds. Of two members with one name the last counts. A key `__proto__` stays what it is in JSON: a member like any other.
 */
export function parseJson(text: string): unknown {
	if (isTextDeeperThan(text, MAX_DEPTH)) {
		throw new A2AError("InvalidRequestError", `The JSON is nested more than ${MAX_DEPTH} levels deep`);
	}
	try {
		return JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
	} catch (cause) {
		throw new A2AError("ParseError", "Invalid JSON payload", { cause });
	}
}

/** An object that is no array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
