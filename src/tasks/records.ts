/**
 * The lines of a journal. Each begins with what it is and the id of its task, so that most need not be parsed:
 *
 *     {"open":"task-1","context":"ctx-1","owner":"peer:alice","label":"alice","v03":false,"opened":1767225600000,…}
 *     {"event":"task-1","n":3,"touch":7,"what":{"kind":"status","status":{…}}}
 *     {"note":"task-1","value":…}
 *     {"whole":"task-1",…,"state":"TASK_STATE_COMPLETED","n":9,…,"task":{…}}
 *     {"drop":"task-1"}
 *
 * `whole` is the task as it was then, in place of all lines about it before; an ended task has one.
 */
import type { Line, Segments } from "../lib/segments.ts";
import { isBare } from "../protocol/parts.ts";
import type { TaskEvent } from "../protocol/task.ts";
import { contextId, type Json, TASK_STATES, type Task, type TaskState, taskId } from "../protocol/types.ts";
import type { Kept, Opening, TaskLog } from "./log.ts";
import type { Happened } from "./past.ts";
import { isEvent, isTask } from "./shapes.ts";

const KINDS = ["open", "event", "note", "whole", "drop"] as const;
export type RecordKind = (typeof KINDS)[number];

/** The files of a journal. */
export type Lines = Pick<
	Segments,
	"sizes" | "active" | "append" | "read" | "lines" | "setAside" | "rewrite" | "close" | "folder"
>;

const TASK = ',"task":';
const NOTHING = ',"value":null}';
const BRACE = 0x7d;
const BRACE_OPEN = 0x7b;
const QUOTE = 0x22;
const BY_LETTER = new Map<number | undefined, RecordKind>(KINDS.map((kind) => [kind.charCodeAt(0), kind]));

/** What an `open` line says, and a `whole` line before the task itself. */
export interface Head extends Kept {
	readonly opening: Opening;
	/** Ids of the caller's messages. */
	readonly messages: readonly string[];
	/** The file that holds the first line about the task; absent when this is the only one. */
	readonly since?: number;
}

const opener = ({ id, contextId: context, owner, label, v03, opened, touched }: TaskLog) =>
	({ open: id, context, owner, label, v03, opened, touch: touched }) as const;

export const openLine = (log: TaskLog): string => JSON.stringify(opener(log));

export function eventLine(log: TaskLog, { n, event }: Happened): string {
	const touch = event.kind === "status" ? { touch: log.touched } : {};
	return JSON.stringify({ event: log.id, n, ...touch, what: event });
}

/** `since`: see `Head`. */
export function wholeLine(log: TaskLog, since: number | undefined): string {
	const { open, ...rest } = opener(log);
	const { task, changed, state, n } = log;
	const messages = (task.history ?? []).flatMap(({ role, messageId }) => (role === "ROLE_USER" ? [messageId] : []));
	const found = since === undefined ? {} : { since };
	return JSON.stringify({ whole: open, ...rest, changed, state, n, messages, ...found, task });
}

/** What others keep with a task (`TaskLog.note`), null when there is nothing any more; the last such line counts. */
export const noteLine = (log: TaskLog): string => JSON.stringify({ note: log.id, value: log.note ?? null });

/** Whether a `note` line says that there is nothing any more. */
export const isEmptyNote = (line: Line): boolean =>
	line.text(Math.max(0, line.place.length - NOTHING.length)) === NOTHING;

export const dropLine = (id: string): string => JSON.stringify({ drop: id });

/** What a line is, by its first letter; throws for one that is none of ours. */
export function kindOf(line: Line): RecordKind {
	const kind = line.at(0) === BRACE_OPEN && line.at(1) === QUOTE ? BY_LETTER.get(line.at(2)) : undefined;
	if (!kind) throw new Error("not a line of a journal");
	return kind;
}

/** The id of the task that a line of that kind is about. Throws when there is none. */
export function idIn(line: Line, kind: RecordKind): string {
	const from = kind.length + 5;
	const to = line.find('"', from);
	if (to === -1) throw new Error("a line without id");
	const id = line.text(from, to);
	return id.includes("\\") ? String(Object.values(JSON.parse(line.text()))[0]) : id;
}

function wrong(): never {
	throw new Error("a line with a field that is missing or wrong");
}
const textIn = (value: unknown): string => (typeof value === "string" ? value : wrong());
/** Beyond any time and count that is, and below what dates, tokens of pages and one more of it could not hold. */
const MOST = 1e15;
const numberIn = (value: unknown): number =>
	Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= MOST ? (value as number) : wrong();
const stateIn = (value: unknown): TaskState => TASK_STATES.find((state) => state === value) ?? wrong();

/** The head of an `open` or `whole` line; the task itself is not parsed. Throws for what cannot be one. */
export function headOf(line: Line, kind: "open" | "whole"): Head {
	const whole = kind === "whole";
	// In a string the quotes would be escaped, so this is the member.
	const end = whole ? line.find(TASK) : line.place.length;
	if (end === -1 || line.at(line.place.length - 1) !== BRACE) wrong();
	const text = whole ? `${line.text(0, end)}}` : line.text();
	const said = JSON.parse(text) as { readonly [name: string]: unknown };
	const opened = numberIn(said.opened);
	const head: Head = {
		opening: {
			id: taskId(textIn(said[kind]) || wrong()),
			contextId: contextId(textIn(said.context)),
			owner: textIn(said.owner),
			label: textIn(said.label),
			v03: said.v03 === true,
		},
		opened,
		touched: numberIn(said.touch),
		changed: whole ? numberIn(said.changed) : opened,
		n: whole ? numberIn(said.n) : 0,
		state: whole ? stateIn(said.state) : "TASK_STATE_SUBMITTED",
		messages: whole && Array.isArray(said.messages) ? said.messages.map(textIn) : [],
	};
	return said.since === undefined ? head : { ...head, since: numberIn(said.since) };
}

/** The task of a `whole` line. Throws when it is damaged. */
export function taskIn(text: string): Task {
	const whole = JSON.parse(text) as Readonly<Record<string, unknown>>;
	return isTask(whole.task, whole) ? whole.task : wrong();
}

/** The value of a `note` line. Throws when it is damaged. */
export const noteIn = (text: string): Json => (JSON.parse(text) as { readonly value: Json }).value;

/** The event of an `event` line, and the touch that it was. Throws when it is damaged. */
export function eventIn(text: string): Happened & { readonly touch?: number } {
	const { n, what, touch } = JSON.parse(text) as { n?: unknown; what?: unknown; touch?: unknown };
	if (!isEvent(what)) return wrong();
	return { n: numberIn(n), event: what, ...(touch === undefined ? {} : { touch: numberIn(touch) }) };
}

/**
 * The two as one event, when the second only goes on with the text of the first: what a model writes in one turn of
 * the loop is one line.
 */
export function merged(first: TaskEvent | undefined, second: TaskEvent): TaskEvent | undefined {
	if (first?.kind !== "artifact" || second.kind !== "artifact" || !second.append || first.lastChunk) return undefined;
	const [before, after] = [first.artifact, second.artifact];
	if (before.artifactId !== after.artifactId || Object.keys(after).length !== 2) return undefined;
	const [a, ...moreA] = before.parts;
	const [b, ...moreB] = after.parts;
	if (!isBare(a) || !isBare(b) || moreA.length + moreB.length > 0) return undefined;
	return { ...first, lastChunk: second.lastChunk, artifact: { ...before, parts: [{ text: a.text + b.text }] } };
}
