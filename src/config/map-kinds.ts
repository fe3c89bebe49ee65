/** Values with names in them: entries with fields, and maps from names that the operator chose. */
import { clip } from "../lib/text.ts";
import { dig, isObject, own } from "./json.ts";
import { commas, type Fault, found, type Kind, type Report, under, type ValueOf, word, wrong } from "./key-kinds.ts";
import { nearest, strangers } from "./nearest.ts";

/** Names of peers, gateways and callers. They stand in commands, lists and paths, so a strict form. */
export const NAME = /^[\p{L}\p{N}_][\p{L}\p{N}._-]{0,63}$/u;
const NAME_RULE = "a name of letters, digits, `_`, `.` and `-` (at most 64)";
/** Names that mean something to the language when an object is looked up by them. */
const PROTOTYPE = ["__proto__", "constructor", "prototype"];

/** What the names in a map look like. */
export interface NameForm {
	readonly pattern: RegExp;
	/** Completes "expected …". */
	readonly rule: string;
}
const NAMES: NameForm = { pattern: NAME, rule: NAME_RULE };

/** A name as in `NAME`. */
export function name(): Kind<string> {
	return word(NAME, NAME_RULE);
}

type Fields = { readonly [path: string]: Kind<unknown> };
/** The fields of an entry as they were read; absent when unset or not usable. */
export type FieldsOf<F extends Fields> = { readonly [K in keyof F]?: ValueOf<F[K]> };

export interface Entry<T> extends Kind<T> {
	readonly fields: Fields;
}

/**
 * An object with known fields; a field's path may have dots (`auth.token`). `build` makes the value of what could be
 * read, or reports why it cannot and gives `undefined`.
 */
export function entry<F extends Fields, T>(
	fields: F,
	what: { readonly expected: string; readonly show: (value: T) => string },
	build: (values: FieldsOf<F>, report: Report) => T | undefined,
): Entry<T> {
	const paths = Object.keys(fields);
	return {
		fields,
		expected: what.expected,
		takes: "object",
		read(value, report) {
			if (value === null) return undefined;
			if (!isObject(value)) return void report(wrong(value, this));
			for (const stranger of strangers(value, paths)) report(unknownField(stranger.path, paths));
			const values: { [path: string]: unknown } = {};
			const told = new Set<string>();
			for (const [path, kind] of Object.entries(fields)) {
				const raw = dig(value, path.split("."));
				const tell = under(path, report);
				const read =
					raw === undefined
						? undefined
						: kind.read(raw, (fault) => {
								told.add(path);
								tell(fault);
							});
				if (read !== undefined) values[path] = read;
			}
			// What was reported as wrong is not missing as well.
			return build(values as FieldsOf<F>, (fault) => told.has(fault.at) || report(fault));
		},
		parse: (text) => text,
		show: what.show,
	};
}

function unknownField(path: string, paths: readonly string[]): Fault {
	const near = nearest(path, paths);
	return { at: path, expected: near ?? `one of ${paths.join(", ")}`, hint: true };
}

function fieldsOf(kind: Kind<unknown>): Fields {
	return "fields" in kind ? (kind as Entry<unknown>).fields : {};
}

/**
 * A map from names to values of one kind, without a prototype. A bad entry is reported and left out. As text:
 * `name:value` pairs between commas.
 */
export function map<T>(of: Kind<T>, takes: string, names = NAMES): Kind<Readonly<Record<string, T>>> {
	const fields = fieldsOf(of);
	const isName = (text: string): boolean => names.pattern.test(text) && !PROTOTYPE.includes(text);
	return {
		expected: of.secret ? "an object (as text: name:token pairs between commas)" : "an object of named entries",
		takes,
		...(of.secret ? { secret: true } : {}),
		entry: of,
		read(value, report) {
			if (value === null) return undefined;
			if (!isObject(value)) return void report(wrong(value, this));
			const values = Object.create(null) as Record<string, T>;
			for (const key of Object.keys(value)) {
				// A pair whose halves were swapped would have the secret for a name.
				const shown = found(key, of.secret).replaceAll('"', "");
				if (!isName(key)) report({ at: shown, found: "a name that cannot be used", expected: names.rule });
				else {
					const read = of.read(own(value, key), under(key, report));
					if (read !== undefined) values[key] = read;
				}
			}
			return values;
		},
		parse: (text) => {
			const pairs = commas(text).map((pair) => pair.match(/^([^:]*?)\s*:\s*(.+)$/)?.slice(1));
			if (!pairs.every((pair) => pair !== undefined)) return text;
			return Object.fromEntries(pairs.map(([key, value]) => [key ?? "", of.parse(value ?? "")]));
		},
		show: (value) =>
			clip(
				Object.entries(value)
					.map(([key, each]) => `${key} (${of.show(each)})`)
					.join(", ") || "(none)",
				500,
			),
		below(rest) {
			const endings = Object.keys(fields).filter((path) => rest.endsWith(`.${path}`));
			// Both `token` and `auth.token` may end the same path: the longer one is meant.
			const field = endings.sort((a, b) => b.length - a.length)[0];
			const key = field === undefined ? rest : rest.slice(0, -field.length - 1);
			if (!isName(key)) return undefined;
			const kind = field === undefined ? undefined : fields[field];
			return kind && field ? { kind, path: [key, ...field.split(".")] } : { kind: of, path: [key] };
		},
	};
}
