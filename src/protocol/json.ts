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

/**
 * The value of a JSON text. Throws `ParseError` when it is none (§9.5), `InvalidRequestError` when it is nested more
 * than 100 levels deep. A key `__proto__` stays what it is in JSON: a member like any other.
 */
export function parseJson(text: string): unknown {
	let value: unknown;
	try {
		value = JSON.parse(text.startsWith("\uFEFF") ? text.slice(1) : text);
	} catch (cause) {
		throw new A2AError("ParseError", "Invalid JSON payload", { cause });
	}
	if (isDeeperThan(value, MAX_DEPTH))
		throw new A2AError("InvalidRequestError", `The JSON is nested more than ${MAX_DEPTH} levels deep`);
	return value;
}

/** An object that is no array. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}
