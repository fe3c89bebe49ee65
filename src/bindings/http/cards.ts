/** Finding and reading a peer's agent card (§8.2, §8.6.2). */
import { oneLine } from "../../lib/text.ts";
import { decodeCard } from "../../protocol/decode.ts";
import { A2AError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json.ts";
import type { AgentCard } from "../../protocol/types.ts";
import { refusal } from "./answer.ts";
import { type Answer, place } from "./exchange.ts";
import { type Fetching, httpRequest } from "./fetch.ts";
import { essence } from "./gate.ts";
import { Limit, seconds } from "./limits.ts";
import type { KeptCard } from "./pool.ts";

export interface CardRequest extends Fetching {
	/** A base URL, an endpoint, or the card's own URL. */
	readonly url: URL;
	/** Sent only when the card is refused without, and only to the origin of `url`. */
	readonly token?: string | undefined;
	/** Headers for every request of ours. */
	readonly headers: Readonly<Record<string, string>>;
	/** Never look above the path of `url`: what is there is somebody else's. */
	readonly pinned?: boolean;
	readonly signal: AbortSignal;
}

const MAX_CARD_BYTES = 1024 * 1024;
/** For all of it: a peer that trickles its card byte by byte gets no more. */
const CARD_MS = 10_000;
const DEFAULT_AGE_MS = 60_000;
const LONGEST_AGE_MS = 3_600_000;

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
 * The card of a peer, from the pool while it is fresh; `undefined` when there is none at any place. Throws when one is
 * there but broken, too large, too slow, or refused (`UnauthorizedError`), and when the peer cannot be reached.
 */
export async function fetchCard(request: CardRequest): Promise<{ card: AgentCard; url: URL } | undefined> {
	const { pool, clock } = request;
	const key = JSON.stringify([request.url.href, request.token !== undefined]);
	const kept = pool.cards.get(key);
	if (kept && kept.freshUntil > clock.now()) return kept;
	const limit = new Limit(clock, request.signal);
	const slow = `The agent card of ${place(request.url)} did not arrive within ${seconds(CARD_MS)}, our own limit`;
	limit.set(CARD_MS, () => new A2AError("PeerTimeoutError", slow));
	try {
		const places = [...(kept ? [kept.url] : []), ...cardUrls(request.url, request.pinned ?? false)];
		for (const url of places) {
			const found = await read(url, request, kept, limit.signal);
			if (!found) continue;
			pool.cards.set(key, found);
			return found;
		}
		return undefined;
	} finally {
		limit.release();
	}
}

/** One place. `undefined`: there is no card here. */
async function read(
	url: URL,
	request: CardRequest,
	kept: KeptCard | undefined,
	signal: AbortSignal,
): Promise<KeptCard | undefined> {
	const headers = {
		...request.headers,
		accept: "application/json",
		...(kept?.etag ? { "if-none-match": kept.etag } : {}),
	};
	let answer = await httpRequest({ method: "GET", url, headers }, request, signal);
	if (answer.status === 401 && request.token !== undefined) {
		answer.drop();
		const authorization = `Bearer ${request.token}`;
		answer = await httpRequest({ method: "GET", url, headers: { ...headers, authorization } }, request, signal);
	}
	const freshUntil = request.clock.now() + ageOf(answer);
	if (answer.status === 304 && kept) {
		answer.drop();
		return { ...kept, freshUntil };
	}
	if (answer.status === 404 || answer.status === 405 || answer.status === 410) {
		answer.drop();
		return undefined;
	}
	const bytes = await answer.bytes(MAX_CARD_BYTES);
	if (answer.status !== 200) throw refusal(answer, bytes, "its agent card", request.clock.now());
	return { card: cardIn(bytes, answer), url: answer.url, etag: answer.headers.etag, freshUntil };
}

function cardIn(bytes: Buffer, answer: Answer): AgentCard {
	try {
		return decodeCard(parseJson(bytes.toString("utf8")));
	} catch (error) {
		const type = essence(answer.headers["content-type"]) || "no content type";
		const why = error instanceof A2AError ? error.message : "it could not be read";
		const text = `What ${place(answer.url)} serves (${oneLine(type, 60)}) is no agent card: ${oneLine(why, 200)}`;
		throw new A2AError("InvalidAgentResponseError", text, { cause: error });
	}
}

/** How long the card may be used without asking, in milliseconds. */
function ageOf(answer: Answer): number {
	const control = answer.headers["cache-control"]?.toLowerCase() ?? "";
	if (/\bno-(?:store|cache)\b/.test(control)) return 0;
	const age = /\bmax-age=(\d+)/.exec(control)?.[1];
	return age === undefined ? DEFAULT_AGE_MS : Math.min(Number(age) * 1000, LONGEST_AGE_MS);
}
