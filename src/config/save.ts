/** Writes what was edited into the user's settings.json, and nothing else. */
import { chmod, mkdir, readFile, stat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { type Clock, systemClock } from "../lib/clock.ts";
import { errorCode } from "../lib/errno.ts";
import { writeText } from "../lib/files.ts";
import { edited } from "./edit-json.ts";
import { withHostLock } from "./host-lock.ts";
import { dig, isObject, parseJson } from "./json.ts";
import type { Fault } from "./key-kinds.ts";
import { keyAt, type Place } from "./keys.ts";
import { userSettings } from "./layers.ts";

/** An edit: what is to stand at a place; `undefined` takes it out. */
interface Edit {
	readonly place: Place;
	readonly path: string;
	readonly value: unknown;
}

/**
 * Sets keys in `<agentDir>/settings.json` below `a2a`. A path is that of a key (`server.port`) or goes into a map
 * (`peers.alice`, `peers.alice.auth.token`); values are as they would stand in the file; `undefined` removes. Everything
 * else in the file stays as it is, comments too. Throws, and writes nothing, when a path is no key, a value is not what
 * the key takes, or the file is not what can be edited safely.
 */
export async function saveEdits(
	agentDir: string,
	edits: ReadonlyMap<string, unknown>,
	options: { readonly clock?: Clock } = {},
): Promise<void> {
	const checked = [...edits].map(([path, value]): Edit => {
		const place = keyAt(path);
		if (!place) throw new Error(`${path} is not a key`);
		if (value !== undefined) check(path, place, value);
		return { place, path, value };
	});
	const file = userSettings(agentDir);
	await mkdir(agentDir, { recursive: true, mode: 0o700 });
	await withHostLock(file, options.clock ?? systemClock, async () => {
		const before = await readSettings(file);
		const after = apply(file, before.text, checked);
		if (after === before.text) return;
		await writeText(file, after, "followed");
		// Written first for the owner alone, then as open as the file was.
		if (before.mode !== undefined) await chmod(file, before.mode);
	});
}

/** Throws unless `value` is what `place` takes. */
function check(path: string, { kind }: Place, value: unknown): void {
	const faults: Fault[] = [];
	kind.read(value, (fault) => {
		if (!fault.hint) faults.push(fault);
	});
	if (faults.length === 0) return;
	const each = faults.map(({ at, found, expected }) => {
		const where = at ? `${path}.${at}` : path;
		return found === undefined ? `${where} is missing: ${expected}` : `${where} is ${found}, expected ${expected}`;
	});
	throw new Error(each.join("; "));
}

async function readSettings(file: string): Promise<{ readonly text: string; readonly mode?: number }> {
	try {
		const [bytes, info] = await Promise.all([readFile(file), stat(file)]);
		// Bytes that are not UTF-8 would be written back as something else.
		const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
		return { text, mode: info.mode & 0o777 };
	} catch (error) {
		if (errorCode(error) === "ENOENT") return { text: "" };
		throw error;
	}
}

/** The text with all edits. Throws when the result would differ in anything else. */
function apply(file: string, text: string, edits: readonly Edit[]): string {
	const mark = text.startsWith("\ufeff") ? "\ufeff" : "";
	const body = text.slice(mark.length);
	const start = body.trim() === "" ? "{}\n" : body;
	const plain = settingsOf(file, start);
	let result = start;
	for (const { place, value } of edits) {
		try {
			result = edited(result, ["a2a", ...place.path], value);
		} catch (cause) {
			throw new Error(`${file} cannot be edited: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
		}
		assign(plain, ["a2a", ...place.path], value);
	}
	const after = settingsOf(file, result);
	if (!isDeepStrictEqual(after, plain)) throw new Error(`${file} has a form that cannot be edited; edit it by hand`);
	for (const { place, path, value } of edits) {
		const whole = place.row.path.split(".");
		if (value === undefined || !place.row.kind.entry || place.path.length <= whole.length) continue;
		// A field was set: the entry that it belongs to must be one now.
		const to = place.path.slice(0, whole.length + 1);
		check(
			path.slice(0, place.row.path.length + 1 + (to.at(-1)?.length ?? 0)),
			{ ...place, kind: place.row.kind.entry },
			dig(after.a2a, to),
		);
	}
	return result === start ? text : mark + result;
}

/** What the text says, as plain objects; the host's file must be an object. */
function settingsOf(file: string, text: string): { a2a?: unknown } {
	try {
		const { value } = parseJson(text);
		if (isObject(value)) return JSON.parse(JSON.stringify(value)) as { a2a?: unknown };
	} catch (cause) {
		const reason = cause instanceof Error ? cause.message : String(cause);
		throw new Error(`${file} is not JSON (${reason}); it is left as it is`, { cause });
	}
	throw new Error(`${file} is not a JSON object; it is left as it is`);
}

/** The same edit on plain objects, to compare with. */
function assign(object: Record<string, unknown>, path: readonly string[], value: unknown): void {
	const [key, ...rest] = path;
	if (key === undefined) return;
	if (rest.length === 0) {
		if (value === undefined) delete object[key];
		else object[key] = JSON.parse(JSON.stringify(value));
		return;
	}
	if (!isObject(object[key])) {
		if (value === undefined) return;
		object[key] = {};
	}
	assign(object[key] as Record<string, unknown>, rest, value);
}
