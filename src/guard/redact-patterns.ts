/**
 * What credentials look like: shapes that vendors give their tokens, names that announce a secret, and a measure of
 * randomness. Data and pure functions; `redact-scan.ts` walks a text with them.
 */

/**
 * One row per family of tokens: the kind shown in the placeholder, and the shape. No shape starts with an open-ended
 * run, so a search costs the length of the text. `sure`: the shape alone decides; else what matched must look random.
 */
interface Shape {
	readonly kind: string;
	readonly shape: string;
	readonly sure?: true;
}

const SHAPES: readonly Shape[] = [
	{ kind: "jwt", shape: "eyJ[\\w-]{8,2000}\\.[\\w-]{4,2500}(?:\\.[\\w-]{0,2500}){0,3}", sure: true },
	{ kind: "api-key", shape: "sk-[A-Za-z0-9][\\w-]{16,300}" },
	{
		kind: "api-key",
		shape:
			"(?:csk|tvly|tgp|xai|gsk|pplx|nvapi|fw|jina|r8|hf|api_org|esecret|sk|rk|ek|re|whsec|pcsk|lsv2_[a-z]{2})[-_][A-Za-z0-9_+/=-]{20,250}",
	},
	// Any vendor that writes "name_live_…" or "name_pat_…".
	{
		kind: "token",
		shape:
			"[A-Za-z][A-Za-z0-9]{0,15}[_-](?:live|test|prod|sandbox|secret|sk|pat|pt|tok|token|key|api|apikey|oat|rt|tkn|pw|sat|oauth)[_-][A-Za-z0-9_=-]{14,250}",
	},
	{ kind: "api-key", shape: "AIza[\\w-]{30,45}" },
	{ kind: "api-key", shape: "key-[0-9a-f]{32}|fc-[0-9a-f]{32}|pa-[\\w-]{40,50}|[a-f0-9]{32}-us\\d{1,2}" },
	{ kind: "api-key", shape: "(?:SK|AP)[a-f0-9]{32}|SG\\.[\\w-]{16,32}\\.[\\w-]{32,64}|EZ[AT]K[A-Za-z0-9]{40,60}" },
	{
		kind: "api-key",
		shape: "(?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
		sure: true,
	},
	{ kind: "token", shape: "(?:ya29\\.|GOCSPX-|1//0)[\\w-]{20,250}" },
	{ kind: "token", shape: "(?:gh[a-z]_|github_pat_)[A-Za-z0-9_]{30,255}" },
	{
		kind: "token",
		shape: "(?:gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt|oas|ffct)-|GR1348941)[\\w-]{16,100}(?:\\.[\\w-]{1,20}){0,3}",
	},
	{ kind: "token", shape: "AT(?:ATT|BB|CTT|STT)[\\w=+/-]{24,300}" },
	{ kind: "token", shape: "npm_[A-Za-z0-9]{30,50}|pypi-[\\w-]{40,400}|rubygems_[A-Za-z0-9]{40,60}|cio[A-Za-z0-9]{32}" },
	{
		kind: "token",
		shape: "oy2[a-z0-9]{43}|AKCp[A-Za-z0-9]{60,80}|CLOJARS_[a-z0-9]{50,70}|dckr_[a-z]{3}_[\\w-]{20,60}",
	},
	{ kind: "aws-key", shape: "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])", sure: true },
	{
		kind: "token",
		shape:
			"(?:lin_(?:api|oauth)|phx|ntn|secret|sbp|sb_secret|rnd|nfp|vcp|pul|ico|aio|pnu|duffel|tfp|figd|figu|glsa|glc|sntry[su]|sq[aup]|CCIPAT|bkua|bkct|pnfp|shippo|rdme|FLWSECK|fo1|fm[12])_[A-Za-z0-9_.+/=-]{20,300}",
	},
	{
		kind: "token",
		shape:
			"(?:pul|tskey|CFPAT|PMAK|HRKU|NR(?:AK|II|RA)|sq0[a-z]{3}|xkeysib|xsmtpsib|pat-[a-z]{2,3}\\d|ico|ops|mlsn\\.?)-[A-Za-z0-9][\\w.-]{18,300}",
	},
	{
		kind: "token",
		shape: "dapi[0-9a-f]{32}|dkea[0-9a-f]{32}|shp(?:at|ss|ca|pa|ua)_[0-9a-f]{32}|pat[A-Za-z0-9]{14}\\.[a-f0-9]{40,64}",
	},
	{ kind: "token", shape: "do[opr]_v1_[a-f0-9]{40,80}", sure: true },
	{ kind: "token", shape: "hv[sbr]\\.[\\w-]{20,300}|s\\.[A-Za-z0-9]{24}(?![A-Za-z0-9_(])|ops_eyJ[\\w=+/-]{60,900}" },
	{
		kind: "token",
		shape: "dp\\.[a-z]{2,5}\\.[\\w.-]{30,60}|dt0[a-z]\\d\\d\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}|sl\\.[\\w-]{60,200}",
	},
	{
		kind: "token",
		shape: "LTAI[A-Za-z0-9]{16,24}|AKID[A-Za-z0-9]{32}|AQVN[\\w-]{35,38}|FlyV1 ?fm[12]_[\\w=+/,-]{40,900}",
	},
	{ kind: "token", shape: "[A-Za-z0-9]{14}\\.atlasv1\\.[\\w-]{40,100}", sure: true },
	{ kind: "token", shape: "xox(?:[a-z]\\.xox[a-z]|[a-z])-[A-Za-z0-9%-]{12,300}|xapp-\\d-[A-Za-z0-9-]{16,200}" },
	{ kind: "token", shape: "[MNO][\\w-]{23,27}\\.[\\w-]{6}\\.[\\w-]{27,45}|\\d{8,10}:[\\w-]{35}(?![\\w-])" },
	{ kind: "token", shape: "EAA[A-Za-z0-9]{60,300}|AAAA[\\w-]{7}:[\\w-]{100,200}|[\\w~.-]{3}[78]Q~[\\w~.-]{28,40}" },
	{ kind: "private-key", shape: "AGE-SECRET-KEY-1[A-Z0-9]{40,70}", sure: true },
	{ kind: "token", shape: "A3-[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-){2,5}[A-Z0-9]{5}" },
	{ kind: "hash", shape: "\\$(?:2[abxy]\\$\\d\\d|apr1|1|5|6|y|argon2i?d?)\\$[./A-Za-z0-9$=,+]{20,200}" },
	// Addresses whose path is the credential.
	{ kind: "url-token", shape: "(?<=hooks\\.slack\\.com/[a-z]{3,9}/)[A-Z0-9]{3,20}/[A-Z0-9]{3,20}/[A-Za-z0-9]{12,40}" },
	{ kind: "url-token", shape: "(?<=/api/webhooks/\\d{10,24}/)[\\w-]{30,100}" },
	{ kind: "url-token", shape: "(?<=\\.webhook\\.office\\.com/webhookb2/)[\\w@/-]{20,300}" },
];

