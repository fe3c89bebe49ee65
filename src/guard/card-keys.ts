/** Keys that sign agent cards: which algorithm belongs to which, and reading them from JWK, JWKS and PEM. */
import { createHash, createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { oneLine } from "../lib/text.ts";
import { isObject } from "../protocol/json.ts";

/** The algorithms that count. Each belongs to one type of key, so that no key can be used for another. */
export type CardAlgorithm = "ES256" | "ES384" | "EdDSA" | "RS256";

/** A public key that may have signed a card. */
export interface CardKey {
	readonly key: KeyObject;
	readonly alg: CardAlgorithm;
	/** Undefined for a key that was given without a name: it answers to every one. */
	readonly kid: string | undefined;
}

const SHORTEST_RSA = 2048;
/** Keys in one set. */
const MAX_KEYS = 50;

/** The algorithm of a key. Throws an error that says which keys do when it is none of them. */
function algorithmOf(key: KeyObject): CardAlgorithm {
	const { namedCurve, modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
	const type = key.asymmetricKeyType;
	if (type === "ed25519") return "EdDSA";
	if (type === "ec" && namedCurve === "prime256v1") return "ES256";
	if (type === "ec" && namedCurve === "secp384r1") return "ES384";
	if (type === "rsa" && modulusLength >= SHORTEST_RSA) return "RS256";
	const what = type === "rsa" ? `an RSA key of ${modulusLength} bits` : `a key of the type ${namedCurve ?? type}`;
	throw new Error(`${what} does not do; P-256, P-384, Ed25519 and RSA of ${SHORTEST_RSA} bits or more do`);
}

/** The name of a key that has none: its thumbprint (RFC 7638). */
export function thumbprint(key: KeyObject): string {
	const { crv, e, kty, n, x, y } = (key.type === "private" ? createPublicKey(key) : key).export({ format: "jwk" });
	// In the order of the alphabet, and undefined members left out by JSON.
	return createHash("sha256").update(JSON.stringify({ crv, e, kty, n, x, y })).digest("base64url");
}

function fromJwk(jwk: Readonly<Record<string, unknown>>): CardKey {
	if (jwk.kty === "oct" || "k" in jwk) throw new Error("a secret that both sides know proves nothing");
	if ("d" in jwk) throw new Error("this is a private key; only its public half may be given away");
	const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
	const alg = algorithmOf(key);
	if (jwk.alg !== undefined && jwk.alg !== alg) throw new Error(`it is meant for ${oneLine(String(jwk.alg), 20)}`);
	if (jwk.use !== undefined && jwk.use !== "sig") throw new Error("it is not meant for signatures");
	if (Array.isArray(jwk.key_ops) && !jwk.key_ops.includes("verify")) throw new Error("it is not meant to verify");
	return { key, alg, kid: typeof jwk.kid === "string" ? jwk.kid : undefined };
}

const PUBLIC_PEM = /-----BEGIN (?:RSA )?PUBLIC KEY-----[^-]+-----END (?:RSA )?PUBLIC KEY-----/g;

function fromPem(text: string): readonly CardKey[] {
	if (text.includes("PRIVATE KEY-----")) throw new Error("this is a private key; only its public half may be here");
	const keys = (text.match(PUBLIC_PEM) ?? []).map((pem) => createPublicKey(pem));
	return keys.map((key) => ({ key, alg: algorithmOf(key), kid: undefined }));
}

/**
 * The public keys in a JWK, a JWKS (RFC 7517) or PEM text. Throws an error of one line that says what is wrong. Of a
 * JWKS those are left out that do not do, since it may hold keys for other purposes; it must have one that does.
 */
export function readCardKeys(source: unknown): readonly CardKey[] {
	if (typeof source === "string") {
		const text = source.trim();
		const keys = text.startsWith("{") ? readCardKeys(JSON.parse(text)) : fromPem(text);
		if (keys.length === 0) throw new Error("there is no public key in it (PEM, JWK or JWKS)");
		return keys;
	}
	if (!isObject(source)) throw new Error("expected PEM text, a JWK or a JWKS");
	if (!Array.isArray(source.keys)) return [fromJwk(source)];
	const reasons: string[] = [];
	const keys = source.keys.slice(0, MAX_KEYS).flatMap((each: unknown) => {
		try {
			return isObject(each) ? [fromJwk(each)] : [];
		} catch (error) {
			reasons.push(oneLine(error instanceof Error ? error.message : String(error)));
			return [];
		}
	});
	if (keys.length === 0) throw new Error(`none of its keys does${reasons[0] ? `: ${reasons[0]}` : ""}`);
	return keys;
}

/** A private key that signs our card. */
export interface CardSigner {
	readonly key: KeyObject;
	readonly alg: CardAlgorithm;
	readonly kid: string;
	/** Where its public half is published. */
	readonly jku: string | undefined;
}

/**
 * The signer of a private key in PEM; P-256 and Ed25519 do. An empty `kid` stands for the key's thumbprint, an empty
 * `jku` for none. Throws an error of one line that says what is wrong with the key.
 */
export function readCardSigner(pem: string, names: { readonly kid: string; readonly jku: string }): CardSigner {
	if (/^(?:Proc-Type:.*ENCRYPTED|-----BEGIN ENCRYPTED)/m.test(pem)) {
		throw new Error("the key has a passphrase, which nobody is there to type; store it without one");
	}
	let key: KeyObject;
	try {
		key = createPrivateKey(pem);
	} catch (cause) {
		throw new Error("it holds no private key in PEM (PKCS #8)", { cause });
	}
	const alg = algorithmOf(key);
	if (alg !== "ES256" && alg !== "EdDSA") throw new Error("a P-256 or an Ed25519 key is needed to sign");
	return { key, alg, kid: names.kid || thumbprint(key), jku: names.jku || undefined };
}
