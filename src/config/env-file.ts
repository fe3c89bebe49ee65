/** Lines of `NAME=value`, as shells and dotenv files have them. */

export interface EnvFile {
	readonly variables: ReadonlyMap<string, string>;
	/** Lines that name a variable of ours and cannot be read. The text is left out: it may hold a secret. */
	readonly faults: readonly { readonly line: number; readonly name: string }[];
}

const ASSIGNMENT = /^\s*(?:export\s+)?(A2A_[A-Za-z0-9_]+)\s*(?:=(.*))?$/;
const ESCAPES: { readonly [letter: string]: string } = { n: "\n", r: "\r", t: "\t" };

/**
 * The `A2A_*` variables in `text`. Single quotes take their inside as it is, double quotes know `\n`, `\"` and `\\`, a
 * value without quotes ends before ` #`. Of several lines with one name the last counts.
 */
export function readEnvFile(text: string): EnvFile {
	const variables = new Map<string, string>();
	const faults: { line: number; name: string }[] = [];
	text.split(/\r?\n/).forEach((each, index) => {
		const [, name, written] = ASSIGNMENT.exec(each) ?? [];
		if (name === undefined) return;
		const value = written === undefined ? undefined : unquoted(written.trim());
		if (value === undefined) faults.push({ line: index + 1, name });
		else variables.set(name, value);
	});
	return { variables, faults };
}

function unquoted(text: string): string | undefined {
	if (text.startsWith("'")) return /^'([^']*)'\s*(?:#.*)?$/.exec(text)?.[1];
	if (text.startsWith('"')) {
		const inside = /^"([^"\\]*(?:\\.[^"\\]*)*)"\s*(?:#.*)?$/.exec(text)?.[1];
		return inside?.replace(/\\(.)/g, (_, letter: string) => ESCAPES[letter] ?? letter);
	}
	return text.replace(/(^|\s)#.*$/, "").trim();
}
