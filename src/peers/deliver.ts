/** Sending what was queued: the same message, with the same id, until the peer has it. */
import type { Connection } from "../bindings/binding.ts";
import { retriesSafely } from "../protocol/card.ts";
import { type CallParts, type CallRequest, callPeer } from "./call.ts";
import type { Directory } from "./directory.ts";
import type { Peer } from "./peer.ts";
import type { Deliver } from "./queue.ts";
import { isInDoubt, isPutOff, isUndelivered } from "./queue-call.ts";
import type { Queued } from "./queue-store.ts";
import { asPeerError, type PeerReply } from "./reply.ts";

export interface DeliverParts {
	readonly directory: Pick<Directory, "resolve">;
	readonly open: (peer: Peer, signal: AbortSignal, timeoutMs: number) => Promise<Connection>;
	/** `ask`, whose outcome is written down. */
	readonly recorded: (peer: Peer, entry: Queued, ask: () => Promise<PeerReply>) => Promise<PeerReply>;
	readonly facts: Omit<CallParts, "peer" | "newMessageId">;
	readonly limit: (peer: Peer) => number;
	/** An error as others may see it. */
	readonly cleanError: (error: unknown) => unknown;
}

/** A peer that is gone from a list may come back to it. */
const notListed = (_error: unknown): undefined => undefined;

export function createDeliver({ directory, open, recorded, facts, limit, cleanError }: DeliverParts): Deliver {
	return async (entry, sending) => {
		const { agent, message, tried = false } = entry;
		const peer = await directory.resolve(agent).catch(notListed);
		if (!peer) return { later: `${agent} is not among the peers now`, tried };
		const { contextId, taskId, messageId, parts, metadata } = message;
		const [first, ...rest] = parts;
		const text = first && "text" in first ? first.text : "";
		const timeoutMs = limit(peer);
		const { signal } = new AbortController();
		const request: CallRequest = { text, parts: rest, contextId, taskId, metadata, signal, timeoutMs, detached: true };
		let isOpen = false;
		let isSafe = false;
		try {
			const connection = await open(peer, signal, timeoutMs);
			isSafe = retriesSafely(connection.card());
			await sending();
			isOpen = true;
			const how = { ...facts, peer: peer.name, newMessageId: () => messageId };
			return await recorded(peer, entry, () => callPeer(connection, { ...request, again: tried }, how));
		} catch (error) {
			const told = cleanError(error);
			const { message: later } = asPeerError(told, { peer: peer.name });
			if (isUndelivered(error, isOpen) || isPutOff(error)) return { later, tried };
			if (isSafe && isInDoubt(error)) return { later, tried: true };
			throw told;
		}
	};
}
