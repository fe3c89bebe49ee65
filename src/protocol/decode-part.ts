/** Parts and messages as callers send them (§4.1.4, §4.1.6), strict, with the 0.3 spelling understood (§A.2). */
import {
	anything,
	at,
	type Decoder,
	expected,
	filled,
	list,
	Mismatch,
	oneOf,
	record,
	struct,
	text,
} from "./decode-base.ts";
import { isObject } from "./json.ts";
import type { ContextId, Json, Message, Part, Role, TaskId } from "./types.ts";

const MAX_ID = 1024;
const MAX_PARTS = 1000;
const MAX_NAMES = 100;
const MAX_NAME = 2048;

/** An id that the other side made up: any text, bounded. */
export const id = filled(MAX_ID);
/** A task id in a request (§3.4.2). */
export const taskIdText = id as Decoder<TaskId>;
/** A context id in a request (§3.4.1). */
export const contextIdText = id as Decoder<ContextId>;
/** A short list of names: extensions, output modes, skills' tags. */
export const names = list(text(MAX_NAME), MAX_NAMES);

/** An optional proto string, whose empty value is the same as none. */
export function emptyIsAbsent(value: Readonly<Record<string, unknown>>, ...keys: readonly string[]): object {
	const empty = keys.filter((key) => value[key] === "");
	return empty.length === 0 ? value : Object.fromEntries(Object.entries(value).filter(([key]) => !empty.includes(key)));
}

/** Base64 in either alphabet, padded or not (ProtoJSON); the text is kept as it came. */
const base64: Decoder<string> = (value) => {
	const content = text()(value);
	const body = content.replace(/={1,2}$/, "");
	const padded = body.length !== content.length;
	if (/[^A-Za-z0-9+/_-]/.test(body) || body.length % 4 === 1 || (padded && content.length % 4 !== 0))
		throw new Mismatch("expected base64");
	return content;
};

const CONTENT: { readonly [K in "text" | "raw" | "url" | "data"]: Decoder<Json> } = {
	text: text(),
	raw: base64,
	url: filled(),
	data: anything,
};
const CONTENTS = Object.keys(CONTENT) as (keyof typeof CONTENT)[];

/**
 * A part with its content where 1.0 has it: the file of a 0.3 part (0.3 §6.5.2; `fileWithBytes` and `fileWithUri` are
 * the names of its proto) comes up one level, `kind` goes. Anything else is given back as it is.
 */
export function flattenPart(part: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
	const { file } = part;
	if (!isObject(file)) return part;
	return {
		raw: file.bytes ?? file.fileWithBytes,
		url: file.uri ?? file.fileWithUri,
		filename: part.filename ?? file.name,
		mediaType: part.mediaType ?? file.mimeType ?? file.mediaType,
		metadata: part.metadata,
	};
}

/**
 * The contents that are set. null is a value of `data` (§4.1.6), but not beside another content: some writers put all
 * the members they know, null where unused.
 */
export function contentsOf(part: Readonly<Record<string, unknown>>): (keyof typeof CONTENT)[] {
	const set = CONTENTS.filter((name) => part[name] !== undefined && part[name] !== null);
	return set.length === 0 && part.data === null ? ["data"] : set;
}

const common = record<Pick<Part, "metadata" | "filename" | "mediaType">>(
	{},
	{ metadata: struct, filename: text(MAX_NAME), mediaType: text(MAX_NAME) },
);

/** §4.1.6: exactly one content. */
export const part: Decoder<Part> = (value) => {
	if (!isObject(value)) return expected("an object", value);
	const flat = flattenPart(value);
	const [content, other] = contentsOf(flat);
	if (content === undefined || other !== undefined)
		throw new Mismatch(`expected ${content === undefined ? "one" : "only one"} of text, raw, url and data`);
	return { [content]: at(content, CONTENT[content], flat[content]), ...common(flat) } as Part;
};

const roleName = oneOf<Role>(["ROLE_USER", "ROLE_AGENT"]);
const role: Decoder<Role> = (value) =>
	roleName(value === "user" ? "ROLE_USER" : value === "agent" ? "ROLE_AGENT" : value);

const fields = record<Message>(
	{ messageId: id, role, parts: list(part, MAX_PARTS, 1) },
	{
		contextId: contextIdText,
		taskId: taskIdText,
		metadata: struct,
		extensions: names,
		referenceTaskIds: list(taskIdText, MAX_NAMES),
	},
);

/** §4.1.4 */
export const message: Decoder<Message> = (value) =>
	fields(isObject(value) ? emptyIsAbsent(value, "contextId", "taskId") : value);
