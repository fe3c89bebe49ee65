/**
 * The files that come with a task, in `<agentDir>/a2a_files/<task>/in`: a folder of its own that nobody else may read.
 * Their names are made here; what the sender called them is told to the model and never becomes a path.
 */
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { SavedFile } from "../guard/inbound.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { cleanName, privateFolder, writeNew } from "../lib/drop.ts";
import { errorCode } from "../lib/errno.ts";
import { safeName } from "../lib/files.ts";
import { attempt, type Log } from "../lib/log.ts";
import { cleanMediaType, mediaTypeOf } from "../lib/media-types.ts";
import type { Part } from "../protocol/types.ts";
import type { PromptImage } from "./session-child.ts";

const DAY_MS = 86_400_000;
/** Text up to this size is quoted to the model at once, in bytes. */
const QUOTED = 16_384;
/** What every provider reads, and the most that all of them take for one picture, in characters of base64. */
const PICTURES = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const MAX_PICTURE = 4_500_000;

const rootOf = (agentDir: string) => join(agentDir, "a2a_files");

/** The folder of a task's files. It need not be there. */
export const taskFolder = (agentDir: string, taskId: string): string => join(rootOf(agentDir), safeName(taskId));

/** The text of a small file; undefined when it is large or no text. */
function quotable(bytes: Buffer): string | undefined {
	if (bytes.length > QUOTED || bytes.includes(0)) return undefined;
	const text = bytes.toString("utf8");
	return Buffer.from(text).equals(bytes) ? text : undefined;
}

/** Files as they were put down, and the pictures among them for a model that can see. */
export interface Received {
	readonly files: readonly SavedFile[];
	readonly images: readonly PromptImage[];
}

/** Writes the files among `parts` into the task's folder. Throws when that cannot be done. */
export async function receive(agentDir: string, taskId: string, parts: readonly Part[]): Promise<Received> {
	const files: SavedFile[] = [];
	const images: PromptImage[] = [];
	if (!parts.some((part) => "raw" in part)) return { files, images };
	const folder = taskFolder(agentDir, taskId);
	const inbox = join(folder, "in");
	for (const each of [rootOf(agentDir), folder, inbox]) await privateFolder(each);
	for (const [index, part] of parts.entries()) {
		if (!("raw" in part)) continue;
		// ProtoJSON also allows the URL alphabet, which this reads as well; providers do not.
		const bytes = Buffer.from(part.raw, "base64");
		const mediaType = cleanMediaType(part.mediaType) ?? mediaTypeOf(part.filename ?? "");
		const path = await writeNew(inbox, cleanName(part.filename ?? "", mediaType), bytes);
		const text = PICTURES.includes(mediaType) ? undefined : quotable(bytes);
		files.push({ index, path, mediaType, bytes: bytes.length, ...(text === undefined ? {} : { text }) });
		const data = bytes.toString("base64");
		const shown = PICTURES.includes(mediaType) && data.length <= MAX_PICTURE;
		if (shown) images.push({ type: "image", data, mimeType: mediaType });
	}
	return { files, images };
}

/** When something in a task's folder was last changed. */
async function changed(folder: string): Promise<number> {
	const times = [folder, join(folder, "in")].map((path) =>
		stat(path).then(
			(info) => info.mtimeMs,
			() => 0, // a task that has brought no file
		),
	);
	return Math.max(...(await Promise.all(times)));
}

/**
 * Deletes the files of tasks that got none for `days` days; 0 keeps all. Never throws: what could not be deleted is said
 * in the log.
 */
export async function sweepFiles(agentDir: string, days: number, log: Log, clock: Clock = systemClock): Promise<void> {
	if (days <= 0) return;
	const sweep = async () => {
		const root = rootOf(agentDir);
		const before = clock.now() - days * DAY_MS;
		const entries = await readdir(root, { withFileTypes: true }).catch((error: unknown) => {
			if (errorCode(error) === "ENOENT") return [];
			throw error;
		});
		for (const entry of entries) {
			const folder = join(root, entry.name);
			// Only what this wrote: a link, or a folder that somebody else put here, stays.
			if (!entry.isDirectory() || safeName(entry.name) !== entry.name) continue;
			if ((await changed(folder)) < before)
				await attempt("delete old files", () => rm(folder, { recursive: true }), log);
		}
	};
	await attempt("delete old files of tasks", sweep, log);
}
