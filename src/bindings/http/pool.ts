/** What calls to peers share: connections that are kept open between calls, and cards that are still fresh. */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { Socket } from "node:net";
import { createShared, type Shared } from "../../lib/shared.ts";
import type { Lifetime } from "./card-age.ts";
import type { TrustedCard } from "./card-trust.ts";
import type { Trust } from "./tls.ts";

/** A card as it was fetched. */
export interface FetchedCard extends TrustedCard, Lifetime {
	/** Where it was found. */
	readonly url: URL;
	readonly etag: string | undefined;
	readonly lastModified: string | undefined;
	/** Its origin failed to give a newer one. */
	readonly stale?: boolean;
}

/** What a lookup came to: a card, or that there is none. */
export type KeptCard = FetchedCard | { readonly card: undefined; readonly freshUntil: number };

export interface HttpPool {
	/** Connections under one trust are not used for calls under another. */
	agentFor(url: URL, trust?: Trust): HttpAgent | HttpsAgent;
	/** A number that tells one trust from another, 0 for none. */
	numberOf(trust?: Trust): number;
	/** Cards by where they were found; bounded. */
	readonly cards: {
		get(key: string): KeptCard | undefined;
		set(key: string, kept: KeptCard): void;
		delete(key: string): void;
	};
	/** Lookups of cards that run. */
	readonly lookups: Shared<KeptCard>;
	/** Closes every connection, those in use as well. May be called twice. */
	close(): void;
}

const MAX_CARDS = 200;

/** `agent`, whose connections keep no process alive. */
function quiet<A extends HttpAgent>(agent: A): A {
	const connect = agent.createConnection.bind(agent);
	agent.createConnection = (options, done) => {
		const socket = connect(options, done);
		if (socket instanceof Socket) socket.unref();
		return socket;
	};
	return agent;
}

/**
 * A pool. Connections that nobody uses keep no process alive; `background`: neither do those in use, and none is used
 * twice.
 */
export function createHttpPool(how: { readonly background?: boolean } = {}): HttpPool {
	// Idle sockets of an agent are unref'd by Node; those in use belong to a call that somebody waits for.
	const options = {
		keepAlive: true,
		maxFreeSockets: 16,
		scheduling: "lifo",
		// `localhost` may be listed as ::1 first while the peer listens on 127.0.0.1 only. Node's own 250 ms for each
		// address are too short for a far one.
		autoSelectFamily: true,
		autoSelectFamilyAttemptTimeout: 1_000,
	} as const;
	const plain = how.background ? quiet(new HttpAgent({ ...options, keepAlive: false })) : new HttpAgent(options);
	const makeSecure = () =>
		how.background ? quiet(new HttpsAgent({ ...options, keepAlive: false })) : new HttpsAgent(options);
	const secure = makeSecure();
	const trusting = new Map<Trust, HttpsAgent>();
	function secureFor(trust: Trust | undefined): HttpsAgent {
		if (trust === undefined) return secure;
		const agent = trusting.get(trust) ?? makeSecure();
		trusting.set(trust, agent);
		return agent;
	}
	const kept = new Map<string, KeptCard>();
	return {
		agentFor: (url, trust) => (url.protocol === "https:" ? secureFor(trust) : plain),
		numberOf(trust) {
			if (trust === undefined) return 0;
			secureFor(trust);
			return [...trusting.keys()].indexOf(trust) + 1;
		},
		cards: {
			get: (key) => kept.get(key),
			set(key, card) {
				kept.delete(key);
				kept.set(key, card);
				const [oldest] = kept.keys();
				if (kept.size > MAX_CARDS && oldest !== undefined) kept.delete(oldest);
			},
			delete: (key) => void kept.delete(key),
		},
		lookups: createShared(),
		close() {
			plain.destroy();
			for (const agent of [secure, ...trusting.values()]) agent.destroy();
			kept.clear();
		},
	};
}
