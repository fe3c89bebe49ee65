/** What has been heard on the network and still holds. Bounded however much is said, and whoever says it. */
import type { Clock } from "../../lib/clock.ts";
import { oneLine } from "../../lib/text.ts";
import type { Peer } from "../peer.ts";
import { chosenAddress, type Heard, type Service } from "./mdns-records.ts";

export interface MdnsCache {
	/** Takes in what a packet from `sender` said. */
	hear(heard: Heard, sender: string): void;
	/** Everybody whose time has not run out, but for the session of that full name. */
	peers(own: string | undefined): readonly Peer[];
	/** How many entries are held. */
	readonly size: number;
}

interface Entry {
	readonly service: Service;
	readonly txt: ReadonlyMap<string, string>;
	readonly address: string;
	readonly sender: string;
	readonly seen: number;
	readonly until: number;
}

const MAX_ENTRIES = 256;
/** One machine may fill so much of it: a flood from there leaves room for the others. */
const MAX_OF_SENDER = 64;
/** Whoever is there answers when asked, which happens more often than this. */
const MAX_TTL_S = 300;
const MAX_ITEMS = 32;

export function createMdnsCache(clock: Clock): MdnsCache {
	const entries = new Map<string, Entry>();

	function purge(): void {
		const now = clock.now();
		for (const [key, { until }] of entries) if (until <= now) entries.delete(key);
	}

	function take(service: Service, sender: string): void {
		const key = service.fqdn.toLowerCase();
		const before = entries.get(key);
		const address = addressOf(service, before, sender);
		if (address === undefined) return;
		if (!before) {
			const his = [...entries.values()].filter((each) => each.sender === sender).length;
			if (entries.size >= MAX_ENTRIES || his >= MAX_OF_SENDER) return;
		}
		const now = clock.now();
		const until = now + Math.min(service.ttl, MAX_TTL_S) * 1000;
		entries.set(key, { service, txt: service.txt ?? before?.txt ?? new Map(), address, sender, seen: now, until });
	}

	return {
		hear({ services, gone }, sender) {
			purge();
			for (const fqdn of gone) entries.delete(fqdn.toLowerCase());
			for (const service of services) take(service, sender);
		},
		peers(own) {
			purge();
			return [...entries].flatMap(([key, entry]) => (key === own?.toLowerCase() ? [] : [peerOf(entry)]));
		},
		get size() {
			return entries.size;
		},
	};
}

/** An address that was chosen stays while it is among those that are listed. */
function addressOf({ addresses }: Service, before: Entry | undefined, sender: string): string | undefined {
	const chosen = chosenAddress(addresses, sender);
	if (!before) return chosen;
	if (addresses.length === 0) return before.address;
	return addresses.includes(before.address) ? before.address : chosen;
}

function peerOf({ service, txt, address, seen }: Entry): Peer {
	// A slash belongs to the names of gateways' peers.
	const name = (text: string) => oneLine(text, 80).replaceAll("/", "-");
	const text = (key: string, max: number) => oneLine(txt.get(key) ?? "", max);
	const list = (key: string) =>
		(txt.get(key) ?? "")
			.split(",")
			.slice(0, MAX_ITEMS)
			.flatMap((item) => oneLine(item, 60) || []);
	const url = new URL(`http://${address.includes(":") ? `[${address}]` : address}:${service.port}/`);
	const path = text("path", 200);
	const isPath = path.startsWith("/") && !/[?#\\]/.test(path);
	if (isPath) url.pathname = path;
	const cwd = text("cwd", 200);
	const model = text("model", 100);
	return {
		name: name(txt.get("name") ?? "") || name(service.instance) || "peer",
		source: "mdns",
		address: { via: "http", url, ...(isPath ? { pin: url.origin } : {}) },
		capabilities: [...new Set([...list("skills"), ...list("capabilities")])],
		skills: list("skills"),
		tools: list("tools"),
		...(cwd ? { cwd } : {}),
		...(model ? { model } : {}),
		seen,
	};
}
