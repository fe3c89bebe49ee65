/** Reading a file that somebody named: a regular one, of a bounded size, whatever the name leads to. */
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir, realpath } from "node:fs/promises";
import { isAbsolute, join, relative, resolve } from "node:path";
import { errorCode } from "./errno.ts";

/** Whether `path` lies in `folder`; both as they really are. The folder itself does not. */
export const isInside = (path: string, folder: string): boolean => {
	const way = relative(folder, path);
	return way !== "" && way !== ".." && !way.startsWith("../") && !way.startsWith("..\\") && !isAbsolute(way);
};

/** Where a path really leads; the path itself where there is nothing (yet). */
export const real = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));

const isSame = (a: Stats, b: Stats): boolean => a.dev === b.dev && a.ino === b.ino;

/** Throws unless `path`, which was checked as where a file really is, still leads to the very file that is open. */
async function checkPlace(path: string, info: Stats, asked: string): Promise<void> {
	const before = await realpath(path);
	const there = await lstat(path);
	if (isSame(there, info) && before === (await realpath(path)) && before === path) return;
	throw new Error(`${asked}: the file was exchanged while it was opened. Give it when nobody changes it.`);
}

/** At most `size` bytes of a file and, when there is more in it, one further. */
async function upTo(file: FileHandle, size: number): Promise<Buffer> {
	const bytes = Buffer.allocUnsafe(size + 1);
	let at = 0;
	while (at < bytes.length) {
		const { bytesRead } = await file.read(bytes, at, bytes.length - at, at);
		if (bytesRead === 0) break;
		at += bytesRead;
	}
	return bytes.subarray(0, at);
}

/**
 * The bytes of the regular file at `path`, at most `max`. `path` is where the file really is (`real`), checked by the
 * caller; a folder on the way that becomes a link meanwhile is noticed. `apart`: folders whose files are not read under
 * another name either (hard links). Throws an error that names it as `asked` does.
 */
export async function readRegular(
	path: string,
	asked: string,
	max: number,
	apart: readonly string[] = [],
): Promise<Buffer> {
	const not = () => new Error(`${asked}: it is not a file. Give one file at a time; put a folder into an archive.`);
	// Looked at first: opening a pipe would wait for its other end.
	if (!(await lstat(path)).isFile()) throw not();
	// The name may be given to something else meanwhile; Windows knows no such flags.
	const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
	const file = await open(path, flags);
	try {
		const info = await file.stat();
		if (!info.isFile()) throw not();
		await checkPlace(path, info, asked);
		if (info.size > max) {
			throw new Error(`${asked}: ${info.size} bytes are too many, ${max} are allowed. Give a smaller file.`);
		}
		if (info.nlink > 1 && (await isAmong(info, apart))) {
			throw new Error(`${asked}: it is another name of a file in a folder whose files are not given out.`);
		}
		const bytes = await upTo(file, info.size);
		// What the system makes up when it is read (`/proc`: variables and memory of processes) says a wrong size or none.
		if (bytes.length !== info.size) {
			throw new Error(`${asked}: it has not the size that it says. Give a file on disk, when it is complete.`);
		}
		return bytes;
	} finally {
		await file.close();
	}
}

/** Entries of folders that are looked at for a second name of a file. */
const MOST = 50_000;

/** Whether the file is one of those in `folders`, at any depth; also when there are too many to tell. */
async function isAmong(info: Stats, folders: readonly string[]): Promise<boolean> {
	const left = [...folders];
	let seen = 0;
	for (let folder = left.pop(); folder !== undefined; folder = left.pop()) {
		const here = folder;
		const entries = await readdir(here, { withFileTypes: true }).catch((error: unknown) => {
			if (["ENOENT", "ENOTDIR", "EACCES"].includes(errorCode(error) ?? "")) return [];
			throw error;
		});
		seen += entries.length;
		if (seen > MOST) return true;
		for (const entry of entries) {
			const path = join(here, entry.name);
			// Packages are nobody's secret, and many.
			if (entry.isDirectory() && entry.name !== "node_modules") left.push(path);
			if (!entry.isFile()) continue;
			const other = await lstat(path).catch(() => undefined); // gone meanwhile
			if (other && isSame(other, info)) return true;
		}
	}
	return false;
}
