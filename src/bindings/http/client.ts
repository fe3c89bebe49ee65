/** The client half of the HTTP binding: a peer's operations over JSON-RPC (§9), 1.0 or 0.3 as the peer speaks it. */
import type { Clock } from "../../lib/clock.ts";
import { oneLine } from "../../lib/text.ts";
import type { Agent, Call, Caller } from "../../protocol/agent.ts";
import { decodeResult } from "../../protocol/decode.ts";
import { A2AError } from "../../protocol/errors.ts";
import { request as envelope } from "../../protocol/jsonrpc.ts";
import {
	type ManyReply,
	type OneReply,
	OPERATIONS,
	type OperationName,
	type Params,
	type Results,
} from "../../protocol/operations.ts";
import { downcastParams, v03Method } from "../../protocol/v03/index.ts";
import type { ProtocolVersion } from "../../protocol/version.ts";
import type { Connection } from "../binding.ts";
import { resultIn } from "./answer.ts";
import { fetchCard, isCardUrl } from "./cards.ts";
import { type CallPoint, callPoint } from "./endpoint.ts";
import type { Ask, UrlCheck } from "./exchange.ts";
import { httpRequest } from "./fetch.ts";
import { Limit, seconds } from "./limits.ts";
import type { HttpPool } from "./pool.ts";
import { readStream } from "./stream.ts";

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
	/** Milliseconds for a whole call with one reply; 0: no limit. */
	readonly sendTimeoutMs: number;
	/** Milliseconds of silence on a stream, before its first byte as well; 0: no limit. */
	readonly streamTimeoutMs: number;
	readonly retryAttempts: number;
	readonly verifySsl: boolean;
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
	const peer = new HttpPeer(target, callPoint(found?.card, target.url, target.pinned ?? false), found === undefined);
	return {
		agent: peer,
		card: () => found?.card,
		streaming: found?.card.capabilities.streaming === true,
		call: (signal) => ({ caller: SELF(target), signal, service: { version: peer.version, extensions: [] } }),
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

class HttpPeer implements Agent {
	readonly #target: HttpTarget;
	readonly #point: CallPoint;
	/** Without a card nobody has said which version the peer speaks; it may turn out to be the older one. */
	#unsure: boolean;
	#version: ProtocolVersion;
	#lastId = 0;

	constructor(target: HttpTarget, point: CallPoint, unsure: boolean) {
		this.#target = target;
		this.#point = point;
		this.#version = point.version;
		this.#unsure = unsure;
	}

	get version(): ProtocolVersion {
		return this.#version;
	}

	async request<K extends OneReply>(operation: K, params: Params[K], call: Call): Promise<Results[K]> {
		try {
			const result = await this.#unary(operation, params, call);
			this.#unsure = false;
			return result;
		} catch (error) {
			if (!this.#mayBeOlder(error)) throw error;
			return this.#unary(operation, params, call);
		}
	}

	async *stream<K extends ManyReply>(operation: K, params: Params[K], call: Call): AsyncGenerator<Results[K]> {
		try {
			yield* this.#events(operation, params, call);
		} catch (error) {
			if (!this.#mayBeOlder(error)) throw error;
			yield* this.#events(operation, params, call);
		}
	}

	/** A peer of unknown version that does not know a 1.0 name is tried as one of 0.3, once. */
	#mayBeOlder(error: unknown): boolean {
		if (!this.#unsure || !(error instanceof A2AError) || error.name !== "MethodNotFoundError") return false;
		this.#unsure = false;
		this.#version = "0.3";
		return true;
	}

	async #unary<K extends OneReply>(operation: K, params: Params[K], call: Call): Promise<Results[K]> {
		const { sendTimeoutMs, clock } = this.#target;
		const limit = new Limit(clock, call.signal);
		limit.set(sendTimeoutMs, () => {
			const text = `No reply within ${seconds(sendTimeoutMs)}, our own limit (timeouts.send)`;
			return new A2AError("PeerTimeoutError", text);
		});
		try {
			const { ask, id } = this.#ask(operation, params, call);
			const answer = await httpRequest(ask, this.#target, limit.signal);
			const bytes = await answer.bytes(MAX_REPLY_BYTES);
			return decodeResult[operation](resultIn(answer, bytes, id, clock.now())) as Results[K];
		} finally {
			limit.release();
		}
	}

	async *#events<K extends ManyReply>(operation: K, params: Params[K], call: Call): AsyncGenerator<Results[K]> {
		const { ask, id } = this.#ask(operation, params, call);
		const limit = new Limit(this.#target.clock, call.signal);
		try {
			yield* readStream(ask, this.#target, {
				id,
				limit,
				decode: decodeResult[operation] as (value: unknown) => Results[K],
			});
			this.#unsure = false;
		} finally {
			limit.release();
		}
	}

	#ask<K extends OperationName>(operation: K, params: Params[K], call: Call): { ask: Ask; id: number } {
		const { token } = this.#target;
		const { url, tenant } = this.#point;
		const version = this.#version;
		const id = ++this.#lastId;
		const full = tenant === undefined ? params : { ...params, tenant };
		const body =
			version === "0.3"
				? envelope(id, v03Method(operation), downcastParams(operation, full))
				: envelope(id, operation, full);
		const many = OPERATIONS[operation].reply === "many";
		const { extensions } = call.service;
		const headers = {
			...ownHeaders(this.#target, version),
			"content-type": "application/json",
			accept: many ? "text/event-stream, application/json" : "application/json",
			...(extensions.length > 0 ? { "a2a-extensions": extensions.join(", ") } : {}),
			...(token === undefined || token === "" ? {} : { authorization: `Bearer ${token}` }),
		};
		return { ask: { method: "POST", url, headers, body: JSON.stringify(body) }, id };
	}
}
