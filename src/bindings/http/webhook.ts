/** Notifications to webhooks (§4.3.3, §13.2): signed, to addresses that were checked, two at a time for each host. */
import { createHmac } from "node:crypto";
import { originOf, type UrlPolicyOptions, urlCheck } from "../../guard/urls.ts";
import type { Clock } from "../../lib/clock.ts";
import { A2AError } from "../../protocol/errors.ts";
import type { Delivery, Notification, Webhooks } from "../../protocol/push.ts";
import { exchange, TransportError } from "./exchange.ts";
import { retryAfter } from "./fetch.ts";
import { createHttpPool } from "./pool.ts";

export interface WebhookParts {
	/** Key of the signatures; empty: none. Read at each use. */
	readonly secret: () => string;
	/** Whether webhooks may lead into private networks. Read at each use. */
	readonly private: () => boolean;
	readonly clock: Clock;
	/** The addresses of a host, by default those of the system's resolver. */
	readonly resolve?: UrlPolicyOptions["resolve"];
}

/** A receiver has so long to answer. */
const TIMEOUT_MS = 10_000;
/** Requests to one host at the same time. */
const AT_ONCE = 2;

/** HMAC-SHA256 in hexadecimal digits. */
const mac = (secret: string, text: string): string => createHmac("sha256", secret).update(text).digest("hex");

/** The signatures of a body sent at `now` (milliseconds): over the body, and over `<seconds>.<body>`. */
export function signatures(secret: string, body: string, now: number): Readonly<Record<string, string>> {
	const seconds = Math.floor(now / 1000);
	return {
		"x-a2a-signature": `sha256=${mac(secret, body)}`,
		"x-a2a-timestamp": String(seconds),
		"x-a2a-signature-v2": `t=${seconds},v1=${mac(secret, `${seconds}.${body}`)}`,
	};
}

/** Lets `most` at a time through for each key; the others wait in order. */
function turnstile(most: number) {
	const lines = new Map<string, { inside: number; readonly waiting: (() => void)[] }>();
	return async <T>(key: string, work: () => Promise<T>): Promise<T> => {
		const line = lines.get(key) ?? { inside: 0, waiting: [] };
		lines.set(key, line);
		// Whoever leaves hands its place on.
		if (line.inside >= most) await new Promise<void>((resolve) => line.waiting.push(resolve));
		else line.inside += 1;
		try {
			return await work();
		} finally {
			const next = line.waiting.shift();
			if (next) next();
			else line.inside -= 1;
			if (line.inside === 0) lines.delete(key);
		}
	};
}

/** What an answer of that status means. A redirect is not followed. */
function verdict(status: number, afterMs: number): Delivery {
	if (status >= 200 && status < 300) return { outcome: "taken" };
	const why = `it answered HTTP ${status}`;
	return status === 408 || status === 429 || status >= 500
		? { outcome: "again", why, afterMs }
		: { outcome: "refused", why };
}

/** The way to webhooks over HTTP. */
export function createWebhooks(parts: WebhookParts): Webhooks {
	const { clock, resolve } = parts;
	const pool = createHttpPool({ background: true });
	const inTurn = turnstile(AT_ONCE);
	const checkFor = (loopback: boolean) =>
		urlCheck({ context: "webhook", loopback, private: parts.private(), ...(resolve ? { resolve } : {}) });

	async function post({ url, loopback, headers, body }: Notification, signal: AbortSignal): Promise<Delivery> {
		const secret = parts.secret();
		const signed = secret === "" ? {} : signatures(secret, body, clock.now());
		const ask = { method: "POST", url: new URL(url), headers: { ...headers, ...signed }, body } as const;
		try {
			const answer = await exchange(ask, { pool, check: checkFor(loopback), verifySsl: true }, signal);
			answer.drop();
			return verdict(answer.status, retryAfter(answer, clock.now()));
		} catch (error) {
			if (error instanceof A2AError && error.name === "ForbiddenError") {
				return { outcome: "refused", why: "its address is not called any more" };
			}
			const why = error instanceof TransportError ? "it could not be reached" : "it did not answer in time";
			return { outcome: "again", why, afterMs: 0 };
		}
	}

	return {
		async check(url, loopback) {
			try {
				await checkFor(loopback)(new URL(url));
			} catch (error) {
				// A name that nobody knows at the moment may be known later; each delivery checks again.
				if (error instanceof A2AError) throw error;
			}
		},
		deliver: (notification, signal) =>
			inTurn(originOf(new URL(notification.url)), async () => {
				const late = new AbortController();
				const stop = () => late.abort(new Error("stopped"));
				if (signal.aborted) stop();
				signal.addEventListener("abort", stop, { once: true });
				const cancel = clock.after(TIMEOUT_MS, () => late.abort(new Error("no answer in time")));
				try {
					return await post(notification, late.signal);
				} finally {
					cancel();
					signal.removeEventListener("abort", stop);
				}
			}),
		close: () => pool.close(),
	};
}
