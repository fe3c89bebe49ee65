/** Finds secrets inside one word (a run without blanks). Pure; every search costs the length of the word. */
import { isPlaceholder, isSecretValue, isStandaloneSecret, TOKEN_SHAPES, tokenKind } from "./redact-patterns.ts";

/** A part of a word that must not be shown: `[start, end)` and the kind that its placeholder names. */
export interface Finding {
	readonly start: number;
	readonly end: number;
	readonly kind: string;
}

/** `key = value` inside a word; `from` is where the value begins (`valueAt`), perhaps the end of the word. */
export interface Pair {
	readonly key: string;
	readonly from: number;
	/** A parameter of an address: `?key=` or `&key=`. */
	readonly query: boolean;
	readonly separator: string;
}

const isNameChar = (char: string | undefined): boolean => char !== undefined && /[\w.$-]/.test(char);

/**
 * The value that begins at `from`: without its quotes, up to the closing quote or the next sign that ends a value.
 * `stop`, where the unquoted value before ended, saves the search when it lies ahead.
 */
export function valueAt(
	word: string,
	from: number,
	stop = -1,
): { readonly start: number; readonly end: number; readonly stop: number } {
	let start = from;
	if (/^[bruf@$]{0,2}["'`]/.test(word.slice(start, start + 3))) start += word.slice(start).search(/["'`]/);
	while (word[start] === "\\" && /["'\\]/.test(word[start + 1] ?? "")) start++;
	const quote = /["'`]/.test(word[start] ?? "") ? word[start] : undefined;
	if (quote !== undefined) {
		start++;
		let end = word.indexOf(quote, start);
		if (end < 0) end = word.length;
		while (end > start && word[end - 1] === "\\") end--;
		return { start, end, stop };
	}
	// A "&" inside a password is kept together with it unless it starts the next parameter or joins two commands.
	const search = /["'`<>\\;,\s]|&(?=&|amp;|$|[\w.-]{1,40}=)/g;
	search.lastIndex = start;
	const next = stop >= start ? stop : (search.exec(word)?.index ?? word.length);
	let end = next;
	// Three dots say that something was left out; what remains is no secret.
	if (!word.startsWith("...", end - 3)) while (end > start && /[.,:)\]}]/.test(word[end - 1] ?? "")) end--;
	return { start, end, stop: next };
}

/** The word without quotes around it. */
export const unquoted = (word: string): string => {
	const { start, end } = valueAt(word, 0);
	return word.slice(start, end);
};

/** The secrets of a list such as `alice:token,bob:token` that begins at `start`. */
export function listed(list: string, start: number): Finding[] {
	return [...list.matchAll(/[^,;]+/g)].flatMap(({ 0: item, index }) => {
		const value = item.slice(item.indexOf(":") + 1);
		const end = start + index + item.length;
		return isSecretValue(value) ? [{ start: end - value.length, end, kind: "token" }] : [];
	});
}

/** Every `key=value`, `"key":"value"`, `<key>value</key>` of a word, in order. */
export function pairsIn(word: string): Pair[] {
	const pairs: Pair[] = [];
	if (!/[:=>]/.test(word)) return pairs;
	for (const found of word.matchAll(/[:=>]/g)) {
		const at = found.index;
		let last = at - 1;
		if (/[=:+?]/.test(word[last] ?? "") && found[0] !== ":") last--;
		let quotes = 0;
		while (quotes < 6 && /["'`\\\]?]/.test(word[last] ?? "")) {
			last--;
			quotes++;
		}
		let first = last;
		while (last - first < 64 && isNameChar(word[first])) first--;
		// The letter of an escape such as \n is not part of the name.
		if (word[first] === "\\" && /[nrt]/.test(word[first + 1] ?? "")) first++;
		const key = word.slice(first + 1, last + 1);
		if (key === "" || (found[0] === ">" && word[at - 1] !== "=" && word[first] !== "<" && quotes === 0)) continue;
		if (found[0] === ":" && word.startsWith("//", at + 1)) continue;
		let from = at + 1;
		while (/[=>~]/.test(word[from] ?? "")) from++;
		pairs.push({ key, from, query: /[?&#;]/.test(word[first] ?? ""), separator: found[0] });
	}
	return pairs;
}

/** Tokens that their own shape gives away. */
export function findTokens(word: string): Finding[] {
	const found: Finding[] = [];
	if (word.length < 16 || !/[A-Z0-9]/.test(word)) return found;
	TOKEN_SHAPES.lastIndex = 0;
	for (let match = TOKEN_SHAPES.exec(word); match; match = TOKEN_SHAPES.exec(word)) {
		const text = match[0].replace(/[.,:;/+=-]+$/, (end) => (/^=+$/.test(end) ? end : ""));
		const kind = tokenKind(word, match.index, match[0].length);
		if (kind === undefined) continue;
		found.push({ start: match.index, end: match.index + text.length, kind });
		// The secret half of an AWS pair in a table.
		const pair =
			kind === "aws-key"
				? /^[^A-Za-z0-9]{1,4}([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])/.exec(word.slice(match.index + text.length))
				: null;
		if (pair?.[1] !== undefined) {
			const start = match.index + text.length + pair[0].length - 40;
			found.push({ start, end: start + 40, kind: "aws-key" });
		}
	}
	return found;
}

// What stands in for a password in documentation, and what is too short to be one.
const STAND_IN = /^(?:.{1,3}|pass|password|passwd|secret|token|x-oauth-basic)$/i;
const isPassword = (text: string): boolean => !STAND_IN.test(text) && !isPlaceholder(text) && !/^[$<{[%*]/.test(text);

/** The last field of a line of `.pgpass`: `host:port:database:user:password`. */
function findPgpass(word: string): Finding[] {
	const value = /^[\w.*-]{1,253}:(?:\d{1,5}|\*):[\w*-]{1,64}:[\w*-]{1,64}:([^\s:]{8,128})$/.exec(word)?.[1];
	return value !== undefined && isSecretValue(value)
		? [{ start: word.length - value.length, end: word.length, kind: "password" }]
		: [];
}

/** Passwords in addresses (`scheme://user:password@host`), data source names and `.pgpass` lines. */
export function findUrlPasswords(word: string): Finding[] {
	const found: Finding[] = [];
	if (!word.includes("@")) return findPgpass(word);
	for (let at = word.indexOf("://"); at >= 0; at = word.indexOf("://", at + 3)) {
		const start = at + 3;
		const rest = word.slice(start, start + 512);
		let host = /^[^\s/?#"'<>`\\]*@/.exec(rest)?.[0].length ?? 0;
		// An unescaped "/" in the password; not a port and a path.
		if (host === 0 && /^[^\s/:@"'<>]{1,64}:(?!\d{1,5}\/)[^\s@"'<>]{8,}@/.test(rest)) host = rest.indexOf("@") + 1;
		if (host === 0) continue;
		const user = rest.slice(0, host - 1);
		if (user.includes("[redacted:")) continue;
		const colon = user.indexOf(":");
		const password = colon < 0 ? user : user.slice(colon + 1);
		if (colon >= 0 && !/^x-oauth-basic$/i.test(password)) {
			if (isPassword(password)) found.push({ start: start + colon + 1, end: start + host - 1, kind: "password" });
		} else if (isStandaloneSecret(colon < 0 ? user : user.slice(0, colon)) && !rest.includes("sentry")) {
			found.push({ start, end: start + (colon < 0 ? user.length : colon), kind: "token" });
		}
	}
	if (found.length > 0) return found;
	for (const match of word.matchAll(/(?<![\w.-])[\w.-]{1,32}[:/]([^\s@:"'<>()[\]{}\\]{8,64})@(?!sha\d)[\w./(]/g)) {
		if (!isStandaloneSecret(match[1] ?? "") || match[0].includes("://")) continue;
		const end = match.index + match[0].length - 2;
		found.push({ start: end - (match[1]?.length ?? 0), end, kind: "password" });
	}
	return found;
}

// Endings of host names as people have them. An open list would take code with an "@" for an address.
const TLDS = new Set(
	(
		"com org net edu gov mil int info biz pro aero coop museum mobi jobs tel cat asia post app dev page blog cloud online " +
		"site tech store shop xyz top club email work works world today company agency solutions systems services digital " +
		"media network software studio academy consulting group team zone space website press news global social email " +
		"health care finance bank capital ventures legal law university school college church foundation ngo ong travel " +
		"berlin london paris nyc tokyo eus swiss example test invalid arpa gmbh ltd llc inc"
	).split(" "),
);
// Two-letter endings are countries; these are more often files or members in code.
const NOT_COUNTRIES = new Set(["js", "ts", "go", "vb", "db", "ui", "op", "fn", "it.", "up", "ok", "id."]);

function isHost(domain: string): boolean {
	const labels = domain.split(".");
	const ending = labels.at(-1) ?? "";
	if (ending !== ending.toLowerCase() && domain !== domain.toUpperCase()) return false;
	const lower = ending.toLowerCase();
	if (/^\d/.test(labels[0] ?? "") && /^v?\d+$/.test(labels.at(-2) ?? "")) return false;
	if (lower.length === 2) return !NOT_COUNTRIES.has(lower) && !/[a-z][A-Z]/.test(domain);
	return TLDS.has(lower) || lower.startsWith("xn--");
}

/** Letters, digits and `._%+-`, of which the name before the `@` is made; false before the start of a word. */
const isLocalCode = (code: number): boolean =>
	(code >= 97 && code <= 122) ||
	(code >= 48 && code <= 57) ||
	(code >= 65 && code <= 90) ||
	"._%+-".includes(String.fromCharCode(code));

/** Email addresses, also with an escaped `@`. */
export function findEmails(word: string): Finding[] {
	const found: Finding[] = [];
	if (!/@|%40|0040|&#/.test(word)) return found;
	for (const at of word.matchAll(/@|%40|\\u0040|&#(?:64|x40);/gi)) {
		let start = at.index;
		while (at.index - start < 64 && isLocalCode(word.charCodeAt(start - 1))) start--;
		start += /^(?:%[0-9A-F]{2}|[.%-])*/i.exec(word.slice(start, at.index))?.[0].length ?? 0;
		const local = word.slice(start, at.index);
		if (local === "" || local === "git") continue;
		const from = at.index + at[0].length;
		const domain =
			/^(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})\.){1,6}(?:xn--[a-z0-9-]{2,59}|[A-Za-z]{2,24})(?![\w(-]|\.\w)/.exec(
				word.slice(from, from + 320),
			);
		if (!domain || !isHost(domain[0])) continue;
		// The user of an address (ssh://me@host) is no mail address.
		const scheme = word.lastIndexOf("://", start);
		if (scheme >= 0 && !/[/?#=]/.test(word.slice(scheme + 3, start))) continue;
		// The letter of an escape such as \n is not part of the name.
		if (word[start - 1] === "\\" && /[nrt]/.test(word[start] ?? "")) start++;
		found.push({ start, end: from + domain[0].length, kind: "email" });
	}
	return found;
}

const PRINTABLE = /^[\t\n\r\x20-\x7e]+$/;
const bytes = (text: string, encoding: "base64" | "hex"): string => Buffer.from(text, encoding).toString("latin1");
const codes = (text: string, digits: RegExp): string =>
	[...text.matchAll(digits)]
		.map((code) => String.fromCharCode(Number.parseInt(code[1] ?? code[2] ?? "", code[1] ? 16 : 10)))
		.join("");

const ENCODINGS: readonly { readonly run: RegExp; readonly decode: (run: string) => string | undefined }[] = [
	{
		run: /(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]{24,}={0,2}/g,
		decode: (run) =>
			PRINTABLE.test(bytes(run.slice(0, 12), "base64")) ? bytes(run, "base64").replace(/[^\x20-\x7e]$/, "") : undefined,
	},
	{ run: /(?<![0-9a-f])(?:[2-7][0-9a-f]|0[9ad]){12,}(?![0-9a-f])/gi, decode: (run) => bytes(run, "hex") },
	{ run: /(?:%[0-9a-f]{2}){8,}/gi, decode: (run) => codes(run, /%([0-9a-f]{2})/gi) },
	{
		run: /[\w%.~-]{24,}/g,
		decode: (run) =>
			run.includes("%")
				? run.replace(/%([2-7][0-9a-f])/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
				: undefined,
	},
	{ run: /(?:\\u00[0-9a-f]{2}|\\x[0-9a-f]{2}){8,}/gi, decode: (run) => codes(run, /\\(?:u00|x)([0-9a-f]{2})/gi) },
	{ run: /(?:&#(?:x[0-9a-f]{2}|\d{2,3});){8,}/gi, decode: (run) => codes(run, /&#(?:x([0-9a-f]{2})|(\d{2,3}));/gi) },
];

/** Runs that hold a secret once decoded (base64, hex, escapes); `holdsSecret` looks at the decoded text. */
export function findEncoded(word: string, holdsSecret: (text: string) => boolean): Finding[] {
	const found: Finding[] = [];
	if (word.length < 24 || !/[A-Z0-9%]/.test(word)) return found;
	for (const { run, decode } of ENCODINGS) {
		for (const match of word.matchAll(run)) {
			const text = decode(match[0]);
			if (text !== undefined && text !== match[0] && text.length >= 8 && PRINTABLE.test(text) && holdsSecret(text))
				found.push({ start: match.index, end: match.index + match[0].length, kind: "encoded" });
		}
	}
	return found;
}

/** Whether a credential of HTTP Basic: base64 of `user:password`. */
export function isBasic(value: string): boolean {
	if (value.length < 8 || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(value)) return false;
	const text = bytes(value, "base64");
	return PRINTABLE.test(text) && text.includes(":");
}

/** The word with its findings replaced. Findings may overlap; the first names the placeholder. */
export function replaceAll(word: string, findings: readonly Finding[]): string {
	if (findings.length === 0) return word;
	let out = "";
	let done = 0;
	for (const finding of [...findings].sort((a, b) => a.start - b.start || b.end - a.end)) {
		if (finding.start >= done) out += `${word.slice(done, finding.start)}[redacted:${finding.kind}]`;
		done = Math.max(done, finding.end);
	}
	return out + word.slice(done);
}
