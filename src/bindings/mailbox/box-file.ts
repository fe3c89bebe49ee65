/** The file of a box: read without following links, replaced as a whole. Nothing here knows what a message is. */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, rm } from "node:fs/promises";
import { errorCode } from "../../lib/errno.ts";
import { replace } from "../../lib/files.ts";

/** What was found at the place of a box. */
export interface Found {
	/** Changes whenever the file does; "" when there is none. */
	readonly stamp: string;
	/** Absent when the file is larger than was asked for. */
	readonly text?: string;
	readonly size: number;
}

const NONE: Found = { stamp: "", text: "", size: 0 };

interface Info {
	readonly ino: bigint;
	readonly size: bigint;
	readonly mtimeNs: bigint;
}
const stampOf = ({ ino, size, mtimeNs }: Info): string => `${ino}:${size}:${mtimeNs}`;

/** The stamp of the file at `path`; "" when there is none. */
export async function stampAt(path: string): Promise<string> {
	try {
		return stampOf(await lstat(path, { bigint: true }));
	} catch (error) {
		if (errorCode(error) === "ENOENT") return "";
		throw error;
	}
}

/** Reads a file of at most `maxBytes`. Throws for a link, a folder, a pipe: nothing outside is ever read as a box. */
export async function readFound(path: string, maxBytes: number): Promise<Found> {
	try {
		// Without O_NONBLOCK a named pipe at this place would block the open.
		const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
		try {
			const info = await file.stat({ bigint: true });
			if (!info.isFile()) throw new Error(`${path} is not a plain file`);
			const found = { stamp: stampOf(info), size: Number(info.size) };
			return found.size > maxBytes ? found : { ...found, text: await file.readFile("utf8") };
		} finally {
			await file.close();
		}
	} catch (error) {
		if (errorCode(error) === "ENOENT") return NONE;
		if (errorCode(error) === "ELOOP") throw new Error(`${path} is a link, which is not followed`, { cause: error });
		throw error;
	}
}

/**
 * Replaces the file at `path` (mode 0600) if its stamp is still `seen`, and gives the new stamp; undefined when somebody
 * who knows no lock has changed it. A link at this place is replaced, not followed. No flush to the disk: a message lives
 * for seconds, and a crash of a process loses nothing.
 */
export async function replaceIf(path: string, seen: string, text: string): Promise<string | undefined> {
	const beside = `${path}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
	try {
		const file = await open(beside, "wx", 0o600);
		let stamp: string;
		try {
			await file.writeFile(text);
			stamp = stampOf(await file.stat({ bigint: true }));
		} finally {
			await file.close();
		}
		if ((await stampAt(path)) !== seen) {
			await rm(beside, { force: true });
			return undefined;
		}
		await replace(beside, path);
		return stamp;
	} catch (error) {
		await rm(beside, { force: true });
		throw error;
	}
}
