/** What peers are called: every name shown is one of a kind and can be called. Pure. */
import { oneLine } from "../lib/text.ts";
import type { Peer, SourceName } from "./peer.ts";

/** Names are told apart without regard to case or to look-alike forms of one letter. */
export function folded(name: string): string {
	return name.normalize("NFKC").toLowerCase();
}

/** The name as it can be called: nothing that reads as a URL; from others than the operator one word. */
function callable(peer: Peer): string {
	const name = oneLine(peer.name, 80).replace(/^(https?):\/*/i, "$1-");
	return (peer.source === "config" ? name : name.replace(/[\s,]+/g, "-")) || "peer";
}

/** What can tell a peer from its namesakes, best first. */
function marks(peer: Peer): readonly string[] {
	const port = peer.address.via === "http" ? peer.address.url.port : "";
	return [port, peer.pid === undefined ? "" : String(peer.pid)].filter(Boolean);
}

/** The first of `name-port`, `name-pid`, `name-2`, `name-3` … that nobody has. */
function distinct(name: string, peer: Peer, taken: ReadonlySet<string>): string {
	for (const mark of marks(peer)) {
		if (!taken.has(folded(`${name}-${mark}`))) return `${name}-${mark}`;
	}
	let n = 2;
	while (taken.has(folded(`${name}-${n}`))) n += 1;
	return `${name}-${n}`;
}

/**
 * `peers`, best source first, each under a name of its own. A better source keeps the plain name; namesakes of one
 * source all get a mark, so that none of them answers to a name that meant another a moment ago.
 */
export function named(peers: readonly Peer[]): readonly Peer[] {
	const count = new Map<string, number>();
	const key = (peer: Peer): string => `${peer.source satisfies SourceName} ${folded(callable(peer))}`;
	for (const peer of peers) count.set(key(peer), (count.get(key(peer)) ?? 0) + 1);
	const taken = new Set<string>();
	const shown = new Set<string>();
	return peers.map((peer) => {
		const plain = callable(peer);
		// The operator's own names stay as they were written, even where they differ in case alone.
		const free = peer.source === "config" ? !shown.has(plain) : count.get(key(peer)) === 1 && !taken.has(folded(plain));
		const name = free ? plain : distinct(plain, peer, taken);
		taken.add(folded(name));
		shown.add(name);
		return name === peer.name ? peer : { ...peer, name };
	});
}

/** How many single changes lead from one text to the other. */
function distance(a: string, b: string): number {
	let row = Array.from({ length: b.length + 1 }, (_, i) => i);
	for (let i = 1; i <= a.length; i++) {
		const next = [i];
		for (let j = 1; j <= b.length; j++) {
			const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
			next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
		}
		row = next;
	}
	return row[b.length] ?? 0;
}

/** The names that `wanted` may have meant, nearest first: few changes away, or one within the other. */
export function nearNames(wanted: string, names: readonly string[]): readonly string[] {
	const want = folded(wanted).slice(0, 80);
	return names
		.map((name) => {
			const have = folded(name);
			const within = want !== "" && (have.includes(want) || want.includes(have));
			return { name, far: within ? 1 : distance(want, have) };
		})
		.filter(({ name, far }) => far <= Math.max(2, Math.floor(name.length / 3)))
		.sort((a, b) => a.far - b.far)
		.slice(0, 5)
		.map(({ name }) => name);
}
