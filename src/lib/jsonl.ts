/** Append-only files of one JSON value a line. */
import { mkdir, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { errorCode } from "./errno.ts";
import { openPrivate } from "./files.ts";
import { withLock } from "./lock.ts";

interface Waiting {
	readonly line: string;
	readonly done: () => void;
	readonly failed: (error: unknown) => void;
}

interface Size {
	readonly bytes: number;
	/** It ends in the middle of a line. */
	readonly torn: boolean;
	/** When the file was made, milliseconds since the epoch. */
	readonly born: number;
}

async function size(path: string): Promise<Size> {
	try {
		const file = await openPrivate(path, "r");
		try {
			const { size: bytes, birthtimeMs: born } = await file.stat();
			if (bytes === 0) return { bytes, torn: false, born };
			const { buffer } = await file.read(Buffer.alloc(1), 0, 1, bytes - 1);
			return { bytes, torn: buffer[0] !== 0x0a, born };
		} finally {
			await file.close();
		}
	} catch (error) {
		if (errorCode(error) === "ENOENT") return { bytes: 0, torn: false, born: Number.POSITIVE_INFINITY };
		throw error;
	}
}

/** When a file is full. Read at each write, so a changed limit holds from then on. */
export interface JsonlLimits {
	/** A file that would grow beyond it becomes `path.1`, that one `path.2`, and so on. Without it the file grows. */
	readonly maxBytes?: number;
	/** So does one that was begun longer ago than this, in milliseconds. */
	readonly maxAgeMs?: number;
	/** How many of them stay; default 1. */
	readonly keep?: number;
}

/** A JSONL file that this process appends to. Others may append to it and rotate it at the same time. */
export class JsonlFile {
	readonly path: string;
	readonly #limits: JsonlLimits;
	readonly #now: () => number;
	#queue: Waiting[] = [];
	#writing: Promise<void> | undefined;
	#closed = false;

	/** `now`: milliseconds since the epoch. */
	constructor(path: string, limits: JsonlLimits = {}, now: () => number = Date.now) {
		this.path = path;
		this.#limits = limits;
		this.#now = now;
	}

	/** Appends `value` as one line (mode 0600, folder 0700), in order of the calls. Rejects when it was not written. */
	append(value: object): Promise<void> {
		return this.appendLines([JSON.stringify(value)]);
	}

	/** `append` for lines that are JSON already, in one piece: they follow each other in the file. */
	appendLines(lines: readonly string[]): Promise<void> {
		if (this.#closed) return Promise.reject(new Error(`${this.path} has been closed`));
		const line = lines.map((each) => `${each}\n`).join("");
		const written = new Promise<void>((done, failed) => this.#queue.push({ line, done, failed }));
		this.#writing ??= this.#drain();
		return written;
	}

	/** Resolves when everything appended so far has been written or has failed. */
	async flush(): Promise<void> {
		while (this.#writing) await this.#writing;
	}

	/** `flush`, and no more afterwards. May be called twice. */
	close(): Promise<void> {
		this.#closed = true;
		return this.flush();
	}

	async #drain(): Promise<void> {
		// What is appended in one go is written in one go.
		await Promise.resolve();
		while (this.#queue.length > 0) {
			const batch = this.#queue;
			this.#queue = [];
			try {
				await this.#write(batch.map((each) => each.line).join(""));
				for (const each of batch) each.done();
			} catch (error) {
				for (const each of batch) each.failed(error);
			}
		}
		this.#writing = undefined;
	}

	async #write(lines: string): Promise<void> {
		await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
		let { bytes, torn, born } = await size(this.path);
		const { maxBytes = Number.POSITIVE_INFINITY, maxAgeMs = Number.POSITIVE_INFINITY } = this.#limits;
		const isFull = () => bytes + Buffer.byteLength(lines) > maxBytes || this.#now() - born > maxAgeMs;
		const fits = () => bytes === 0 || !isFull();
		if (!fits()) {
			await withLock(this.path, async () => {
				({ bytes, torn, born } = await size(this.path));
				if (fits()) return;
				await this.#rotate();
				torn = false;
			});
		}
		const file = await openPrivate(this.path, "a");
		try {
			// A line that a crash cut short must not swallow the next one.
			await file.writeFile(torn ? `\n${lines}` : lines);
		} finally {
			await file.close();
		}
	}

	async #rotate(): Promise<void> {
		const { keep = 1 } = this.#limits;
		if (keep < 1) return rm(this.path, { force: true });
		for (let n = keep; n >= 1; n--) {
			try {
				await rename(n === 1 ? this.path : `${this.path}.${n - 1}`, `${this.path}.${n}`);
			} catch (error) {
				if (errorCode(error) !== "ENOENT") throw error;
			}
		}
	}
}

const BLOCK = 64 * 1024;

/** The end of the file with at least `lines` whole lines, or all of it. */
async function tail(path: string, lines: number): Promise<Buffer> {
	const file = await openPrivate(path, "r");
	try {
		let at = (await file.stat()).size;
		const blocks: Buffer[] = [];
		let breaks = 0;
		// The last line break ends the last line, hence one more than lines; one more again for the cut first one.
		while (at > 0 && breaks <= lines + 1) {
			const length = Math.min(BLOCK, at);
			at -= length;
			const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, at);
			const block = buffer.subarray(0, bytesRead);
			for (const byte of block) if (byte === 0x0a) breaks += 1;
			blocks.unshift(block);
		}
		const all = Buffer.concat(blocks);
		return at > 0 ? all.subarray(all.indexOf(0x0a) + 1) : all;
	} finally {
		await file.close();
	}
}

/** The text of the last whole line; `undefined` when there is none. */
export async function lastLine(path: string): Promise<string | undefined> {
	try {
		const text = (await tail(path, 1)).toString("utf8");
		return text
			.slice(0, text.lastIndexOf("\n") + 1)
			.split("\n")
			.filter(Boolean)
			.at(-1);
	} catch (error) {
		if (errorCode(error) === "ENOENT") return undefined;
		throw error;
	}
}

async function whole(path: string): Promise<Buffer> {
	const file = await openPrivate(path, "r");
	return file.readFile().finally(() => file.close());
}

/** The value of a line as the only element; nothing for a blank line or one that a crash cut short. */
function parsed(line: string): unknown[] {
	try {
		return line.trim() === "" ? [] : [JSON.parse(line)];
	} catch {
		return [];
	}
}

/**
 * The values of a JSONL file, oldest first; only the `last` ones when given, without reading the rest. Lines that are
 * not JSON (cut short by a crash) are left out. A file that does not exist has no lines.
 */
export async function readLines(path: string, options: { readonly last?: number } = {}): Promise<unknown[]> {
	let text: string;
	try {
		text = (options.last === undefined ? await whole(path) : await tail(path, options.last)).toString("utf8");
	} catch (error) {
		if (errorCode(error) === "ENOENT") return [];
		throw error;
	}
	const values = text.split("\n").flatMap(parsed);
	return options.last === undefined ? values : values.slice(Math.max(0, values.length - options.last));
}
