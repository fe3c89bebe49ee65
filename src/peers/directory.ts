/** One list of peers from every source. Whatever it lists can be called by the name it shows. */
import { networkInterfaces } from "node:os";
import { attempt, type Log, nullLog } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import { addressKey, readUrl } from "./address.ts";
import { isCapable } from "./capability.ts";
import { folded, named, nearNames } from "./names.ts";
import type { Peer, Source, SourceName } from "./peer.ts";
import { PeerError } from "./reply.ts";

export interface Directory {
	/** Everybody but this session, best source first. A source that fails is left out, with a line in the log. */
	list(): Promise<readonly Peer[]>;
	/**
	 * The peer of that name (as shown; case does not matter where it is unique) or at that http(s) URL. Throws a
	 * `PeerError` that gives near names. `byAbility`: where nobody has that name, the first peer that has it as a capability,
	 * with the reason in `chosen`; one that was only heard of on the network is not chosen.
	 */
	resolve(nameOrUrl: string, byAbility?: boolean): Promise<Peer>;
	/** Closes the sources. May be called twice. */
	close(): Promise<void>;
}

/** Who wins when sources tell of the same peer or give the same name. */
const PRECEDENCE: readonly SourceName[] = ["config", "local", "mdns", "gateway", "mailbox", "url"];
/** A flood of announcements ends here. */
const MAX_PEERS = 1000;

export interface DirectoryOptions {
	/** Where this session's own server answers; not listed. */
	readonly self?: () => readonly URL[];
	readonly log?: Log;
}

export function createDirectory(sources: readonly Source[], options: DirectoryOptions = {}): Directory {
	const { log = nullLog, self = () => [] } = options;
	const ordered = [...sources].sort((a, b) => PRECEDENCE.indexOf(a.name) - PRECEDENCE.indexOf(b.name));

	/** Names are given before this session is left out, so that they do not change when its server starts. */
	async function all(): Promise<readonly Peer[]> {
		const lists = await Promise.all(
			ordered.map((source) => attempt(`list the peers of ${source.name}`, () => source.list(), log)),
		);
		return named(merged(lists.flatMap((list) => list ?? []).slice(0, MAX_PEERS)));
	}

	function isSelf(peer: Peer): boolean {
		const key = addressKey(peer.address);
		return self().some((url) => addressKey({ via: "http", url }) === key);
	}

	return {
		async list() {
			return (await all()).filter((peer) => !isSelf(peer));
		},
		async resolve(nameOrUrl, byAbility = false) {
			const wanted = nameOrUrl.trim();
			const peers = await all();
			const peer = byName(peers, wanted) ?? byUrl(peers, wanted);
			if (peer) return peer;
			const others = peers.filter((each) => !isSelf(each));
			const able = byAbility ? byCapability(others, wanted) : undefined;
			if (able) return able;
			throw unknown(
				wanted,
				others.map((each) => each.name),
			);
		},
		async close() {
			await Promise.all(ordered.map((source) => attempt(`close ${source.name}`, () => source.close(), log)));
		},
	};
}

/**
 * One entry for one address: the best source's, with what only the others know filled in. Tokens are never filled in.
 * What the operator wrote down stays as written, two names for one address included: each may have a token of its own.
 */
function merged(peers: readonly Peer[]): readonly Peer[] {
	const found = new Map<string, Peer[]>();
	for (const peer of peers) {
		const key = keyAmong(found, peer);
		const before = found.get(key) ?? [];
		const more = peer.source === "config" || before.length === 0;
		found.set(key, more ? [...before, peer] : before.map((each) => filled(each, peer)));
	}
	return [...found.values()].flat();
}

/** The network knows a session of this machine by an outer address, its registry often by the loopback one. */
function keyAmong(found: ReadonlyMap<string, unknown>, { source, address }: Peer): string {
	if (source === "mdns" && address.via === "http" && isOwn(address.url)) {
		const url = new URL(address.url);
		url.hostname = "127.0.0.1";
		const key = addressKey({ via: "http", url });
		if (found.has(key)) return key;
	}
	return addressKey(address);
}

function isOwn({ hostname }: URL): boolean {
	const bare = hostname.replace(/^\[|\]$/g, "");
	return Object.values(networkInterfaces()).some((each) => each?.some(({ address }) => address === bare));
}

function filled(peer: Peer, more: Peer): Peer {
	// Anybody may announce anything about an address.
	if (more.source === "mdns") return peer;
	// What the operator wrote about abilities is not widened by what a network says.
	const trusted = more.source === "config" || more.source === "local";
	const { token: _token, ...rest } = more;
	return {
		...rest,
		...peer,
		capabilities: trusted ? [...new Set([...peer.capabilities, ...more.capabilities])] : peer.capabilities,
	};
}

function byName(peers: readonly Peer[], wanted: string): Peer | undefined {
	const exact = peers.find((peer) => peer.name === wanted);
	if (exact) return exact;
	const alike = peers.filter((peer) => folded(peer.name) === folded(wanted));
	return alike.length === 1 ? alike[0] : undefined;
}

/** The peer that is known at that URL, else one that is known by its URL alone. `host:port` counts as http. */
function byUrl(peers: readonly Peer[], wanted: string): Peer | undefined {
	const url = readUrl(/^[\w.-]+:\d{1,5}(\/|$)/.test(wanted) ? `http://${wanted}` : wanted);
	if (!url) return undefined;
	const address = { via: "http", url } as const;
	const key = addressKey(address);
	const known = peers.find((peer) => addressKey(peer.address) === key);
	return known ?? { name: url.href, source: "url", address, capabilities: [] };
}

/** The best known peer that has what was asked for as a capability, a skill or a tool. */
function byCapability(peers: readonly Peer[], wanted: string): Peer | undefined {
	const able = peers.filter((peer) => peer.source !== "mdns" && isCapable(peer, wanted));
	const [peer] = able;
	if (!peer) return undefined;
	const among = able.length > 1 ? `, the first of ${able.length}` : "";
	const chosen = `There is no peer named "${oneLine(wanted, 80)}"; ${peer.name} was chosen because it has that capability${among}.`;
	return { ...peer, chosen };
}

function unknown(wanted: string, names: readonly string[]): PeerError {
	const shown = oneLine(wanted, 80);
	if (/^https?:/i.test(wanted)) {
		return new PeerError(`${shown}: not a URL that can be called (http or https, no user name or password in it)`, {
			peer: shown,
			hint: "A token for a peer is written down under a2a.peers.",
		});
	}
	const near = nearNames(wanted, names);
	const others = names.slice(0, 10);
	const hint =
		near.length > 0
			? `Did you mean ${near.map((name) => `"${name}"`).join(" or ")}?`
			: others.length > 0
				? `Known peers: ${others.map((name) => `"${name}"`).join(", ")}${names.length > 10 ? ` and ${names.length - 10} more` : ""}.`
				: "No peers are known; give a URL, or write a peer down under a2a.peers.";
	return new PeerError(`There is no peer named "${shown}". ${hint}`, { peer: shown });
}
