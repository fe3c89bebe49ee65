/** Where peers are, and when two addresses are the same place. Pure. */
import type { Address } from "./peer.ts";

/** The names of this machine that never leave it. */
export function isLoopback(hostname: string): boolean {
	const host = hostname.toLowerCase().replace(/^\[|\]$/g, "");
	return host === "localhost" || host === "::1" || /^127(\.\d{1,3}){3}$/.test(host);
}

/** Scheme, host and port; all names of the loopback count as one. Credentials belong to an origin. */
export function originKey(url: URL): string {
	const port = url.port || (url.protocol === "https:" ? "443" : "80");
	const host = isLoopback(url.hostname) ? "loopback" : url.hostname.toLowerCase().replace(/\.$/, "");
	return `${url.protocol}//${host}:${port}`;
}

/** Where agents put their card. */
const CARD = /\/\.well-known\/(?:agent-card|agent)\.json$/;

/** Two addresses with one key are one peer: same origin and path; a card's own address is that of its agent. */
export function addressKey(address: Address): string {
	if (address.via === "mailbox") return `mailbox:${address.id}`;
	const path = address.url.pathname.replace(CARD, "/").replace(/\/+$/, "");
	return `${originKey(address.url)}${path}${address.url.search}`;
}

/** The address as people read it, without user name or password. */
export function shownAddress(address: Address): string {
	if (address.via === "mailbox") return `mailbox:${address.id}`;
	const url = new URL(address.url);
	url.username = "";
	url.password = "";
	return url.href;
}

/**
 * The http(s) URL that somebody typed or a file holds; `undefined` for anything else. A URL with a user name or
 * password is not taken: it would be shown and logged.
 */
export function readUrl(value: unknown): URL | undefined {
	if (typeof value !== "string" || value.length > 2000 || !URL.canParse(value.trim())) return undefined;
	const url = new URL(value.trim());
	const web = url.protocol === "http:" || url.protocol === "https:";
	if (!web || url.username !== "" || url.password !== "") return undefined;
	url.hash = "";
	return url;
}
