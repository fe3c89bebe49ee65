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
	{ kind: "api-key", shape: "(?:csk|tvly|tgp|xai|gsk|pplx|nvapi|fw|jina|r8|hf|api_org|esecret|sk|rk|ek|re|whsec|pcsk|lsv2_[a-z]{2})[-_][A-Za-z0-9_+/=-]{20,250}" },
	// Any vendor that writes "name_live_…" or "name_pat_…".
	{
		kind: "token",
		shape:
			"[A-Za-z][A-Za-z0-9]{0,15}[_-](?:live|test|prod|sandbox|secret|sk|pat|pt|tok|token|key|api|apikey|oat|rt|tkn|pw|sat|oauth)[_-][A-Za-z0-9_=-]{16,250}",
	},
	{ kind: "api-key", shape: "AIza[\\w-]{30,45}" },
	{ kind: "api-key", shape: "key-[0-9a-f]{32}|fc-[0-9a-f]{32}|pa-[\\w-]{40,50}|[a-f0-9]{32}-us\\d{1,2}" },
	{ kind: "api-key", shape: "(?:SK|AP)[a-f0-9]{32}|SG\\.[\\w-]{16,32}\\.[\\w-]{32,64}|EZ[AT]K[A-Za-z0-9]{40,60}" },
	{ kind: "api-key", shape: "(?:sdk|api|mob)-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", sure: true },
	{ kind: "token", shape: "(?:ya29\\.|GOCSPX-|1//0)[\\w-]{20,250}" },
	{ kind: "token", shape: "(?:gh[a-z]_|github_pat_)[A-Za-z0-9_]{30,255}" },
	{
		kind: "token",
		shape: "(?:gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt|oas|ffct)-|GR1348941)[\\w-]{16,100}(?:\\.[\\w-]{1,20}){0,3}",
	},
	{ kind: "token", shape: "AT(?:ATT|BB|CTT|STT)[\\w=+/-]{24,300}" },
	{ kind: "token", shape: "npm_[A-Za-z0-9]{30,50}|pypi-[\\w-]{40,400}|rubygems_[A-Za-z0-9]{40,60}|cio[A-Za-z0-9]{32}" },
	{ kind: "token", shape: "oy2[a-z0-9]{43}|AKCp[A-Za-z0-9]{60,80}|CLOJARS_[a-z0-9]{50,70}|dckr_[a-z]{3}_[\\w-]{20,60}" },
	{ kind: "aws-key", shape: "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}" },
	{ kind: "token", shape: "(?:lin_(?:api|oauth)|phx|ntn|secret|sbp|sb_secret|rnd|nfp|vcp|pul|ico|aio|pnu|duffel|tfp|figd|figu|glsa|glc|sntry[su]|sq[aup]|CCIPAT|bkua|bkct|pnfp|shippo|rdme|FLWSECK|fo1|fm[12])_[A-Za-z0-9_.+/=-]{20,300}" },
	{ kind: "token", shape: "(?:pul|tskey|CFPAT|PMAK|HRKU|NR(?:AK|II|RA)|sq0[a-z]{3}|xkeysib|xsmtpsib|pat-[a-z]{2,3}\\d|ico|ops|mlsn\\.?)-[A-Za-z0-9][\\w.-]{18,300}" },
	{ kind: "token", shape: "dapi[0-9a-f]{32}|dkea[0-9a-f]{32}|shp(?:at|ss|ca|pa|ua)_[0-9a-f]{32}|pat[A-Za-z0-9]{14}\\.[a-f0-9]{40,64}" },
	{ kind: "token", shape: "do[opr]_v1_[a-f0-9]{40,80}", sure: true },
	{ kind: "token", shape: "hv[sbr]\\.[\\w-]{20,300}|s\\.[A-Za-z0-9]{24}(?![A-Za-z0-9_(])|ops_eyJ[\\w=+/-]{60,900}" },
	{ kind: "token", shape: "dp\\.[a-z]{2,5}\\.[\\w.-]{30,60}|dt0[a-z]\\d\\d\\.[A-Z0-9]{24}\\.[A-Z0-9]{64}|sl\\.[\\w-]{60,200}" },
	{ kind: "token", shape: "LTAI[A-Za-z0-9]{16,24}|AKID[A-Za-z0-9]{32}|AQVN[\\w-]{35,38}|FlyV1 ?fm[12]_[\\w=+/,-]{40,900}" },
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

/** Every shape at once, at the start of a run of letters and digits. */
export const TOKEN_SHAPES = new RegExp(`(?<![A-Za-z0-9])(?:${SHAPES.map((row) => row.shape).join("|")})`, "g");

