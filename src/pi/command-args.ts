/** What the user typed behind a command, taken apart. */

/** The text between a pair of quotes around all of it, else the text. */
export function unquoted(text: string): string {
	const inner = /^(["'])([\s\S]*)\1$/.exec(text.trim());
	return inner?.[2] ?? text.trim();
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