/** Every shape at once, at the start of a run of letters and digits or behind an escape. */
export const TOKEN_SHAPES = new RegExp(
	`(?:(?<![A-Za-z0-9])|(?<=%[0-9A-F]{2}|/bot|\\\\[nrt]))(?:${SHAPES.map((row) => row.shape).join("|")})`,
	"g",
);

const ROWS = SHAPES.map((row) => ({ ...row, at: new RegExp(row.shape, "y") }));

/** What the token of `length` at `index` is called, or undefined when it only has the shape by accident (a class name). */
export function tokenKind(text: string, index: number, length: number): string | undefined {
	const match = text.slice(index, index + length);
	if (isPlaceholder(match)) return undefined;
	let kind: string | undefined;
	for (const row of ROWS) {
		row.at.lastIndex = index;
		if (row.at.exec(text)?.[0].length !== length) continue;
		if (row.sure) return row.kind;
		kind ??= row.kind;
	}
	return kind !== undefined && isMixed(match) && randomness(match) > 1 ? kind : undefined;
}

// A parting between two words of a name counts as a blank: clientSecret, X-API-Key, DB_PASSWORD, connect.sid.
const words = (name: string): string =>
	name
		.replace(/([a-z0-9])([A-Z])/g, "$1 $2")
		.replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
		.replace(/[^A-Za-z0-9]+/g, " ")
		.trim()
		.toLowerCase();

