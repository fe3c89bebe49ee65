/**
 * A box of messages: `inbox.json` or `outbox.json`. Whoever knows the lock takes it; whoever does not (a shell script, an
 * editor) is noticed before the file is replaced, and what it wrote is read again. What is no message goes to
 * `rejected.json` beside the box.
 */
import { lstat, rename } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { errorCode } from "../../lib/errno.ts";
import { withLock } from "../../lib/lock.ts";
import type { Log } from "../../lib/log.ts";
import { readFound, replaceIf, stampAt } from "./box-file.ts";
import { type Bad, boxText, type Edit, edited, type Keep, type Owner, salvage, sorted, valuesIn } from "./box-text.ts";
import type { Mail } from "./messages.ts";

export interface BoxParts {
	readonly clock: Clock;
	readonly log: Log;
	readonly keep: Keep;
	/** A larger file is set aside. */
	readonly maxBytes: number;
}

/** What stands in a box. */
export interface Contents {
	readonly mails: readonly Mail[];
	/** What is no message; the next `update` moves it to `rejected.json`. */
	readonly bad: readonly Bad[];
	/** The file cannot be read yet: somebody may be writing it. The messages are those of before. */
	readonly halfway: boolean;
	readonly stamp: string;
	/** The file is too large to be read. */
	readonly huge?: true;
}

const EMPTY: Contents = { mails: [], bad: [], halfway: false, stamp: "" };
/** A file that is no JSON and has not changed for so long is not being written: it is broken. */
const SETTLED_MS = 1_000;
const PAUSE_MS = 25;
/** Somebody who writes the file all the time, without a lock. */
const MOST_TRIES = 100;
const LOCK_MS = 10_000;
const MAX_REJECTED = 1_000;

/** What was decided stands no more, and was not written. */
export class Fallen extends Error {}

/** Says whether what was decided a while ago still stands. */
export type Still = () => Promise<boolean>;
/** A decision that is older than this, in milliseconds, is asked for again before it is written. */
const STALE_MS = 1_000;

interface Waiting {
	readonly edits: readonly Edit[];
	readonly at: number;
	readonly still: Still | undefined;
	readonly done: () => void;
	readonly failed: (error: unknown) => void;
}

export class Box {
	readonly path: string;
	readonly owner: Owner;
	readonly #parts: BoxParts;
	#last: Contents = EMPTY;
	#broken: { readonly stamp: string; readonly since: number } | undefined;
	#queue: Waiting[] = [];
	#writing = false;

	/** `folder`: that of the owner. It must exist when the box is written: a box never makes an agent. */
	constructor(folder: string, owner: Owner, parts: BoxParts) {
		this.path = join(folder, `${owner.side}.json`);
		this.owner = owner;
		this.#parts = parts;
	}

	/** What stands in it; a box without a file is empty. Throws for a file that is not a plain one. */
	async read(): Promise<Contents> {
		const before = this.#last;
		const stamp = await stampAt(this.path);
		if (stamp === before.stamp && !before.halfway) return before;
		return this.#load();
	}

	async #load(): Promise<Contents> {
		const { clock, maxBytes } = this.#parts;
		const { stamp, text, size } = await readFound(this.path, maxBytes);
		const now = clock.now();
		if (text === undefined) {
			const bad = [
				{ reason: `the box has ${size} bytes, more than ${maxBytes}; it was set aside as a whole`, message: null },
			];
			return this.#keep({ ...EMPTY, stamp, bad, huge: true });
		}
		let values = valuesIn(text);
		const rest: Bad[] = [];
		if (values === undefined) {
			if (this.#broken?.stamp !== stamp) this.#broken = { stamp, since: now };
			if (now - this.#broken.since < SETTLED_MS) return this.#keep({ ...this.#last, halfway: true, stamp });
			values = salvage(text);
			rest.push({ reason: "the box was not JSON; the messages in it that are whole were kept", message: text });
		}
		this.#broken = undefined;
		const { mails, bad } = sorted(values, this.owner, now);
		return this.#keep({ mails, bad: [...rest, ...bad], halfway: false, stamp });
	}

	#keep(contents: Contents): Contents {
		this.#last = contents;
		return contents;
	}

