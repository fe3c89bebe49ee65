/**
 * Which addresses we call. A URL from a model, a card or a caller is parsed once, its host resolved once, every answer
 * classified by range, and the connection goes to what was checked: neither an odd spelling, nor a second meaning of
 * the name, nor a redirect leads elsewhere.
 */
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { A2AError } from "../protocol/errors.ts";

/**
 * `direct`: a URL that a model or a person named. `configured`: one that the operator wrote down; it may be private.
 * `webhook`: one that a caller gave; public only.
 */
export type UrlContext = "direct" | "configured" | "webhook";

/** An address that a host name has. */
export interface Endpoint {
	readonly address: string;
	/** 4 or 6. */
	readonly family: number;
}

export interface UrlPolicyOptions {
	readonly context: UrlContext;
	/** Loopback addresses too, whatever the context says: for webhooks of a caller on this machine. */
	readonly loopback?: boolean;
	/** Private addresses too: the operator has a key for it. */
	readonly private?: boolean;
	/** The addresses of a host. Default: the system's resolver. */
	readonly resolve?: (host: string) => Promise<readonly string[]>;
}

type Range = "public" | "loopback" | "private" | "never";

// Ranges that are not public (IANA special-purpose registries), as prefix, length and what they are. The platform
// agents that hand out credentials are never called, even where they hide in ranges that are.
const V4: readonly (readonly [string, number, Range])[] = [
	["168.63.129.16", 32, "never"],
	["100.100.100.200", 32, "never"],
	["0.0.0.0", 8, "never"],
	["10.0.0.0", 8, "private"],
	["100.64.0.0", 10, "private"],
	["127.0.0.0", 8, "loopback"],
	["169.254.0.0", 16, "never"],
	["172.16.0.0", 12, "private"],
	["192.0.0.0", 24, "never"],
	["192.0.2.0", 24, "never"],
	["192.88.99.0", 24, "never"],
	["192.168.0.0", 16, "private"],
	["198.18.0.0", 15, "never"],
	["198.51.100.0", 24, "never"],
	["203.0.113.0", 24, "never"],
	["224.0.0.0", 3, "never"],
];
// Of IPv6 only 2000::/3 is public; these are exceptions in it or beside it, first match first.
const V6: readonly (readonly [string, number, Range])[] = [
	["::1", 128, "loopback"],
	["fd00:ec2::", 32, "never"],
	["fd20:ce::", 32, "never"],
	["fc00::", 7, "private"],
	["2001::", 23, "never"],
	["2001:db8::", 32, "never"],
	["2002::", 16, "never"],
	["3fff::", 20, "never"],
	["2000::", 3, "public"],
];

const v4Number = (address: string): number => address.split(".").reduce((sum, octet) => sum * 256 + Number(octet), 0);

/** The eight groups of an IPv6 address as one number; undefined when it is none (a zone id, say). */
function v6Number(address: string): bigint | undefined {
	if (isIP(address) !== 6 || address.includes("%")) return undefined;
	// The URL parser writes every spelling in one way, dotted tails included.
	const [head = "", tail] = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
	const groups = (text: string | undefined) => (text ? text.split(":") : []);
	const before = groups(head);
	const after = groups(tail);
	const middle = Array.from({ length: 8 - before.length - after.length }, () => "0");
	return [...before, ...middle, ...after].reduce((sum, group) => (sum << 16n) | BigInt(`0x${group}`), 0n);
}

function v4Range(address: number): Range {
	const found = V4.find(([prefix, length]) => {
		const size = 2 ** (32 - length);
		return Math.floor(address / size) === Math.floor(v4Number(prefix) / size);
	});
	return found?.[2] ?? "public";
}

const V6_PREFIXES = V6.map(([prefix, length, range]) => ({
	bits: (v6Number(prefix) ?? 0n) >> BigInt(128 - length),
	shift: BigInt(128 - length),
	range,
}));

/** What kind of address it is. An IPv4 address in the mapped form counts as itself; other ways to hide one never pass. */
export function rangeOf(address: string): Range {
	if (isIP(address) === 4) return v4Range(v4Number(address));
	const number = v6Number(address);
	if (number === undefined) return "never";
	if (number >> 32n === 0xffffn) return v4Range(Number(number & 0xffffffffn));
	return V6_PREFIXES.find(({ bits, shift }) => number >> shift === bits)?.range ?? "never";
}