const OF_KEYS =
	"api|access|secret|private|account|auth|authentication|signing|signature|encryption|decryption|cipher|master|subscription|shared|service|storage|deploy|license|app|application|functions?|admin|webhook|client|crypto|hmac|preshared|pre shared|integration|ingest|write|read|server|project|rest|vault|root|consumer|jwt|session|bot|maps";
const SECRET_WORDS = `[a-z0-9]*(?:password|passwd|passphrase|passcode|passwort|kennwort|pwd|apikeys?|secretkeys?|accesskeys?|privatekeys?|authkeys?|masterkeys?)|[a-z]*passw?|pw|[a-z]*secrets?|[a-z]*tokens?|passwords|(?:${OF_KEYS}) ?keys?|credentials?|creds?|[a-z]*auth|auths|authorization|jwt|jwe|bearer|psk|pat|sshpass|securestring`;
// What may follow the word without changing that the value is the secret: SECRET_KEY_BASE, AWS_CREDS_B64, TOKEN_2.
const MODIFIERS =
	"(?: (?:b64|base64|base|value|val|prod|production|dev|development|staging|stage|test|live|new|old|current|previous|raw|plain|text|plaintext|encoded|string|env|default|main|primary|secondary|backup|hash|enc|encrypted|v?\\d+|id value))*";
const SECRET_NAME = new RegExp(`(?:^| )(?:${SECRET_WORDS})${MODIFIERS}$`);
// Tokens and keys that are no credentials.
const INNOCENT_NAME =
	/(?:^| )(?:(?:page|next|continuation|pad|eos|bos|unk|sep|cls|mask|sync|max|min|num|total|prompt|completion|input|output|special|color|design|cancel|cancellation|stop|redacted|cursor|lexer|syntax|last|first|start|end|per|of|by|no) tokens?|bypass|compass|public [a-z]* ?key)(?: |$)/;

const HINT = /pass|pwd|pw|passwort|kennwort|secret|token|key|cred|auth|jwt|jwe|bearer|psk|pat/i;

/** Whether a value under this name is a secret: `DB_PASSWORD`, `clientSecret`, `X-API-Key`; not `token_type`, `secretName`. */
export function isSecretName(name: string): boolean {
	if (name.length > 80 || !HINT.test(name)) return false;
	const text = words(name);
	return text !== "" && SECRET_NAME.test(text) && !INNOCENT_NAME.test(text);
}

/** Whether the name holds several named secrets: `peerTokens`, `auths`. */
export function isSecretMap(name: string): boolean {
	return /(?:tokens|secrets|passwords|credentials|keys|auths)$/i.test(name) && isSecretName(name);
}

/** Parameters of a signed address, secret only in a query: `sig`, `X-Amz-Signature`, `code`. */
export const isSignedParameter = (name: string): boolean =>
	/^(?:sig|signature|x-amz-signature|x-goog-signature|x-amz-credential|key|code|sid|k|t|auth|hmac)$/i.test(name);

/** Cookies that carry a session. */
export const isSessionCookie = (name: string): boolean =>
	/sess|sid$|auth|token|jwt|remember|csrf|xsrf|login|identity|secret|^d$/i.test(name);

// How common two neighbouring letters are in words, 0 (never) to 9 (th, in, er): one row a first letter, a to z, one
// digit a second letter. Counted over the words of English prose and of code.
const PAIRS = (
	"36762460614867071878544351 52216100540621603441500030 72427107505620811637500030 61248220614411532351510030 " +
	"74785652421668455988254740 63225500700401601624500030 41117034500424300443410010 60117000600211500415300030 " +
	"65766560103779852577150305 20005000000000301040200000 20016310400003100040120000 72358210701710721266541060 " +
	"74117010600341670041400000 74777581604424641288540040 45573440514679560856756221 71237012600621760746500020 " +
	"10001000100000001100610000 72559451704556831677642050 51648315703432761268612050 73529308800421650866603170 " +
	"44546430500767250767110000 62107010500000410000000000 50014015500104400441002000 30303000300010060005000010 " +
	"21202000200234360143002000 20004000200000300000000000"
).replaceAll(" ", "");

const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;

function kindOf(code: number): number {
	if (code >= 97 && code <= 122) return LOWER;
	if (code >= 65 && code <= 90) return UPPER;
	return code >= 48 && code <= 57 ? DIGIT : 0;
}

