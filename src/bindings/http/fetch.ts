/** Requests to peers with everything that may happen between sending and an answer: retries, waits, redirects. */
import type { Clock } from "../../lib/clock.ts";
import { oneLine } from "../../lib/text.ts";
import { A2AError } from "../../protocol/errors.ts";
import { type Answer, type Ask, exchange, place, TransportError, type Wire } from "./exchange.ts";

export type { Answer, Ask } from "./exchange.ts";

export interface Fetching extends Wire {
	/** How often a request is sent again after a failure of the network, a 429 or a 5xx. */
	readonly retryAttempts: number;
	readonly clock: Clock;
}

const FIRST_PAUSE_MS = 250;
const LONGEST_PAUSE_MS = 10_000;
/** A peer that asks for more patience than this is not waited for. */
const LONGEST_WISH_MS = 30_000;
/** Redirects followed for a GET, and for others, whose body is sent again. */
const HOPS = { GET: 3, POST: 1, PATCH: 1, DELETE: 1 } as const;

/**
 * Sends a request until it is answered by something that another try would not change. Every try has the same body, so
 * a message keeps its id. Throws as `exchange` does.
 */
export async function httpRequest(ask: Ask, how: Fetching, signal: AbortSignal): Promise<Answer> {
	for (let tries = 0; ; tries++) {
		let pause: number | undefined;
		try {
			const answer = await redirected(ask, how, signal);
			if (answer.status !== 429 && answer.status < 500) return answer;
			pause = pauseFor(tries, retryAfter(answer, how.clock.now()));
			if (pause === undefined || tries >= how.retryAttempts) return answer;
			answer.drop();
		} catch (error) {
			const again = error instanceof TransportError && error.transient && tries < how.retryAttempts;
			if (!again) throw error;
			pause = pauseFor(tries, 0);
		}
		await how.clock.sleep(pause ?? 0, signal);
		signal.throwIfAborted();
	}
}

/** How long the answer asks to be left alone, in milliseconds; 0 when it does not say (RFC 9110 §10.2.3). */
export function retryAfter(answer: Answer, now: number): number {
	const value = answer.headers["retry-after"]?.trim() ?? "";
	if (/^\d+$/.test(value)) return Number(value) * 1000;
	const date = Date.parse(value);
	return Number.isNaN(date) ? 0 : Math.max(0, date - now);
}

/** Doubles with every try; half of it is left to chance, so that many callers do not come back at once. */
function pauseFor(tries: number, wish: number): number | undefined {
	if (wish > LONGEST_WISH_MS) return undefined;
	const pause = Math.min(FIRST_PAUSE_MS * 2 ** tries, LONGEST_PAUSE_MS);
	return Math.max(wish, pause * (0.5 + Math.random() / 2));
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
