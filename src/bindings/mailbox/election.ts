/** Who is the orchestrator of a root: whoever holds its file, as long as signs of life stand in it. */
import { join } from "node:path";
import { withLock } from "../../lib/lock.ts";
import { isObject } from "../../protocol/json.ts";
import { readFound, replaceIf } from "./box-file.ts";
import type { Holder } from "./leases.ts";
import type { MailRoot } from "./root.ts";
import { isDead } from "./roster.ts";

/** Who routes the mail, as `orchestrator.json` says. */
export interface Term extends Holder {
	/** Grows with every new orchestrator. */
	readonly epoch: number;
	/** Milliseconds since the epoch of the last sign of life. */
	readonly at: number;
}

const MAX_BYTES = 10_000;
/** So long the place is ours without another look, in milliseconds. */
const SURE_MS = 200;

/** The orchestrator that the root had last; undefined when there was none, or the file says nothing. */
export async function termOf(root: MailRoot): Promise<Term | undefined> {
	return (await readTerm(root)).term;
}

const fileOf = (root: MailRoot): string => join(root.path, "orchestrator.json");

async function readTerm(root: MailRoot): Promise<{ readonly term?: Term; readonly stamp: string }> {
	const { text, stamp } = await readFound(fileOf(root), MAX_BYTES);
	let value: unknown;
	try {
		value = JSON.parse(text || "null");
	} catch {
		return { stamp };
	}
	if (!isObject(value)) return { stamp };
	const { epoch, at, instance, pid, host } = value;
	const term = {
		epoch: Number.isSafeInteger(epoch) ? Number(epoch) : 0,
		at: typeof at === "string" ? Date.parse(at) || 0 : 0,
		instance: String(instance),
		pid: Number(pid) || 0,
		host: String(host),
	};
	return { stamp, term };
}

export interface Candidate {
	/** Our epoch when we are the orchestrator, or become it now; undefined when somebody else is. */
	hold(): Promise<number | undefined>;
	/** Whether we still are what `hold` said, by the file. */
	holds(epoch: number): Promise<boolean>;
	/** Gives the place up, if we have it. */
	resign(): Promise<void>;
}

/** When the place was last seen to be ours. */
interface Sure {
	readonly epoch: number;
	readonly at: number;
	readonly beat: number;
}
const UNSURE: Sure = { epoch: 0, at: Number.NEGATIVE_INFINITY, beat: 0 };

/** A candidate. `beatMs`: how often a sign of life is written; `deadMs`: silence that means death. */
export function candidate(root: MailRoot, self: Holder, times: { beatMs: number; deadMs: number }): Candidate {
	const { clock } = root.parts;
	const path = fileOf(root);
	const isMine = (term: Term | undefined): boolean => term?.instance === self.instance;
	// A time far ahead is no sign of life either: it would stay one for ever.
	const isVacant = (term: Term | undefined) =>
		!term || term.at === 0 || isDead(term) || Math.abs(clock.now() - term.at) > times.deadMs;

	function write(change: (term: Term | undefined) => Term | undefined): Promise<Term | undefined> {
		return withLock(path, async () => {
			const { term, stamp } = await readTerm(root);
			const next = change(term);
			if (!next) return term;
			const text = JSON.stringify({ ...next, at: new Date(next.at).toISOString() });
			return (await replaceIf(path, stamp, `${text}\n`)) ? next : undefined;
		});
	}

	let sure: Sure = UNSURE;
	return {
		async hold() {
			const now = clock.now();
			// Asked at every event; what is written is asked for again by `holds`.
			if (now - sure.at < SURE_MS && now - sure.beat < times.beatMs) return sure.epoch;
			const { term } = await readTerm(root);
			if (term && isMine(term)) sure = { epoch: term.epoch, at: now, beat: term.at };
			if (term && isMine(term) && now - term.at < times.beatMs) return term.epoch;
			if (!isMine(term) && !isVacant(term)) return undefined;
			const after = await write((found) => {
				if (found && isMine(found)) return { ...found, at: clock.now() };
				return isVacant(found) ? { ...self, epoch: (found?.epoch ?? 0) + 1, at: clock.now() } : undefined;
			});
			return after && isMine(after) ? after.epoch : undefined;
		},
		async holds(epoch) {
			const { term } = await readTerm(root);
			const still = isMine(term) && term?.epoch === epoch;
			if (!still) sure = UNSURE;
			return still;
		},
		async resign() {
			sure = UNSURE;
			await write((found) => (found && isMine(found) ? { ...found, instance: "", at: 0 } : undefined));
		},
	};
}
