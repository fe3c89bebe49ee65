/** Finding and reading a peer's agent card (§8.2, §8.6.2). */
import { type CardKey, thumbprint } from "../../guard/card-keys.ts";
import { oneLine } from "../../lib/text.ts";
import { A2AError } from "../../protocol/errors.ts";
import type { FoundCard } from "../binding.ts";
import { refusal } from "./answer.ts";
import { lifetimeOf } from "./card-age.ts";
import { BadSignature, publishedKeys, type TrustedCard, trustedCard } from "./card-trust.ts";
import { type Answer, place, TransportError } from "./exchange.ts";
import { type Fetching, httpTaken } from "./fetch.ts";
import { essence } from "./gate.ts";
import { Limit, seconds } from "./limits.ts";
import type { FetchedCard, KeptCard } from "./pool.ts";

/** What the operator wrote down of a peer's card. */
export interface CardWish {
	/** The card's own address, when it is none of the usual ones. */
	readonly url?: URL | undefined;
	/** The card itself, as JSON text: the peer is not asked for one. */
	readonly text?: string | undefined;
	/** Who may have signed it; with any, no other card is taken. */
	readonly keys?: readonly CardKey[] | undefined;
}

export interface CardRequest extends Fetching {
	/** A base URL, an endpoint, or the card's own URL. */
	readonly url: URL;
	/** Sent only when the card is refused without, and only to the origin of `url`. */
	readonly token?: string | undefined;
	/** Headers for every request of ours. */
	readonly headers: Readonly<Record<string, string>>;
	/** Never look above the path of `url`: what is there is somebody else's. */
	readonly pinned?: boolean;
	readonly card?: CardWish | undefined;
	readonly signal: AbortSignal;
}

const MAX_CARD_BYTES = 256 * 1024;
/** For all of it: a peer that trickles its card byte by byte gets no more. */
const CARD_MS = 10_000;
/** How long a peer is taken to have no card, and a failing one to have no newer card, before it is asked again. */
const AGAIN_MS = 30_000;

const NAME = ".well-known/agent-card.json";
/** Its name before 0.3. */
const OLD_NAME = ".well-known/agent.json";

/** The text of a URL is that of a card, not of an endpoint. */
export const isCardUrl = (url: URL): boolean => url.pathname.endsWith(".json");

/**
 * Where a card may be. A path of its own comes first: several agents may share an origin. The old name is tried where
 * the new one is not there, at most once, so no lookup takes more than three requests.
 */
export function cardUrls(url: URL, pinned: boolean): readonly URL[] {
	if (isCardUrl(url)) return [url];
	const base = new URL(url.pathname.endsWith("/") ? url.pathname : `${url.pathname}/`, url);
	const below = new URL(NAME, base);
	const atOrigin = new URL(`/${NAME}`, url);
	if (below.href === atOrigin.href) return [below, new URL(`/${OLD_NAME}`, url)];
	if (pinned) return [below, new URL(OLD_NAME, base)];
	return [below, atOrigin, new URL(`/${OLD_NAME}`, url)];
}

/**
 * The card of a peer, from the pool while it is fresh; `undefined` when there is none at any place. Callers that ask at
 * the same time share one lookup. Throws when a card is there but broken, too large, too slow, badly signed, or refused
 * (`UnauthorizedError`), when it is missing where somebody said it is, and when the peer cannot be reached.
 */
export async function fetchCard(request: CardRequest): Promise<FoundCard | undefined> {
	const { pool, clock, card: wish = {} } = request;
	if (wish.text !== undefined) {
		const options = { keys: wish.keys ?? [], where: "in the settings" };
		return {
			from: "settings",
			...(await trusting(() => trustedCard(wish.text ?? "", options), "What is written down")),
		};
	}
	const signers = wish.keys?.map(({ key, kid }) => [kid, thumbprint(key)]);
	// A card that came by a way that is trusted less, or was shown to somebody else, is no card for this call.
	const way = [request.verifySsl, pool.numberOf(request.trust)];
	const key = JSON.stringify([request.url.href, wish.url?.href, request.token, request.pinned, signers, way]);
	const kept = pool.cards.get(key);
	if (kept && kept.freshUntil > clock.now()) return foundIn(kept, kept.card && kept.stale ? "stale" : "cache", request);
	const fetched = await pool.lookups.join(
		key,
		async (signal) => {
			const found = await lookUp({ ...request, signal }, kept?.card ? kept : undefined);
			if (found.card && !found.keep) pool.cards.delete(key);
			else pool.cards.set(key, found);
			return found;
		},
		request.signal,
	);
	return foundIn(fetched, fetched.card && fetched.stale ? "stale" : "peer", request);
}

function foundIn(kept: KeptCard, from: FoundCard["from"], { card: wish, url }: CardRequest): FoundCard | undefined {
	if (kept.card) return { card: kept.card, from, url: kept.url, signature: kept.signature };
	const where = wish?.url ? place(wish.url) : place(url);
	if (wish?.url) throw new A2AError("InvalidAgentResponseError", `There is no agent card at ${where}, its cardUrl`);
	if (!wish?.keys?.length) return undefined;
	const text = `There is no agent card at ${where}, but keys are written down for it (cardKeys). Nothing was sent`;
	throw new A2AError("InvalidAgentResponseError", text);
}

