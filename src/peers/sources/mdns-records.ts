/** DNS-SD records (RFC 6763): the ones that announce a session, and what others' say. Pure. */
import { rangeOf } from "../../guard/urls.ts";
import { oneLine } from "../../lib/text.ts";
import { isObject } from "../../protocol/json.ts";
import { isLoopback } from "../address.ts";
import type { Interfaces } from "./mdns-socket.ts";

/** A resource record as the library writes and reads it. */
export interface Rr {
	readonly name: string;
	readonly type: string;
	/** Seconds; 0 takes it back. */
	readonly ttl?: number;
	readonly data?: unknown;
	/** It replaces what was said before (RFC 6762 §10.2). */
	readonly flush?: boolean;
}

/** What a network may know of a session. No folder, no model, no token: everybody on it can read this. */
export interface MdnsFacts {
	readonly name: string;
	/** The address that is bound, `0.0.0.0` and `::` for all. */
	readonly host: string;
	readonly port: number;
	/** Ids of skills on the public card. */
	readonly skills: readonly string[];
}

/** A service as one packet tells of it. */
export interface Service {
	/** Full name, `host-a2a-1._a2a._tcp.local`. */
	readonly fqdn: string;
	/** The first label of it. */
	readonly instance: string;
	readonly port: number;
	/** Of its host, as far as the packet has them. */
	readonly addresses: readonly string[];
	/** Absent when the packet says nothing about it. */
	readonly txt?: ReadonlyMap<string, string>;
	/** Seconds that it may be believed. */
	readonly ttl: number;
}

export interface Heard {
	readonly services: readonly Service[];
	/** Full names of services that said goodbye. */
	readonly gone: readonly string[];
	/** Full names of services of which the packet has only the name. */
	readonly bare: readonly string[];
}

/** As in RFC 6762 §10: what has a host name in it is soon out of date, the rest is not. */
const HOST_TTL = 120;
const OTHER_TTL = 4500;
const MAX_ADDRESSES = 8;
const MAX_RECORDS = 500;
const MAX_TXT = 32;

/** `_a2a._tcp.local` for `a2a`. */
export const domainOf = (type: string): string => `_${type.toLowerCase()}._tcp.local`;

/**
 * The label of a session: never the bare name of the machine, for a system that sees its own name taken by somebody
 * else renames itself.
 */
export function labelOf(hostname: string, pid: number): string {
	const host = (hostname.split(".")[0] ?? "").replace(/[^a-z0-9-]+/gi, "-").replace(/^-+|-+$/g, "");
	return `${host.slice(0, 40) || "pi"}-a2a-${pid}`;
}

/** Addresses under which others on the network reach a server bound to `host`. */
export function reachable(host: string, interfaces: Interfaces): readonly string[] {
	if (isLoopback(host)) return [];
	const all = Object.values(interfaces()).flatMap((each) => each ?? []);
	const outer = all.filter(({ internal, address }) => !internal && !/^(fe[89ab].:|169\.254\.)/i.test(address));
	const chosen = outer.filter(
		({ address, family }) => host === "::" || address === host || (host === "0.0.0.0" && family === "IPv4"),
	);
	return chosen.map(({ address }) => address).slice(0, MAX_ADDRESSES);
}

/** The records of a session under `label`. */
export function recordsOf(type: string, label: string, facts: MdnsFacts, addresses: readonly string[]): readonly Rr[] {
	const domain = domainOf(type);
	const fqdn = `${label}.${domain}`;
	const target = `${label}.local`;
	// `path` says: this is the endpoint itself, whatever public address the card may name.
	const txt = { txtvers: "1", name: oneLine(facts.name, 80), path: "/", skills: facts.skills.join(",") };
	const lines = Object.entries(txt).filter(([, value]) => value !== "");
	return [
		{ name: domain, type: "PTR", ttl: OTHER_TTL, data: fqdn },
		{ name: "_services._dns-sd._udp.local", type: "PTR", ttl: OTHER_TTL, data: domain },
		{ name: fqdn, type: "SRV", ttl: HOST_TTL, flush: true, data: { port: facts.port, target } },
		{ name: fqdn, type: "TXT", ttl: OTHER_TTL, flush: true, data: lines.map(([key, value]) => line(key, value)) },
		...addresses.map((address) => ({
			name: target,
			type: address.includes(":") ? "AAAA" : "A",
			ttl: HOST_TTL,
			flush: true,
			data: address,
		})),
	];
}

