/** A reply that is one JSON document, or may be about to become one. */
import { parseJson } from "../protocol/json.ts";
import type { Json } from "../protocol/types.ts";

const FENCE = "```json\n";
/** So many places are tried at which the document may begin. */
const TRIES = 50;

/** Whether a reply that begins so is JSON, bare or in a fence; undefined: too short to tell. */
export function looksJson(text: string): boolean | undefined {
	const start = text.trimStart().slice(0, FENCE.length);
	if (start === "" || (start.length < FENCE.length && FENCE.startsWith(start))) return undefined;
	return /^(?:[{[]|```(?:json)?\s)/.test(start);
}

function parsed(text: string): { readonly value: Json } | undefined {
	const bare = /^```(?:json)?[ \t]*\n([\s\S]*?)\n?```$/.exec(text.trim())?.[1] ?? text;
	try {
		return { value: parseJson(bare) as Json };
	} catch {
		return undefined; // prose, or JSON that is too deep to be walked
	}
}

/**
 * The document that `text` is. With `tail` also one that makes up all paragraphs from some paragraph on; then `before`
 * is the text in front of it.
 */
export function jsonIn(text: string, tail: boolean): { readonly value: Json; readonly before: string } | undefined {
	const whole = parsed(text);
	if (whole) return { ...whole, before: "" };
	if (!tail) return undefined;
	let tries = 0;
	for (const { index } of text.matchAll(/\n\n(?=[{[]|```(?:json)?[ \t]*\n)/g)) {
		tries += 1;
		if (tries > TRIES) return undefined;
		const found = parsed(text.slice(index + 2));
		if (found) return { ...found, before: text.slice(0, index) };
	}
	return undefined;
}
