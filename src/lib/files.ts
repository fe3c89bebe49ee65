/** Small files that several processes share: atomic JSON, an advisory lock, names that are safe to be paths. */
import { createHash, randomBytes } from "node:crypto";
import { mkdir, open, readFile, realpath, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { errorCode } from "./errno.ts";

export { withLock } from "./lock.ts";

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
async function replace(from: string, to: string): Promise<void> {
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

/** Writes text so that a reader sees the old file or the new one, never a part. File mode 0600, new folders 0700. */
export async function writeText(path: string, text: string): Promise<void> {
	await mkdir(dirname(path), { recursive: true, mode: 0o700 });
	const to = await target(path);
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
