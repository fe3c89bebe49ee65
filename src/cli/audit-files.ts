/** The files of the audit log, and their lines as they come: a log may be larger than memory. */
import { createReadStream } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { errorCode } from "../lib/errno.ts";
import { EXIT, Exit } from "./args.ts";

/** `path` and what was rotated away from it (`path.1` is the youngest), oldest first; only those that are there. */
export async function logFiles(path: string): Promise<readonly string[]> {
	const name = basename(path);
	const others = await readdir(dirname(path)).catch((error: unknown): string[] => {
		if (errorCode(error) === "ENOENT") return [];
		throw error;
	});
	const numbers = others.flatMap((other) => {
		const number = other.startsWith(`${name}.`) ? other.slice(name.length + 1) : "";
		return /^[1-9]\d{0,5}$/.test(number) ? [Number(number)] : [];
	});
	const rotated = numbers.sort((a, b) => b - a).map((number) => join(dirname(path), `${name}.${number}`));
	return others.includes(name) ? [...rotated, path] : rotated;
}

/** One line of a file. */
export interface LogLine {
	readonly file: string;
	/** From 1. */
	readonly number: number;
	readonly text: string;
}

/** The lines of `files`, one file after the other. Throws an `Exit` for what is no file that can be read. */
export async function* linesOf(files: readonly string[]): AsyncGenerator<LogLine, void, undefined> {
	for (const file of files) {
		try {
			// Opening a pipe would wait for its other end.
			if (!(await stat(file)).isFile()) throw new Error("it is not a file");
			let number = 0;
			for await (const text of createInterface({
				input: createReadStream(file),
				crlfDelay: Number.POSITIVE_INFINITY,
			})) {
				number += 1;
				yield { file, number, text };
			}
		} catch (error) {
			const why = error instanceof Error ? error.message : String(error);
			throw new Exit(EXIT.usage, `${file} cannot be read: ${why}`);
		}
	}
}
