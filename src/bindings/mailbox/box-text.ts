/** From the text of a box to its messages and back, whatever somebody wrote into it. Pure. */
import { Mismatch } from "../../protocol/decode-base.ts";
import { isObject } from "../../protocol/json.ts";
import type { JsonObject } from "../../protocol/types.ts";
import { type Mail, readMail } from "./messages.ts";

/** Something in a box that is no message. */
export interface Bad {
	readonly reason: string;
	readonly message: unknown;
}

export interface Sorted {
	readonly mails: readonly Mail[];
	readonly bad: readonly Bad[];
}

/** The values in the text of a box; undefined when it is not JSON (yet). One value alone counts as a list of one. */
export function valuesIn(text: string): readonly unknown[] | undefined {
	const bare = text.replace(/^\ufeff/, "").trim();
	if (bare === "") return [];
	try {
		const value: unknown = JSON.parse(bare);
		if (Array.isArray(value)) return value;
		return isObject(value) && Array.isArray(value.messages) && value.type === undefined ? value.messages : [value];
	} catch {
		return undefined;
	}
}

/** How many times the length of a broken text is looked through at most. */
const PATIENCE = 20;

/** The whole objects in a text that is broken somewhere: a line was cut, a comma is missing, an editor was at it. */
export function salvage(text: string): readonly unknown[] {
	const found: unknown[] = [];
	let budget = text.length * PATIENCE;
	for (let at = text.indexOf("{"); at !== -1 && budget > 0; at = text.indexOf("{", at)) {
		const end = endOf(text, at);
		budget -= (end ?? text.length) - at;
		const value = end === undefined ? undefined : valuesIn(text.slice(at, end))?.[0];
		// One that is cut may hold whole ones that stand behind it.
		if (value === undefined) at += 1;
		else {
			found.push(value);
			at = end ?? text.length;
		}
	}
	return found;
}

/** Behind the brace that closes the one at `start`; undefined when none does. */
function endOf(text: string, start: number): number | undefined {
	let depth = 0;
	let quoted = false;
	for (let at = start; at < text.length; at++) {
		const char = text[at];
		if (quoted) {
			if (char === "\\") at += 1;
			else if (char === '"') quoted = false;
		} else if (char === '"') quoted = true;
		else if (char === "{") depth += 1;
		else if (char === "}" && --depth === 0) return at + 1;
	}
	return undefined;
}

/** Whose box it is: what stands in an inbox is for its owner, what stands in an outbox is by him. */
export interface Owner {
	readonly id: string;
	readonly side: "inbox" | "outbox";
}

/** Messages and what is none. A message that stands there twice counts once. `now`: milliseconds since the epoch. */
export function sorted(values: readonly unknown[], owner: Owner, now: number): Sorted {
	const mails = new Map<string, Mail>();
	const bad: Bad[] = [];
	for (const message of values) {
		try {
			const mail = readMail(message, now);
			const wrong =
				owner.side === "outbox"
					? mail.from !== owner.id && `from: this is the outbox of ${owner.id}`
					: mail.to !== owner.id && mail.to !== "*" && `to: this is the inbox of ${owner.id}`;
			if (wrong) bad.push({ reason: wrong, message });
			else if (!mails.has(mail.id)) mails.set(mail.id, mail);
		} catch (error) {
			if (!(error instanceof Mismatch)) throw error;
			bad.push({ reason: error.path ? `${error.path}: ${error.problem}` : error.problem, message });
		}
	}
	return { mails: [...mails.values()], bad };
}

/** One change of a box. Put: unless a message of that id is there. */
export type Edit =
	| { readonly put: JsonObject }
	| { readonly mark: string; readonly fields: JsonObject }
	| { readonly drop: string };

/** How long routed messages stay. */
export interface Keep {
	/** Milliseconds after their time to live. */
	readonly forMs: number;
	/** So many at most; of older ones only what is needed to know them again stays until their time to live is over. */
	readonly atMost: number;
}

/** The messages after the edits, without those that need not be kept. */
export function edited(mails: readonly Mail[], edits: readonly Edit[], keep: Keep, now: number): readonly Mail[] {
	const all = new Map(mails.map((mail) => [mail.id, mail]));
	for (const edit of edits) {
		if ("put" in edit) {
			const mail = readMail(edit.put, now);
			if (!all.has(mail.id)) all.set(mail.id, mail);
		} else if ("mark" in edit) {
			const mail = all.get(edit.mark);
			if (mail) all.set(edit.mark, readMail({ ...mail.raw, ...edit.fields }, now));
		} else all.delete(edit.drop);
	}
	return trimmed([...all.values()], keep, now);
}

/** Routed, and nobody works on it. */
const isDone = ({ processed, state }: Mail): boolean => processed && state !== "leased";

function trimmed(mails: readonly Mail[], keep: Keep, now: number): readonly Mail[] {
	let over = mails.reduce((count, mail) => count + (isDone(mail) ? 1 : 0), 0) - keep.atMost;
	return mails.flatMap((mail) => {
		if (!isDone(mail)) return [mail];
		const crowded = over-- > 0;
		if (now > mail.until + (crowded ? 0 : keep.forMs)) return [];
		return [crowded ? known(mail, now) : mail];
	});
}

/** What tells a copy of the message from a new one. */
function known(mail: Mail, now: number): Mail {
	if (Object.keys(mail.payload).length === 0) return mail;
	const { a2a_version, msg_id, type, from, to, timestamp, ttl_seconds, _processed, _state } = mail.raw;
	const kept = { a2a_version, msg_id, type, from, to, timestamp, ttl_seconds, _processed, _state, payload: {} };
	return readMail(JSON.parse(JSON.stringify(kept)), now);
}

const lines = new WeakMap<JsonObject, string>();

/** The text of a box: a list, one message on each line. */
export function boxText(mails: readonly Mail[]): string {
	const each = mails.map(({ raw }) => {
		const line = lines.get(raw) ?? JSON.stringify(raw);
		lines.set(raw, line);
		return line;
	});
	return each.length === 0 ? "[]\n" : `[\n${each.join(",\n")}\n]\n`;
}
