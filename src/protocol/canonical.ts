/** JSON in its one canonical form (RFC 8785), and JSON texts that say a thing twice. */
import { A2AError } from "./errors.ts";
import { isDeeperThan, isObject, MAX_DEPTH } from "./json.ts";

const refused = (why: string) => new A2AError("InvalidRequestError", `This has no canonical form: ${why}`);

function scalar(value: unknown): string {
	if (typeof value === "number" && !Number.isFinite(value)) throw refused("a number that JSON does not have");
	// A half of a surrogate pair is no text that could be encoded (RFC 8785 §3.2.2.2).
	if (typeof value === "string" && /\p{Surrogate}/u.test(value)) throw refused("a text that is not Unicode");
	if (value === null || ["string", "number", "boolean"].includes(typeof value)) return JSON.stringify(value);
	throw refused(`a value of the type ${typeof value}`);
}

function written(value: unknown): string {
	if (Array.isArray(value)) return `[${value.map(written).join(",")}]`;
	if (!isObject(value)) return scalar(value);
	// Without an argument `sort` compares UTF-16 code units, as §3.2.3 wants; members that are undefined are not there.
	const names = Object.keys(value).sort();
	const members = names.filter((name) => value[name] !== undefined);
	return `{${members.map((name) => `${scalar(name)}:${written(value[name])}`).join(",")}}`;
}

/**
 * `value` in canonical form. Members that are `undefined` are left out. Throws `InvalidRequestError` for what JSON does
 * not have (a function, NaN, half a character) and for more than 100 levels.
 */
export function canonicalize(value: unknown): string {
	if (isDeeperThan(value, MAX_DEPTH)) throw refused(`it is nested more than ${MAX_DEPTH} levels deep`);
	return written(value);
}

/** Texts, brackets and commas; what stands between them plays no part. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],]/g;

/**
 * The first member name that an object of this JSON text has twice; `undefined` when there is none. Two readers may
 * take such an object for two different ones. `text` must be valid JSON.
 */
export function repeatedMember(text: string): string | undefined {
	/** The names seen in each object that is open; `undefined` for a list. */
	const open: (Set<string> | undefined)[] = [];
	let atName = false;
	for (const [token] of text.matchAll(TOKEN)) {
		if (token === "{") open.push(new Set());
		else if (token === "[") open.push(undefined);
		else if (token === "}" || token === "]") open.pop();
		const names = open.at(-1);
		if (!token.startsWith('"')) atName = names !== undefined && (token === "{" || token === ",");
		else if (atName && names) {
			const name = JSON.parse(token) as string;
			if (names.has(name)) return name;
			names.add(name);
			atName = false;
		}
	}
	return undefined;
}
