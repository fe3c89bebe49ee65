/**
 * What decoders are made of. A decoder takes whatever JSON held and gives a typed value or throws `Mismatch`, which
 * collects the path on its way out, so that a good value costs no path. The tables below are checked by the compiler:
 * a member of the type that has no decoder does not compile.
 */
import { hasHugeNumber, isObject } from "./json.ts";
import type { Json, JsonObject } from "./types.ts";

/** `unknown` in, typed out; throws `Mismatch`. */
export type Decoder<T> = (value: unknown) => T;

/** What was wrong, and where. Never leaves `protocol`: the decoders turn it into an `A2AError`. */
export class Mismatch extends Error {
	#path = "";
	/** `problem` is for the other side to read: it says what was expected and never repeats what came. */
	readonly problem: string;
	constructor(problem: string) {
		super(problem);
		this.problem = problem;
	}
	/** JSON path such as `message.parts[0].text`; "" for the value itself. */
	get path(): string {
		return this.#path;
	}
	/** The same mismatch seen from one level up: `at` is a member name or an index. */
	under(at: string | number): this {
		const step = typeof at === "number" ? `[${at}]` : at;
		this.#path = this.#path === "" || this.#path.startsWith("[") ? `${step}${this.#path}` : `${step}.${this.#path}`;
		return this;
	}
}

function kindOf(value: unknown): string {
	if (value === undefined) return "nothing";
	if (value === null) return "null";
	if (Array.isArray(value)) return "an array";
	return typeof value === "object" ? "an object" : `a ${typeof value}`;
}

/** Throws what a value of the wrong JSON type deserves. */
export function expected(what: string, value: unknown): never {
	throw new Mismatch(value === undefined ? `expected ${what}` : `expected ${what}, got ${kindOf(value)}`);
}

/** Runs a decoder one level down. */
export function at<T>(key: string | number, decode: Decoder<T>, value: unknown): T {
	try {
		return decode(value);
	} catch (error) {
		throw error instanceof Mismatch ? error.under(key) : error;
	}
}

/** Any string, up to `max` UTF-16 units. */
export function text(max = Number.POSITIVE_INFINITY): Decoder<string> {
	return (value) => {
		if (typeof value !== "string") return expected("a string", value);
		if (value.length > max) throw new Mismatch(`is longer than ${max} characters`);
		return value;
	};
}

/** A string that is not empty (a required string of the proto must be set, §5.7). */
export function filled(max = Number.POSITIVE_INFINITY): Decoder<string> {
	const decode = text(max);
	return (value) => decode(value) || expected("a string that is not empty", undefined);
}

/** true or false, and no text for them. */
export const boolean: Decoder<boolean> = (value) => (typeof value === "boolean" ? value : expected("a boolean", value));

/** An int32 from `min` to `max`; ProtoJSON lets it come as a decimal string as well. */
export function integer(min: number, max = 2_147_483_647): Decoder<number> {
	return (value) => {
		const number = typeof value === "string" && /^-?\d{1,10}$/.test(value) ? Number(value) : value;
		if (typeof number !== "number" || !Number.isInteger(number)) return expected("an integer", value);
		if (number < min || number > max)
			throw new Mismatch(max === 2_147_483_647 ? `must be at least ${min}` : `must be from ${min} to ${max}`);
		return number;
	};
}

/** One of the names of an enum; a name that is none is refused (ProtoJSON, §5.5). */
export function oneOf<const N extends string>(names: readonly N[]): Decoder<N> {
	return (value) => {
		const known = names.find((name) => name === value);
		return known ?? expected(`one of ${names.join(", ")}`, typeof value === "string" ? undefined : value);
	};
}

/** A list of at least `min` and at most `max` items. */
export function list<T>(item: Decoder<T>, max: number, min = 0): Decoder<readonly T[]> {
	return (value) => {
		if (!Array.isArray(value)) return expected("an array", value);
		if (value.length < min) throw new Mismatch(`expected at least ${min === 1 ? "one item" : `${min} items`}`);
		if (value.length > max) throw new Mismatch(`has more than ${max} items`);
		return value.map((inner, index) => at(index, item, inner));
	};
}

/** Any value: itself, not a copy, so that no key of it (`__proto__`) is ever assigned. */
export const anything: Decoder<Json> = (value) => {
	if (hasHugeNumber(value)) throw new Mismatch("has a number that is too large");
	return value as Json;
};

/** google.protobuf.Struct */
export const struct: Decoder<JsonObject> = (value) =>
	isObject(value) ? (anything(value) as JsonObject) : expected("an object", value);

type OptionalKey<T> = { [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? K : never }[keyof T];
type Must<T> = { readonly [K in Exclude<keyof T, OptionalKey<T>>]: Decoder<T[K]> };
type May<T> = { readonly [K in OptionalKey<T>]-?: Decoder<Exclude<T[K], undefined>> };

/** A member by its JSON name or the proto's own (`contextId`, `context_id`): ProtoJSON readers take both. */
export function member(value: Readonly<Record<string, unknown>>, name: string, snake = snakeCase(name)): unknown {
	return value[name] ?? value[snake];
}

/** The proto's name of a JSON member (§5.5): `context_id` for `contextId`. */
export const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * An object with the members of `T`: required ones must be there, optional ones may be absent or null, which is the
 * same (§5.7), and anything else is ignored.
 */
export function record<T extends object>(required: Must<T>, optional: May<T>): Decoder<T> {
	const rows = (fields: object) =>
		Object.entries(fields).map(([name, decode]) => ({
			name,
			snake: snakeCase(name),
			decode: decode as Decoder<unknown>,
		}));
	const must = rows(required);
	const may = rows(optional);
	return (value) => {
		if (!isObject(value)) return expected("an object", value);
		const out: Record<string, unknown> = {};
		for (const { name, snake, decode } of must) out[name] = at(name, decode, member(value, name, snake) ?? undefined);
		for (const { name, snake, decode } of may) {
			const inner = member(value, name, snake) ?? undefined;
			if (inner !== undefined) out[name] = at(name, decode, inner);
		}
		return out as T;
	};
}
