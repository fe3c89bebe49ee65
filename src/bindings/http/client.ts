/**
 * The client half of the HTTP bindings: a peer's operations over JSON-RPC (§9), 1.0 or 0.3, or over HTTP+JSON (§11), by
 * the order in which the peer's card lists its interfaces.
 */
import type { Clock } from "../../lib/clock.ts";
import { oneLine } from "../../lib/text.ts";
import type { Agent, Call, Caller } from "../../protocol/agent.ts";
import { knownExtensions, retriesSafely } from "../../protocol/card.ts";
import { decodeResult } from "../../protocol/decode.ts";
import { A2AError } from "../../protocol/errors.ts";
import type { ManyReply, OneReply, OperationName, Params, Results } from "../../protocol/operations.ts";
import { TRACE } from "../../protocol/trace.ts";
import type { AgentCard } from "../../protocol/types.ts";
import type { ProtocolVersion } from "../../protocol/version.ts";
import type { Connection } from "../binding.ts";
import { type CardWish, fetchCard, isCardUrl } from "./cards.ts";
import { type CallPoint, callPoints } from "./endpoint.ts";
import type { Answer, UrlCheck } from "./exchange.ts";
import { extensionHeaders } from "./extensions.ts";
import { httpTaken } from "./fetch.ts";
import { Limit, seconds } from "./limits.ts";
import type { HttpPool } from "./pool.ts";
import { isNowhere, type Spoken, speak } from "./speech.ts";
import { readStream } from "./stream.ts";
import type { Trust } from "./tls.ts";

/** A peer to call over HTTP. */
export interface HttpTarget {
	/** What the operator wrote or somebody typed: a base URL, an endpoint or a card. */
	readonly url: URL;
	/** Bearer token; goes to the origin of `url` and nowhere else. */
	readonly token?: string | undefined;
	/** Name that we say we have (`X-A2A-Identity`); empty: none. */
	readonly identity?: string | undefined;
	/** Further headers of every request, the card's as well. Lower-case names. */
	readonly headers?: Readonly<Record<string, string>> | undefined;
	/** Calls go to `url` itself, whatever the card says (gateways, and peers of this machine). */
	readonly pinned?: boolean;
	/** What somebody wrote down of its card. */
	readonly card?: CardWish | undefined;
	/** Milliseconds for a whole call with one reply; 0: no limit. */
	readonly sendTimeoutMs: number;
	/** Milliseconds of silence on a stream, before its first byte as well; 0: no limit. */
	readonly streamTimeoutMs: number;
	readonly retryAttempts: number;
	readonly verifySsl: boolean;
	/** Whose certificates are taken. Absent: what Node trusts. */
	readonly trust?: Trust | undefined;
	readonly check: UrlCheck;
	readonly pool: HttpPool;
	readonly clock: Clock;
}

/** The longest reply that is read, in bytes: a file of some 20 MB in base64. */
const MAX_REPLY_BYTES = 32 * 1024 * 1024;

/**
 * Reads the peer's card and gives its operations. A peer without a card is called at its URL as it is. Throws
 * `A2AError` when the peer cannot be reached, its card is broken, or its calls may not go where the card says.
 */
export async function connectHttp(target: HttpTarget, signal: AbortSignal): Promise<Connection> {
	const found = await fetchCard({
		...target,
		headers: ownHeaders(target, "1.0"),
		signal,
		pinned: target.pinned ?? false,
	});
	if (!found && isCardUrl(target.url)) {
		throw new A2AError("InvalidAgentResponseError", `There is no agent card at ${oneLine(target.url.href, 200)}`);
	}
	const points = callPoints(found?.card, target.url, target.pinned ?? false);
	const peer = new HttpPeer(target, points, found?.card);
	const extensions = knownExtensions(found?.card);
	return {
		agent: peer,
		card: () => found?.card,
		found: () => found,
		streaming: found?.card.capabilities.streaming === true,
		call: (signal) => ({ caller: SELF(target), signal, service: { version: peer.version, extensions } }),
	};
}

const SELF = ({ identity }: HttpTarget): Caller => ({
	id: "self",
	label: identity || "self",
	authenticated: true,
	loopback: true,
});

/** What every request of ours carries (§3.6.1). */
function ownHeaders({ identity, headers }: HttpTarget, version: ProtocolVersion): Record<string, string> {
	// A header takes no line breaks and no letters beyond Latin-1.
	const name = oneLine(identity ?? "", 100).replace(/[^\x20-\x7e]/g, "?");
	return { ...headers, "a2a-version": version, ...(name ? { "x-a2a-identity": name } : {}) };
}

/** Operations that begin work. */
const SENDS: ReadonlySet<OperationName> = new Set(["SendMessage", "SendStreamingMessage"]);

class HttpPeer implements Agent {
	readonly #target: HttpTarget;
	readonly #points: readonly [CallPoint, ...CallPoint[]];
	/** The point that is called; those before it were found to be empty. */
	#at = 0;
	/** What a call has to ask for, by the card. */
	readonly #required: readonly string[];
	/** Doing a message's work once is left to us. */
	readonly #careful: boolean;
	/** Without a card nobody has said which version the peer speaks; it may turn out to be the older one. */
	#unsure: boolean;
	#older = false;
	#lastId = 0;

