/** Building parts and reading them as text (§4.1.6). */
import type { Artifact, Json, Part } from "./types.ts";

/** A text part. */
export function text(value: string): Part {
	return { text: value };
}

/** A data part; `value` may be any JSON value. */
export function data(value: Json): Part {
	return { data: value };
}

// A name comes from the other side: it may not end the line or the bracket that it stands in.
const label = (value: string) =>
	value
		.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}[\]]+/gu, " ")
		.trim()
		.slice(0, 200);

function partText(part: Part): string {
	if ("text" in part) return part.text;
	if ("data" in part) return JSON.stringify(part.data);
	const name = part.filename ?? ("url" in part ? part.url : "");
	return `[${["file", label(name), label(part.mediaType ?? "")].filter((word) => word !== "").join(" ")}]`;
}

/**
 * Everything in `parts` as text, one part a line: text as it is, data as JSON, a file as `[file name type]`. Parts
 * with an empty text are left out, so that they leave no empty line.
 */
export function textOf(parts: readonly Part[]): string {
	return parts
		.map(partText)
		.filter((line) => line !== "")
		.join("\n");
}

/** A part that is text and nothing else: such parts of one artifact are pieces of one text. */
export const isBare = (part: Part | undefined): part is { readonly text: string } =>
	part !== undefined && Object.keys(part).length === 1 && "text" in part;

/** `parts` with neighbouring pieces of one text put together. */
function whole(parts: readonly Part[]): readonly Part[] {
	const all: Part[] = [];
	let pieces: string[] = [];
	const flush = () => {
		if (pieces.length > 0) all.push(text(pieces.join("")));
		pieces = [];
	};
	for (const part of parts) {
		if (isBare(part)) {
			pieces.push(part.text);
		} else {
			flush();
			all.push(part);
		}
	}
	flush();
	return all;
}

/**
 * What artifacts say (§4.1.7), an empty line between two of them; "" when they say nothing. An artifact that was sent in
 * chunks may be kept as a part for each, cut anywhere, so its texts are joined as they are.
 */
export function replyText(artifacts: readonly Artifact[] | undefined): string {
	return (artifacts ?? [])
		.map((artifact) => textOf(whole(artifact.parts)))
		.filter((part) => part !== "")
		.join("\n\n");
}
