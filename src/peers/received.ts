/**
 * What an answer brings beside text. Files are put down in `<agentDir>/a2a_received/<peer>/<task>`, under names made
 * here; addresses are shown and never fetched; data is kept as it is.
 */
import { readdir, rm, rmdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { redactFile } from "../guard/redact.ts";
import type { Clock } from "../lib/clock.ts";
import { cleanName, privateFolder, writeNew } from "../lib/drop.ts";
import { errorCode } from "../lib/errno.ts";
import { safeName } from "../lib/files.ts";
import { newId } from "../lib/ids.ts";
import { attempt, type Log } from "../lib/log.ts";
import { cleanMediaType, mediaTypeOf } from "../lib/media-types.ts";
import { oneLine } from "../lib/text.ts";
import type { Json, Part } from "../protocol/types.ts";
import { PeerError, type PeerReply } from "./reply.ts";

/** A file of an answer, as it was put down. */
export interface ReceivedFile {
	/** What the peer calls it, in one clean line; never a path. */
	readonly name: string;
	/** Where it is. */
	readonly path: string;
	readonly mediaType: string;
	readonly bytes: number;
	/** The artifact that it belongs to. */
	readonly artifactId?: string;
}

/** A file that the peer only gave an address of. */
export interface Link {
	readonly url: string;
	readonly name?: string;
	readonly mediaType?: string;
}

/** What an answer has beside its text. */
export interface Content {
	readonly files: readonly ReceivedFile[];
	readonly links: readonly Link[];
	/** Data parts, complete. */
	readonly data: readonly Json[];
}

export interface ReceiveParts {
	/** The folder of all received files, `<agentDir>/a2a_received`; the one above it exists. */
	readonly dir: string;
	readonly limits: { readonly maxBytes: number; readonly maxTotalBytes: number; readonly maxCount: number };
	/** Days that files are kept; 0: for ever. */
	readonly keepDays: number;
	/** Takes our own credentials out of text files: a peer may say ours back. */
	readonly withoutKnown: (text: string) => string;
	readonly clock: Clock;
	readonly log: Log;
}

export interface Receiver {
	/** Puts the files of a settled answer down. Gives the answer with its `content` and without the bytes. Never throws. */
	take(reply: PeerReply): Promise<PeerReply>;
	/** Puts the files down that a task had made before it ended badly; gives the error that names them. Never throws. */
	rescue(error: PeerError): Promise<PeerError>;
	/** Deletes files older than the days to keep. Never throws. */
	sweep(): Promise<void>;
}

/** Data longer than this in JSON is no more for reading: it is put down as a file as well. */
const READABLE = 40_000;
const MAX_LINKS = 100;
const DAY_MS = 86_400_000;

type Found = { readonly part: Part; readonly artifactId?: string };

const partsOf = ({ artifacts, said = [] }: PeerReply): readonly Found[] => [
	...artifacts.flatMap(({ artifactId, parts }) => parts.map((part) => ({ part, artifactId }))),
	...said.map((part) => ({ part })),
];

/** A file, or data too long to be read, as a file. */
function fileOf(
	part: Part,
): { readonly raw: string; readonly filename: string; readonly mediaType: string } | undefined {
	const filename = oneLine(part.filename ?? "", 200);
	if ("raw" in part) {
		const mediaType = cleanMediaType(part.mediaType) ?? mediaTypeOf(filename);
		return { raw: part.raw, filename: filename || "file", mediaType };
	}
	if (!("data" in part)) return undefined;
	const json = JSON.stringify(part.data);
	if (json.length <= READABLE) return undefined;
	return {
		raw: Buffer.from(json).toString("base64"),
		filename: filename || "data.json",
		mediaType: "application/json",
	};
}

const withoutBytes = (part: Part): Part => ("raw" in part ? { ...part, raw: "" } : part);

export function createReceiver(parts: ReceiveParts): Receiver {
	const { dir, limits, clock, log } = parts;

	async function folderFor({ peer, taskId, contextId }: PeerReply): Promise<string> {
		const ofPeer = join(dir, safeName(peer));
		const folder = join(ofPeer, safeName(taskId ?? contextId ?? newId("message")));
		for (const each of [dir, ofPeer, folder]) await privateFolder(each);
		return folder;
	}

	async function save(reply: PeerReply, found: readonly Found[]) {
		const files: ReceivedFile[] = [];
		const left = new Map<string, string[]>();
		const leave = (why: string, name: string) => left.set(why, [...(left.get(why) ?? []), name]);
		let folder: string | undefined;
		let total = 0;
		for (const { part, artifactId } of found) {
			const file = fileOf(part);
			if (!file) continue;
			const size = Buffer.byteLength(file.raw.replace(/=+$/, ""), "base64");
			if (files.length >= limits.maxCount)
				leave(`${limits.maxCount} files are kept (files.receive.maxCount)`, file.filename);
			else if (size > limits.maxBytes)
				leave(`at most ${limits.maxBytes} bytes are kept of one (files.receive.maxBytes)`, file.filename);
			else if (total + size > limits.maxTotalBytes)
				leave(`at most ${limits.maxTotalBytes} bytes are kept of all (files.receive.maxTotalBytes)`, file.filename);
			else {
				const { mediaType, filename: name } = file;
				try {
					const bytes = Buffer.from(redactFile(file, parts.withoutKnown).raw, "base64");
					folder ??= await folderFor(reply);
					const path = await writeNew(folder, cleanName(name, mediaType), bytes, true);
					files.push({ name, path, mediaType, bytes: bytes.length, ...(artifactId ? { artifactId } : {}) });
					total += bytes.length;
				} catch (error) {
					leave(oneLine(error instanceof Error ? error.message : String(error), 200), name);
				}
			}
		}
		const notes = [...left].map(([why, names]) => {
			const some = names
				.slice(0, 3)
				.map((name) => oneLine(name, 60))
				.join(", ");
			const more = names.length > 3 ? ` and ${names.length - 3} more` : "";
			return `Not kept: ${some}${more}: ${why}.`;
		});
		return { files, notes };
	}

	return {
		async take(reply) {
			const found = partsOf(reply);
			const isPlain = found.every(({ part }) => "text" in part);
			// What still grows is put down when it is complete.
			if (isPlain || reply.running) return stripped(reply);
			const { files, notes } = await save(reply, found);
			const links = found.flatMap(({ part }) => ("url" in part ? [linkOf(part)] : []));
			const data = found.flatMap(({ part }) => ("data" in part ? [part.data] : []));
			const surplus = links.length > MAX_LINKS ? [`${links.length - MAX_LINKS} more links are not shown.`] : [];
			return {
				...stripped(reply),
				content: { files, links: links.slice(0, MAX_LINKS), data },
				notes: [...reply.notes, ...notes, ...surplus],
			};
		},
		async rescue(error) {
			const { peer, taskId, contextId, made, state } = error;
			if (!made || !state) return error;
			const ids = { ...(taskId ? { taskId } : {}), ...(contextId ? { contextId } : {}) };
			const found = partsOf({ ...NOTHING, ...made });
			const { files, notes } = await save({ ...NOTHING, ...ids, peer }, found);
			if (files.length === 0 && notes.length === 0) return error;
			const names = files.map(({ name, path }) => `${oneLine(name, 60)} (${path})`).join(", ");
			const kept = names ? [`What it had made is here: ${names}.`] : [];
			return new PeerError([ended(error.message), ...kept, ...notes].join(" "), {
				...error,
				made: undefined,
				cause: error,
			});
		},
		async sweep() {
			if (parts.keepDays <= 0) return;
			await attempt("delete old received files", () => sweep(dir, clock.now() - parts.keepDays * DAY_MS), log);
		},
	};
}

/** An answer with nothing in it. */
const NOTHING: PeerReply = {
	peer: "",
	state: "MESSAGE",
	text: "",
	artifacts: [],
	running: false,
	notes: [],
	durationMs: 0,
};

/** `text` as a sentence of its own. */
const ended = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);

