/** A request as the handler sees it, wherever it came from, and as `node:http` delivers it. */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Clock } from "../../lib/clock.ts";
import { A2AError } from "../../protocol/errors.ts";
import type { Headers } from "./gate.ts";

export interface HttpRequest {
	readonly method: string;
	/** The request target as it was sent, with query. */
	readonly path: string;
	readonly headers: Headers;
	/** Address of whoever connected; empty when it is gone already. */
	readonly remoteAddress: string;
	/**
	 * The whole body, in bytes at most `maxBytes`. Throws `PayloadTooLargeError` as soon as it is known to be longer,
	 * `RequestTimeoutError` when it stops coming. To be called once.
	 */
	body(maxBytes: number): Promise<Uint8Array>;
	/** Aborts when the caller is gone or the server stops. */
	readonly signal: AbortSignal;
	/** Set when the request came down a gateway's channel and not over a connection to us. */
	readonly via?: { readonly gateway: string };
}

/** A body that brings nothing for this many milliseconds is given up. */
const STALL_MS = 15_000;
/** How long, for what pause and for how many bytes an unwanted body is read on, so that its sender sees the refusal. */
const LINGER_MS = 3_000;
const LINGER_PAUSE_MS = 300;
const LINGER_BYTES = 256 * 1024 * 1024;

/** What arrives over a connection to us. */
export class NodeRequest implements HttpRequest {
	readonly method: string;
	readonly path: string;
	readonly headers: Headers;
	readonly remoteAddress: string;
	readonly #message: IncomingMessage;
	readonly #clock: Clock;
	/** Called before the body is read: the client may wait for leave to send it (RFC 9110 §10.1.1). */
	readonly #invite: () => void;
	// Made when somebody asks: most requests are answered without.
	#controller: AbortController | undefined;
	#over = false;

	constructor(message: IncomingMessage, clock: Clock, invite: () => void) {
		this.#message = message;
		this.#clock = clock;
		this.#invite = invite;
		this.method = message.method ?? "";
		this.path = message.url ?? "";
		this.headers = joinedHeaders(message.rawHeaders);
		this.remoteAddress = (message.socket.remoteAddress ?? "").replace(/^::ffff:(?=\d+\.)/i, "");
	}

	get signal(): AbortSignal {
		this.#controller ??= new AbortController();
		if (this.#over) this.#controller.abort();
		return this.#controller.signal;
	}

	/** The caller is gone, or must be let go. */
	abort(): void {
		this.#over = true;
		this.#controller?.abort();
	}

	/** Part of a body has not been read. */
	get unread(): boolean {
		const { complete, headers } = this.#message;
		const announced = headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0;
		return announced && !complete;
	}

	body(maxBytes: number): Promise<Uint8Array> {
		const message = this.#message;
		if (Number(message.headers["content-length"] ?? 0) > maxBytes) return Promise.reject(tooLarge(maxBytes));
		this.#invite();
		return new Promise((resolve, reject) => {
			const chunks: Buffer[] = [];
			let size = 0;
			let cancel = this.#clock.after(STALL_MS, stalled);
			const clock = this.#clock;
			function settle(outcome: () => void): void {
				cancel();
				message.off("data", take).off("end", end).off("close", gone);
				outcome();
			}
			function take(chunk: Buffer): void {
				size += chunk.length;
				if (size > maxBytes) {
					settle(() => reject(tooLarge(maxBytes)));
				} else {
					chunks.push(chunk);
					cancel();
					cancel = clock.after(STALL_MS, stalled);
				}
			}
			function stalled(): void {
				const text = `The rest of the body did not arrive within ${STALL_MS / 1000} s`;
				settle(() => reject(new A2AError("RequestTimeoutError", text)));
			}
			function end(): void {
				const [only] = chunks;
				settle(() => resolve(only && chunks.length === 1 ? only : Buffer.concat(chunks, size)));
			}
			function gone(): void {
				settle(() => reject(new A2AError("InvalidRequestError", "The caller left before the body was complete")));
			}
			message.on("data", take).once("end", end).once("close", gone);
		});
	}

	/** Reads on and throws away what nobody wants, for a while: a connection cut under a sender loses the reply. */
	discard(): Promise<void> {
		const message = this.#message;
		const clock = this.#clock;
		return new Promise((resolve) => {
			let left = LINGER_BYTES;
			let idle = clock.after(LINGER_PAUSE_MS, done);
			const cancel = clock.after(LINGER_MS, done);
			function done(): void {
				idle();
				cancel();
				message.off("data", take).off("end", done).off("close", done);
				resolve();
			}
			function take(chunk: Buffer): void {
				left -= chunk.length;
				idle();
				idle = clock.after(left < 0 ? 0 : LINGER_PAUSE_MS, done);
			}
			if (message.destroyed) return done();
			message.on("data", take).once("end", done).once("close", done);
		});
	}
}

/** A request in progress: aborted when the connection closes before the reply is complete. */
export function follow(message: IncomingMessage, response: ServerResponse, request: NodeRequest): void {
	response.once("close", () => {
		if (!response.writableFinished) request.abort();
	});
	// A connection that breaks is seen by `close`; without a listener its error would be one of the process.
	const seenByClose = () => undefined;
	message.on("error", seenByClose);
	response.on("error", seenByClose);
}

function tooLarge(maxBytes: number): A2AError {
	return new A2AError("PayloadTooLargeError", `The body is larger than ${maxBytes} bytes`);
}

/**
 * Headers by lower-case name, repeated ones joined. Node drops a second Host, Authorization or Content-Type without a
 * word; joined, such a pair matches nothing.
 */
function joinedHeaders(raw: readonly string[]): Headers {
	const headers: Record<string, string> = Object.create(null);
	for (let i = 0; i + 1 < raw.length; i += 2) {
		const name = (raw[i] ?? "").toLowerCase();
		const before = headers[name];
		headers[name] = before === undefined ? (raw[i + 1] ?? "") : `${before}, ${raw[i + 1]}`;
	}
	return headers;
}
