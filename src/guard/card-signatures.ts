/**
 * Signatures of agent cards (§8.4): JWS (RFC 7515) over the canonical card. A card comes from whoever answers at an
 * address, so nothing in it is believed before a key of ours has said so, and of what was signed only that.
 */
import { sign, verify } from "node:crypto";
import { oneLine } from "../lib/text.ts";
import { repeatedMember } from "../protocol/canonical.ts";
import { type SignedForms, signedForms } from "../protocol/card-content.ts";
import { isObject } from "../protocol/json.ts";
import type { AgentCard, JsonObject } from "../protocol/types.ts";
import type { CardAlgorithm, CardKey, CardSigner } from "./card-keys.ts";

/** What came of looking at the signatures of a card. */
export type SignatureStatus =
	/** It has none. */
	| { readonly state: "unsigned" }
	/** It has, but no key is known that could tell. */
	| { readonly state: "unverified"; readonly why: string }
	/** A known key signed it. */
	| {
			readonly state: "verified";
			readonly alg: CardAlgorithm;
			readonly kid: string;
			/** The key is one that the card's own origin publishes; nobody here wrote it down. */
			readonly published?: boolean;
	  }
	/** A known key did not sign what is there, or the signature is a trick. */
	| { readonly state: "bad"; readonly why: string };

/** A verdict, and the card as it was signed: what else was sent with it does not count. */
export type Verdict =
	| Exclude<SignatureStatus, { readonly state: "verified" }>
	| (Extract<SignatureStatus, { readonly state: "verified" }> & { readonly card: unknown });

const HASH = { ES256: "sha256", ES384: "sha384", EdDSA: null, RS256: "sha256" } as const;
/** Bytes of a signature (RFC 7518 §3.4, RFC 8037); one of RSA is as long as its key. */
const SIZE: { readonly [alg: string]: number } = { ES256: 64, ES384: 96, EdDSA: 64 };

const MAX_SIGNATURES = 10;
/** Trials of a key on a signature of one card: whoever serves the card may publish the keys, and each trial costs time. */
const MAX_TRIALS = 60;
const MAX_HEADER = 8 * 1024;

const withCurveBytes = (key: CardKey["key"]) => ({ key, dsaEncoding: "ieee-p1363" }) as const;
const signingInput = (header: string, payload: string) =>
	Buffer.from(`${header}.${Buffer.from(payload, "utf8").toString("base64url")}`, "ascii");

/**
 * `card` with our signatures in place of those it had. There is a second one where another reading of the rules for
 * empty members, which widespread libraries have, gives another text: each reader finds one that fits.
 */
export function signCard(card: AgentCard, signer: CardSigner): AgentCard {
	const { alg, kid, jku, key } = signer;
	const header = Buffer.from(JSON.stringify({ alg, typ: "JOSE", kid, ...(jku ? { jku } : {}) })).toString("base64url");
	const forms = signedForms({ ...card });
	const signatures = [...new Set([forms.exact, forms.bare])].map((payload): JsonObject => {
		const signature = sign(HASH[alg], signingInput(header, payload), withCurveBytes(key));
		return { protected: header, signature: signature.toString("base64url") };
	});
	return { ...card, signatures };
}

/** The bytes of strict base64url; `undefined` for another alphabet, padding, or bits that stand for nothing. */
function bytesIn(text: unknown, max: number): Buffer | undefined {
	if (typeof text !== "string" || text.length > max || !/^[\w-]+$/.test(text)) return undefined;
	const bytes = Buffer.from(text, "base64url");
	return bytes.toString("base64url") === text ? bytes : undefined;
}

type Header = Readonly<Record<string, unknown>>;

/** The protected header; an error message when it is none. */
function headerIn(text: unknown): Header | string {
	const json = bytesIn(text, MAX_HEADER)?.toString("utf8");
	if (json === undefined) return "its protected header is not base64url";
	let value: unknown;
	try {
		value = JSON.parse(json);
	} catch {
		return "its protected header is not JSON";
	}
	if (!isObject(value)) return "its protected header is no object";
	return repeatedMember(json) === undefined ? value : "its protected header says a thing twice";
}

