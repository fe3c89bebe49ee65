/** Whether the content of a message, and what its caller takes, is something that this agent can work with. */

import { oneLine } from "../lib/text.ts";
import { matches } from "../protocol/accepted.ts";
import { A2AError } from "../protocol/errors.ts";
import type { Message } from "../protocol/types.ts";

/** How much a message may bring in files. Bytes as they are, not as they travel. */
export interface FileLimits {
	readonly maxBytes: number;
	readonly maxTotalBytes: number;
	readonly maxCount: number;
}

export interface ContentRules {
	/** Media types of files that the agent reads; `*` may stand for either half. */
	readonly inputModes: readonly string[];
	/** Media types that the agent can make. */
	readonly outputModes: readonly string[];
	/** Absent: as much as a request may carry. */
	readonly files?: FileLimits | undefined;
}

/** Text and data are read whatever they are called; a file must be of a kind that was promised. */
function checkMediaTypes(message: Message, modes: readonly string[]): void {
	for (const [index, part] of message.parts.entries()) {
		if ("text" in part || "data" in part || part.mediaType === undefined) continue;
		const { mediaType } = part;
		if (modes.some((mode) => matches(mode, mediaType))) continue;
		const field = `message.parts[${index}]`;
		const how = "send it as application/octet-stream, or as text";
		throw new A2AError(
			"ContentTypeNotSupportedError",
			`${field}: files of type ${oneLine(mediaType, 80)} are not read; ${how}`,
			{
				metadata: { field, mediaType },
			},
		);
	}
}

/** The number of bytes that a base64 text stands for. */
const sizeOf = (base64: string): number => Math.floor((base64.replace(/=+$/, "").length * 3) / 4);

const megabytes = (bytes: number): string => `${(bytes / 1_000_000).toFixed(bytes < 10_000_000 ? 2 : 0)} MB`;

function refuse(field: string, description: string): never {
	throw new A2AError("InvalidParamsError", `${field}: ${description}`, { violations: [{ field, description }] });
}

function checkFiles(message: Message, { maxBytes, maxTotalBytes, maxCount }: FileLimits): void {
	let [count, total] = [0, 0];
	for (const [index, part] of message.parts.entries()) {
		if (!("raw" in part)) continue;
		const bytes = sizeOf(part.raw);
		const field = `message.parts[${index}].raw`;
		count += 1;
		total += bytes;
		if (bytes > maxBytes)
			refuse(field, `the file has ${megabytes(bytes)}, and at most ${megabytes(maxBytes)} are taken`);
		if (count > maxCount) refuse(field, `at most ${maxCount} files are taken with a message`);
		if (total > maxTotalBytes) {
			refuse(
				field,
				`with this file the message has ${megabytes(total)}, and at most ${megabytes(maxTotalBytes)} are taken`,
			);
		}
	}
}

/**
 * Throws ContentTypeNotSupportedError for a file of a kind that is not read and for a caller who takes nothing that can
 * be made (§3.3.2), InvalidParamsError for too many or too large files. Each names the part or the field.
 */
export function checkContent(message: Message, accepts: readonly string[] | undefined, rules: ContentRules): void {
	checkMediaTypes(message, rules.inputModes);
	if (rules.files) checkFiles(message, rules.files);
	if (!accepts || accepts.length === 0) return;
	if (accepts.some((mode) => rules.outputModes.some((own) => matches(own, mode)))) return;
	const field = "configuration.acceptedOutputModes";
	const text = `${field}: nothing that this agent makes is among them; add text/plain`;
	throw new A2AError("ContentTypeNotSupportedError", text, { metadata: { field } });
}
