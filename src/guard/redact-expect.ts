/** What a word says about the next one: a name whose value follows, a header, a flag of a command. Pure. */
import { isBasic } from "./redact-find.ts";
import { isSecretValue, isStandaloneSecret, isVeryRandom } from "./redact-patterns.ts";

/** How the next word is judged. `word`: only a name came before, the separator may still follow. */
export type Judgement =
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

/** What is expected of the next word. */
export interface Expected {
	readonly as: Judgement;
	/** The kind that a placeholder names. */
	readonly kind: string;
	/** The value may stand on the next line. */
	readonly newline: boolean;
}

const never = (): boolean => false;

/** Whether a value is the secret that was announced. */
export const JUDGES: { readonly [as in Judgement]: (value: string) => boolean } = {
	value: isSecretValue,
	map: isSecretValue,
	// `Authorization: …` without a scheme, and behind one.
	scheme: isSecretValue,
	credential: (value) => isSecretValue(value) || isBasic(value),
	bearer: (value) => /^[\w.~+/=-]{16,}$/.test(value) && isStandaloneSecret(value),
	basic: isBasic,
	// The secret half of an AWS pair.
	pair: (value) => /^[A-Za-z0-9/+=]{40}$/.test(value) && isSecretValue(value),
	// A private member of a JSON Web Key.
	jwk: (value) => /^[\w-]{22,}$/.test(value) && isVeryRandom(value),
	word: isStandaloneSecret,
	userpass: (value) => value.includes(":") && isSecretValue(value.slice(value.indexOf(":") + 1)),
	name: never,
};

/** The kind that a name gives to its value. */
export function kindOf(name: string): string {
	if (/pass|pwd/i.test(name)) return "password";
	if (/cookie|sess|sid$/i.test(name)) return "cookie";
	if (/key/i.test(name)) return "key";
	return /token|auth|jwt|jwe|bearer|pat$/i.test(name) ? "token" : "secret";
}

/** Signs and words between a name and its value. */
export const SEPARATOR = /^(?:[=:|>]|:=|=>|==|[|>][-+]?|["'`(]|is|was|are|by|=["'`])$/i;

// Programs that take a password in a short flag.
const COMMANDS =
	/(?:^|[\s/"'`$(|;&])(?:mysql\w*|mariadb\w*|sshpass|redis-cli|docker|podman|buildah|skopeo|helm|oc|az|ldap\w+|smbclient|curl|wget|https?|mongo\w*|zip|unzip|7z|plink|pscp|sqlcmd|bcp|gpg|keytool|nmcli|rclone|influx|cqlsh|net|xfreerdp)\s/i;

/** Where the password begins in `mysql -psecret`. */
export function passwordFlag(word: string, line: string): number | undefined {
	return /^-p[^\s=-]\S{6,}$/.test(word) && isSecretValue(word.slice(2)) && COMMANDS.test(line) ? 2 : undefined;
}

/** What a flag or a scheme at the end of `word` announces. `line` is what came before on its line. */
export function announced(word: string, line: string): Expected | undefined {
	const expect = (as: Judgement, kind: string, newline = false): Expected => ({ as, kind, newline });
	if (/(?:^|["'`(:=,>])bearer$/i.test(word)) return expect("bearer", "token");
	if (/(?:^|["'`(:=,>])basic$/i.test(word)) return expect("basic", "password");
	if (word === "-u" || word === "--user" || word === "-U") return expect("userpass", "password");
	if (/(?:AKIA|ASIA)[A-Z0-9]{16}["',;|]*$/.test(word)) return expect("pair", "aws-key", true);
	if (/^(?:-[pPawW]|-pw|--pass|\/p)$/.test(word) && COMMANDS.test(line)) return expect("value", "password");
	return undefined;
}
