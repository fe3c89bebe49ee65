/** What was said with peers, one file per context; also which question of a peer is still open, across restarts. */
import type { Clock } from "../lib/clock.ts";
import { privateFolder, safeName } from "../lib/files.ts";
import { newestFiles } from "../lib/folder.ts";
import { JsonlFile, readLines } from "../lib/jsonl.ts";
import { clip, plain } from "../lib/text.ts";
import { isObject } from "../protocol/json.ts";
import { type ContextId, contextId, TASK_STATES, type TaskId, type TaskState, taskId } from "../protocol/types.ts";
import type { FileFact } from "./files-out.ts";

/** One thing that was said. */
export interface Turn {
	/** ISO 8601, UTC. */
	readonly time: string;
	readonly contextId: ContextId;
	/** The peer's name at that time, and its address, which is what tells peers apart. */
	readonly peer: string;
	readonly address: string;
	/** We spoke, or the peer did. */
	readonly role: "user" | "agent";
	/** Lines and tabs stay; what steers a terminal was removed. */
	readonly text: string;
	/** The peer's state when it spoke. */
	readonly state?: TaskState | "MESSAGE";
	readonly taskId?: TaskId;
	/** The files that went with it, by name and size. */
	readonly files?: readonly FileFact[];
}

export interface ConversationSummary {
	readonly contextId: ContextId;
	/** Names of those who took part. */
	readonly peers: readonly string[];
	/** ISO 8601, UTC, of the last turn. */
	readonly time: string;
	/** The beginning of the last turn, with its line breaks. */
	readonly text: string;
	readonly state?: TaskState | "MESSAGE";
	readonly taskId?: TaskId;
	/** The peer asked something that was not answered yet. */
	readonly open: boolean;
}

export interface Conversations {
	/** Writes down one turn; the time is added. */
	append(turn: Omit<Turn, "time">): Promise<void>;
	/** The newest `limit` turns of a context (default 20, at most 200), oldest first. */
	recall(context: string, limit?: number): Promise<readonly Turn[]>;
	/** The newest `limit` conversations (default 20), newest first. */
	list(limit?: number): Promise<readonly ConversationSummary[]>;
	/** The task whose question that peer wants answered in the context. */
	openQuestion(context: string, address: string): Promise<TaskId | undefined>;
	/** Whether the context is a conversation in which the peer at `address` has had no part. */
	isOthers(context: string, address: string): Promise<boolean>;
}

/** Longest text of one turn that is kept. */
const MAX_TEXT = 64 * 1024;
/** A conversation keeps its last megabytes. */
const MAX_BYTES = 2 * 1024 * 1024;
/** Turns that are looked at for what is still open. */
const LOOK_BACK = 60;

/** Conversations in the folder `dir`, `<agentDir>/a2a_conversations`. */
export function createConversations(dir: string, clock: Clock): Conversations {
	const fileOf = (context: string): string => `${dir}/${safeName(context)}.jsonl`;

	async function turns(path: string, last: number): Promise<readonly Turn[]> {
		return (await readLines(path, { last })).flatMap(readTurn);
	}

	async function recent(context: string): Promise<readonly Turn[]> {
		return (await turns(fileOf(context), LOOK_BACK)).filter((turn) => turn.contextId === context);
	}

	return {
		async append(turn) {
			await privateFolder(dir);
			const file = new JsonlFile(fileOf(turn.contextId), { maxBytes: MAX_BYTES, keep: 1 });
			const text = clip(plain(turn.text), MAX_TEXT);
			await file.append({ time: new Date(clock.now()).toISOString(), ...turn, text });
			await file.close();
		},
		async recall(context, limit = 20) {
			const path = fileOf(context);
			const count = Math.min(200, Math.max(1, Math.floor(limit)));
			const found = await turns(path, count);
			// The file may have been turned over a moment ago.
			const before = found.length < count ? await turns(`${path}.1`, count - found.length) : [];
			return [...before, ...found];
		},
		async list(limit = 20) {
			const files = (await newestFiles(dir, ".jsonl")).slice(0, limit);
			const summaries = await Promise.all(files.map(async ({ path }) => summary(await turns(path, LOOK_BACK))));
			return summaries.flatMap((each) => each ?? []).sort((a, b) => (a.time < b.time ? 1 : -1));
		},
		async openQuestion(context, address) {
			return openTask((await recent(context)).filter((turn) => turn.address === address));
		},
		async isOthers(context, address) {
			const said = await recent(context);
			return said.length > 0 && said.every((turn) => turn.address !== address);
		},
	};
}

/** The task that the last turn asks about, when the last turn is a question. */
function openTask(turns: readonly Turn[]): TaskId | undefined {
	const last = turns.at(-1);
	const asks = last?.state === "TASK_STATE_INPUT_REQUIRED" || last?.state === "TASK_STATE_AUTH_REQUIRED";
	return last?.role === "agent" && asks ? last.taskId : undefined;
}

function summary(turns: readonly Turn[]): ConversationSummary | undefined {
	const last = turns.at(-1);
	if (!last) return undefined;
	return {
		contextId: last.contextId,
		peers: [...new Set(turns.map((turn) => turn.peer))],
		time: last.time,
		text: clip(last.text, 200),
		...(last.state ? { state: last.state } : {}),
		...(last.taskId ? { taskId: last.taskId } : {}),
		open: openTask(turns) !== undefined,
	};
}

/** The turn in a line of a file; nothing for a line that is none. */
function readTurn(value: unknown): Turn[] {
	if (typeof value !== "object" || value === null) return [];
	const {
		time,
		contextId: context,
		peer,
		address,
		role,
		text,
		state,
		taskId: task,
		files,
	} = { ...value } as {
		readonly [key: string]: unknown;
	};
	const strings = [time, context, peer, address, text].every((each) => typeof each === "string");
	if (!strings || (role !== "user" && role !== "agent")) return [];
	const known = state === "MESSAGE" ? state : TASK_STATES.find((each) => each === state);
	return [
		{
			time: String(time),
			contextId: contextId(String(context)),
			peer: String(peer),
			address: String(address),
			role,
			text: String(text),
			...(known ? { state: known } : {}),
			...(typeof task === "string" ? { taskId: taskId(task) } : {}),
			...(Array.isArray(files) ? { files: files.flatMap(readFile) } : {}),
		},
	];
}

function readFile(value: unknown): FileFact[] {
	if (!isObject(value) || typeof value.name !== "string" || typeof value.bytes !== "number") return [];
	return [{ name: plain(value.name), bytes: value.bytes }];
}
