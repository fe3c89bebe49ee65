/** From a peer to its operations: with the credential that may go there, redacted, and told of. */
import type { Connection } from "../bindings/binding.ts";
import { gatewayHeaders, throughGateway } from "../bindings/gateway/proxy.ts";
import type { CardWish } from "../bindings/http/cards.ts";
import { connectHttp, type HttpTarget } from "../bindings/http/client.ts";
import type { Trusts } from "../bindings/http/tls.ts";
import { redacting } from "../guard/redact.ts";
import type { Clock } from "../lib/clock.ts";
import { originKey } from "./address.ts";
import { type Adopt, checkMeant, type UnknownOrigins } from "./adopt.ts";
import { cardWish } from "./card-wish.ts";
import { credentialFor, type OwnTokens } from "./credentials.ts";
import type { Directory } from "./directory.ts";
import { type Exchange, observed } from "./observe.ts";
import type { Address, Peer, SourceName } from "./peer.ts";

/** Opens a connection over one binding. Throws `A2AError` when the peer cannot be reached or has no readable card. */
export type Open<A extends Address = Address> = (address: A, options: OpenOptions) => Promise<Connection>;

export interface OpenOptions {
	readonly token?: string;
	/** Who told us of the peer: how far the address is trusted. */
	readonly source: SourceName;
	readonly signal: AbortSignal;
	/** What the operator wrote down of the peer's card. */
	readonly card?: CardWish | undefined;
	/** Those in the settings whose certificates hold for it; undefined: nothing was written down. */
	readonly encrypted?: Peer | undefined;
	/** Limit of a call in milliseconds, when the caller has one of its own. */
	readonly timeoutMs?: number | undefined;
}

export interface ConnectParts {
	/** The bindings, by how peers are reached. A peer of another kind cannot be called. */
	readonly open: { readonly [A in Address as A["via"]]?: Open<A> };
	readonly directory: Directory;
	readonly own: OwnTokens;
	/** Whether a peer found on the network may be called. Default: no. */
	readonly adopt?: Adopt | undefined;
	/** URLs on other machines that nobody wrote down. Default: allow. */
	readonly unknownOrigins?: UnknownOrigins | undefined;
	readonly clock: Clock;
	/** Takes credentials out of what we send. */
	readonly redact: (text: string) => string;
	/** Told of every exchange, after redaction. */
	readonly exchange: (exchange: Exchange) => void;
}

/** Opens peers. `trace`: the `traceparent` of every call over the connection. What we send is redacted first, so that neither the wire nor the record sees more. */
export type Connect = (peer: Peer, signal: AbortSignal, timeoutMs?: number, trace?: string) => Promise<Connection>;

export function createConnect(parts: ConnectParts): Connect {
	const { directory, own, clock, exchange, redact } = parts;

	async function opened(peer: Peer, signal: AbortSignal, timeoutMs?: number): Promise<Connection> {
		const known = await directory.list();
		await checkMeant(peer, known, parts, signal);
		const token = credentialFor(peer, known, own);
		const card = await cardWish(peer, known);
		const encrypted = tlsPeer(peer, known);
		const options = { source: peer.source, signal, timeoutMs, card, encrypted, ...(token ? { token } : {}) };
		const { address } = peer;
		const connection =
			address.via === "http" ? parts.open.http?.(address, options) : parts.open.mailbox?.(address, options);
		if (!connection) throw new Error(`peers reached by ${address.via} cannot be called here`);
		return connection;
	}

	/** What a peer says in an error is no safer than what we say. */
	const tell = (done: Exchange) => exchange(done.error ? { ...done, error: redact(done.error) } : done);

	return async (peer, signal, timeoutMs, trace) => {
		const connection = await opened(peer, signal, timeoutMs);
		const agent = redacting(observed(connection.agent, peer.name, clock, tell), redact);
		return {
			agent,
			card: () => connection.card(),
			found: connection.found,
			get streaming() {
				return connection.streaming;
			},
			call: (callSignal) => ({ ...connection.call(callSignal), ...(trace === undefined ? {} : { trace }) }),
		};
	};
}

/** Whose certificates were written down for `peer`: its own, or those of the configured peer at the same origin. */
function tlsPeer(peer: Peer, known: readonly Peer[]): Peer | undefined {
	if (peer.tls !== undefined || peer.source === "config" || peer.address.via !== "http") return peer.tls && peer;
	const origin = originKey(peer.address.url);
	return known.find(
		({ tls, address }) => tls !== undefined && address.via === "http" && originKey(address.url) === origin,
	);
}

export interface HttpOptions
	extends Pick<
		HttpTarget,
		"identity" | "sendTimeoutMs" | "streamTimeoutMs" | "retryAttempts" | "verifySsl" | "pool" | "clock"
	> {
	/** Which addresses may be called, by who told us of them. */
	readonly check: (source: SourceName) => HttpTarget["check"];
	/** Whose certificates are taken, and what is shown. Default: what Node trusts, and nothing. */
	readonly trusts?: Trusts;
}

/** Ours must be the limit that is noticed: it knows what to say about the task. */
const GRACE_MS = 1_000;

/** Opens peers over HTTP. A session of this machine and a gateway's peer are called where they are, not where a card says. */
export function openHttp(options: HttpOptions): Open<Extract<Address, { via: "http" }>> {
	const { check, trusts, ...rest } = options;
	return async (address, { token, source, signal, timeoutMs, card, encrypted }) => {
		const limit = timeoutMs ?? address.timeoutMs ?? options.sendTimeoutMs;
		const local = source === "local" && address.url.protocol === "https:";
		const trust = local ? await trusts?.local() : await trusts?.of(encrypted?.tls, `a2a.peers.${encrypted?.name}`);
		const target = {
			...rest,
			trust,
			url: address.url,
			token,
			card,
			pinned: source === "local" || address.pin !== undefined,
			sendTimeoutMs: limit > 0 && limit !== Number.POSITIVE_INFINITY ? limit + GRACE_MS : 0,
			check: check(source),
		};
		if (source !== "gateway") return connectHttp(target, signal);
		const headers = gatewayHeaders(token, options.identity ?? "");
		return throughGateway(() => connectHttp({ ...target, headers }, signal), address.url.origin);
	};
}
