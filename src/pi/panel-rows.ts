/** The settings panel as data: the table of keys, the values in force and what was edited, made into rows. Pure. */
import { isObject, own } from "../config/json.ts";
import type { Kind } from "../config/key-kinds.ts";
import { type KeyName, keyAt, ROWS } from "../config/keys.ts";
import { NAME } from "../config/map-kinds.ts";
import { GROUPS, type Row as KeyRow } from "../config/row.ts";

/** What Enter does on a row. */
export type Deed = "toggle" | "edit" | "open" | "add" | "remove" | "none";

export interface PanelRow {
	/** Below `a2a`: what is edited, `server.port` or `peers.alice.url`; of `add` the map, of `remove` the entry. */
	readonly path: string;
	readonly deed: Deed;
	readonly label: string;
	/** Masked where it is a secret. Empty when there is nothing to show. */
	readonly value: string;
	/** Steps to the right. */
	readonly depth: number;
	/** Where the value comes from, `settings.json` or `env A2A_PORT`; empty for the default. */
	readonly origin: string;
	/** Shown for the selected row. */
	readonly help: string;
	/** Edited, not yet saved. */
	readonly edited: boolean;
	/** Set on the first row of a group. */
	readonly group?: string;
}

/** Edits that wait to be saved: path to new value; `undefined` unsets. */
export type Edits = ReadonlyMap<string, unknown>;

export interface PanelState {
	/** The value in force of a key. */
	readonly value: (key: KeyName) => unknown;
	/** Where it comes from; see `PanelRow.origin`. */
	readonly origin: (key: KeyName) => string;
	readonly edits: Edits;
	/** Paths of the entries that are unfolded. */
	readonly open: ReadonlySet<string>;
}

/** Where a field of an entry stands in the value that was read. `undefined`: the field is not offered. */
const FIELDS: { readonly [field: string]: ((entry: object) => unknown) | undefined } = {
	"auth.type": undefined,
	"auth.token": (entry) => own(entry, "token"),
	timeout: (entry) => {
		const ms = own(entry, "timeoutMs");
		return typeof ms === "number" ? ms / 1000 : undefined;
	},
};

interface Fielded {
	readonly fields?: { readonly [field: string]: Kind<unknown> };
}
const fieldsOf = (kind: Kind<unknown>): [string, Kind<unknown>][] => Object.entries((kind as Fielded).fields ?? {});

function show(kind: Kind<unknown>, value: unknown): string {
	if (value === undefined || value === "") return "(not set)";
	return kind.show(value);
}

/** A value that stands in an edit, as text: it has the form of JSON, not that of the value in force. */
function showEdit(kind: Kind<unknown>, value: unknown): string {
	if (value === undefined) return "(default)";
	const read = kind.read(value, () => undefined);
	return read === undefined ? "(not set)" : show(kind, read);
}

function deedOf(kind: Kind<unknown>): Deed {
	if (kind.takes === "true, false") return "toggle";
	// Lists of objects are written by hand.
	return kind.takes === "list" && kind.expected.includes("object") ? "none" : "edit";
}

/** Rows of the entries of a map: each can be opened or edited, and one can be added. */
function entryRows(row: KeyRow<unknown>, entry: Kind<unknown>, value: unknown, state: PanelState): PanelRow[] {
	const prefix = `${row.path}.`;
	const known = isObject(value) ? value : {};
	const added = [...state.edits.keys()]
		.filter((path) => path.startsWith(prefix) && state.edits.get(path) !== undefined)
		.map((path) => keyAt(path)?.path[row.path.split(".").length] ?? "");
	const names = [...new Set([...Object.keys(known), ...added])].filter((name) => name !== "");
	const fields = fieldsOf(entry);
	const base = { origin: "", help: row.help, depth: 0 };
	const rows = names.flatMap((name): PanelRow[] => {
		const path = `${prefix}${name}`;
		const edited = [...state.edits.keys()].some((each) => each === path || each.startsWith(`${path}.`));
		const removed = state.edits.has(path) && state.edits.get(path) === undefined;
		if (removed && !added.includes(name)) return [];
		const now = removed ? undefined : own(known, name);
		const label = `${row.path} › ${name}`;
		if (fields.length === 0) {
			const text = state.edits.has(path) ? showEdit(entry, state.edits.get(path)) : show(entry, now);
			return [
				{ ...base, path, deed: "edit", label, value: text, edited },
				{ ...base, path, deed: "remove", label: `remove ${name}`, value: "", edited: false, depth: 1 },
			];
		}
		const head: PanelRow = {
			...base,
			path,
			deed: "open",
			label,
			value: now === undefined ? "(new)" : show(entry, now),
			edited,
		};
		return state.open.has(path) ? [head, ...fieldRows(path, fields, now, state, row.help)] : [head];
	});
	const add: PanelRow = {
		...base,
		path: row.path,
		deed: "add",
		label: `+ add to ${row.path}`,
		value: "",
		edited: false,
	};
	return [...rows, add];
}