// Ports of other protocols, on which a request could be taken for one of theirs (Fetch standard, "bad port").
const BAD_PORTS = new Set(
	(
		"1 7 9 11 13 15 17 19 20 21 22 23 25 37 42 43 53 69 77 79 87 95 101 102 103 104 109 110 111 113 115 117 119 123 135 " +
		"137 139 143 161 179 389 427 465 512 513 514 515 526 530 531 532 540 548 554 556 563 587 601 636 989 990 993 995 " +
		"1719 1720 1723 2049 3659 4045 4190 5060 5061 6000 6566 6665 6666 6667 6668 6669 6679 6697 10080"
	).split(" "),
);

const isLocalName = (host: string): boolean => host === "localhost" || host.endsWith(".localhost");
const LOOPBACK: readonly Endpoint[] = [
	{ address: "127.0.0.1", family: 4 },
	{ address: "::1", family: 6 },
];

/** The host of a URL without brackets and the dot at the end. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");

async function systemResolve(host: string): Promise<string[]> {
	return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
}

/** The text says what is wrong with the URL, not what answers there. */
const refused = (why: string): A2AError => new A2AError("ForbiddenError", `This address is not called: ${why}`);

/**
 * A check for `context`: gives the addresses to connect to, all of them allowed. Throws `ForbiddenError` for an address
 * that is not called, and what `resolve` throws for a name that nobody knows.
 */
export function urlCheck(options: UrlPolicyOptions): (url: URL) => Promise<readonly Endpoint[]> {
	const { context, resolve = systemResolve } = options;
	const loopback = options.loopback ?? context !== "webhook";
	const isPrivate = options.private ?? context === "configured";
	const refusal = (range: Range, named: boolean): string | undefined => {
		if (range === "never") return "it is in a range that no peer has";
		if (range === "private" && !isPrivate) return "it is private, and the operator has not written it down";
		if (range !== "loopback") return undefined;
		if (!loopback) return "it is this machine's own";
		// Only the operator may give this machine another name; anybody else's name for it is a trick.
		return named && context !== "configured" ? "its name leads to this machine" : undefined;
	};
	return async (url) => {
		if (url.protocol !== "http:" && url.protocol !== "https:") throw refused("only http and https are");
		if (url.username || url.password) throw refused("it has a user or a password in it");
		// "Discard" on this machine takes nothing for a request; webhooks that nobody listens to are often put there.
		const discards = url.port === "9" && context === "webhook" && loopback;
		if (BAD_PORTS.has(url.port) && !discards) throw refused(`port ${url.port} belongs to another protocol`);
		const host = hostOf(url);
		if (isLocalName(host)) {
			if (!loopback) throw refused("it is this machine's own");
			return LOOPBACK;
		}
		const literal = isIP(host) !== 0;
		const addresses = literal ? [host] : await resolve(host);
		if (addresses.length === 0) throw refused("its name has no address");
		for (const address of addresses) {
			const why = refusal(rangeOf(address), !literal);
			if (why !== undefined) throw refused(why);
		}
		return addresses.map((address) => ({ address, family: isIP(address) }));
	};
}

/** Scheme, host and port; all names of this machine's loopback are one. */
export function originOf(url: URL): string {
	const host = hostOf(url);
	const local = isLocalName(host) || (isIP(host) !== 0 && rangeOf(host) === "loopback");
	const port = url.port || (url.protocol === "https:" ? "443" : "80");
	return `${url.protocol}//${local ? "localhost" : host}:${port}`;
}

/** Where a URL came from, beside its text. */
export interface UrlVerdictOptions extends UrlPolicyOptions {
	/** The address whose card names this URL; it must have the same origin. A webhook is never taken from a card. */
	readonly base?: string;
	/** Locations that the URL redirects to, in order; each must stay on the origin of the one before. */
	readonly chain?: readonly string[];
}

function parse(text: string, base?: string): URL {
	try {
		return new URL(text, base);
	} catch (cause) {
		throw new A2AError("ForbiddenError", "This address is not called: it is no URL", { cause });
	}
}

/** Whether `text` may be called. Never throws: what cannot be parsed or resolved may not. */
export async function isAllowed(text: string, options: UrlVerdictOptions): Promise<boolean> {
	const check = urlCheck(options);
	try {
		let url = parse(text);
		if (options.base !== undefined) {
			if (options.context === "webhook" || originOf(parse(options.base)) !== originOf(url)) return false;
		}
		await check(url);
		for (const location of options.chain ?? []) {
			const next = parse(location, url.href);
			if (originOf(next) !== originOf(url)) return false;
			await check(next);
			url = next;
		}
		return true;
	} catch {
		// Refused, no URL, or a name that does not resolve: whichever it is, there is nothing to call.
		return false;
	}
}
