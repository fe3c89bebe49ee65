/** What a request must be before anything else looks at it: from where, for whom, and of what kind. Pure. */
import { isIP, isIPv6 } from "node:net";
import { A2AError } from "../../protocol/errors.ts";

/** Header values by lower-case name. A header that was sent more than once has its values joined by `, `. */
export type Headers = Readonly<Record<string, string | undefined>>;

export interface GateOptions {
	/** Host names under which we may be called, lower case, without port and brackets; `*` stands for any. */
	readonly hosts: () => readonly string[];
	/** Whether a bearer token is asked for. */
	readonly authRequired: boolean;
}

/** Under these names every machine reaches itself; any address of 127.0.0.0/8 counts as well. */
const LOOPBACK_NAMES = ["localhost", "::1"];

/** Whether a host name or address (no port, no brackets) means this machine and no other. */
export function isLoopback(host: string): boolean {
	const name = host.toLowerCase();
	return LOOPBACK_NAMES.includes(canonical(name)) || (isIP(name) === 4 && name.startsWith("127."));
}

/** One spelling for each IPv6 address; other names unchanged. */
function canonical(host: string): string {
	return isIPv6(host) && !host.includes("%") ? new URL(`http://[${host}]`).hostname.slice(1, -1) : host;
}

/**
 * The host of a Host header, lower case, without port and brackets; `undefined` when the value is not one plain
 * `host[:port]` (user part, list, empty). A bare IPv6 address without port is taken as it is.
 */
export function hostOf(header: string | undefined): string | undefined {
	const value = header?.trim().toLowerCase() ?? "";
	if (isIPv6(value)) return canonical(value);
	const parts = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?))(?::(\d{1,5}))?$/.exec(value);
	if (!parts) return undefined;
	const [, bracketed, name] = parts;
	if (bracketed !== undefined) return isIPv6(bracketed) ? canonical(bracketed) : undefined;
	return name;
}

/**
 * The hosts for `GateOptions`. Loopback names, the bound address and the public name are ours. A server that asks for
 * a token and is bound to more than loopback may be reached under names that nobody wrote down (a LAN address, a port
 * map); there the token keeps strangers out, a rebound name included, and any host is allowed.
 */
export function allowedHosts(bound: string, publicUrl: string | undefined, authRequired: boolean): readonly string[] {
	if (authRequired && !isLoopback(bound)) return ["*"];
	const named = publicUrl && URL.canParse(publicUrl) ? hostOf(new URL(publicUrl).host) : undefined;
	return [canonical(bound.toLowerCase()), ...(named ? [named] : [])];
}

/** Set by what stands between a caller and us. */
const forwards = (name: string) =>
	name === "forwarded" || name === "via" || name === "x-real-ip" || name.startsWith("x-forwarded-");

/**
 * Refuses what no agent would send: a foreign or doubled Host (DNS rebinding), anything a browser sends for a page,
 * and, where no token is asked for, anything that was forwarded: it comes from elsewhere, whatever its address says.
 * Throws `ForbiddenError`.
 */
export function checkSource(headers: Headers, options: GateOptions): void {
	const host = hostOf(headers.host);
	const hosts = options.hosts();
	if (host === undefined || !(isLoopback(host) || hosts.includes("*") || hosts.includes(host))) {
		throw new A2AError("ForbiddenError", "This server is not called by the name in the Host header");
	}
	if (headers.origin !== undefined) {
		throw new A2AError("ForbiddenError", "Requests from web pages are not served (Origin header)");
	}
	const site = headers["sec-fetch-site"];
	if (site !== undefined && site !== "none" && site !== "same-origin") {
		throw new A2AError("ForbiddenError", "Requests from web pages are not served (Sec-Fetch-Site header)");
	}
	if (!options.authRequired && Object.keys(headers).some(forwards)) {
		const why = "Forwarded requests are served only where a token is configured";
		throw new A2AError("ForbiddenError", why);
	}
}

/** Refuses a body that is not plain JSON by its headers (§9.1, §14.1). Throws `MediaTypeError`. */
export function checkMediaType(headers: Headers): void {
	const type = essence(headers["content-type"]);
	if (type !== "application/json" && type !== "application/a2a+json") throw new A2AError("MediaTypeError");
	const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "";
	if (encoding !== "" && encoding !== "identity") {
		throw new A2AError("MediaTypeError", "Compressed bodies are not accepted");
	}
}

/** The media type without parameters, lower case; empty when there is none. */
export function essence(contentType: string | undefined): string {
	return (contentType ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
}

/** The token of an Authorization header, `undefined` when there is none of the bearer kind (RFC 6750). */
export function bearerToken(authorization: string | undefined): string | undefined {
	return /^bearer +([^\s,]+) *$/i.exec(authorization ?? "")?.[1];
}

/** A body as text. Throws `ParseError` for bytes that are no UTF-8. */
export function utf8(bytes: Uint8Array): string {
	try {
		return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
	} catch (cause) {
		throw new A2AError("ParseError", "Invalid JSON payload: the body is not UTF-8", { cause });
	}
}
