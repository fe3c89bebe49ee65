/** Where the requests of one channel connection are taken in, handled and answered. */
import { remember } from "../../lib/bounded.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { oneLine } from "../../lib/text.ts";
import { A2AError } from "../../protocol/errors.ts";
import type { HttpReply, HttpRequest } from "../http/handler.ts";
import { type GatewayApi, GatewayError } from "./api.ts";
import { type Envelope, openEnvelope, type Sealed, sealReply } from "./envelope.ts";

export type HttpHandler = (request: HttpRequest) => Promise<HttpReply>;

export interface CounterOptions {
	/** The gateway's key: every caller down this channel is the gateway. */
	readonly key: string;
	readonly api: Pick<GatewayApi, "respond">;
	/** The name and credential that the channel was opened with. */
	readonly name: string;
	readonly token: string;
	readonly handler: () => HttpHandler;
	readonly clock: Clock;
	readonly log: Log;
	/** The connection. When it ends, its requests have failed at the gateway already. */
	readonly signal: AbortSignal;
}

export interface Counter {
	/** Takes the data of a `request` event. Never throws. `secret`: that of this connection. */
	take(data: string, secret: string): void;
	/** Requests that have not been answered. */
	readonly open: number;
}

/** What is handled at the same time, in requests and in bytes of their bodies; more is asked to come again. */
const MAX_OPEN = 32;
const MAX_HELD_BYTES = 24 * 1024 * 1024;
/** What is not even answered. */
const MAX_FLOOD = 96;
/** Ids that are known to have been used on this connection. */
const MAX_IDS = 10_000;
/** The gateway gives up after 600 s. A stream that goes on is answered with what there is. */
const HANDLE_MS = 590_000;
/** The envelope may have 4 MiB, and base64 makes four bytes of three. */
const MAX_REPLY_BYTES = 3 * 1024 * 1024 - 64 * 1024;
const DELIVERIES = 4;
const LONGEST_WAIT_MS = 30_000;

export function openCounter(options: CounterOptions): Counter {
	const { key, api, name, token, clock, log, signal } = options;
	const seen = new Map<string, true>();
	let open = 0;
	let held = 0;

	async function serve(secret: string, request: Envelope): Promise<void> {
		held += request.body.length;
		try {
			await deliver(request.id, secret, await handled(request));
		} finally {
			held -= request.body.length;
		}
	}

	/** What the handler makes of it, whole. */
	async function handled({ method, path, headers, body }: Envelope): Promise<Sealed> {
		const own = new AbortController();
		const cut = () => own.abort();
		signal.addEventListener("abort", cut, { once: true });
		if (signal.aborted) cut();
		const cancel = clock.after(HANDLE_MS, cut);
		try {
			const reply = await options.handler()({
				method,
				path,
				headers,
				remoteAddress: "",
				signal: own.signal,
				via: { gateway: key },
				async body(maxBytes) {
					if (body.length <= maxBytes) return body;
					throw new A2AError("PayloadTooLargeError", `The body is larger than ${maxBytes} bytes`);
				},
			});
			const whole = await collected(reply.body, own.signal);
			return whole
				? { status: reply.status, headers: reply.headers, body: whole }
				: refusal(500, "The answer is larger than a gateway carries; ask for the task, or for less of it");
		} catch (error) {
			log.warn(`A request from the gateway ${key} failed by a fault of ours`, error);
			return refusal(500, "Internal error");
		} finally {
			cancel();
			signal.removeEventListener("abort", cut);
		}
	}

	/** Brings the answer to the gateway, again if it must be. An answer of a connection that has ended goes nowhere. */
	async function deliver(id: string, secret: string, reply: Sealed): Promise<void> {
		for (let tries = 1; !signal.aborted; tries++) {
			try {
				return await api.respond(id, name, token, sealReply(id, secret, reply), signal);
			} catch (error) {
				if (signal.aborted) return;
				const { status, retryAfterMs } = error instanceof GatewayError ? error : new GatewayError("unknown");
				if (status === 413 && reply.status !== 500) {
					return deliver(id, secret, refusal(500, "The answer is larger than this gateway carries"));
				}
				const transient = status === undefined || status === 429 || status >= 500;
				if (!transient || tries >= DELIVERIES) {
					const why = error instanceof Error ? error.message : String(error);
					log.info(`Gateway ${key}: an answer could not be delivered: ${oneLine(why, 300)}`);
					return;
				}
				await clock.sleep(Math.min(Math.max(retryAfterMs, 500 * 2 ** tries), LONGEST_WAIT_MS), signal);
			}
		}
	}

	/** Owned by nobody, so nothing may come out of it. */
	function begin(work: Promise<void>): void {
		open += 1;
		const done = () => {
			open -= 1;
		};
		work.then(done, (error: unknown) => {
			done();
			log.warn(`A request from the gateway ${key} failed by a fault of ours`, error);
		});
	}

	return {
		get open() {
			return open;
		},
		take(data, secret) {
			const request = openEnvelope(data, secret);
			if (!request || signal.aborted || seen.has(request.id)) return;
			remember(seen, request.id, true, MAX_IDS);
			if (open >= MAX_FLOOD) return;
			if ("fault" in request) return begin(deliver(request.id, secret, refusal(400, request.fault)));
			if (open >= MAX_OPEN || held + request.body.length > MAX_HELD_BYTES) {
				const busy = refusal(503, "Too many requests at the same time", { "retry-after": "1" });
				return begin(deliver(request.id, secret, busy));
			}
			begin(serve(secret, request));
		},
	};
}

function refusal(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Sealed {
	const body = Buffer.from(JSON.stringify({ error: { code: status, message } }));
	return { status, headers: { "content-type": "application/json", ...headers }, body };
}

/** The whole body, a stream once it has ended or `signal` aborts; `undefined` when it is too large to be carried. */
async function collected(body: HttpReply["body"], signal: AbortSignal): Promise<Uint8Array | undefined> {
	if (typeof body === "string" || body instanceof Uint8Array) {
		const bytes = typeof body === "string" ? Buffer.from(body) : body;
		return bytes.length <= MAX_REPLY_BYTES ? bytes : undefined;
	}
	const pieces: Buffer[] = [];
	let size = 0;
	for await (const piece of body) {
		const bytes = Buffer.from(piece);
		size += bytes.length;
		if (size > MAX_REPLY_BYTES) return undefined;
		pieces.push(bytes);
		if (signal.aborted) break;
	}
	return Buffer.concat(pieces, size);
}