/** Why a header cannot be trusted, whatever the keys; `undefined` when it can. */
function wrongHeader(header: Header, unprotected: unknown): string | undefined {
	if (unprotected !== undefined && !isObject(unprotected)) return "its header is no object";
	for (const name of Object.keys(unprotected ?? {})) {
		if (name in header) return `its headers both have ${oneLine(name, 40)}`;
		if (["alg", "kid", "jku", "crit", "b64"].includes(name)) return `${name} stands outside of what is protected`;
	}
	// We know no extension of JWS, so every critical one is unknown (RFC 7515 §4.1.11).
	if ("crit" in header || "b64" in header) return "it asks for an extension that is not known here";
	if (typeof header.alg !== "string") return "it names no algorithm";
	if (/^(?:none|HS\d+)$/i.test(header.alg)) return `its algorithm ${oneLine(header.alg, 20)} proves nothing`;
	return typeof header.kid === "string" && header.kid !== "" ? undefined : "it names no key";
}

function verifies(header: string, signature: Buffer, forms: SignedForms, { key, alg }: CardKey): string | undefined {
	const size = SIZE[alg] ?? (key.asymmetricKeyDetails?.modulusLength ?? 0) / 8;
	if (signature.length !== size) return undefined;
	const fits = (payload: string) => verify(HASH[alg], signingInput(header, payload), withCurveBytes(key), signature);
	return [...new Set([forms.exact, forms.bare, forms.whole])].find(fits);
}

function judge(entry: unknown, forms: SignedForms, keys: readonly CardKey[], trials: { left: number }): Verdict {
	const bad = (why: string): Verdict => ({ state: "bad", why });
	if (!isObject(entry)) return bad("a signature is no object");
	const header = headerIn(entry.protected);
	if (typeof header === "string") return bad(header);
	const wrong = wrongHeader(header, entry.header);
	if (wrong !== undefined) return bad(wrong);
	const kid = String(header.kid);
	const shown = oneLine(kid, 60);
	const named = keys.filter((each) => each.kid === kid);
	const candidates = named.length > 0 ? named : keys.filter((each) => each.kid === undefined);
	if (candidates.length === 0) {
		const why = keys.length === 0 ? "no key known" : `no key known that is called ${shown}`;
		return { state: "unverified", why };
	}
	// The algorithm is the key's: what the header says must be the same, and chooses nothing.
	const usable = candidates.filter((each) => each.alg === header.alg);
	if (usable.length === 0) return bad(`its algorithm ${oneLine(String(header.alg), 20)} is not that of the key`);
	const signature = bytesIn(entry.signature, MAX_HEADER);
	if (!signature) return bad("its signature is not base64url");
	for (const key of usable) {
		trials.left -= 1;
		if (trials.left < 0) return bad("it has too many signatures for so many keys");
		const payload = verifies(String(entry.protected), signature, forms, key);
		if (payload !== undefined) return { state: "verified", alg: key.alg, kid: shown, card: JSON.parse(payload) };
	}
	return bad(`the key ${shown} did not sign this card`);
}

/**
 * Looks at the signatures of a card, given as the JSON text that was served. Bad: any of them that a known key refutes,
 * or that is a trick; verified: one that a known key made; otherwise there is no key to tell. `text` must be JSON.
 */
export function verifyCard(text: string, keys: readonly CardKey[]): Verdict {
	const card: unknown = JSON.parse(text);
	const entries = isObject(card) ? (card.signatures ?? []) : [];
	if (!isObject(card) || (Array.isArray(entries) && entries.length === 0)) return { state: "unsigned" };
	if (!Array.isArray(entries)) return { state: "bad", why: "its signatures are no list" };
	if (entries.length > MAX_SIGNATURES) return { state: "bad", why: `it has more than ${MAX_SIGNATURES} signatures` };
	const twice = repeatedMember(text);
	if (twice !== undefined) return { state: "bad", why: `it says ${oneLine(twice, 40)} twice` };
	let forms: SignedForms;
	try {
		forms = signedForms(card);
	} catch (error) {
		return { state: "bad", why: oneLine(error instanceof Error ? error.message : String(error)) };
	}
	const trials = { left: MAX_TRIALS };
	const verdicts = entries.map((entry) => judge(entry, forms, keys, trials));
	const of = (state: Verdict["state"]) => verdicts.find((each) => each.state === state);
	return of("bad") ?? of("verified") ?? of("unverified") ?? { state: "unsigned" };
}

/** The `jku` of the first signature whose protected header is in order and has one; what to do with it is the caller's. */
export function keyUrlOf(signatures: readonly JsonObject[]): string | undefined {
	for (const entry of signatures.slice(0, MAX_SIGNATURES)) {
		const header = headerIn(entry.protected);
		if (typeof header === "object" && typeof header.jku === "string") return header.jku;
	}
	return undefined;
}
