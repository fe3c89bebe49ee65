/** Reading a file that somebody named: a regular one, of a bounded size, whatever the name leads to. */
import { constants } from "node:fs";
import { lstat, open, realpath } from "node:fs/promises";
import { isAbsolute, relative, resolve } from "node:path";

/** Whether `path` lies in `folder`; both as they really are. The folder itself does not. */
export const isInside = (path: string, folder: string): boolean => {
	const way = relative(folder, path);
	return way !== "" && way !== ".." && !way.startsWith("../") && !way.startsWith("..\\") && !isAbsolute(way);
};

/** Where a path really leads; the path itself where there is nothing (yet). */
export const real = (path: string): Promise<string> => realpath(path).catch(() => resolve(path));

/** The bytes of the regular file at `path`, at most `max`. Throws an error that names it as `asked` does. */
export async function readRegular(path: string, asked: string, max: number): Promise<Buffer> {
	const not = () => new Error(`${asked}: it is not a file. Give one file at a time; put a folder into an archive.`);
	// Looked at first: opening a pipe would wait for its other end.
	if (!(await lstat(path)).isFile()) throw not();
	// The name may be given to something else meanwhile; Windows knows no such flags.
	const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
	const file = await open(path, flags);
	try {
		const info = await file.stat();
		if (!info.isFile()) throw not();
		if (info.size > max) {
			throw new Error(`${asked}: ${info.size} bytes are too many, ${max} are allowed. Give a smaller file.`);
		}
		const bytes = await file.readFile();
		if (bytes.length > max) throw new Error(`${asked}: the file is growing; give it when it is complete.`);
		return bytes;
	} finally {
		await file.close();
	}
}
