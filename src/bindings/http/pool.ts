/** What calls to peers share: connections that are kept open between calls, and cards that are still fresh. */
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import { Socket } from "node:net";
import type { AgentCard } from "../../protocol/types.ts";

/** A card as it was fetched. */
export interface KeptCard {
	readonly card: AgentCard;
	/** Where it was found. */
	readonly url: URL;
	readonly etag: string | undefined;
	/** Until then, in milliseconds since the epoch, it needs no asking. */
	readonly freshUntil: number;
}

export interface HttpPool {
	agentFor(url: URL): HttpAgent | HttpsAgent;
	/** Cards by where they were found; bounded. */
	readonly cards: {
		get(key: string): KeptCard | undefined;
		set(key: string, kept: KeptCard): void;
	};
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
	const secure = how.background ? quiet(new HttpsAgent({ ...options, keepAlive: false })) : new HttpsAgent(options);
	const kept = new Map<string, KeptCard>();
	return {
		agentFor: (url) => (url.protocol === "https:" ? secure : plain),
		cards: {
			get: (key) => kept.get(key),
			set(key, card) {
				kept.delete(key);
				kept.set(key, card);
				const [oldest] = kept.keys();
				if (kept.size > MAX_CARDS && oldest !== undefined) kept.delete(oldest);
			},
		},
		close() {
			plain.destroy();
			secure.destroy();
			kept.clear();
		},
	};
}
