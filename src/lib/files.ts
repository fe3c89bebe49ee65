/** Small files that several processes share: atomic JSON, an advisory lock, names that are safe to be paths. */
import { createHash, randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { chmod, type FileHandle, lstat, mkdir, open, readFile, realpath, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { errorCode } from "./errno.ts";

export { withLock } from "./lock.ts";

/** Whether somebody else owns it; without user ids (Windows) nobody does. */
const isForeign = (uid: number): boolean => process.getuid !== undefined && uid !== process.getuid();

/**
 * Makes a folder that is nobody else's to read, or makes the one that is there so. Throws when something else stands in
 * its place, a link for instance, or when it belongs to somebody else.
 */
export async function privateFolder(path: string): Promise<void> {
	await mkdir(path, { recursive: true, mode: 0o700 }).catch((error: unknown) => {
		if (errorCode(error) !== "EEXIST") throw error;
	});
	const info = await lstat(path);
	if (!info.isDirectory()) throw new Error(`${path} is in the way: it must be a folder`);
	if (isForeign(info.uid)) throw new Error(`${path} belongs to another user`);
	if ((info.mode & 0o077) !== 0) await chmod(path, 0o700);
}

/**
 * Opens a file of ours (a new one has mode 0600; one that others may read is made so). Throws when it is a link, no
 * regular file, or somebody else's: it is looked at once it is open, so it cannot be exchanged in between.
 */
export async function openPrivate(path: string, flags: "r" | "a"): Promise<FileHandle> {
	// Opening a pipe would wait for its other end; Windows knows no such flags.
	const careful = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
	const way = flags === "r" ? constants.O_RDONLY : constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;
	let file: FileHandle;
	try {
		file = await open(path, way | careful, 0o600);
	} catch (error) {
		const why = { ELOOP: "it is a symbolic link", ENXIO: "it is not a file", EISDIR: "it is a folder" }[
			errorCode(error) ?? ""
		];
		throw why === undefined ? error : new Error(`${path} is not used: ${why}`, { cause: error });
	}
	try {
		const info = await file.stat();
		if (!info.isFile()) throw new Error(`${path} is not used: it is not a file`);
		if (isForeign(info.uid)) throw new Error(`${path} is not used: it belongs to another user`);
		if (info.nlink > 1) throw new Error(`${path} is not used: it is a hard link to another file`);
		if (process.platform !== "win32" && (info.mode & 0o077) !== 0) await file.chmod(0o600);
		return file;
	} catch (error) {
		await file.close();
		throw error;
	}
}

/** The value in a JSON file; `undefined` when there is no file. Throws an error that names the path on bad JSON. */
export async function readJson(path: string): Promise<unknown> {
	let text: string;
	try {
		text = await readFile(path, "utf8");
	} catch (error) {
		if (errorCode(error) === "ENOENT") return undefined;
		throw error;
	}
	try {
		// An editor on Windows may have put a byte order mark in front.
		return JSON.parse(text.replace(/^\ufeff/, ""));
	} catch (error) {
		throw new Error(`${path} is not valid JSON: ${error instanceof Error ? error.message : String(error)}`, {
			cause: error,
		});
	}
}

/** Where a write must go: through a symbolic link to the file that it names. */
async function target(path: string): Promise<string> {
	try {
		return await realpath(path);
	} catch (error) {
		if (errorCode(error) === "ENOENT") return path;
		throw error;
	}
}

/** Windows refuses a rename while a scanner or reader has the file open; it lets go within moments. */
export async function replace(from: string, to: string): Promise<void> {
	for (let attempt = 0; ; attempt++) {
		try {
			return await rename(from, to);
		} catch (error) {
			const busy = ["EPERM", "EACCES", "EBUSY"].includes(errorCode(error) ?? "");
			if (!busy || process.platform !== "win32" || attempt >= 8) throw error;
			await pause(10 * 2 ** attempt);
		}
	}
}

/**
 * Writes text so that a reader sees the old file or the new one, never a part. File mode 0600, new folders 0700. What
 * stands at `path` is replaced, a link as well; `followed`: the file that a link leads to is, where people may have put one.
 */
export async function writeText(path: string, text: string, how?: "followed"): Promise<void> {
	await mkdir(dirname(path), { recursive: true, mode: 0o700 });
	const to = how === "followed" ? await target(path) : path;
	const beside = `${to}.${process.pid}.${randomBytes(4).toString("hex")}.tmp`;
	try {
		const file = await open(beside, "wx", 0o600);
		try {
			await file.writeFile(text);
			await file.sync();
		} finally {
			await file.close();
		}
		await replace(beside, to);
	} catch (error) {
		await rm(beside, { force: true });
		throw error;
	}
}

/** `writeText` of `value` as indented JSON with a final newline. */
export function writeJson(path: string, value: unknown): Promise<void> {
	return writeText(path, `${JSON.stringify(value, undefined, 2)}\n`);
}

/** Device names that Windows reserves, whatever the extension. */
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/;

/**
 * A file name for `id`: safe on every system, and different ids never share one, not even where case is ignored. An
 * id that is safe already stays readable as it is.
 */
export function safeName(id: string): string {
	if (/^[a-z0-9_-][a-z0-9._-]{0,79}$/.test(id) && !id.endsWith(".") && !RESERVED.test(id)) return id;
	const readable = id
		.toLowerCase()
		.replace(/[^a-z0-9_-]+/g, "-")
		.slice(0, 40);
	// `~` cannot stand in an id that is kept as it is.
	return `${readable}~${createHash("sha256").update(id).digest("hex").slice(0, 24)}`;
}