/** The records that take `records` back. The type itself stays: other sessions have it too. */
export function goodbye(records: readonly Rr[]): readonly Rr[] {
	return records.filter(({ name }) => !name.startsWith("_services.")).map((record) => ({ ...record, ttl: 0 }));
}

/** A string of a TXT record has a byte for its length. */
function line(key: string, value: string): Buffer {
	const bytes = Buffer.from(value).subarray(0, 250 - key.length);
	return Buffer.from(`${key}=${bytes.toString().replace(/\ufffd+$/, "")}`);
}

/** What a packet says about services of `type`. Anything may be in it; nothing is thrown. */
export function read(records: readonly Rr[], type: string): Heard {
	const domain = domainOf(type);
	const taken = records.slice(0, MAX_RECORDS);
	const ours = (name: unknown): name is string =>
		typeof name === "string" && name.length < 256 && name.toLowerCase().endsWith(`.${domain}`);
	const pointers = taken.filter((rr) => rr.type === "PTR" && same(rr.name, domain) && ours(rr.data));
	const located = taken.filter((rr) => rr.type === "SRV" && ours(rr.name));
	const gone = [
		...pointers.filter(({ ttl }) => ttl === 0).map(({ data }) => String(data)),
		...located.filter(({ ttl }) => ttl === 0).map(({ name }) => name),
	];
	const services = located.filter(({ ttl }) => ttl !== 0).flatMap((srv) => serviceOf(srv, pointers, taken, domain));
	const bare = pointers
		.filter(({ ttl, data }) => ttl !== 0 && !located.some(({ name }) => same(name, String(data))))
		.map(({ data }) => String(data));
	return { services, gone, bare };
}

function serviceOf(srv: Rr, pointers: readonly Rr[], all: readonly Rr[], domain: string): readonly Service[] {
	const { port, target } = isObject(srv.data) ? srv.data : {};
	if (typeof port !== "number" || port < 1 || port > 65_535 || typeof target !== "string") return [];
	const pointer = pointers.find(({ data }) => same(String(data), srv.name));
	const txt = all.find((rr) => rr.type === "TXT" && rr.ttl !== 0 && same(rr.name, srv.name));
	const hosts = all.filter((rr) => (rr.type === "A" || rr.type === "AAAA") && rr.ttl !== 0 && same(rr.name, target));
	return [
		{
			fqdn: srv.name,
			instance: srv.name.slice(0, -domain.length - 1),
			port,
			addresses: hosts.flatMap(({ data }) => (typeof data === "string" ? [data] : [])).slice(0, MAX_ADDRESSES),
			...(txt ? { txt: txtOf(txt.data) } : {}),
			ttl: Math.min(srv.ttl ?? 0, pointer?.ttl ?? Number.POSITIVE_INFINITY),
		},
	];
}

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

/** Keys in lower case; of two with one name the first counts (RFC 6763 §6.4). */
function txtOf(data: unknown): ReadonlyMap<string, string> {
	const found = new Map<string, string>();
	for (const item of (Array.isArray(data) ? data : [data]).slice(0, MAX_TXT)) {
		const [, key, value] = /^([^=]{1,64})=(.*)$/s.exec(Buffer.isBuffer(item) ? item.toString() : "") ?? [];
		if (key === undefined || value === undefined || found.has(key.toLowerCase())) continue;
		found.set(key.toLowerCase(), value);
	}
	return found;
}

/**
 * The address to call: one that its host has and the packet came from; else one that its host has, IPv4 first; else the
 * one it came from. Nobody on a network may send us to this machine or to a place that no peer has.
 */
export function chosenAddress(addresses: readonly string[], sender: string): string | undefined {
	const usable = (address: string): boolean => {
		const range = rangeOf(address);
		if (range === "loopback") return rangeOf(sender) === "loopback";
		return range !== "never";
	};
	const listed = addresses.filter(usable).sort((a, b) => Number(a.includes(":")) - Number(b.includes(":")));
	if (listed.includes(sender)) return sender;
	return listed[0] ?? (addresses.length === 0 && usable(sender) ? sender : undefined);
}
