/** Where peers reach our own server. Pure. */
import { isLoopback } from "./address.ts";
import type { Peer } from "./peer.ts";

/** How our server can be reached. */
export interface OwnServer {
	/** The bound address. */
	readonly host: string;
	/** Where it answers; bound to every address, on this machine's loopback one. */
	readonly url: string;
	/** The address that the operator says it has; empty for none. */
	readonly publicUrl: string;
}

/** The URL of our server for `peer`; undefined when there is none that we know to lead there. */
export function ownAddressFor({ source, address }: Peer, { host, url, publicUrl }: OwnServer): string | undefined {
	if (address.via !== "http") return undefined;
	const named = publicUrl === "" ? undefined : publicUrl;
	// Where a gateway's peer is, its address does not say.
	if (source === "gateway" || address.pin !== undefined) return named;
	if (isLoopback(address.url.hostname)) return url;
	const everywhere = host === "0.0.0.0" || host === "::";
	return named ?? (everywhere || isLoopback(host) ? undefined : url);
}
