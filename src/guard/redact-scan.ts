/**
 * Walks a text word by word and takes credentials out. What a word may be depends on the words before it (a name, a
 * header, the inside of a private key), so a walk keeps a little state; it never has to look back or ahead, which is
 * what lets it run over a stream and hold back no more than the word that is being written.
 */
import { announced, type Expected, JUDGES, kindOf, passwordFlag, SEPARATOR } from "./redact-expect.ts";
import {
	type Finding,
	findEmails,
	findEncoded,
	findTokens,
	findUrlPasswords,
	listed,
	type Pair,
	pairsIn,
	replaceAll,
	unquoted,
	valueAt,
} from "./redact-find.ts";
import {
	isContinuation,
	isSecretMap,
	isSecretName,
	isSecretValue,
	isSessionCookie,
	isSignedParameter,
	isStandaloneSecret,
	isVeryRandom,
} from "./redact-patterns.ts";
import { KeyBlock, QUOTE_MARK } from "./redact-pem.ts";

/** Names that a pair may have to matter. */
const TELLING =
	/pass|pwd|pw|kennwort|secret|token|key|cred|auth|jwt|jwe|bearer|psk|pat|cookie|sess|^(?:name|header|field|variable|value|val|string|sig|signature|code|sid|hmac|[dpqkt]|dp|dq|qi|x-.*(?:signature|credential))$/i;
/** How much of a line is remembered, in characters. */
const LINE = 160;
/** How many words a name waits for its `value:`. */
const NAMED = 8;
const JOINER = /^[+.&\\]$/;
const BLANK = /^\s*$/;

/** The state of a walk. `word` takes the next word, `gap` what stands between words; both give what may be shown. */
export class Scan {
	#expected: Expected | undefined;
	readonly #key = new KeyBlock();
	/** A secret's name was the value of `name:`; its own value comes under `value:`, within so many words. */
	#named = 0;
	/** Inside `tokens: { … }`; one written by indentation ends with a line of `indent` or less. */
	#map: { depth: number; readonly indent: number } | undefined;
	#indent = 0;
	/** The line is a Cookie header. */
	#cookie = false;
	/** The word before ended in a token: `open`, and a line break or a joining sign came since: `joined`. */
	#carry: "open" | "joined" | undefined;
	#lineStart = true;
	/** The end of what came before on this line. */
	#line = "";
	readonly #known: readonly string[];
	/** The text was decoded from a run in another one. */
	readonly #inner: boolean;

	/** `known`: values that are secret wherever they stand. */
	constructor(known: readonly string[], inner = false) {
		this.#known = known;
		this.#inner = inner;
	}

	/** Nothing that came matters for what comes: words that no pattern can match may be given to `skip`. */
	get idle(): boolean {
		return !(this.#expected || this.#named || this.#map || this.#cookie || this.#carry || this.#key.active);
	}

	/** Tells of words and gaps that were left out. */
	skip(text: string): void {
		const last = text.lastIndexOf("\n");
		const line = last < 0 ? text : text.slice(last + 1);
		const fresh = last >= 0 || this.#lineStart;
		if (fresh) this.#indent = (last < 0 ? this.#indent : 0) + line.search(/\S|$/);
		this.#lineStart = fresh && BLANK.test(line);
		this.#remember(last < 0 ? line : line.slice(-LINE), last >= 0);
	}

	#remember(text: string, fresh: boolean): void {
		this.#line = fresh ? text : `${this.#line}${text.slice(-LINE)}`.slice(-LINE);
	}

