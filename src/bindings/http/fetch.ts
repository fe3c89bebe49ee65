/** Requests to peers with everything that may happen between sending and an answer: retries, waits, redirects. */
import type { Clock } from "../../lib/clock.ts";
import { oneLine } from "../../lib/text.ts";
import { A2AError } from "../../protocol/errors.ts";
import { type Answer, type Ask, exchange, place, TransportError, type Wire } from "./exchange.ts";

export type { Answer, Ask } from "./exchange.ts";

export interface Fetching extends Wire {
	/** How often a request is sent again after a failure of the network, a 408, 429 or 5xx. */
	readonly retryAttempts: number;
	readonly clock: Clock;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** A peer that asks for more patience than this is not waited for. */
const LONGEST_WISH_MS = 30_000;
/** Redirects followed for a GET, and for others, whose body is sent again. */
const HOPS = { GET: 3, POST: 1, PATCH: 1, DELETE: 1 } as const;

/** The tries that one request has, whatever they fail by. */
export class Tries {
	readonly #how: Pick<Fetching, "retryAttempts" | "clock">;
	#used = 0;

	constructor(how: Pick<Fetching, "retryAttempts" | "clock">) {
		this.#how = how;
	}

	/** Whether there is another one; the peer wishes to be left alone for `wish` milliseconds before it. */
	isLeft(wish = 0): boolean {
		return this.#used < this.#how.retryAttempts && wish <= LONGEST_WISH_MS;
	}

	/**
	 * Waits for the next one. The pause doubles with every try; half of it is left to chance, so that many callers do not
	 * come back at once. Throws the reason of `signal`.
	 */
	async next(wish: number, signal: AbortSignal): Promise<void> {
		const pause = Math.min(FIRST_PAUSE_MS * 2 ** this.#used, LONGEST_PAUSE_MS);
		this.#used += 1;
		await this.#how.clock.sleep(Math.max(wish, pause * (0.5 + Math.random() / 2)), signal);
		signal.throwIfAborted();
	}
}

/** Whether an answer with this status is worth another try. With 408 a server says that the request never arrived. */
function isWorthAnother(status: number, { once }: Ask): boolean {
	if (status === 429 || status === 503) return true;
	return !once && (status === 408 || status >= 500);
}

/**
 * Sends a request until it is answered by something that another try would not change, and gives what `take` makes of
 * the answer; one that breaks off while it is taken counts as lost. Every try has the same body, so a message keeps its
 * id. `tries` are those of a larger whole. Throws as `exchange` and `take` do.
 */
export async function httpTaken<T>(
	ask: Ask,
	how: Fetching,
	signal: AbortSignal,
	take: (answer: Answer) => T | Promise<T>,
	tries = new Tries(how),
): Promise<T> {
	for (;;) {
		let wish = 0;
		try {
			const answer = await redirected(ask, how, signal);
			wish = retryAfter(answer, how.clock.now());
			if (!isWorthAnother(answer.status, ask) || !tries.isLeft(wish)) return await take(answer);
			answer.drop();
		} catch (error) {
			const again = error instanceof TransportError && error.transient && !(ask.once && error.sent);
			if (!again || !tries.isLeft()) throw error;
			wish = 0;
		}
		await tries.next(wish, signal);
	}
}

/** The answer to a request, whose body is still to come. Throws as `exchange` does. */
export function httpRequest(ask: Ask, how: Fetching, signal: AbortSignal, tries?: Tries): Promise<Answer> {
	return httpTaken(ask, how, signal, (answer) => answer, tries);
}

/** How long the answer asks to be left alone, in milliseconds; 0 when it does not say (RFC 9110 §10.2.3). */
export function retryAfter(answer: Answer, now: number): number {
	const value = answer.headers["retry-after"]?.trim() ?? "";
	if (/^\d+$/.test(value)) return Number(value) * 1000;
	const date = Date.parse(value);
	return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}

/**
 * Follows redirects that stay on the origin. A POST is repeated as a POST, once, and only where the answer asks for
 * that (307, 308). What leads elsewhere is an error that says where to: no header and no body of ours goes there.
 */
async function redirected(ask: Ask, how: Fetching, signal: AbortSignal): Promise<Answer> {
	let { url } = ask;
	for (let hops = 0; ; hops++) {
		const answer = await exchange({ ...ask, url }, how, signal);
		const target = redirectOf(answer);
		if (!target) return answer;
		answer.drop();
		const shown = `${place(url)} redirects to ${place(target)} (HTTP ${answer.status})`;
		if (target.origin !== url.origin) throw redirect(`${shown}, another origin; nothing was sent there`, target);
		const keeps = answer.status === 307 || answer.status === 308;
		if (ask.method !== "GET" && !keeps) throw redirect(`${shown}; use that URL`, target);
		if (hops >= HOPS[ask.method]) throw redirect(`${shown}, after ${hops} other redirects`, target);
		url = target;
	}
}

function redirectOf(answer: Answer): URL | undefined {
	const { location } = answer.headers;
	if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return undefined;
	if (!URL.canParse(location, answer.url.href)) return undefined;
	return new URL(location, answer.url);
}

function redirect(text: string, target: URL): A2AError {
	return new A2AError("InvalidAgentResponseError", text, { metadata: { location: oneLine(target.href, 500) } });
}
