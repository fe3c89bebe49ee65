/** Why a run failed, in words fit for a peer: one line, no secrets, no files of this machine. Pure. */
import { redact } from "../guard/redact.ts";
import { oneLine } from "../lib/text.ts";

// An absolute path, but not the path of a URL or a route such as `and/or`.
const PATH = /(?<![\w:/.~-])(?:~?(?:\/[\w.@+~-]+){2,}|[A-Za-z]:(?:\\[\w.@+~ -]+){2,})[/\\]?/g;

/** The message inside a JSON error body, however deep a provider has put it. */
function messageIn(value: unknown): string | undefined {
	if (typeof value !== "object" || value === null) return undefined;
	const { message, error, detail } = value as { message?: unknown; error?: unknown; detail?: unknown };
	for (const inner of [message, error, detail]) {
		if (typeof inner === "string" && inner.trim() !== "") return unwrapped(inner);
		const found = messageIn(inner);
		if (found !== undefined) return found;
	}
	return undefined;
}

/** `400: {"error":{"message":"too long"}}` is `400: too long`. */
function unwrapped(text: string): string {
	const start = text.indexOf("{");
	if (start < 0) return text;
	try {
		const message = messageIn(JSON.parse(text.slice(start)));
		return message === undefined ? text : `${text.slice(0, start)}${message}`;
	} catch {
		return text; // a brace in prose
	}
}

/** What may be told to a peer of `error`: a thrown value or a provider's text. */
export function reasonOf(error: unknown): string {
	const raw = error instanceof Error ? error.message : String(error ?? "");
	// What follows the first paragraph is advice for the user of this host.
	const [first = ""] = unwrapped(raw.trim()).split(/\n\s*\n/);
	return redact(oneLine(first.replace(PATH, "…"), 300)) || "the model call failed";
}
