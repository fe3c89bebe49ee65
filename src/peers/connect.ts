/** From a peer to its operations: with the credential that may go there, redacted, and told of. */
import type { Connection } from "../bindings/binding.ts";
import { redacting } from "../guard/redact.ts";
import type { Clock } from "../lib/clock.ts";
import { credentialFor, type OwnTokens } from "./credentials.ts";
import type { Directory } from "./directory.ts";
import { type Exchange, observed } from "./observe.ts";
import type { Address, Peer } from "./peer.ts";

/** Opens a connection over one binding. Throws `A2AError` when the peer cannot be reached or has no readable card. */
export type Open<A extends Address = Address> = (
	address: A,
	options: { readonly token?: string; readonly source: Peer["source"]; readonly signal: AbortSignal },
) => Promise<Connection>;

export interface ConnectParts {
	/** The bindings, by how peers are reached. A peer of another kind cannot be called. */
	readonly open: { readonly [A in Address as A["via"]]?: Open<A> };
	readonly directory: Directory;
	readonly own: OwnTokens;
	readonly clock: Clock;
	/** Takes credentials out of what we send. */
	readonly redact: (text: string) => string;
	/** Told of every exchange, after redaction. */
	readonly exchange: (exchange: Exchange) => void;
}

/** Opens peers. What we send is redacted first, so that neither the wire nor the record sees more. */
export type Connect = (peer: Peer, signal: AbortSignal) => Promise<Connection>;

export function createConnect(parts: ConnectParts): Connect {
	const { directory, own, clock, exchange, redact } = parts;

	async function opened(peer: Peer, signal: AbortSignal): Promise<Connection> {
		const token = credentialFor(peer, await directory.list(), own);
		const options = { source: peer.source, signal, ...(token ? { token } : {}) };
		const { address } = peer;
		const connection =
			address.via === "http" ? parts.open.http?.(address, options) : parts.open.mailbox?.(address, options);
		if (!connection) throw new Error(`peers reached by ${address.via} cannot be called here`);
		return connection;
	}

	return async (peer, signal) => {
		const connection = await opened(peer, signal);
		const agent = redacting(observed(connection.agent, peer.name, clock, exchange), redact);
		return {
			agent,
			card: () => connection.card(),
			get streaming() {
				return connection.streaming;
			},
			call: (callSignal) => connection.call(callSignal),
		};
	};
}
