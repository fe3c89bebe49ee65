/** JSON as people write it: strict JSON, and also comments and trailing commas; every value knows its place in the text. */

/** A member of an object, with its place in the text. */
export interface Member {
	readonly key: string;
	/** Where its name begins. */
	readonly start: number;
	readonly node: Node;
	/** Where the comma behind it stands, if there is one. */
	readonly comma: number | undefined;
}

/** A value and its place in the text: from `start` up to, not including, `end`. */
export interface Node {
	readonly start: number;
	readonly end: number;
	readonly value: unknown;
	/** Only for an object: every member, a repeated name included (the last one counts). */
	readonly members?: readonly Member[];
}

/** A JSON object: neither `null` nor a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
	return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The member of that name, never an inherited one (`__proto__`, `constructor`). */
export function own(object: object, name: string): unknown {
	return Object.hasOwn(object, name) ? (object as Record<string, unknown>)[name] : undefined;
}

/** The value at the end of the path, `undefined` where something on the way is missing. */
export function dig(value: unknown, path: readonly string[]): unknown {
	let at = value;
	for (const name of path) at = isObject(at) ? own(at, name) : undefined;
	return at;
}

const BLANK = /(?:\s+|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const STRING = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"/y;
const WORD = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true\b|false\b|null\b/y;
/** Deeper settings are a mistake or an attack. */
const DEEPEST = 100;

/** Reads `text`. Throws a `SyntaxError` that names line and column. */
export function parseJson(text: string): Node {
	let at = 0;

	function fail(expected: string): never {
		const lines = text.slice(0, at).split("\n");
		throw new SyntaxError(`line ${lines.length}, column ${(lines.at(-1)?.length ?? 0) + 1}: expected ${expected}`);
	}
	function match(pattern: RegExp): string | undefined {
		pattern.lastIndex = at;
		const found = pattern.exec(text)?.[0];
		at += found?.length ?? 0;
		return found;
	}
	function skip(): void {
		match(BLANK);
	}
	function take(mark: string): boolean {
		if (text[at] !== mark) return false;
		at += 1;
		return true;
	}
	function string(what: string): string {
		const start = at;
		const found = match(STRING);
		if (found === undefined) fail(what);
		try {
			return JSON.parse(found) as string;
		} catch (cause) {
			at = start;
			throw new SyntaxError(`line ${text.slice(0, at).split("\n").length}: not a valid string`, { cause });
		}
	}
	/** The inside of an object or list up to its closing mark; `item` reads one element. */
	function inside(close: string, item: () => void, comma: (at: number) => void): void {
		for (;;) {
			skip();
			if (take(close)) return;
			item();
			skip();
			if (text[at] === ",") comma(at++);
			else if (take(close)) return;
			else fail(`"," or "${close}"`);
		}
	}
	function object(start: number, depth: number): Node {
		const members: Member[] = [];
		// Without a prototype, so that a member called `__proto__` is one like any other.
		const value = Object.create(null) as Record<string, unknown>;
		inside(
			"}",
			() => {
				const begin = at;
				const key = string('a name in double quotes or "}"');
				skip();
				if (!take(":")) fail('":"');
				const node = read(depth + 1);
				members.push({ key, start: begin, node, comma: undefined });
				value[key] = node.value;
			},
			(comma) => {
				const last = members.pop();
				if (last) members.push({ ...last, comma });
			},
		);
		return { start, end: at, value, members };
	}
	function read(depth: number): Node {
		skip();
		if (depth > DEEPEST) fail("fewer levels");
		const start = at;
		if (take("{")) return object(start, depth);
		if (take("[")) {
			const items: unknown[] = [];
			inside(
				"]",
				() => items.push(read(depth + 1).value),
				() => undefined,
			);
			return { start, end: at, value: items };
		}
		if (text[at] === '"') return { start, value: string("a string that ends"), end: at };
		const word = match(WORD);
		if (word === undefined) fail("a value");
		return { start, end: at, value: JSON.parse(word) };
	}

	const root = read(0);
	skip();
	if (at < text.length) fail("the end");
	return root;
}
