/** Reading a peer's event stream (§9.4.2, §11.7). */
import { A2AError } from "../../protocol/errors.ts";
import { type SseEvent, SseParser } from "../../protocol/sse.ts";
import { isTerminal } from "../../protocol/task.ts";
import { eventId, type StreamResponse } from "../../protocol/types.ts";
import { type Answer, place } from "./exchange.ts";
import { type Fetching, httpRequest, Tries } from "./fetch.ts";
import { essence } from "./gate.ts";
import { type Limit, seconds } from "./limits.ts";
import type { Spoken } from "./speech.ts";

interface Reading<T> {
	readonly limit: Limit;
	readonly decode: (value: unknown) => T;
}

const MAX_EVENT_BYTES = 16 * 1024 * 1024;
const MAX_STREAM_BYTES = 128 * 1024 * 1024;
const MAX_EVENTS = 200_000;
/** The longest answer that is no stream. */
const MAX_REPLY_BYTES = 32 * 1024 * 1024;

/**
 * The items of a stream, until a task ends or the peer ends the stream, each with its id where the peer gives one.
 * Throws before the first item when the peer refuses. A stream that breaks off, or stays silent for too long, throws
 * with `details.metadata.broken` "stream": what became of the task is then not known, and asking for it is up to the
 * caller. One that breaks off before its first item is asked for again, where that may be.
 */
export async function* readStream<T extends StreamResponse>(
	spoken: Spoken,
	how: Fetching & { readonly streamTimeoutMs: number },
	reading: Reading<T>,
): AsyncGenerator<T, void, undefined> {
	const tries = new Tries(how);
	for (;;) {
		let begun = false;
		try {
			for await (const item of oneStream(spoken, how, reading, tries)) {
				begun = true;
				yield item;
			}
			if (begun || spoken.ask.once || !tries.isLeft()) return;
		} catch (error) {
			if (begun || spoken.ask.once || !isCut(error) || !tries.isLeft()) throw error;
		}
		await tries.next(0, reading.limit.signal);
	}
}

/** The connection broke, before or after the headers of the answer; no limit of ours passed. */
const isCut = (error: unknown): boolean =>
	error instanceof A2AError && error.name === "PeerUnreachableError" && error.details.metadata?.broken !== undefined;

async function* oneStream<T extends StreamResponse>(
	{ ask, result, item: itemOf }: Spoken,
	how: Fetching & { readonly streamTimeoutMs: number },
	{ limit, decode }: Reading<T>,
	tries: Tries,
): AsyncGenerator<T, void, undefined> {
	const { streamTimeoutMs } = how;
	const silence = () => {
		limit.set(streamTimeoutMs, () => {
			const text = `Nothing came from ${place(ask.url)} for ${seconds(streamTimeoutMs)}, our own limit (timeouts.stream)`;
			return new A2AError("PeerTimeoutError", text, { metadata: { broken: "stream" } });
		});
	};
	silence();
	const answer = await httpRequest(ask, how, limit.signal, tries);
	if (answer.status !== 200 || essence(answer.headers["content-type"]) !== "text/event-stream") {
		const bytes = await answer.bytes(MAX_REPLY_BYTES);
		limit.lift();
		// Peers that cannot stream may answer all the same, with the one reply there is.
		yield decode(result(answer, bytes));
		return;
	}
	let first = true;
	try {
		for await (const { data, id } of events(answer, silence)) {
			// A reader takes its time; that is no silence of the peer.
			limit.lift();
			const item = decode(itemOf(parsed(data, answer)));
			yield id === undefined ? item : { ...item, [eventId]: id };
			if (isEnd(item, first)) return;
			first = false;
			silence();
		}
	} finally {
		answer.drop();
	}
}

/** After the end of the task, or a message that is the whole answer, nothing can follow, whatever the peer does. */
function isEnd(item: StreamResponse, first: boolean): boolean {
	if ("task" in item) return isTerminal(item.task.status.state);
	if ("statusUpdate" in item) return isTerminal(item.statusUpdate.status.state);
	return first && "message" in item;
}

/** The events. `heard` is told of every byte, comments included. */
async function* events(
	answer: Answer,
	heard: () => void,
): AsyncGenerator<Pick<SseEvent, "data" | "id">, void, undefined> {
	const parser = new SseParser({ maxBytes: MAX_EVENT_BYTES });
	let bytes = 0;
	let count = 0;
	let cut: unknown;
	try {
		for await (const chunk of answer.chunks()) {
			heard();
			bytes += chunk.length;
			for (const event of parser.push(chunk)) {
				count += 1;
				yield event;
			}
			if (bytes > MAX_STREAM_BYTES || count > MAX_EVENTS) {
				const text = `The stream of ${place(answer.url)} is longer than ${MAX_STREAM_BYTES} bytes or ${MAX_EVENTS} events`;
				throw new A2AError("InvalidAgentResponseError", text);
			}
		}
	} catch (error) {
		if (!(error instanceof A2AError) || error.name !== "PeerUnreachableError") throw error;
		cut = error;
	}
	// The last event may lack only the blank line behind it.
	const rest = parser.rest();
	if (rest !== "" && isWhole(rest)) yield { data: rest };
	else if (rest !== "" || cut !== undefined) throw broken(answer, cut);
	else return;
	if (cut !== undefined) throw broken(answer, cut);
}

function broken(answer: Answer, cause: unknown): A2AError {
	const text = `The stream of ${place(answer.url)} broke off`;
	return new A2AError("PeerUnreachableError", text, { metadata: { broken: "stream" }, cause });
}

function isWhole(text: string): boolean {
	try {
		JSON.parse(text);
		return true;
	} catch {
		return false;
	}
}

function parsed(data: string, answer: Answer): unknown {
	try {
		return JSON.parse(data);
	} catch (cause) {
		const text = `An event in the stream of ${place(answer.url)} is not JSON`;
		throw new A2AError("InvalidAgentResponseError", text, { cause });
	}
}
