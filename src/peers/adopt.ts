/**
 * Peers that anybody on the network may have made up are called only when the operator meant it: with an entry in the
 * configuration, or a person's yes at the first call, which holds for that origin while this session lasts. So are, where
 * the operator wants it, URLs that nobody wrote down.
 */
import { remember } from "../lib/bounded.ts";
import { oneLine } from "../lib/text.ts";
import { isLoopback, originKey, shownAddress } from "./address.ts";
import type { Peer } from "./peer.ts";
import { PeerError } from "./reply.ts";

/** Whether `peer` may be called. Asks a person where there is one: `why` says that nobody wrote it down, else it was found on the network; `signal` ends the waiting, which counts as no. */
export type Adopt = (peer: Peer, signal: AbortSignal, why?: "unknown") => Promise<boolean>;

/** Puts a question to the person in front of the session. */
export type Confirm = (question: string, signal: AbortSignal) => Promise<boolean>;

const MAX_ANSWERS = 500;

/** Whether a call to `peer` needs a yes. `known`: everybody in the directory. */
export function needsAdoption(peer: Peer, known: readonly Peer[]): boolean {
	if (peer.address.via !== "http" || (peer.source !== "mdns" && peer.source !== "url")) return false;
	const origin = originKey(peer.address.url);
	const there = known.filter(({ address }) => address.via === "http" && originKey(address.url) === origin);
	if (there.some(({ source }) => source === "config" || source === "local")) return false;
	return peer.source === "mdns" || there.some(({ source }) => source === "mdns");
}

/** What happens with a call to a URL on another machine that nobody wrote down. */
export type UnknownOrigins = "allow" | "ask" | "deny";

/** Whether `peer` is such a URL. Where a configured peer, a session or a gateway is, its origin is known. */
export function isUnknown(peer: Peer, known: readonly Peer[]): boolean {
	if (peer.source !== "url" || peer.address.via !== "http" || isLoopback(peer.address.url.hostname)) return false;
	const origin = originKey(peer.address.url);
	return !known.some(({ address, source }) => {
		return source !== "mdns" && address.via === "http" && originKey(address.url) === origin;
	});
}

/** Throws a `PeerError` when nobody meant `peer` to be called. `known`: everybody in the directory. */
export async function checkMeant(
	peer: Peer,
	known: readonly Peer[],
	how: { readonly adopt?: Adopt | undefined; readonly unknownOrigins?: UnknownOrigins | undefined },
	signal: AbortSignal,
): Promise<void> {
	if (needsAdoption(peer, known)) {
		if (!(await how.adopt?.(peer, signal))) throw notAdopted(peer);
	} else if ((how.unknownOrigins ?? "allow") !== "allow" && isUnknown(peer, known)) {
		if (how.unknownOrigins === "deny" || !(await how.adopt?.(peer, signal, "unknown"))) throw notKnown(peer);
	}
}

/** Without `confirm` there is nobody to ask, and the answer is no. */
export function createAdoption(confirm: Confirm | undefined): Adopt {
	const answers = new Map<string, boolean>();
	/** One question at a time: several calls at once must not cover the screen, nor ask the same twice. */
	let last: Promise<unknown> = Promise.resolve();

	return (peer, signal, why) => {
		const { address } = peer;
		if (!confirm || address.via !== "http") return Promise.resolve(false);
		const origin = originKey(address.url);
		const asked = last.then(async () => {
			const answer = answers.get(origin);
			if (answer !== undefined || signal.aborted) return answer ?? false;
			const yes = await unless(signal, confirm(question(peer, why), signal));
			if (yes !== undefined) remember(answers, origin, yes, MAX_ANSWERS);
			return yes ?? false;
		});
		last = asked.catch(() => undefined);
		return asked;
	};
}

/** `undefined` when `signal` aborts first: no answer is no "no". */
function unless<T>(signal: AbortSignal, work: Promise<T>): Promise<T | undefined> {
	return new Promise((resolve, reject) => {
		const stop = () => resolve(undefined);
		signal.addEventListener("abort", stop, { once: true });
		work
			.then((value) => resolve(signal.aborted ? undefined : value), reject)
			.finally(() => signal.removeEventListener("abort", stop));
	});
}

function question(peer: Peer, why?: "unknown"): string {
	const called =
		why === "unknown"
			? `Call ${oneLine(shownAddress(peer.address), 300)}? It is in none of your settings. `
			: `Call "${peer.name}" at ${shownAddress(peer.address)}? It was found on the local network, where anybody can ` +
				"announce an agent under any name. ";
	return `${called}It will see what is sent to it. Your answer holds for this address until the session ends.`;
}

/** What is said when the answer was no. */
export function notAdopted(peer: Peer): PeerError {
	return new PeerError(`${peer.name} was found on the local network and nobody has confirmed it. Nothing was sent.`, {
		peer: peer.name,
		hint: `The user can allow it with an entry under a2a.peers with the url ${shownAddress(peer.address)}`,
	});
}

/** What is said when a URL that nobody wrote down is not called. */
export function notKnown(peer: Peer): PeerError {
	const at = oneLine(shownAddress(peer.address), 300);
	return new PeerError(`${at} is in none of the settings and nobody has confirmed it. Nothing was sent.`, {
		peer: peer.name,
		hint: "The user can allow it with an entry under a2a.peers, or with a2a.outbound.unknownOrigins",
	});
}
