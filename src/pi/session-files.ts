/**
 * The conversations of this host's callers, on disk: one Pi session file each in `<agentDir>/a2a_sessions`, and an index
 * that finds the file of a conversation after a restart. What a caller chose (its context id) stands in the index only,
 * never in a file name.
 */
import { appendFileSync } from "node:fs";
import { appendFile, lstat, open, readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { CURRENT_SESSION_VERSION, SessionManager, VERSION } from "@mariozechner/pi-coding-agent";
import { bornAt } from "../lib/claim.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { privateFolder, withLock, writeText } from "../lib/files.ts";
import { newestFiles } from "../lib/folder.ts";
import { newId } from "../lib/ids.ts";
import { JsonlFile, readLines } from "../lib/jsonl.ts";
import { isAlive } from "../lib/lock.ts";
import { attempt, type Log } from "../lib/log.ts";

/** What makes a conversation one: the same three continue the same session. */
export interface ConversationKey {
	readonly caller: string;
	readonly context: string;
	readonly workspace: string;
}

/** A line of the index: who has the session file of a conversation. The last line of a conversation counts. */
interface Claim extends ConversationKey {
	readonly file: string;
	readonly pid: number;
	/** When that process started, in the system's own units; "" where the system does not tell. */
	readonly born: string;
}

/** `<timestamp>_<taskId>.jsonl`, the form in which Pi names sessions. */
const FILE = /^\d{4}-\d\d-\d\dT[\dZ-]+_[A-Za-z0-9_-]{1,80}\.jsonl$/;
const DAY_MS = 86_400_000;

const folderOf = (agentDir: string) => join(agentDir, "a2a_sessions");
/** Hidden, so that a tool that lists the sessions of the folder does not take it for one. */
const indexOf = (agentDir: string) => join(folderOf(agentDir), ".conversations");

function isClaim(value: unknown): value is Claim {
	const { caller, context, workspace, file, pid, born } = (value ?? {}) as { readonly [key in keyof Claim]?: unknown };
	const texts = [caller, context, workspace, file, born].every((text) => typeof text === "string");
	return texts && typeof pid === "number" && FILE.test(file as string);
}

const isSame = (a: ConversationKey, b: ConversationKey) =>
	a.caller === b.caller && a.context === b.context && a.workspace === b.workspace;

/** Another process of this machine still works with the file. Two writers would tear the history apart. */
function isTaken({ pid, born }: Claim): boolean {
	if (pid === process.pid || !isAlive(pid)) return false;
	return born === "" || bornAt(pid) === born;
}

/** Whether a file is a session as its first line says. 0.73 would overwrite any other file, 1.x throw. */
async function isSession(path: string): Promise<boolean> {
	try {
		if (!(await lstat(path)).isFile()) return false;
		const file = await open(path, "r");
		try {
			const { buffer, bytesRead } = await file.read(Buffer.alloc(16_384), 0, 16_384, 0);
			const [line = ""] = buffer.toString("utf8", 0, bytesRead).split("\n");
			return (JSON.parse(line) as { type?: unknown } | null)?.type === "session";
		} finally {
			await file.close();
		}
	} catch {
		return false; // gone, not ours to read, or no JSON: none of it can be continued
	}
}

async function claims(agentDir: string): Promise<Claim[]> {
	return (await readLines(indexOf(agentDir))).filter(isClaim);
}

/**
 * A new session file named after the task, with its first line. It is there before the work begins, so a worker that
 * is killed leaves what it was asked; and it is created by us, because Pi would make it readable for all.
 */
async function create(folder: string, taskId: string, cwd: string, clock: Clock): Promise<string> {
	const timestamp = new Date(clock.now()).toISOString();
	const id = /^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$/.test(taskId) ? taskId : newId("task");
	const path = join(folder, `${timestamp.replace(/[:.]/g, "-")}_${id}.jsonl`);
	const header = { type: "session", version: CURRENT_SESSION_VERSION, id, timestamp, cwd };
	await writeFile(path, `${JSON.stringify(header)}\n`, { flag: "wx", mode: 0o600 });
	return path;
}

/**
 * Opens a session file that has its first line. Pi 0.x holds everything back until the model has answered and then
 * writes it from the first line on, once more; here each entry is written as it comes, as 1.x does.
 */
function openFile(path: string, folder: string, cwd: string): SessionManager {
	const manager = SessionManager.open(path, folder, cwd);
	if (VERSION.startsWith("0.")) {
		const write = (entry: object) => appendFileSync(path, `${JSON.stringify(entry)}\n`, { mode: 0o600 });
		(manager as unknown as { _persist: typeof write })._persist = write;
	}
	return manager;
}

/** The last claim of a conversation, and its file when that can be gone on with. */
async function found(agentDir: string, key: ConversationKey): Promise<{ last?: Claim; path?: string }> {
	const last = (await claims(agentDir)).findLast((claim) => isSame(claim, key));
	if (!last) return {};
	const path = join(folderOf(agentDir), last.file);
	return !isTaken(last) && (await isSession(path)) ? { last, path } : { last };
}

/** Ends a line that a crash cut short, so that the next one is not lost with it. */
async function mendEnd(path: string): Promise<void> {
	const text = await readFile(path);
	if (text.length > 0 && text.at(-1) !== 0x0a) await appendFile(path, "\n");
}

/** The entries of a conversation's transcript, oldest first; undefined when there is none that can be gone on with. */
export async function readTranscript(agentDir: string, key: ConversationKey): Promise<readonly unknown[] | undefined> {
	const { path } = await found(agentDir, key);
	return path === undefined ? undefined : readLines(path);
}

/**
 * The session of a conversation: its own file of earlier turns, or a new one named after `taskId`. Claims the file for
 * this process. A file that another live host has claimed, or that is no session any more, is left alone.
 */
export async function openTranscript(
	agentDir: string,
	key: ConversationKey,
	taskId: string,
	clock: Clock = systemClock,
): Promise<{ readonly manager: SessionManager; readonly resumed: boolean }> {
	const folder = folderOf(agentDir);
	await privateFolder(folder);
	return withLock(indexOf(agentDir), async () => {
		const { last, path: known } = await found(agentDir, key);
		const resumed = known !== undefined;
		if (resumed) await mendEnd(known);
		const path = resumed ? known : await create(folder, taskId, key.workspace, clock);
		const claim: Claim = { ...key, file: basename(path), pid: process.pid, born: bornAt(process.pid) };
		if (last?.file !== claim.file || last.pid !== claim.pid || last.born !== claim.born) {
			await new JsonlFile(indexOf(agentDir)).append(claim);
		}
		return { manager: openFile(path, folder, key.workspace), resumed };
	});
}

/** Whether the file of a session in memory is still there; it may have been swept or deleted by hand. */
export async function isIntact(manager: SessionManager): Promise<boolean> {
	const path = manager.getSessionFile();
	return path === undefined || isSession(path);
}

/**
 * Deletes transcripts that nothing was written to for `days` days, and forgets their conversations; 0 keeps all. Those
 * of other live hosts stay. Gives how many were deleted. Never throws: what could not be deleted is said in the log.
 */
export async function sweepTranscripts(
	agentDir: string,
	days: number,
	log: Log,
	clock: Clock = systemClock,
): Promise<number> {
	if (days <= 0) return 0;
	const swept = await attempt(
		"delete old transcripts",
		() => withLock(indexOf(agentDir), () => sweep(agentDir, clock.now() - days * DAY_MS, log)),
		log,
	);
	return swept ?? 0;
}

async function sweep(agentDir: string, before: number, log: Log): Promise<number> {
	const files = (await newestFiles(folderOf(agentDir), ".jsonl")).filter(({ path }) => FILE.test(basename(path)));
	const known = await claims(agentDir);
	const taken = new Set(known.filter(isTaken).map((claim) => claim.file));
	const gone = new Set<string>();
	for (const { path, modified } of files) {
		const name = basename(path);
		if (modified >= before || taken.has(name)) continue;
		await attempt("delete an old transcript", () => rm(path).then(() => gone.add(name)), log);
	}
	// The index keeps one line for each conversation whose file is there.
	const there = new Set(files.map(({ path }) => basename(path)).filter((name) => !gone.has(name)));
	const kept = known.filter(
		(claim, i) => there.has(claim.file) && !known.slice(i + 1).some((later) => isSame(later, claim)),
	);
	if (kept.length < known.length) {
		await writeText(indexOf(agentDir), kept.map((claim) => `${JSON.stringify(claim)}\n`).join(""));
	}
	return gone.size;
}