/** A value is judged by its beginning, in characters. */
const JUDGED = 256;

/**
 * How unlike words a text is: well above zero random, below zero words. Each pair of neighbours counts by how common it
 * is in words, so that the sum grows with length; digits among letters and capitals inside words count as random.
 */
export function randomness(text: string): number {
	let score = 0;
	let before = 0;
	let last = 0;
	for (let i = 0; i < text.length && i < JUDGED; i++) {
		const code = text.charCodeAt(i);
		const kind = kindOf(code);
		const letter = (code | 32) - 97;
		if (kind !== 0 && before !== 0) {
			if (kind === DIGIT || before === DIGIT) score += kind === before ? 0 : 1.6;
			else if (before === LOWER && kind === UPPER) score += 1.2;
			else score += 3.2 - 0.65 * (PAIRS.charCodeAt(26 * last + letter) - 48);
		}
		before = kind;
		last = letter;
	}
	return score;
}

/** How many different characters, up to `JUDGED`. */
const variety = (text: string): number => new Set(text.slice(0, JUDGED)).size;

/** Enough different characters, of more than one kind: rules out `xxxxxxxx`, `1234567890` and words, also with a capital. */
export function isMixed(text: string): boolean {
	const kinds = [false, false, false, false];
	const capital = /^[A-Z][a-z]/.test(text) ? 1 : 0;
	for (let i = capital; i < text.length && i < JUDGED; i++) kinds[kindOf(text.charCodeAt(i))] = true;
	return (kinds[DIGIT] ? kinds[LOWER] || kinds[UPPER] : kinds[LOWER] && kinds[UPPER]) === true && variety(text) >= 6;
}

/** A stand-in for a secret, or a reference to where it is kept. */
export function isPlaceholder(value: string): boolean {
	const text = value.slice(0, JUDGED);
	if (/^\d{4}-\d\d-\d\d(?:[T ]|$)/.test(text)) return true;
	return (
		/^(?:[<{[(]|\$[{([]|\$[A-Z_]+\b|\$env:|%[A-Z_]+%|!(?:Ref|Sub|GetAtt|vault|secret)|@@|(?:https?|file|op|vault|arn|ssm|s3|gs|urn|env|sha\d+):)/i.test(
			value,
		) || /\*{3}|\.\.\.|…|x{6}|X{6}|^[A-Za-z_][\w.:]{0,60}\(|\$\{|\{\{|EXAMPLE|redacted|:\/\//.test(text)
	);
}

/** Whether a value that stands under a secret's name is a secret and no word, call, reference or placeholder. */
export function isSecretValue(value: string): boolean {
	if (value.length < 8) return false;
	const score = randomness(value);
	// Digits among letters of both cases are rare in words.
	const least = /[0-9]/.test(value) && /[a-z]/.test(value) && /[A-Z]/.test(value) ? -1 : 1;
	if (score <= least || isPlaceholder(value)) return false;
	return isMixed(value) || (value.length >= 12 && variety(value) >= 6 && score > 10);
}

/** The same where only a word before hints at a secret ("token 4f…"): surely random, and no id or digest. */
export function isStandaloneSecret(value: string): boolean {
	if (value.length < 10 || !isMixed(value) || !isSecretValue(value) || !/[A-Za-z0-9_+/=]{8}/.test(value)) return false;
	if (/^[0-9a-f]{7,12}$|^[0-9a-f]{8}-[0-9a-f]{4}-|^(?:task|ctx|msg|art|reply|req|run|call)[-_]/i.test(value))
		return false;
	return randomness(value) > (/[0-9]/.test(value) ? 4 : 9);
}

/** Random beyond doubt, mixed in case, and no path, digest or id: a secret under a name that says little (`key`). */
export const isVeryRandom = (value: string): boolean =>
	value.length >= 20 &&
	value.length <= 512 &&
	/^[\w+/=~-]+$/.test(value) &&
	/[a-z]/.test(value) &&
	/[A-Z]/.test(value) &&
	isSecretValue(value) &&
	randomness(value) > 10;

/** Whether a line on its own goes on with a token that the line before broke off. */
export const isContinuation = (text: string): boolean =>
	text.length >= 6 && /^[\w+/=.~%-]+$/.test(text) && isMixed(text) && randomness(text) > 0.5;
