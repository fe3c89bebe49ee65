/** Names that nobody knows, and what was probably meant. */
import { isObject, own } from "./json.ts";

/** How many letters must be added, dropped, changed or swapped with a neighbour to make `a` of `b`. */
export function distance(a: string, b: string): number {
	let before: number[] = [];
	let last = Array.from({ length: b.length + 1 }, (_, column) => column);
	for (let row = 1; row <= a.length; row++) {
		const line = [row];
		for (let column = 1; column <= b.length; column++) {
			const changed = (last[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1);
			let least = Math.min(changed, (last[column] ?? 0) + 1, (line[column - 1] ?? 0) + 1);
			if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
				least = Math.min(least, (before[column - 2] ?? 0) + 1);
			line.push(least);
		}
		before = last;
		last = line;
	}
	return last[b.length] ?? 0;
}

const tail = (path: string): string => path.slice(path.lastIndexOf(".") + 1);
const bare = (path: string): string => path.toLowerCase().replace(/[._-]/g, "");

/**
 * The path of `known` that was probably meant by `name`: misspelled, written in another style (`server_port`), or put
 * into the wrong place (`port` for `server.port`). `most`: how many letters may be wrong.
 */
export function nearest(name: string, known: readonly string[], most = 2): string | undefined {
	// A long name is not a slip of the finger, and comparing it costs.
	if (name.length > 80) return undefined;
	const wrong = (path: string) =>
		Math.min(distance(bare(name), bare(path)), distance(bare(tail(name)), bare(tail(path))) + 0.5);
	let best: { readonly path: string; readonly wrong: number } | undefined;
	for (const path of known) {
		const found = { path, wrong: wrong(path) };
		if (found.wrong < (best?.wrong ?? Number.POSITIVE_INFINITY)) best = found;
	}
	return best && best.wrong <= Math.min(most + 0.5, name.length / 2) ? best.path : undefined;
}

/** A member that stands where no key is, or a value that stands where a group of keys should. */
export interface Stranger {
	readonly path: string;
	readonly value: unknown;
	/** The path is a group such as `server`, but its value is no object. */
	readonly group: boolean;
}

/** The members of `object` that are neither one of the `known` paths nor on the way to one. */
export function strangers(object: object, known: readonly string[], prefix = ""): Stranger[] {
	return Object.keys(object).flatMap((name) => {
		const path = `${prefix}${name}`;
		const value = own(object, name);
		if (known.includes(path)) return [];
		if (!known.some((each) => each.startsWith(`${path}.`))) return [{ path, value, group: false }];
		if (isObject(value)) return strangers(value, known, `${path}.`);
		return value === null ? [] : [{ path, value, group: true }];
	});
}
