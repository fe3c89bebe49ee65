/** Folders that hold many small files. */
import { readdir, stat } from "node:fs/promises";
import { errorCode } from "./errno.ts";

export interface FolderEntry {
	readonly path: string;
	/** Milliseconds since the epoch of the last change. */
	readonly modified: number;
}

/** The files of `folder` whose names end with `ending`, newest first. A folder that does not exist has none. */
export async function newestFiles(folder: string, ending: string): Promise<readonly FolderEntry[]> {
	let names: string[];
	try {
		names = await readdir(folder);
	} catch (error) {
		if (errorCode(error) === "ENOENT") return [];
		throw error;
	}
	const found = names.filter((name) => name.endsWith(ending)).map((name) => entry(`${folder}/${name}`));
	return (await Promise.all(found)).flat().sort((a, b) => b.modified - a.modified);
}

/** Nothing for a file that went away since the folder was read. */
async function entry(path: string): Promise<FolderEntry[]> {
	try {
		const info = await stat(path);
		return info.isFile() ? [{ path, modified: info.mtimeMs }] : [];
	} catch (error) {
		if (errorCode(error) === "ENOENT") return [];
		throw error;
	}
}