/** The answer without the bytes of its files: they are on disk, and belong in no log. */
function stripped({ said, ...reply }: PeerReply): PeerReply {
	const artifacts = reply.artifacts.map((artifact) => ({ ...artifact, parts: artifact.parts.map(withoutBytes) }));
	return { ...reply, artifacts, ...(said ? { said: said.map(withoutBytes) } : {}) };
}

function linkOf(part: Part & { readonly url: string }): Link {
	const mediaType = cleanMediaType(part.mediaType);
	return {
		url: oneLine(part.url, 2000),
		...(part.filename ? { name: oneLine(part.filename, 200) } : {}),
		...(mediaType ? { mediaType } : {}),
	};
}

/** Deletes the folders of tasks, two levels down, in which nothing changed since `before`. Links are left alone. */
async function sweep(dir: string, before: number): Promise<void> {
	for (const peer of await foldersIn(dir)) {
		const tasks = await foldersIn(peer);
		let left = tasks.length;
		for (const task of tasks) {
			if ((await stat(task)).mtimeMs >= before) continue;
			await rm(task, { recursive: true });
			left -= 1;
		}
		if (left === 0 && tasks.length > 0) await rmdir(peer).catch(notEmpty);
	}
}

/** Somebody put something there meanwhile, or it is gone: either way there is nothing to delete. */
const notEmpty = (_error: unknown): undefined => undefined;

async function foldersIn(path: string): Promise<string[]> {
	try {
		const entries = await readdir(path, { withFileTypes: true });
		return entries.filter((entry) => entry.isDirectory()).map((entry) => join(path, entry.name));
	} catch (error) {
		if (errorCode(error) === "ENOENT") return [];
		throw error;
	}
}