	constructor(target: HttpTarget, points: readonly [CallPoint, ...CallPoint[]], card: AgentCard | undefined) {
		this.#target = target;
		this.#points = points;
		this.#unsure = card === undefined;
		this.#careful = !retriesSafely(card);
		this.#required = (card?.capabilities.extensions ?? []).filter(({ required }) => required).map(({ uri }) => uri);
	}

	get version(): ProtocolVersion {
		return this.#point.version;
	}

	get #point(): CallPoint {
		const point = this.#points[this.#at] ?? this.#points[0];
		return this.#older ? { ...point, version: "0.3" } : point;
	}

	async request<K extends OneReply>(operation: K, params: Params[K], call: Call): Promise<Results[K]> {
		for (;;) {
			const point = this.#point;
			try {
				const result = await this.#unary(point, operation, params, call);
				this.#unsure = false;
				return result;
			} catch (error) {
				if (!this.#mayTryOther(error, point)) throw error;
			}
		}
	}

	async *stream<K extends ManyReply>(operation: K, params: Params[K], call: Call): AsyncGenerator<Results[K]> {
		for (;;) {
			const point = this.#point;
			let begun = false;
			try {
				for await (const item of this.#events(point, operation, params, call)) {
					begun = true;
					yield item;
				}
				return;
			} catch (error) {
				if (begun || !this.#mayTryOther(error, point)) throw error;
			}
		}
	}

	/** After an error that says that nothing was done: whether there is another way to ask, which `#point` then is. */
	#mayTryOther(error: unknown, used: CallPoint): boolean {
		if (this.#unsure && error instanceof A2AError && error.name === "MethodNotFoundError") {
			// A peer of unknown version that does not know a 1.0 name is tried as one of 0.3, once.
			this.#unsure = false;
			this.#older = true;
			return true;
		}
		// Who refuses the version has not begun either.
		const refused = error instanceof A2AError && error.name === "VersionNotSupportedError";
		if (!refused && !isNowhere(error)) return false;
		const at = this.#points.indexOf(used);
		if (at === -1 || at + 1 >= this.#points.length) return false;
		// Another call may have found it out in the meantime.
		this.#at = Math.max(this.#at, at + 1);
		return true;
	}

	async #unary<K extends OneReply>(point: CallPoint, operation: K, params: Params[K], call: Call): Promise<Results[K]> {
		const { sendTimeoutMs, clock } = this.#target;
		const limit = new Limit(clock, call.signal);
		limit.set(sendTimeoutMs, () => {
			const text = `No reply within ${seconds(sendTimeoutMs)}, our own limit (timeouts.send)`;
			return new A2AError("PeerTimeoutError", text);
		});
		try {
			const { ask, result } = this.#spoken(point, operation, params, call);
			const whole = async (answer: Answer) => ({ answer, bytes: await answer.bytes(MAX_REPLY_BYTES) });
			const { answer, bytes } = await httpTaken(ask, this.#target, limit.signal, whole);
			return decodeResult[operation](result(answer, bytes)) as Results[K];
		} finally {
			limit.release();
		}
	}

	async *#events<K extends ManyReply>(
		point: CallPoint,
		operation: K,
		params: Params[K],
		call: Call,
	): AsyncGenerator<Results[K]> {
		const spoken = this.#spoken(point, operation, params, call);
		const limit = new Limit(this.#target.clock, call.signal);
		try {
			const decode = decodeResult[operation] as (value: unknown) => Results[K];
			yield* readStream(spoken, this.#target, { limit, decode });
			this.#unsure = false;
		} finally {
			limit.release();
		}
	}

	#spoken<K extends OperationName>(point: CallPoint, operation: K, params: Params[K], call: Call): Spoken {
		const { token, clock } = this.#target;
		const { extensions } = call.service;
		const unknown = this.#required.filter((uri) => !extensions.includes(uri));
		if (unknown.length > 0) {
			const uris = oneLine(unknown.join(", "), 500);
			const text = `The peer's card requires extensions that are not supported here: ${uris}. Nothing was sent`;
			throw new A2AError("ExtensionSupportRequiredError", text, { metadata: { required: uris } });
		}
		const headers = {
			...ownHeaders(this.#target, point.version),
			...extensionHeaders(extensions, point.version),
			...(call.trace === undefined ? {} : { [TRACE]: call.trace }),
			...(call.after === undefined ? {} : { "last-event-id": call.after }),
			...(token === undefined || token === "" ? {} : { authorization: `Bearer ${token}` }),
		};
		const spoken = speak(point, operation, params, { headers, id: ++this.#lastId, now: () => clock.now() });
		const once = this.#careful && SENDS.has(operation);
		return once ? { ...spoken, ask: { ...spoken.ask, once } } : spoken;
	}
}
