/** Which token may go to which peer. A credential belongs to an origin that the operator, or a live session, named. */
import { isLoopback, originKey } from "./address.ts";
import type { Peer } from "./peer.ts";

/** The tokens of this session's own server. */
export interface OwnTokens {
	/** Our key in `peerTokens`; empty for none. */
	readonly selfIdentity: string;
	readonly sharedToken: string;
	readonly peerTokens: Readonly<Record<string, string>>;
}

/** The token that this session presents to its equals: its own one, else the shared one. */
export function ownToken(own: OwnTokens): string | undefined {
	const named = Object.hasOwn(own.peerTokens, own.selfIdentity) ? own.peerTokens[own.selfIdentity] : undefined;
	return named || own.sharedToken || undefined;
}

/**
 * The token for calls to `peer`, `undefined` for none. `known`: everybody in the directory.
 * - The token written down for a peer goes to that peer, and to a plain URL of the same origin.
 * - The session's own token goes to loopback addresses of configured peers and of live sessions in the registry.
 * - Nothing else gets one: not a loopback URL that nobody knows, nor what a network or a card announces.
 */
export function credentialFor(peer: Peer, known: readonly Peer[], own: OwnTokens): string | undefined {
	if (peer.source === "config" || peer.source === "gateway") {
		if (peer.token) return peer.token;
	}
	if (peer.address.via !== "http" || peer.source === "gateway") return undefined;
	const { url } = peer.address;
	const origin = originKey(url);
	const neighbours = known.filter(
		(each) =>
			(each.source === "config" || each.source === "local") &&
			each.address.via === "http" &&
			originKey(each.address.url) === origin,
	);
	if (peer.source !== "config") {
		const tokens = new Set(neighbours.flatMap((each) => (each.source === "config" && each.token) || []));
		// Two tokens at one origin: which of them a plain URL means is not for us to guess.
		if (tokens.size > 0) return tokens.size === 1 ? [...tokens][0] : undefined;
	}
	return isLoopback(url.hostname) && neighbours.length > 0 ? ownToken(own) : undefined;
}
