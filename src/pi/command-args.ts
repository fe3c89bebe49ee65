/** What the user typed behind a command, taken apart. */

/** The text between a pair of quotes around all of it, else the text. */
export function unquoted(text: string): string {
	const inner = /^(["'])([\s\S]*)\1$/.exec(text.trim());
	return inner?.[2] ?? text.trim();
}

/** All `--name value` of `names` at the start and the end of `text`, as they were written, and the text without them. */
export function flags<K extends string>(
	text: string,
	names: readonly K[],
): { readonly values: { readonly [N in K]: readonly string[] }; readonly rest: string } {
	const none = () => Object.fromEntries(names.map((name) => [name, []])) as unknown as Record<K, string[]>;
	const [first, last] = [none(), none()];
	let rest = text.trim();
	for (;;) {
		const found = names.map((name) => ({ name, ...flag(rest, name) })).find(({ value }) => value !== undefined);
		if (found?.value === undefined) break;
		// `flag` looks at the end before it looks at the start.
		if (rest.startsWith(found.rest)) last[found.name].unshift(found.value);
		else first[found.name].push(found.value);
		rest = found.rest;
	}
	const values = none();
	for (const name of names) values[name].push(...first[name], ...last[name]);
	return { values, rest };
}

/** The first word and the rest. A word in quotes may hold blanks. */
export function firstWord(text: string): readonly [string, string] {
	const found = /^\s*(?:"([^"]*)"|(\S+))\s*([\s\S]*)$/.exec(text);
	return [found?.[1] ?? found?.[2] ?? "", found?.[3] ?? ""];
}

/**
 * `--name value` or `--name=value` at the start or end of `text`, and the text without it. In the middle it belongs to
 * the message. A value in quotes may hold blanks.
 */
export function flag(text: string, name: string): { readonly value: string | undefined; readonly rest: string } {
	const one = `--${name}(?:=|\\s+)(?:"([^"]*)"|(\\S+))`;
	for (const pattern of [new RegExp(`(?:^|\\s)${one}\\s*$`), new RegExp(`^\\s*${one}(?=\\s|$)`)]) {
		const found = pattern.exec(text);
		if (found) {
			const rest = (text.slice(0, found.index) + text.slice(found.index + found[0].length)).trim();
			return { value: found[1] ?? found[2], rest };
		}
	}
	return { value: undefined, rest: text.trim() };
}