const ROWS = SHAPES.map((row) => ({ ...row, at: new RegExp(row.shape, "y") }));

/** What the token of `length` at `index` is called, or undefined when it only has the shape by accident (a class name). */
export function tokenKind(text: string, index: number, length: number): string | undefined {
	const match = text.slice(index, index + length);
	let kind: string | undefined;
	for (const row of ROWS) {
		row.at.lastIndex = index;
		if (row.at.exec(text)?.[0].length !== length) continue;
		if (row.sure) return row.kind;
		kind ??= row.kind;
	}
	return kind !== undefined && !isPlaceholder(match) && isMixed(match) && randomness(match) > 1 ? kind : undefined;
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

/** Whether a value under this name is a secret: `DB_PASSWORD`, `clientSecret`, `X-API-Key`; not `token_type`, `secretName`. */
export function isSecretName(name: string): boolean {
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

const COMMON_PAIRS = new Set(
	("th he in er an re on at en nd ti es or te of ed is it al ar st to nt ng se ha as ou io le ve co me de hi ri ro ic ne " +
		"ea ra ce li ch ll be ma si om ur ca el ta la ns di fo ho pe ec pr no ct us ac ot il tr ly nc et ut ss so rs un lo wa " +
		"ge ie wh ee wi em ad ol rt po we na ul ni ts mo ow pa im mi ai sh ir su id os iv ia am fi ci vi pl ig tu ev ld ry mp " +
		"fe bl ab gh ty op wo sa ay ex ke ui up ap ck do bo go ag da av ga ef ob sc ok ey pt mb br cr gr cl sp fr ff ds dr qu " +
		"au ub ud ug um ue uc ip if ib ov od og ks").split(" "),
);

const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;

function kindOf(code: number): number {
	if (code >= 97 && code <= 122) return LOWER;
	if (code >= 65 && code <= 90) return UPPER;
	return code >= 48 && code <= 57 ? DIGIT : 0;
}

/**
 * How unlike words a text is: above zero random, below zero words. Neighbouring letters that are common in words
 * count against, digits among letters and capitals in odd places for it; the sum grows with length.
 */
export function randomness(text: string): number {
	let score = 0;
	let before = 0;
	for (let i = 0; i < text.length; i++) {
		const kind = kindOf(text.charCodeAt(i));
		if (kind !== 0 && before !== 0) {
			if (kind === DIGIT || before === DIGIT) score += kind === before ? 0 : 1.5;
			else if (before === LOWER && kind === UPPER) score += 1;
			else score += COMMON_PAIRS.has(text.slice(i - 1, i + 1).toLowerCase()) ? -1.3 : 0.75;
		}
		before = kind;
	}
	return score;
}

/** Enough different characters, of more than one kind: rules out `xxxxxxxx`, `1234567890` and plain words. */
export function isMixed(text: string): boolean {
	return new Set(text).size >= 6 && /[A-Za-z]/.test(text) && (/[0-9]/.test(text) || (/[a-z]/.test(text) && /[A-Z]/.test(text)));
}

/** A stand-in for a secret, or a reference to where it is kept. */
export function isPlaceholder(value: string): boolean {
	return (
		/^(?:[<{[(]|\$[{([]|\$[A-Z_]+\b|\$env:|%[A-Z_]+%|!(?:Ref|Sub|GetAtt|vault|secret)|@@|(?:https?|file|op|vault|arn|ssm|s3|gs|urn|env|sha\d+):)/i.test(
			value,
		) || /\*{3}|\.\.\.|…|x{6}|X{6}|\([^)]*\)|\$\{|\{\{|EXAMPLE|redacted|:\/\//.test(value)
	);
}

/** Whether a value that stands under a secret's name is a secret and no word, call, reference or placeholder. */
export function isSecretValue(value: string): boolean {
	if (value.length < 8 || value.length > 4096 || isPlaceholder(value) || !/[A-Za-z]/.test(value)) return false;
	const score = randomness(value);
	if (isMixed(value)) return score > (value.length < 12 ? 1.5 : 0.5);
	return value.length >= 12 && new Set(value).size >= 6 && score > 4;
}

/** The same where only a word before hints at a secret ("token 4f…"): surely random, and no id or digest. */
export function isStandaloneSecret(value: string): boolean {
	if (value.length < 10 || !isSecretValue(value) || !/[0-9]/.test(value)) return false;
	if (/^[0-9a-f]{7,12}$|^[0-9a-f]{8}-[0-9a-f]{4}-|^(?:task|ctx|msg|art|reply|req|run|call)[-_]/i.test(value)) return false;
	return randomness(value) > 4 && /[A-Za-z0-9_+/=]{8}/.test(value);
}
