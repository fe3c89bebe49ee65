/** The only writer of replies: JSON bodies, refusals and event streams. */
import type { Clock } from "../../lib/clock.ts";
import type { A2AError } from "../../protocol/errors.ts";
import { restError } from "../../protocol/rest.ts";
import { formatEvent, HEARTBEAT } from "../../protocol/sse.ts";
import { eventId, type StreamResponse } from "../../protocol/types.ts";

export interface HttpReply {
	readonly status: number;
	/** Lower-case names. `content-length` is the writer's business. */
	readonly headers: Readonly<Record<string, string>>;
	/** Text, bytes, or pieces that go out as they come. Leaving the iteration early is allowed at any point. */
	readonly body: string | Uint8Array | AsyncIterable<string>;
}

/** A JSON reply. `text` is already serialised. Replies are about one caller's tasks, so no cache may keep them. */
export function jsonText(status: number, text: string, headers: Readonly<Record<string, string>> = {}): HttpReply {
	return {
		status,
		headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
		body: text,
	};
}

/** A JSON reply. */
export function json(status: number, value: unknown, headers?: Readonly<Record<string, string>>): HttpReply {
	return jsonText(status, JSON.stringify(value), headers);
}

/** The headers an error asks for: when to come again, and how to authenticate (RFC 9110 §11.6.1). */
export function errorHeaders(error: A2AError): Readonly<Record<string, string>> {
	const { retryAfter } = error.details;
	return {
		...(retryAfter === undefined ? {} : { "retry-after": String(Math.max(1, Math.ceil(retryAfter))) }),
		...(error.name === "UnauthorizedError" ? { "www-authenticate": 'Bearer realm="a2a"' } : {}),
	};
}

/** A refusal outside JSON-RPC, in the form of §11.6. */
export function problem(
	status: number,
	grpc: string,
	message: string,
	headers?: Readonly<Record<string, string>>,
): HttpReply {
	return json(status, { error: { code: status, status: grpc, message } }, headers);
}

/** An error outside JSON-RPC, in the form of §11.6. */
export function errorReply(error: A2AError, headers?: Readonly<Record<string, string>>): HttpReply {
	const { status, body } = restError(error);
	return json(status, body, { ...headers, ...errorHeaders(error) });
}

/** Milliseconds of quiet after which a comment goes out, so that no proxy or client takes the stream for dead. */
export const HEARTBEAT_MS = 15_000;

/** The JSON text of an event, its id beside it when it has one, or of one that tells why there will be no more. */
export type EventText = string | { readonly text: string; readonly id: string } | { readonly error: string };

/** `text`, which tells of `item`, with the id that the item carries. */
export function withId(item: unknown, text: string): EventText {
	const id = (item as StreamResponse)[eventId];
	return id === undefined ? text : { text, id };
}

/** `after` of a call whose request has these headers. */
export function lastSeen(headers: Readonly<Record<string, string | undefined>>): { readonly after?: string } {
	const after = headers["last-event-id"];
	return after === undefined || after === "" ? {} : { after };
}

/**
 * A stream of events (§9.4.2, §11.7). `events` gives the text of each; it ends when the caller's signal aborts, so
 * leaving never waits for it.
 */
export function eventStream(
	events: AsyncIterable<EventText>,
	clock: Clock,
	headers: Readonly<Record<string, string>> = {},
): HttpReply {
	return {
		status: 200,
		headers: {
			"content-type": "text/event-stream",
			"cache-control": "no-cache, no-transform",
			// Asks nginx and its like not to collect the stream before passing it on.
			"x-accel-buffering": "no",
			...headers,
		},
		body: beating(events, clock),
	};
}

const QUIET = Symbol("quiet");

/** The events as they go over the wire, with a comment whenever nothing came for a while. */
async function* beating(events: AsyncIterable<EventText>, clock: Clock): AsyncGenerator<string, void, undefined> {
	const iterator = events[Symbol.asyncIterator]();
	try {
		for (;;) {
			const next = iterator.next();
			let item = await orQuiet(next, clock);
			while (item === QUIET) {
				yield HEARTBEAT;
				item = await orQuiet(next, clock);
			}
			if (item.done) return;
			const { value } = item;
			if (typeof value === "string") yield formatEvent(value);
			else if ("text" in value) yield formatEvent(value.text, value.id);
			else yield formatEvent(value.error, undefined, "error");
		}
	} finally {
		leave(iterator);
	}
}

async function orQuiet<T>(next: Promise<T>, clock: Clock): Promise<T | typeof QUIET> {
	let cancel: (() => void) | undefined;
	const quiet = new Promise<typeof QUIET>((resolve) => {
		cancel = clock.after(HEARTBEAT_MS, () => resolve(QUIET));
	});
	try {
		return await Promise.race([next, quiet]);
	} finally {
		cancel?.();
	}
}

/**
 * Tells an iterator that nobody reads any more, without waiting: one that is in the middle of something finishes it
 * first. What it throws on the way out concerns nobody.
 */
export function leave(iterator: AsyncIterator<unknown>): void {
	iterator.return?.().then(unheard, unheard);
}

/** Gives up a body that nobody began to read: what is behind it was begun already, and ends only when it is left. */
export function abandon(body: AsyncIterable<unknown>): void {
	const iterator = body[Symbol.asyncIterator]();
	iterator.next().then(unheard, unheard);
	leave(iterator);
}

const unheard = () => undefined;