	/** What stands between two words, or a piece of it. */
	gap(text: string): string {
		const last = text.lastIndexOf("\n");
		if (last >= 0) {
			this.#lineStart = true;
			this.#cookie = false;
			// One line break may stand before a value, an empty line may not.
			const crossed = this.#expected?.newline && text.indexOf("\n") === last;
			this.#expected = crossed && this.#expected ? { ...this.#expected, newline: false } : undefined;
			if (this.#carry) this.#carry = "joined";
		}
		if (this.#lineStart) this.#indent = (last < 0 ? this.#indent : 0) + text.length - last - 1;
		this.#remember(text.slice(last + 1).slice(-LINE), last >= 0);
		return this.#key.gap(text);
	}

	/** The end of the text. */
	end(): string {
		return this.#key.release();
	}

	/** A word. `next` is the character after it, "" at the end of the text and inside a word that came in pieces. */
	word(word: string, next: string): string {
		const taken = this.#key.take(word);
		const held = taken ? "" : this.#key.release();
		const rest = taken ? taken.rest : word;
		const shown = rest === "" ? "" : this.#text(rest, next);
		this.#remember(word, false);
		if (!QUOTE_MARK.test(word)) this.#lineStart = false;
		return held + (taken?.shown ?? "") + shown;
	}

	#text(word: string, next: string): string {
		const tokens = [...this.#knownIn(word), ...findTokens(word)];
		const urls = findUrlPasswords(word);
		const joined = this.#continued(word, next);
		const findings: Finding[] = [...tokens, ...urls, ...joined];
		// In a decoded text addresses are content, not credentials, and nothing is decoded once more.
		if (!this.#inner) findings.push(...findEncoded(word, holdsSecret), ...findEmails(word));
		const before = this.#expected;
		this.#expected = undefined;
		if (this.#named > 0) this.#named--;
		if (before) this.#awaited(word, before, findings);
		this.#pairs(word, urls, findings);
		const flag = passwordFlag(word, this.#line);
		if (flag !== undefined) findings.push({ start: flag, end: word.length, kind: "password" });
		if (!this.#expected) this.#announce(word, next, before);
		if (this.#map) this.#inMap(word, this.#map, findings);
		this.#carryOn(word, next, [...tokens, ...joined]);
		return replaceAll(word, findings);
	}

	#knownIn(word: string): Finding[] {
		const found: Finding[] = [];
		for (const value of this.#known)
			for (let at = word.indexOf(value); at >= 0; at = word.indexOf(value, at + value.length))
				found.push({ start: at, end: at + value.length, kind: "secret" });
		return found;
	}

	/** The next line of a token that was broken over lines, or the next piece of a joined string. */
	#continued(word: string, next: string): Finding[] {
		if (this.#carry !== "joined") return [];
		const { start, end } = valueAt(word, 0);
		const alone = this.#lineStart && /^[\n\r]?$/.test(next);
		return (alone || start > 0) && isContinuation(word.slice(start, end)) ? [{ start, end, kind: "token" }] : [];
	}

	/** Whether a token at the end of this word may go on in the next one. */
	#carryOn(word: string, next: string, tokens: readonly Finding[]): void {
		if (tokens.some(({ end }) => /^["'`+\\,]*$/.test(word.slice(end)))) {
			this.#carry = /^[\n\r]$/.test(next) ? "joined" : "open";
		} else if (this.#carry && JOINER.test(word)) this.#carry = "joined";
		else if (!QUOTE_MARK.test(word)) this.#carry = undefined;
	}

	/** The word as the value that was announced. */
	#awaited(word: string, { as, kind }: Expected, findings: Finding[]): void {
		if (/^["'`(]*[{[]/.test(word)) return;
		const bare = word.replace(/^\(+(?=["'`\w])/, "");
		const { start, end } = valueAt(bare, 0);
		const value = bare.slice(start, end);
		const from = start + word.length - bare.length;
		// The next assignment, not a value: an empty one stands before it.
		if (as !== "userpass" && start === 0 && /^[A-Za-z_][\w.-]*(?:[:=](?!=?$)|:$)/.test(value)) return;
		if (!JUDGES[as](value)) return;
		const user = as === "userpass" ? value.indexOf(":") + 1 : 0;
		findings.push({ start: from + user, end: from + value.length, kind });
	}

	/** `key=value` inside the word. */
	#pairs(word: string, urls: readonly Finding[], findings: Finding[]): void {
		let done = 0;
		let stop = -1;
		for (const pair of pairsIn(word)) {
			if (pair.from < done || !(this.#cookie || this.#map || TELLING.test(pair.key))) continue;
			// The user and password of an address are no pair.
			if (urls.some((url) => url.start <= pair.from && pair.from < url.end)) continue;
			const value = valueAt(word, pair.from, stop);
			stop = value.stop;
			const found = this.#pair(word, pair, value);
			if (found) done = found.at(-1)?.end ?? done;
			findings.push(...(found ?? []));
		}
	}

	#pair(word: string, pair: Pair, place: { readonly start: number; readonly end: number }): Finding[] | undefined {
		const { key, from } = pair;
		const { start, end } = place;
		const isHeader = /^(?:set-)?cookie$|^document\.cookie$/i.test(key);
		if (isHeader) this.#cookie = true;
		const isNamed = this.#named > 0 && /^(?:value|val|string)$/i.test(key);
		const isSecret =
			isNamed ||
			isSecretName(this.#fullName(key, word)) ||
			(pair.query && isSignedParameter(key)) ||
			(this.#cookie && !isHeader && isSessionCookie(key));
		const isNaming = /^(?:name|key|header|field|variable)$/i.test(key);
		const isAuth = /auth(?:orization)?$/i.test(key);
		const isJwk = /^(?:d|dp|dq|qi|p|q|k)$/.test(key) && /["\\]/.test(word[from - 2] ?? "");
		const isVague = isJwk || this.#cookie || this.#map !== undefined || /^(?:key|session)$/i.test(key);
		if (!isSecret && !isNaming && !isAuth && !isVague) return undefined;
		const kind = kindOf(isNamed ? "secret" : key);
		const value = word.slice(start, end);
		if (value.length < 3 && /^["'`\\*_]*$/.test(word.slice(from))) {
			const newline = pair.separator === ":";
			if (isSecretMap(key)) this.#expected = { as: "map", kind, newline };
			else if (isNaming && !isSecret) this.#expected = { as: "name", kind, newline };
			else if (isAuth) this.#expected = { as: "scheme", kind, newline };
			else if (isSecret) this.#expected = { as: "value", kind, newline };
			else if (this.#map) this.#expected = { as: "word", kind, newline };
			else if (isJwk) this.#expected = { as: "jwk", kind, newline };
			return undefined;
		}
		if (isNaming && isSecretName(value)) this.#named = NAMED;
		if (isSecretMap(key)) {
			if (/^[{[]/.test(value)) this.#map = { depth: 0, indent: -1 };
			if (value.includes(":")) return listed(value, start);
		}
		if (isSecret ? isSecretValue(value) : isVague && (isVeryRandom(value) || (this.#map && isStandaloneSecret(value))))
			return [{ start, end, kind }];
		if (!isAuth) return undefined;
		const scheme = /^(?:Bearer|Basic|Token)(?:%20|\+)/i.exec(value)?.[0].length;
		if (scheme !== undefined && isSecretValue(value.slice(scheme))) return [{ start: start + scheme, end, kind }];
		if (/^[A-Za-z-]{3,20}$/.test(value) && end === word.length)
			this.#expected = { as: "credential", kind, newline: false };
		return undefined;
	}

	/** What the end of the word announces. `before` is what was expected of the word itself. */
	#announce(word: string, next: string, before: Expected | undefined): void {
		if (this.#key.open(word, this.#line)) return;
		if (before && SEPARATOR.test(word)) {
			this.#expected = before.as === "word" ? { ...before, as: "value" } : before;
		} else if (before?.as === "name" && isSecretName(unquoted(word))) this.#named = NAMED;
		else if (before?.as === "map" && /^["'`(]*[{[]/.test(word)) this.#map = { depth: 0, indent: -1 };
		else if (before?.as === "map" && this.#lineStart) this.#map = { depth: 1, indent: this.#indent - 1 };
		else if (before?.as === "scheme" && /^["'`]?[A-Za-z0-9-]{3,20}$/.test(word)) {
			this.#expected = { ...before, as: "credential" };
		} else this.#expected = announced(word, this.#line) ?? this.#bareName(word, next);
	}

	/** A name without its value: `password`, `"token"`, `--api-key`, `API key`. */
	#bareName(word: string, next: string): Expected | undefined {
		const ends = /^[\n\r]/.test(next);
		if (word.length > 80 || (ends && !this.#lineStart) || word.includes("[redacted:")) return undefined;
		const name = /([A-Za-z_][\w.-]{0,63})["'`\]]*$/.exec(word)?.[1] ?? "";
		const full = this.#fullName(name, word);
		if (!isSecretName(full) && !/^(?:login|identified)$/i.test(name)) return undefined;
		return { as: /^--?[a-z]/i.test(word) ? "value" : "word", kind: kindOf(full), newline: ends };
	}

	/** `API key` is a name of two words. */
	#fullName(name: string, word: string): string {
		if (!/^keys?$/i.test(name) || !/^\W*key/i.test(word)) return name;
		return `${/([A-Za-z]+)[^\w\n]{1,3}$/.exec(this.#line)?.[1] ?? ""} ${name}`;
	}

	/** Inside `tokens: { … }` every value counts that is surely random, whatever its name. */
	#inMap(word: string, map: { depth: number; readonly indent: number }, findings: Finding[]): void {
		if (map.indent < 0) {
			for (const brace of word.matchAll(/[{}[\]]/g)) map.depth += /[{[]/.test(brace[0]) ? 1 : -1;
			if (map.depth <= 0) this.#map = undefined;
		} else if (this.#lineStart && this.#indent <= map.indent && !QUOTE_MARK.test(word)) {
			this.#map = undefined;
			return;
		}
		const bare = word.replace(/^[-[{(]+(?=["'`])/, "");
		const { start, end } = valueAt(bare, 0);
		const from = word.length - bare.length;
		if (isVeryRandom(bare.slice(start, end))) findings.push({ start: from + start, end: from + end, kind: "token" });
	}
}

/** Longest word of a decoded text that is looked at, in characters. */
const MAX_DECODED = 3000;

/** Whether a decoded text holds a secret. */
function holdsSecret(text: string): boolean {
	const scan = new Scan([], true);
	for (const [, word = "", gap = ""] of text.matchAll(/(\S*)(\s*)/g)) {
		if (word !== "" && word.length < MAX_DECODED && scan.word(word, gap.slice(0, 1)) !== word) return true;
		scan.gap(gap);
	}
	return false;
}