function fieldRows(
	path: string,
	fields: readonly [string, Kind<unknown>][],
	entry: unknown,
	state: PanelState,
	help: string,
): PanelRow[] {
	const rows = fields.flatMap(([field, kind]): PanelRow[] => {
		if (field in FIELDS && FIELDS[field] === undefined) return [];
		const at = `${path}.${field}`;
		const edited = state.edits.has(at);
		const now = isObject(entry) ? (FIELDS[field]?.(entry) ?? own(entry, field)) : undefined;
		const value = edited ? showEdit(kind, state.edits.get(at)) : show(kind, now);
		return [{ path: at, deed: deedOf(kind), label: field, value, depth: 1, origin: "", help: kind.expected, edited }];
	});
	const name = path.slice(path.lastIndexOf(".") + 1);
	return [
		...rows,
		{ path, deed: "remove", label: `remove ${name}`, value: "", depth: 1, origin: "", help, edited: false },
	];
}

function keyRow(key: KeyName, row: KeyRow<unknown>, state: PanelState): PanelRow {
	const edited = state.edits.has(row.path);
	const deed = deedOf(row.kind);
	const limits = deed === "edit" ? ` (${row.kind.takes})` : deed === "none" ? " (edit it in settings.json)" : "";
	return {
		path: row.path,
		deed,
		label: row.path,
		value: edited ? showEdit(row.kind, state.edits.get(row.path)) : show(row.kind, state.value(key)),
		depth: 0,
		origin: edited ? "" : state.origin(key),
		help: `${row.help}${limits}`,
		edited,
	};
}

/** Whether the block of the single gateway says nothing: it is older than the map and only shown where it is used. */
const isUnset = (row: KeyRow<unknown>, key: KeyName, state: PanelState): boolean =>
	state.origin(key) === "" && !state.edits.has(row.path);

/** All rows, in the order of the groups of the table. */
export function rowsFor(state: PanelState): PanelRow[] {
	return GROUPS.flatMap((group) => {
		const rows = ROWS.filter(([, row]) => row.group === group);
		if (group === "Gateway" && rows.every(([key, row]) => isUnset(row, key, state))) return [];
		const made = rows.flatMap(([key, row]) =>
			row.kind.entry ? entryRows(row, row.kind.entry, state.value(key), state) : [keyRow(key, row, state)],
		);
		return made.map((row, index) => (index === 0 ? { ...row, group } : row));
	});
}

/** What an input line gave: the value to save (`undefined` unsets), or why it cannot be used. */
export type Input = { readonly value: unknown } | { readonly problem: string };

/** Reads the text typed for `path`. An empty text unsets. */
export function readInput(path: string, text: string): Input {
	const kind = keyAt(path)?.kind;
	if (!kind) return { problem: `There is no key ${path}` };
	if (text.trim() === "") return { value: undefined };
	const value = kind.parse(kind.secret ? text : text.trim());
	const faults: string[] = [];
	const read = kind.read(
		value,
		(fault) => fault.hint || faults.push(`${fault.at ? `${fault.at}: ` : ""}expected ${fault.expected}`),
	);
	return faults.length > 0 || read === undefined ? { problem: faults[0] ?? `expected ${kind.expected}` } : { value };
}

/** Reads the name of a new entry of the map at `path`. */
export function readName(path: string, text: string): { readonly path: string } | { readonly problem: string } {
	const name = text.trim();
	return NAME.test(name) && keyAt(`${path}.${name}`)
		? { path: `${path}.${name}` }
		: { problem: "expected a name of letters, digits, `_`, `.` and `-` (at most 64)" };
}

/** The first thing a new entry needs: its URL, or the entry itself. */
export function firstField(path: string): string {
	const kind = keyAt(path)?.kind;
	return kind && fieldsOf(kind).some(([field]) => field === "url") ? `${path}.url` : path;
}

/** The text an input line for `path` begins with: what is in force or edited, never a secret. */
export function inputText(path: string, state: PanelState): string {
	const place = keyAt(path);
	if (!place || place.kind.secret) return "";
	if (state.edits.has(path)) return plainText(state.edits.get(path));
	const value = state.value(place.name);
	if (path === place.row.path) return plainText(value);
	const [name = "", ...field] = place.path.slice(place.row.path.split(".").length);
	const entry = isObject(value) ? own(value, name) : undefined;
	const key = field.join(".");
	return isObject(entry) ? plainText(FIELDS[key]?.(entry) ?? own(entry, key)) : plainText(entry);
}

const plainText = (value: unknown): string =>
	Array.isArray(value) ? value.join(", ") : typeof value === "string" || typeof value === "number" ? String(value) : "";

/** The edits after an entry was removed: what was typed for it is void as well. */
export function withoutEntry(edits: Edits, path: string): Map<string, unknown> {
	const kept = new Map([...edits].filter(([each]) => !each.startsWith(`${path}.`)));
	return kept.set(path, undefined);
}