/** Asks at every place where the card may be. */
async function lookUp(request: CardRequest, kept: FetchedCard | undefined): Promise<KeptCard> {
	const { clock, card: wish } = request;
	const limit = new Limit(clock, request.signal);
	const slow = `The agent card of ${place(request.url)} did not arrive within ${seconds(CARD_MS)}, our own limit`;
	limit.set(CARD_MS, () => new A2AError("PeerTimeoutError", slow));
	try {
		const usual = wish?.url ? [wish.url] : cardUrls(request.url, request.pinned ?? false);
		for (const url of kept ? [kept.url, ...usual] : usual) {
			const found = await read(url, request, kept, limit.signal);
			if (found) return found;
		}
		return { card: undefined, freshUntil: clock.now() + AGAIN_MS };
	} finally {
		limit.release();
	}
}

/** Headers that ask for the card at `url` only when it is another one than that which is here, from there. */
function unless(kept: FetchedCard | undefined, url: URL): Readonly<Record<string, string>> {
	if (kept?.url.href !== url.href) return {};
	return {
		...(kept?.etag ? { "if-none-match": kept.etag } : {}),
		...(kept?.lastModified && !kept.etag ? { "if-modified-since": kept.lastModified } : {}),
	};
}

/** `kept`, because its origin fails to give a newer one. */
function stale(kept: FetchedCard, now: number): FetchedCard {
	return { ...kept, freshUntil: Math.min(now + AGAIN_MS, kept.staleUntil), stale: true };
}

/** As `readCard`; a connection that breaks off in the middle costs nothing while there is something to stand in. */
async function read(
	url: URL,
	request: CardRequest,
	kept: FetchedCard | undefined,
	signal: AbortSignal,
): Promise<FetchedCard | undefined> {
	try {
		return await readCard(url, request, kept, signal);
	} catch (error) {
		const now = request.clock.now();
		if (!(error instanceof TransportError) || !error.sent || !kept || kept.staleUntil <= now) throw error;
		return stale(kept, now);
	}
}

/** One place. `undefined`: there is no card here. */
async function readCard(
	url: URL,
	request: CardRequest,
	kept: FetchedCard | undefined,
	signal: AbortSignal,
): Promise<FetchedCard | undefined> {
	const { clock, token } = request;
	const standIn = kept && kept.staleUntil > clock.now() ? kept : undefined;
	// Who has something to stand in for it need not try again and again.
	const how = standIn ? { ...request, retryAttempts: 0 } : request;
	const headers = { ...request.headers, accept: "application/json", ...unless(kept, url) };
	const take = async (answer: Answer) => ({
		answer,
		bytes: answer.status === 200 ? await answer.bytes(MAX_CARD_BYTES) : undefined,
	});
	let { answer, bytes } = await httpTaken({ method: "GET", url, headers }, how, signal, take);
	if (answer.status === 401 && token !== undefined && url.origin === request.url.origin) {
		answer.drop();
		const authorization = `Bearer ${token}`;
		({ answer, bytes } = await httpTaken(
			{ method: "GET", url, headers: { ...headers, authorization } },
			how,
			signal,
			take,
		));
	}
	const now = clock.now();
	// What it says of this one request says nothing of its card.
	const isPassing = answer.status >= 500 || answer.status === 408 || answer.status === 429;
	if (isPassing && standIn) {
		answer.drop();
		return stale(standIn, now);
	}
	const said = { url: answer.url, ...lifetimeOf(answer, now), lastModified: answer.headers["last-modified"] };
	if (answer.status === 304 && kept?.url.href === url.href) {
		answer.drop();
		const { card, signature, etag, lastModified } = kept;
		return {
			...said,
			card,
			signature,
			etag: answer.headers.etag ?? etag,
			lastModified: said.lastModified ?? lastModified,
		};
	}
	if (answer.status === 404 || answer.status === 405 || answer.status === 410) {
		answer.drop();
		return undefined;
	}
	if (!bytes) throw refusal(answer, await answer.bytes(MAX_CARD_BYTES), "its agent card", now);
	return { ...said, ...(await cardIn(bytes, answer, request, signal)), etag: answer.headers.etag };
}

function cardIn(bytes: Buffer, answer: Answer, request: CardRequest, signal: AbortSignal): Promise<TrustedCard> {
	const type = essence(answer.headers["content-type"]) || "no content type";
	const published = (jku: string) => publishedKeys(jku, answer.url, request, signal);
	const options = { keys: request.card?.keys ?? [], where: `at ${place(answer.url)}`, published };
	return trusting(
		() => trustedCard(bytes.toString("utf8"), options),
		`What ${place(answer.url)} serves (${oneLine(type, 60)})`,
	);
}

/** `work`; an error says what could not be used. */
async function trusting(work: () => Promise<TrustedCard>, what: string): Promise<TrustedCard> {
	try {
		return await work();
	} catch (error) {
		if (error instanceof BadSignature) throw error;
		const why = error instanceof A2AError ? error.message : "it could not be read";
		const text = `${what} is no agent card: ${oneLine(why, 200)}`;
		throw new A2AError("InvalidAgentResponseError", text, { cause: error });
	}
}
