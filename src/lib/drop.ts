/** Files of others put down here: names made safe, folders that nobody else reads, nothing ever written over. */
import { constants } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "./errno.ts";
import { safeName } from "./files.ts";
import { extensionOf, usualExtension } from "./media-types.ts";

export { privateFolder } from "./files.ts";

/** A file name for what somebody calls `name`: safe everywhere, small letters, with the end that tells what it is. */
export function cleanName(name: string, mediaType: string): string {
	const base = name.split(/[/\\]/).at(-1) ?? "";
	const end = extensionOf(base);
	const stem = (end ? base.slice(0, -end.length - 1) : base)
		.toLowerCase()
		.replace(/[^a-z0-9_-]+/g, "-")
		.replace(/^-+|-+$/g, "")
		.slice(0, 60);
	const extension = end || usualExtension(mediaType);
	return `${safeName(stem || "file")}${extension ? `.${extension}` : ""}`;
}

/** Whether `path` is a regular file, no link, that holds exactly `bytes`. */
async function holds(path: string, bytes: Uint8Array): Promise<boolean> {
	const info = await lstat(path);
	if (!info.isFile() || info.size !== bytes.length) return false;
	// The name may be given to something else meanwhile; Windows knows no such flags.
	const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
	try {
		return (await file.readFile()).equals(bytes);
	} finally {
		await file.close();
	}
}

/**
 * Writes a new file of that name, or of that name and a number; gives its path. Never over a file, never through a link.
 * `again`: a file of that name with the same bytes is the same file, and is not written twice.
 */
export async function writeNew(folder: string, name: string, bytes: Uint8Array, again = false): Promise<string> {
	const dot = name.lastIndexOf(".");
	const [stem, end] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ""];
	for (let n = 1; ; n++) {
		const path = join(folder, n === 1 ? name : `${stem}-${n}${end}`);
		try {
			const file = await open(path, "wx", 0o600);
			await file.writeFile(bytes).finally(() => file.close());
			return path;
		} catch (error) {
			if (errorCode(error) !== "EEXIST" || n >= 10_000) throw error;
			if (again && (await holds(path, bytes))) return path;
		}
	}
}