	/**
	 * Changes the box. Edits that are asked for while it is written go into one write after that. Rejects when the file
	 * could not be written, or its owner has no folder. `still`: asked when this process was held up before it could write
	 * (stopped, asleep, waiting for the lock); rejects with `Fallen` when the edits stand no more.
	 */
	update(edits: readonly Edit[], still?: Still): Promise<void> {
		const at = this.#parts.clock.now();
		const written = new Promise<void>((done, failed) => this.#queue.push({ edits, at, still, done, failed }));
		if (!this.#writing) void this.#drain();
		return written;
	}

	async #drain(): Promise<void> {
		this.#writing = true;
		await Promise.resolve();
		while (this.#queue.length > 0) {
			let batch: readonly Waiting[] = [];
			try {
				await this.#checkFolder();
				await withLock(
					this.path,
					() => {
						// What came while we waited for the lock comes along.
						batch = this.#queue.splice(0);
						return this.#write(batch);
					},
					{ waitMs: LOCK_MS },
				);
				for (const each of batch) each.done();
			} catch (error) {
				for (const each of batch.length > 0 ? batch : this.#queue.splice(0)) each.failed(error);
			}
		}
		this.#writing = false;
	}

	async #checkFolder(): Promise<void> {
		const folder = dirname(this.path);
		try {
			if (!(await lstat(folder)).isDirectory()) throw new Error(`${folder} is not a folder`);
		} catch (error) {
			if (errorCode(error) !== "ENOENT") throw error;
			throw new Error(`there is no mailbox of ${this.owner.id}`, { cause: error });
		}
	}

	/** The edits that stand now. */
	async #standing(batch: readonly Waiting[]): Promise<readonly Edit[]> {
		const now = this.#parts.clock.now();
		const each = batch.map(async ({ edits, at, still, failed }) => {
			if (!still || now - at <= STALE_MS || (await still())) return edits;
			failed(new Fallen(`${this.path} is somebody else's to write now`));
			return [];
		});
		return (await Promise.all(each)).flat();
	}

	async #write(batch: readonly Waiting[]): Promise<void> {
		const { clock, keep } = this.#parts;
		let rejected: string | undefined;
		for (let tries = 0; tries < MOST_TRIES; tries++) {
			const now = await this.read();
			if (now.halfway) {
				await clock.sleep(PAUSE_MS);
				continue;
			}
			if (now.bad.length > 0 && rejected !== now.stamp) {
				await this.#reject(now.bad);
				rejected = now.stamp;
			}
			if (now.huge) {
				await rename(this.path, `${this.path}.${clock.now()}.rejected`);
				continue;
			}
			const mails = edited(now.mails, await this.#standing(batch), keep, clock.now());
			const stamp = await replaceIf(this.path, now.stamp, boxText(mails));
			if (stamp === undefined) continue;
			this.#keep({ mails, bad: [], halfway: false, stamp });
			return;
		}
		throw new Error(`${this.path} is changed all the time by a writer without a lock`);
	}

	/** Writes down what is no message, and why. */
	async #reject(bad: readonly Bad[]): Promise<void> {
		const { clock, log, maxBytes } = this.#parts;
		const path = join(dirname(this.path), "rejected.json");
		const at = new Date(clock.now()).toISOString();
		const more = bad.map(({ reason, message }) => ({ at, box: this.owner.side, reason, message }));
		await withLock(path, async () => {
			const { text, stamp } = await readFound(path, maxBytes);
			const before = text === undefined ? undefined : valuesIn(text);
			// What cannot be read, or is too much, is set aside: nothing that was rejected is lost.
			if (before === undefined) await rename(path, `${path}.${clock.now()}`);
			const all = [...(before ?? []), ...more].slice(-MAX_REJECTED);
			await replaceIf(path, before === undefined ? "" : stamp, `${JSON.stringify(all, undefined, 2)}\n`);
		});
		log.warn(`${bad.length} rejected from the ${this.owner.side} of ${this.owner.id}: ${bad[0]?.reason}`);
	}
}
