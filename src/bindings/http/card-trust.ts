/** From the text of a card to a card that may be used: what its signatures say, and who must have signed it. */
import { type CardKey, readCardKeys } from "../../guard/card-keys.ts";
import { keyUrlOf, type SignatureStatus, type Verdict, verifyCard } from "../../guard/card-signatures.ts";
import { oneLine } from "../../lib/text.ts";
import { decodeCard } from "../../protocol/decode.ts";
import { A2AError } from "../../protocol/errors.ts";
import { isObject, parseJson } from "../../protocol/json.ts";
import type { AgentCard, JsonObject } from "../../protocol/types.ts";
import { place } from "./exchange.ts";
import { type Fetching, httpRequest } from "./fetch.ts";

export interface TrustedCard {
	readonly card: AgentCard;
	readonly signature: SignatureStatus;
}

export interface TrustOptions {
	/** Those who may have signed the card. With any, a card that none of them signed is refused. */
	readonly keys: readonly CardKey[];
	/** Where the card came from: `at http://…`, `in the settings`. */
	readonly where: string;
	/** Gives the published keys of a signer: only asked when `keys` is empty. */
	readonly published?: (jku: string) => Promise<readonly CardKey[]>;
}

/** There is a card, but not one of those who should have signed it. */
export class BadSignature extends A2AError {}

/**
 * The card in `text`, which is JSON. Of a verified card there is only what was signed. Throws
 * `InvalidAgentResponseError` when it is no card, when a signature is bad, and when `keys` are given and none of them
 * signed it.
 */
export async function trustedCard(text: string, options: TrustOptions): Promise<TrustedCard> {
	const { keys, where } = options;
	const json = text.replace(/^\uFEFF/, "");
	const value = parseJson(json);
	const card = decodeCard(value);
	const verdict = await verdictOn(json, value, options);
	if (verdict.state === "bad") {
		throw refused(`The signature of the agent card ${where} is not valid: ${verdict.why}. Nothing was sent`);
	}
	if (verdict.state === "verified") {
		const { card: signed, ...signature } = verdict;
		return { card: decodeCard(signed), signature };
	}
	if (keys.length > 0) {
		const why = verdict.state === "unsigned" ? "is not signed" : `cannot be verified (${verdict.why})`;
		const advice = "Have it signed by one of these keys, or correct cardKeys of this peer";
		throw refused(`The agent card ${where} ${why}, but keys are written down for it. Nothing was sent. ${advice}`);
	}
	return { card, signature: verdict };
}

const refused = (text: string) => new BadSignature("InvalidAgentResponseError", text);

async function verdictOn(text: string, value: unknown, { keys, published }: TrustOptions): Promise<Verdict> {
	const verdict = verifyCard(text, keys);
	if (verdict.state !== "unverified" || keys.length > 0 || !published) return verdict;
	const entries = isObject(value) && Array.isArray(value.signatures) ? value.signatures : [];
	const jku = keyUrlOf(entries.filter(isObject) as JsonObject[]);
	if (jku === undefined) return verdict;
	try {
		const found = verifyCard(text, await published(jku));
		return found.state === "verified" ? { ...found, published: true } : found;
	} catch (error) {
		// The keys are a help, not a condition: whoever needs the proof has written a key down.
		const why = error instanceof Error ? error.message : String(error);
		return { state: "unverified", why: `no key known; ${oneLine(why, 200)}` };
	}
}

const MAX_KEYS_BYTES = 64 * 1024;

/**
 * The keys published at `jku`, for a card of `card`'s origin. Throws when that is another origin or not https, when it
 * cannot be read, and when there is no key that does. Sends no credential.
 */
export async function publishedKeys(
	jku: string,
	card: URL,
	how: Fetching & { readonly headers: Readonly<Record<string, string>> },
	signal: AbortSignal,
): Promise<readonly CardKey[]> {
	const url = URL.canParse(jku) ? new URL(jku) : undefined;
	if (url?.protocol !== "https:") throw new Error("its jku is no https URL");
	if (url.origin !== card.origin) throw new Error(`its jku leads to another origin, ${oneLine(url.origin, 100)}`);
	const { authorization: _never, ...headers } = how.headers;
	const ask = {
		method: "GET",
		url,
		headers: { ...headers, accept: "application/jwk-set+json, application/json" },
	} as const;
	const answer = await httpRequest(ask, { ...how, retryAttempts: 0 }, signal);
	const bytes = await answer.bytes(MAX_KEYS_BYTES);
	if (answer.status !== 200) throw new Error(`its keys at ${place(url)} cannot be read: HTTP ${answer.status}`);
	return readCardKeys(parseJson(bytes.toString("utf8")));
}
