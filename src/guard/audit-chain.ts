/**
 * The lines of the audit log hang together: each carries the hash of the one before it by the same writer, and the first
 * of a writer that of the line it found last in the file. Whoever alters, takes out or puts in a line breaks the chain
 * there. (Who can rewrite the whole file can make a new chain: the log is evidence against a slip or a later edit, not
 * against its owner.)
 */
import { createHash } from "node:crypto";

/** What the chain adds to a line. */
interface Link {
	/** The writer and the number of the line among its lines, from 1: `4711-k3f9.12`. */
	readonly chain: string;
	/** Hash of the line before; empty when there is none. */
	readonly prev: string;
}

/** 128 bits of SHA-256 over the text of a line, without its line break. */
export const hashOf = (line: string): string => createHash("sha256").update(line).digest("hex").slice(0, 32);

/** Where a writer stands. */
export interface ChainEnd {
	readonly writer: string;
	/** Lines so far. */
	readonly count: number;
	/** Hash of the last one. */
	readonly last: string;
}

/** `entries` as lines of text behind `end`, and where the writer stands then. */
export function chained(
	entries: readonly object[],
	end: ChainEnd,
): { readonly lines: readonly string[]; readonly end: ChainEnd } {
	let { count, last } = end;
	const lines = entries.map((entry) => {
		count += 1;
		const link: Link = { chain: `${end.writer}.${count}`, prev: last };
		const line = JSON.stringify({ ...entry, ...link });
		last = hashOf(line);
		return line;
	});
	return { lines, end: { ...end, count, last } };
}

/** An entry as it was before it became a line. */
export function unchained(line: object): object {
	const { chain: _chain, prev: _prev, ...entry } = line as Partial<Link>;
	return entry;
}

/** What is found. */
export interface Verdict {
	/** Lines that are part of a chain. */
	readonly lines: number;
	readonly writers: number;
	/** Lines from before there was a chain. */
	readonly older: number;
	/** Lines that a crash cut short. */
	readonly torn: number;
	/** The first thing that is not as it was written; absent when all is. */
	readonly broken?: Place & { readonly why: string };
}

/** A part of the log, in the order in which they were written. */
export interface LogFile {
	readonly name: string;
	readonly text: string;
}

/** How far back the line may be that a new writer found last: others may have written meanwhile. */
const NEAR = 10_000;

interface Place {
	readonly file: string;
	readonly line: number;
}

/** A sign that something was changed; `at` counts the lines of all files. */
interface Fault extends Place {
	readonly at: number;
	readonly why: string;
}

interface Read extends Link {
	readonly writer: string;
	readonly number: number;
	readonly hash: string;
}

function read(line: string): Read | "torn" | "older" {
	let value: unknown;
	try {
		value = JSON.parse(line);
	} catch {
		return "torn";
	}
	const { chain, prev } = (typeof value === "object" && value !== null ? value : {}) as { [name: string]: unknown };
	const [, writer = "", number = ""] =
		/^(.{1,64})\.([1-9]\d{0,14})$/.exec(typeof chain === "string" ? chain : "") ?? [];
	if (writer === "" || typeof prev !== "string") return "older";
	return { chain: String(chain), prev, writer, number: Number(number), hash: hashOf(line) };
}

/** Takes the lines of a log one after another. */
export interface Verifier {
	/** The next line, without its line break; `number` counts from 1 in each file. */
	take(file: string, number: number, text: string): void;
	/** What was found so far. */
	verdict(): Verdict;
}

/**
 * Names the first line that was altered, taken out or put in. The files are taken oldest first; `begins`: nothing was
 * ever rotated away before the first of them. Of the log itself nothing is kept but the ends of its chains.
 */
export function verifier(begins: boolean): Verifier {
	const ends = new Map<string, Read & Place & { readonly at: number }>();
	const recent = new Set<string>();
	let [lines, older, torn, total] = [0, 0, 0, 0];
	let firstFile: string | undefined;
	/** Of two signs of one change the one further up is nearer to it. */
	let broken: Fault | undefined;

	function fault(found: Read, first: boolean): string | Fault | undefined {
		const before = ends.get(found.writer);
		if (before) {
			if (found.number <= before.number) return `line ${found.chain} stands here a second time`;
			if (found.number > before.number + 1) return `lines are missing between ${before.chain} and ${found.chain}`;
			if (found.prev === before.hash) return undefined;
			return { ...before, why: `${before.chain} is not the line that ${found.chain} followed` };
		}
		if (found.number > 1) {
			// Its earlier lines may be in a file that was rotated away.
			return first && !begins ? undefined : `the lines before ${found.chain} are missing`;
		}
		if (found.prev === "" || recent.has(found.prev) || (first && !begins)) return undefined;
		return `the line that was there before ${found.chain} is missing or was altered`;
	}

	function note(found: Fault): void {
		if (!broken || found.at < broken.at) broken = found;
	}

	function seen(hash: string): void {
		recent.add(hash);
		const [oldest] = recent;
		if (recent.size > NEAR && oldest !== undefined) recent.delete(oldest);
	}

	return {
		take(file, number, text) {
			firstFile ??= file;
			if (text === "") return;
			total += 1;
			const place = { file, line: number, at: total };
			const found = read(text);
			if (found === "torn") torn += 1;
			else if (found === "older") {
				if (lines > 0) note({ ...place, why: "it is no line of the chain: it was put in, or its link was taken out" });
				older += 1;
				seen(hashOf(text));
			} else {
				const why = fault(found, file === firstFile);
				if (why) note(typeof why === "string" ? { ...place, why } : why);
				ends.set(found.writer, { ...found, ...place });
				lines += 1;
				seen(found.hash);
			}
		},
		verdict() {
			const counts = { lines, writers: ends.size, older, torn };
			if (!broken) return counts;
			return { ...counts, broken: { file: broken.file, line: broken.line, why: broken.why } };
		},
	};
}

/** `verifier` over texts that are at hand. `files`: oldest first. */
export function verify(files: readonly LogFile[], begins: boolean): Verdict {
	const verifying = verifier(begins);
	for (const { name, text } of files)
		for (const [at, line] of text.split("\n").entries()) verifying.take(name, at + 1, line);
	return verifying.verdict();
}
