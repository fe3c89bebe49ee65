/**
 * An append-only series of lines in numbered files, written and read at once (no promise in between): what `append` has
 * returned from is with the kernel and survives the death of this process.
 */
import {
	chmodSync,
	closeSync,
	constants,
	fstatSync,
	fsyncSync,
	ftruncateSync,
	lstatSync,
	mkdirSync,
	openSync,
	readdirSync,
	readFileSync,
	readSync,
	renameSync,
	rmSync,
	writeSync,
} from "node:fs";
import { join } from "node:path";
import { Line, type Place } from "./segment-line.ts";

export { Line, type Place };

/**
 * Nothing is read or written through a symbolic link, and a pipe in place of a file is no reason to wait (Windows has no
 * such flags, and no such files by default).
 */
const NO_LINK = (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
const NAME = /^(\d{8})\.jsonl$/;
const DAMAGED = "damaged.txt";
/** How much of a rewrite is done at once: some milliseconds. */
const SLICE_BYTES = 512 * 1024;
/** Files kept open for reading. */
const READERS = 32;

/** The folder, made when it is not there; nobody else's to read. Throws for anything but a folder of this user. */
function privateFolder(folder: string): void {
	mkdirSync(folder, { recursive: true, mode: 0o700 });
	const info = lstatSync(folder);
	const uid = process.getuid?.() ?? info.uid;
	if (!info.isDirectory() || info.uid !== uid) throw new Error(`${folder} is not a folder of this user`);
	if ((info.mode & 0o077) !== 0) chmodSync(folder, 0o700);
}

function writeAll(fd: number, bytes: Uint8Array): void {
	for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
}

export class Segments {
	readonly folder: string;
	readonly #segmentBytes: number;
	/** Bytes of each file, oldest first. */
	readonly #sizes = new Map<number, number>();
	#active: { readonly segment: number; readonly fd: number } | undefined;
	/** Files that are open for reading, the one that was used last at the end. */
	readonly #readers = new Map<number, number>();
	#next = 1;

	/** `segmentBytes`: beyond that a new file is begun. Throws when the folder cannot be used. */
	constructor(folder: string, segmentBytes: number) {
		this.folder = folder;
		this.#segmentBytes = segmentBytes;
		privateFolder(folder);
		for (const name of readdirSync(folder).sort()) {
			// What a rewrite that did not come to its end has left.
			if (name.endsWith(".tmp")) rmSync(join(folder, name), { force: true });
			const number = Number(NAME.exec(name)?.[1]);
			if (!Number.isInteger(number)) continue;
			this.#sizes.set(number, lstatSync(join(folder, name)).size);
			this.#next = number + 1;
		}
	}

	/** Bytes of each file, oldest first. */
	get sizes(): ReadonlyMap<number, number> {
		return this.#sizes;
	}

	/** The file that lines go to; undefined before the first. */
	get active(): number | undefined {
		return this.#active?.segment;
	}

	/** Appends lines in one write. Throws, and nothing of them is kept, when they could not be written. */
	append(lines: readonly string[]): readonly Place[] {
		const { segment, fd } = this.#open();
		const before = this.#sizes.get(segment) ?? 0;
		const bytes = Buffer.from(`${lines.join("\n")}\n`);
		try {
			writeAll(fd, bytes);
		} catch (error) {
			// Half a line must not stand before the next one.
			this.#undo(fd, before);
			throw error;
		}
		this.#sizes.set(segment, before + bytes.length);
		let offset = before;
		return lines.map((line) => {
			const length = lines.length === 1 ? bytes.length - 1 : Buffer.byteLength(line);
			const place = { segment, offset, length };
			offset += length + 1;
			return place;
		});
	}

	/** The text of a line. Throws when it cannot be read. */
	read({ segment, offset, length }: Place): string {
		const buffer = Buffer.allocUnsafe(length);
		const fd = this.#readable(segment);
		for (let at = 0; at < length; ) {
			const count = readSync(fd, buffer, at, length - at, offset + at);
			if (count === 0) throw new Error(`${this.#path(segment)} is shorter than it was`);
			at += count;
		}
		return buffer.toString("utf8");
	}

	/** The lines of one file, whole ones only; what a crash cut short at the end is put aside. */
	*lines(segment: number): Generator<Line, void, undefined> {
		const bytes = this.#bytes(segment);
		let start = 0;
		for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
			if (end > start) yield new Line(bytes, segment, start, end);
			start = end + 1;
		}
		if (start < bytes.length) {
			this.setAside(bytes.subarray(start));
			this.#truncate(segment, start);
		}
	}

	/** Keeps bytes that nobody could read where a person can look at them. */
	setAside(bytes: Uint8Array | string): void {
		const flags = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | NO_LINK;
		const fd = openSync(join(this.folder, DAMAGED), flags, 0o600);
		try {
			writeAll(fd, Buffer.concat([Buffer.from(bytes), Buffer.from("\n")]));
		} finally {
			closeSync(fd);
		}
	}

	/**
	 * Writes a file anew with what `keep` gives for each of its lines (undefined: nothing), in their order, and tells
	 * where each one that was kept went, counted from 0. The old file is there until the new one is whole; one without
	 * lines goes. Not for the file that is being appended to. At each `yield` others may run, or it may end for good.
	 */
	*rewrite(
		segment: number,
		keep: (line: Line) => string | undefined,
		moved: (index: number, from: Place, to: Place) => void,
	): Generator<void> {
		if (segment === this.active) throw new Error("a file is not rewritten while it grows");
		const kept: { readonly from: Place; readonly bytes: Buffer }[] = [];
		let seen = 0;
		for (const line of this.lines(segment)) {
			const text = keep(line);
			if (text !== undefined) kept.push({ from: line.place, bytes: Buffer.from(`${text}\n`) });
			seen += line.place.length;
			if (seen < SLICE_BYTES) continue;
			seen = 0;
			yield;
		}
		const path = this.#path(segment);
		if (kept.length === 0) {
			this.#forgetReader(segment);
			rmSync(path, { force: true });
			this.#sizes.delete(segment);
			return;
		}
		const beside = `${path}.tmp`;
		rmSync(beside, { force: true });
		const fd = openSync(beside, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | NO_LINK, 0o600);
		try {
			for (let at = 0; at < kept.length; ) {
				const slice: Buffer[] = [];
				for (let size = 0; at < kept.length && size < SLICE_BYTES; at++) {
					const { bytes } = kept[at] ?? { bytes: Buffer.alloc(0) };
					slice.push(bytes);
					size += bytes.length;
				}
				writeAll(fd, Buffer.concat(slice));
				fsyncSync(fd);
				yield;
			}
		} finally {
			closeSync(fd);
		}
		this.#forgetReader(segment);
		renameSync(beside, path);
		let offset = 0;
		for (const [index, { from, bytes }] of kept.entries()) {
			moved(index, from, { segment, offset, length: bytes.length - 1 });
			offset += bytes.length;
		}
		this.#sizes.set(segment, offset);
	}

	/** Everything is on the disk itself, files are closed. May be called twice. */
	close(): void {
		if (this.#active) {
			fsyncSync(this.#active.fd);
			closeSync(this.#active.fd);
		}
		this.#active = undefined;
		for (const segment of [...this.#readers.keys()]) this.#forgetReader(segment);
	}

	#path(segment: number): string {
		return join(this.folder, `${String(segment).padStart(8, "0")}.jsonl`);
	}

	#open(): { readonly segment: number; readonly fd: number } {
		const active = this.#active;
		if (active && (this.#sizes.get(active.segment) ?? 0) < this.#segmentBytes) return active;
		if (active) closeSync(active.fd);
		this.#active = undefined;
		const segment = this.#next;
		const flags = constants.O_APPEND | constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | NO_LINK;
		const fd = openSync(this.#path(segment), flags, 0o600);
		this.#next += 1;
		this.#sizes.set(segment, 0);
		this.#active = { segment, fd };
		return this.#active;
	}

	/** After this the file is as it was, or it is not appended to any more. */
	#undo(fd: number, length: number): void {
		try {
			ftruncateSync(fd, length);
		} catch {
			// Its torn end is put aside when it is read; the next line begins a new file.
			closeSync(fd);
			this.#active = undefined;
		}
	}

	#truncate(segment: number, length: number): void {
		const fd = openSync(this.#path(segment), constants.O_WRONLY | NO_LINK);
		try {
			ftruncateSync(fd, length);
			this.#sizes.set(segment, length);
		} finally {
			closeSync(fd);
		}
	}

	#bytes(segment: number): Buffer {
		const fd = openSync(this.#path(segment), constants.O_RDONLY | NO_LINK);
		try {
			if (!fstatSync(fd).isFile()) throw new Error(`${this.#path(segment)} is not a file`);
			return readFileSync(fd);
		} finally {
			closeSync(fd);
		}
	}

	#readable(segment: number): number {
		const open = this.#readers.get(segment);
		const fd = open ?? openSync(this.#path(segment), constants.O_RDONLY | NO_LINK);
		this.#readers.delete(segment);
		this.#readers.set(segment, fd);
		const [oldest] = this.#readers.keys();
		if (this.#readers.size > READERS && oldest !== undefined) this.#forgetReader(oldest);
		return fd;
	}

	#forgetReader(segment: number): void {
		const fd = this.#readers.get(segment);
		if (fd !== undefined) closeSync(fd);
		this.#readers.delete(segment);
	}
}
