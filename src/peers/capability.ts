/** Who can do what: matching what a peer says of itself with what is wanted. Pure. */
import type { AgentCard } from "../protocol/types.ts";
import type { Peer } from "./peer.ts";

/** Case, and how words are joined, make no difference: `Web Search` is `web_search`. */
function key(text: string): string {
	return text
		.normalize("NFKC")
		.trim()
		.toLowerCase()
		.replace(/[\s_-]+/g, "-");
}

/** Everything that a peer is known to be able to do. */
function abilities(peer: Peer): readonly string[] {
	return [...peer.capabilities, ...(peer.skills ?? []), ...(peer.tools ?? [])];
}

/** Whether one of the peer's capabilities, skills or tools is the wanted one. */
export function isCapable(peer: Peer, wanted: string): boolean {
	return abilities(peer).some((each) => key(each) === key(wanted));
}

/** Nothing is known of what the peer can do: only its card can tell. */
export function isUnknown(peer: Peer): boolean {
	return abilities(peer).length === 0;
}

/** Whether a skill of the card has the wanted id, name or tag. */
export function cardOffers(card: AgentCard, wanted: string): boolean {
	return card.skills.some((skill) => [skill.id, skill.name, ...skill.tags].some((each) => key(each) === key(wanted)));
}

/** What the peers can do, each once, for somebody who asked for something else. */
export function offered(peers: readonly Peer[]): readonly string[] {
	const seen = new Map<string, string>();
	for (const list of ["capabilities", "skills", "tools"] as const) {
		for (const each of peers.flatMap((peer) => peer[list] ?? [])) seen.set(key(each), seen.get(key(each)) ?? each);
	}
	return [...seen.values()].slice(0, 20);
}
