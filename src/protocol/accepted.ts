/** What a caller takes (§3.2.2 `acceptedOutputModes`), asked of each part before it goes out. */
import type { Part } from "./types.ts";

export interface Accepted {
	/** As the caller said, in order; empty: anything. */
	readonly modes: readonly string[];
	/** JSON is asked for by name, so a reply that is a JSON document is to be data. */
	readonly json: boolean;
	/** A reply in plain text or Markdown may go out. */
	readonly text: boolean;
	/** Whether a part may go out. */
	takes(part: Part): boolean;
}

/** Kinds of parts that callers of before 1.0 name instead of media types. */
const KINDS: { readonly [word: string]: string } = { text: "text/*", data: "application/json", file: "*/*" };

function halves(mode: string): readonly [string | undefined, string | undefined] {
	const bare = mode.split(";")[0]?.trim().toLowerCase() ?? "";
	const [type, subtype] = (KINDS[bare] ?? bare).split("/");
	return [type, subtype];
}

/** Whether two media types have something in common; `*` may stand for either half of either. */
export function matches(a: string, b: string): boolean {
	const [one, other] = [halves(a), halves(b)];
	return one.every((half, at) => half === other[at] || half === "*" || other[at] === "*");
}

/** The media type of a part, where it does not say one that of its kind. */
export function typeOf(part: Part): string {
	if (part.mediaType) return part.mediaType;
	return "text" in part ? "text/plain" : "data" in part ? "application/json" : "application/octet-stream";
}

/** Reads `acceptedOutputModes`; absent or empty means anything. */
export function accepted(modes: readonly string[] = []): Accepted {
	const any = modes.length === 0;
	const takes = (type: string) => any || modes.some((mode) => matches(mode, type));
	// Markdown can be read as it stands.
	const text = takes("text/plain") || takes("text/markdown");
	return {
		modes,
		text,
		json: modes.some((mode) => halves(mode)[0] === "application" && matches(mode, "application/json")),
		takes: (part) => (text && typeOf(part) === "text/markdown") || takes(typeOf(part)),
	};
}
