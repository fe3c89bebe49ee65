/**
 * Walks a text word by word and takes credentials out. What a word may be depends on the words before it (a key, a
 * header, the inside of a private key), so a walk keeps a little state; it never has to look back or ahead, which is
 * what lets it run over a stream and hold back no more than the word that is being written.
 */
import {
	type Finding,
	findEmails,
	findEncoded,
	findTokens,
	findUrlPasswords,
	isBasic,
	pairsIn,
	replaceAll,
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

/**
 * What the words so far make of the next one. `value`: the value of a secret's name. `word`: only the name came
 * before, a separator or the value may follow. `scheme`: the value of an Authorization header.
 */
type Expected =
	| "value"
	| "word"
	| "scheme"
	| "credential"
	| "bearer"
	| "basic"
	| "userpass"
	| "name"
	| "map"
	| "pair"
	| "jwk";

interface Await {
	readonly what: Expected;
	/** The kind that a placeholder names. */
	readonly kind: string;
	/** The value may stand on the next line. */
	readonly newline: boolean;
}

/** The private key that the walk is in. */
interface Pem {
	readonly in: "label" | "count" | "body";
	/** The label says PRIVATE. */
	readonly secret: boolean;
	/** A line of the key has been taken out. */
	readonly seen: boolean;
	/** The rest of the line is a header of the key (`Proc-Type: 4,ENCRYPTED`). */
	readonly header?: boolean;
}

const COMMANDS =
	/(?:^|[\s/"'`$(|;&])(?:mysql\w*|mariadb\w*|sshpass|redis-cli|docker|podman|buildah|skopeo|helm|oc|az|ldap\w+|smbclient|curl|wget|https?|mongo\w*|zip|unzip|7z|plink|pscp|sqlcmd|bcp|gpg|keytool|nmcli|rclone|influx|cqlsh|net|xfreerdp)\s/i;
/** Names that a pair may have to matter. */
const TELLING =
	/pass|pwd|pw|kennwort|secret|token|key|cred|auth|jwt|jwe|bearer|psk|pat|cookie|sess|^(?:name|header|field|variable|value|val|string|sig|signature|code|sid|hmac|[dpqkt]|dp|dq|qi|x-.*(?:signature|credential))$/i;
/** How much of a line is remembered, in characters. */
const LINE = 160;
const QUOTE_MARKS = /^(?:[>|#*+-]|\/\/|>+)$/;

/** The state of a walk. `word` takes the next word, `gap` what stands between words; both give what may be shown. */
export class Scan {
	#expected: Await | undefined;
	#pem: Pem | undefined;
	/** Blanks and quote marks between the lines of a key: dropped with the next line, shown otherwise. */
	#held = "";
	/** A name that belongs to the `value:` to come, for so many words. */
	#named = 0;
	#map: { depth: number; readonly indent: number } | undefined;
	#indent = 0;
	#cookie = false;
	/** The word before ended in a token: `open`, and a line break or a joining sign came since: `joined`. */
	#carry: "open" | "joined" | undefined;
	#lineStart = true;
	/** The end of what came before on this line. */
	#line = "";
	readonly #known: readonly string[];
	readonly #emails: boolean;

	constructor(known: readonly string[], emails = true) {
		this.#known = known;
		this.#emails = emails;
	}

	/** Nothing that came matters for what comes; `word` may be left out for a word that no pattern can match. */
	get idle(): boolean {
		return !(this.#expected || this.#pem || this.#named || this.#map || this.#cookie || this.#carry || this.#held);
	}

	/** Tells of words that were left out. `text` ends where the next word begins. */
	skip(text: string): void {
		const line = text.lastIndexOf("\n");
		if (line >= 0) this.#indent = text.length - line - 1;
		this.#lineStart = line >= 0 ? /^\s*$/.test(text.slice(line)) : this.#lineStart && /^\s*$/.test(text);
		this.#line =
			line >= 0 ? text.slice(Math.max(line + 1, text.length - LINE)) : `${this.#line}${text.slice(-LINE)}`.slice(-LINE);
	}

	/** What stands between two words. */
	gap(text: string): string {
		if (text.includes("\n")) {
			this.#indent = text.length - text.lastIndexOf("\n") - 1;
			this.#lineStart = true;
			this.#line = "";
			this.#cookie = false;
			if (this.#expected && !this.#expected.newline) this.#expected = undefined;
			else if (this.#expected) this.#expected = { ...this.#expected, newline: false };
			if (this.#carry) this.#carry = "joined";
			if (this.#pem?.header) this.#pem = { ...this.#pem, header: false };
		} else this.#line = `${this.#line}${text.slice(-8)}`.slice(-LINE);
		if (!this.#pem?.seen) return text;
		this.#held += text;
		if (this.#held.length < 200) return "";
		this.#pem = undefined;
		return this.#release();
	}

	/** The end of the text. */
	end(): string {
		return this.#release();
	}

	#release(): string {
		const held = this.#held;
		this.#held = "";
		return held;
	}

	/** A word. `next` is the character after it, "" at the end of the text and inside a word that came in pieces. */
	word(word: string, next: string): string {
		const pem = this.#pem ? this.#key(word) : undefined;
		if (pem !== undefined) return pem;
		const plain = this.#release();
		const shown = plain + this.#text(word, next);
		this.#line = `${this.#line}${word}`.slice(-LINE);
		if (!QUOTE_MARKS.test(word)) this.#lineStart = false;
		return shown;
	}

	/** A word that may belong to a private key; undefined when it does not. */
	#key(word: string): string | undefined {
		const pem = this.#pem;
		if (!pem) return undefined;
		if (pem.in === "label") {
			const last = /^(?:KEY|BLOCK)?-{4,5}/.exec(word);
			const secret = pem.secret || word === "PRIVATE";
			this.#pem = /^[A-Z0-9]+$/.test(word) ? { ...pem, secret } : undefined;
			if (!last || !secret) return this.#pem ? word : undefined;
			this.#pem = { in: "body", secret: true, seen: false };
			const rest = word.slice(last[0].length);
			return rest === "" ? word : last[0] + (this.#key(rest) ?? this.word(rest, ""));
		}
		if (pem.in === "count") {
			this.#pem = /^\d+$/.test(word) ? { in: "body", secret: true, seen: false } : undefined;
			return this.#pem ? word : undefined;
		}
		if (pem.header) return word;
		if (!pem.seen && /^[A-Z][A-Za-z-]{2,20}:$/.test(word)) {
			this.#pem = { ...pem, header: true };
			return word;
		}
		if (QUOTE_MARKS.test(word)) {
			if (!pem.seen) return word;
			this.#held += word;
			return "";
		}
		const stop = word.search(/-{4,5} ?END|-{4,5}$/);
		const body = stop < 0 ? word : word.slice(0, stop);
		const parts =
			/^((?:\\{1,4}[nrt]|["'`+,>])*)((?:[A-Za-z0-9+/=]|\\{1,4}[nrt])*)((?:\\{1,4}[nrt]|["'`+,;)}\]\\])*)$/.exec(body);
		const enough = parts?.[2] !== undefined && (pem.seen || /[A-Za-z0-9+/=]{16}/.test(parts[2]));
		if (!parts || !enough) {
			this.#pem = undefined;
			return undefined;
		}
		const tail = stop < 0 ? "" : word.slice(stop);
		if (tail !== "") this.#pem = undefined;
		else this.#pem = { ...pem, seen: true };
		// All lines of the key share one placeholder; a line break before the closing mark stays.
		const held = tail !== "" && body === "" ? this.#release() : "";
		if (body !== "") this.#held = "";
		const shown = pem.seen
			? (parts[3] ?? "")
			: `${parts[1] ?? ""}[redacted:private-key]${/\\n$/.test(parts[2] ?? "") ? "\\n" : ""}${parts[3] ?? ""}`;
		return held + shown + (tail === "" ? "" : this.#text(tail, ""));
	}

	#text(word: string, next: string): string {
		const findings: Finding[] = [...this.#knownIn(word), ...findTokens(word)];
		const tokens = findings.length;
		const urls = findUrlPasswords(word);
		findings.push(...urls);
		if (this.#emails) findings.push(...findEmails(word));
		findings.push(...findEncoded(word, holdsSecret));
		const joined = this.#continued(word, next);
		if (joined) findings.push(joined);
		const awaited = this.#expected;
		this.#expected = undefined;
		if (this.#named > 0) this.#named--;
		this.#awaited(word, awaited, findings);
		this.#pairs(word, urls, findings);
		this.#flag(word, findings);
		this.#tail(word, next, awaited);
		if (this.#map) this.#inMap(word, findings);
		const last = findings.slice(0, tokens).find((finding) => /^["'`+\\,]*$/.test(word.slice(finding.end)));
		if (last || joined) this.#carry = next === "\n" || next === "\r" ? "joined" : "open";
		else if (this.#carry && !/^(?:[+.&\\|]|QUOTE)$/.test(word) && !QUOTE_MARKS.test(word)) this.#carry = undefined;
		else if (this.#carry && /^[+.&\\]$/.test(word)) this.#carry = "joined";
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
	#continued(word: string, next: string): Finding | undefined {
		if (this.#carry !== "joined") return undefined;
		const { start, end } = valueAt(word, 0);
		const alone = this.#lineStart && /^(?:[\n\r]|)$/.test(next);
		const quoted = start > 0;
		return (alone || quoted) && isContinuation(word.slice(start, end)) ? { start, end, kind: "token" } : undefined;
	}

	/** The word as the value that was announced. */
	#awaited(word: string, awaited: Await | undefined, findings: Finding[]): void {
		if (!awaited || awaited.what === "name" || /^["'`(]*[{[]/.test(word)) return;
		const bare = word.replace(/^[([{]+(?=["'`\w])/, "");
		const { start, end } = valueAt(bare, 0);
		const value = bare.slice(start, end);
		const from = start + word.length - bare.length;
		const { what } = awaited;
		// The next assignment, not a value: an empty one stands before it.
		if (start === 0 && /^[A-Za-z_][\w.-]*(?:[:=](?!=?$)|:$)/.test(value) && what !== "userpass") return;
		if (what === "userpass") {
			const colon = value.indexOf(":");
			if (colon > 0 && isSecretValue(value.slice(colon + 1)))
				findings.push({ start: from + colon + 1, end: from + value.length, kind: "password" });
			return;
		}
		const secret =
			what === "value" || what === "map" || what === "scheme" || what === "credential"
				? isSecretValue(value) || (what === "credential" && isBasic(value))
				: what === "basic"
					? isBasic(value)
					: what === "bearer"
						? /^[\w.~+/=-]{16,}$/.test(value) && isStandaloneSecret(value)
						: what === "pair"
							? /^[A-Za-z0-9/+=]{40}$/.test(value) && isSecretValue(value)
							: what === "jwk"
								? /^[\w-]{22,}$/.test(value) && isVeryRandom(value)
								: isStandaloneSecret(value);
		if (secret) findings.push({ start: from, end: from + value.length, kind: awaited.kind });
	}

	/** `key=value` inside the word. */
	#pairs(word: string, urls: readonly Finding[], findings: Finding[]): void {
		let done = 0;
		let stop = -1;
		for (const { key, from, query, separator } of pairsIn(word)) {
			if (!this.#cookie && !this.#map && !TELLING.test(key)) continue;
			// The user and password of an address are no pair.
			if (from < done || urls.some((url) => url.start <= from && from < url.end)) continue;
			const cookie = /^(?:set-)?cookie$/i.test(key) || key === "document.cookie";
			if (cookie) this.#cookie = true;
			const named = this.#named > 0 && /^(?:value|val|string)$/i.test(key);
			const jwk = /^(?:d|dp|dq|qi|p|q|k)$/.test(key) && /["\\]/.test(word[from - 2] ?? "");
			const secret =
				named ||
				isSecretName(this.#fullName(key, word)) ||
				(query && isSignedParameter(key)) ||
				(this.#cookie && !cookie && isSessionCookie(key));
			const naming = /^(?:name|key|header|field|variable)$/i.test(key);
			const opaque = /^(?:key|session)$/i.test(key) || jwk || this.#cookie || this.#map !== undefined;
			if (!secret && !naming && !opaque && !/auth/i.test(key)) continue;
			const { start, end, stop: next } = valueAt(word, from, stop);
			stop = next;
			const value = word.slice(start, end);
			const kind = kindOf(named ? "secret" : key);
			if (value.length < 3 && /^["'`\\*_]*$/.test(word.slice(from))) {
				const what = isSecretMap(key)
					? "map"
					: naming && !secret
						? "name"
						: /auth/i.test(key)
							? "scheme"
							: secret || this.#map
								? "value"
								: jwk
									? "jwk"
									: undefined;
				if (what) this.#expected = { what, kind, newline: separator === ":" };
				continue;
			}
			if (naming && isSecretName(value)) this.#named = 8;
			if (/^[{[]/.test(value) && isSecretMap(key)) {
				this.#map = { depth: 0, indent: -1 };
				continue;
			}
			if (isSecretMap(key) && value.includes(":")) this.#list(value, start, findings);
			else if (secret ? isSecretValue(value) : opaque && isVeryRandom(value)) {
				findings.push({ start, end, kind });
				done = end;
			} else if (/auth/i.test(key)) {
				const scheme = /^(?:Bearer|Basic|Token)(?:%20|\+)/i.exec(value)?.[0].length;
				if (scheme !== undefined && isSecretValue(value.slice(scheme)))
					findings.push({ start: start + scheme, end, kind });
				else if (/^[A-Za-z-]{3,20}$/.test(value) && end === word.length)
					this.#expected = { what: "credential", kind, newline: false };
			}
		}
	}

	/** `mysql -psecret` */
	#flag(word: string, findings: Finding[]): void {
		const value = /^-p([^\s=-]\S{6,})$/.exec(word)?.[1];
		if (value !== undefined && isSecretValue(value) && COMMANDS.test(this.#line))
			findings.push({ start: 2, end: word.length, kind: "password" });
	}

	/** `alice:token,bob:token` */
	#list(value: string, start: number, findings: Finding[]): void {
		for (const item of value.matchAll(/[^,;]+/g)) {
			const colon = item[0].indexOf(":");
			if (isSecretValue(item[0].slice(colon + 1)))
				findings.push({
					start: start + item.index + colon + 1,
					end: start + item.index + item[0].length,
					kind: "token",
				});
		}
	}

	/** What the end of the word announces. */
	#tail(word: string, next: string, awaited: Await | undefined): void {
		if (this.#expected) return;
		const lower = word.toLowerCase();
		if (/-{5}BEGIN$/.test(word) || (word === "BEGIN" && /-{4} $/.test(this.#line))) {
			this.#pem = { in: "label", secret: false, seen: false };
		} else if (word === "Private-Lines:") this.#pem = { in: "count", secret: true, seen: false };
		else if (awaited && /^(?:[=:|>]|:=|=>|==|[|>][-+]?|["'`(]|is|was|are|by|=["'`])$/i.test(word)) {
			this.#expected = { ...awaited, what: awaited.what === "word" ? "value" : awaited.what };
		} else if (awaited?.what === "name" && isSecretName(unquoted(word))) this.#named = 8;
		else if (awaited?.what === "map") {
			if (/^["'`(]*[{[]/.test(word)) this.#map = { depth: 0, indent: -1 };
			else if (this.#lineStart) this.#map = { depth: 1, indent: this.#indent - 1 };
		} else if (awaited?.what === "scheme" && /^["'`]?[A-Za-z0-9-]{3,20}$/.test(word)) {
			this.#expected = { ...awaited, what: "credential" };
		} else if (/(?:^|["'`(:=,>])bearer$/.test(lower))
			this.#expected = { what: "bearer", kind: "token", newline: false };
		else if (/(?:^|["'`(:=,>])basic$/.test(lower)) this.#expected = { what: "basic", kind: "password", newline: false };
		else if (word === "-u" || word === "--user" || word === "-U")
			this.#expected = { what: "userpass", kind: "password", newline: false };
		else if (/(?:AKIA|ASIA)[A-Z0-9]{16}["',;|]*$/.test(word))
			this.#expected = { what: "pair", kind: "aws-key", newline: true };
		else if (/^(?:-[pPawW]|-pw|--pass|\/p)$/.test(word) && COMMANDS.test(this.#line))
			this.#expected = { what: "value", kind: "password", newline: false };
		else this.#bareName(word, next);
	}

	/** A name without its value: `password`, `"token"`, `--api-key`, `API key`. */
	#bareName(word: string, next: string): void {
		if (word.length > 80 || (/^[\n\r]/.test(next) && !this.#lineStart)) return;
		const name = /([A-Za-z_][\w.-]{0,63})["'`\]]*$/.exec(word)?.[1];
		if (name === undefined || word.includes("[redacted:")) return;
		const full = this.#fullName(name, word);
		if (isSecretName(full) || /^(?:login|identified)$/i.test(name)) {
			const flag = /^--?[a-z]/i.test(word);
			this.#expected = { what: flag ? "value" : "word", kind: kindOf(full), newline: /^[\n\r]/.test(next) };
		}
	}

	/** `API key` is a name of two words. */
	#fullName(name: string, word: string): string {
		if (!/^keys?$/i.test(name) || !/^\W*key/i.test(word)) return name;
		return `${/([A-Za-z]+)[^\w\n]{1,3}$/.exec(this.#line)?.[1] ?? ""} ${name}`;
	}

	/** Inside `tokens: { … }` every value counts. */
	#inMap(word: string, findings: Finding[]): void {
		const map = this.#map;
		if (!map) return;
		if (map.indent >= 0) {
			if (this.#lineStart && this.#indent <= map.indent && !QUOTE_MARKS.test(word)) {
				this.#map = undefined;
				return;
			}
		} else {
			for (const brace of word.matchAll(/[{}[\]]/g)) map.depth += /[{[]/.test(brace[0]) ? 1 : -1;
			if (map.depth <= 0) this.#map = undefined;
		}
		const bare = word.replace(/^[-[{(]+(?=["'`])/, "");
		const { start, end } = valueAt(bare, 0);
		const from = word.length - bare.length;
		if (isVeryRandom(bare.slice(start, end))) findings.push({ start: from + start, end: from + end, kind: "token" });
	}
}

const unquoted = (word: string): string => {
	const { start, end } = valueAt(word, 0);
	return word.slice(start, end);
};

function kindOf(name: string): string {
	if (/pass|pwd/i.test(name)) return "password";
	if (/cookie|sess|sid$/i.test(name)) return "cookie";
	if (/key/i.test(name)) return "key";
	return /token|auth|jwt|jwe|bearer|pat$/i.test(name) ? "token" : "secret";
}

/** Whether a decoded text holds a secret. Addresses in it are content, not credentials. */
function holdsSecret(text: string): boolean {
	const scan = new Scan([], false);
	return text.split(/(\s+)/).some((piece, i, all) => {
		if (i % 2 === 1) {
			scan.gap(piece);
			return false;
		}
		return piece !== "" && piece.length < 3000 && scan.word(piece, all[i + 1]?.[0] ?? "") !== piece;
	});
}
