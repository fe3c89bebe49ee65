/** Calling other agents: everything that tools and commands need, in one place. */
import { attempt } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import type { Json } from "../protocol/types.ts";
import { bounds } from "./bounds.ts";
import { type CallsParts, createCalls } from "./calls.ts";
import { cardOffers, isCapable, isUnknown, offered } from "./capability.ts";
import type { ConversationSummary, Turn } from "./conversations.ts";
import { type FanOutcome, fanOut, type Judge, type Mode } from "./fanout.ts";
import type { FilesToSend } from "./files-out.ts";
import type { Peer } from "./peer.ts";
import type { Deliver, Queue, QueuedFact } from "./queue.ts";
import { asPeerError, PeerError, type PeerReply, type Progress } from "./reply.ts";
import type { CardSummary } from "./summary.ts";

export interface CallOptions {
	/** Stops the call, and the task at the peer with it. */
	readonly signal: AbortSignal;
	/** Continues a conversation; without it a new one begins. */
	readonly contextId?: string | undefined;
	/** Answers this task of the peer. Without it the open question of the conversation, if any, is answered. */
	readonly taskId?: string | undefined;
	/** Returns as soon as the peer has accepted the task. */
	readonly detached?: boolean | undefined;
	/** Detached, the peer shall notify us where it can: somebody follows the task. */
	readonly webhook?: boolean | undefined;
	/** Our own limit in milliseconds; by default the peer's own, else that of the configuration. */
	readonly timeoutMs?: number | undefined;
	/** How many agents have already passed this work on; sent as `pi/hops`. Default 0. */
	readonly hops?: number | undefined;
	/** False: a peer that cannot be reached is an error, although there is a queue. */
	readonly queue?: boolean | undefined;
	/** Files that go along. One that cannot be sent fails the call before anything is. */
	readonly files?: FilesToSend | undefined;
	/** A value that goes along as a data part. */
	readonly data?: Json | undefined;
	/** The `traceparent` of the work that this call is part of; a new trace begins without one. */
	readonly trace?: string | undefined;
	readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface StatusOptions {
	/** Stops the waiting; the task goes on. */
	readonly signal: AbortSignal;
	/** Milliseconds to wait for the end of the task; 0 or absent asks once. */
	readonly waitMs?: number | undefined;
	/** As in `CallOptions`. */
	readonly trace?: string | undefined;
	readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface FanOptions {
	readonly signal: AbortSignal;
	readonly timeoutMs?: number | undefined;
	readonly hops?: number | undefined;
	/** As in `CallOptions`. */
	readonly trace?: string | undefined;
	/** Progress of each peer, as it comes. */
	readonly onProgress?: ((peer: string, progress: Progress) => void) | undefined;
}

export interface Overview {
	/** The peers that the operator wrote down. */
	readonly peers: readonly Peer[];
	/** Newest first. */
	readonly conversations: readonly ConversationSummary[];
	readonly metrics: object;
	/** Messages that wait for their peer, oldest first. */
	readonly queued?: readonly QueuedFact[];
}

/** Every method throws a `PeerError`, whose message is one line for the model. */
export interface Outbound {
	/** Sends `message` to the peer of that name or URL and waits for its answer. A failed task throws. */
	call(agent: string, message: string, options: CallOptions): Promise<PeerReply>;
	/** Asks how a task dispatched before stands. A failed task throws. */
	status(agent: string, taskId: string, options: StatusOptions): Promise<PeerReply>;
	/** Reads the Agent Card of a name or URL. */
	discover(agent: string, signal: AbortSignal): Promise<CardSummary>;
	/** Sends `message` to every peer that has the capability. */
	orchestrate(capability: string, message: string, options: FanOptions & { mode: Mode }): Promise<FanOutcome>;
	/** Sends `message` to the named peers. */
	broadcast(agents: readonly string[], message: string, options: FanOptions): Promise<FanOutcome>;
	list(): Promise<Overview>;
	/** The newest `limit` turns (default 20) of a conversation, oldest first. */
	history(contextId: string, limit?: number): Promise<readonly Turn[]>;
	/** Sends a message that was queued and waits until the peer has it. */
	readonly deliver: Deliver;
	/** Everybody who can be called, by the shown name. */
	peers(): Promise<readonly Peer[]>;
	/** Ends what runs and gives back sources and files. May be called twice. */
	close(): Promise<void>;
}

export interface OutboundParts extends CallsParts {
	readonly judge?: Judge | undefined;
	readonly queue?: Queue | undefined;
	readonly metrics: () => object;
}

/** How long a card may take that is only read to learn what its agent can do. */
const LOOK_MS = 5_000;

export function createOutbound(parts: OutboundParts): Outbound {
	const { directory, conversations, clock, log } = parts;
	const calls = createCalls(parts);

	/**
	 * Those who are known to have it, and those whose card says so when nothing else is known of them. Who was only
	 * heard of on the network is not called to find out.
	 */
	async function capable(wanted: string, signal: AbortSignal): Promise<readonly Peer[]> {
		const peers = await directory.list();
		const offering = await Promise.all(
			peers.map(
				(peer) =>
					isCapable(peer, wanted) || (peer.source !== "mdns" && isUnknown(peer) && offers(peer, wanted, signal)),
			),
		);
		const found = peers.filter((_, at) => offering[at]);
		if (found.length > 0) return found;
		const known = offered(peers);
		const silent = peers.length > 0 ? "None of them says what it can do." : "No peers are known.";
		const others = known.length > 0 ? `Known: ${known.map((each) => oneLine(each, 60)).join(", ")}.` : silent;
		throw new PeerError(`No peer has the capability "${oneLine(wanted, 80)}". ${others}`, { peer: "" });
	}

	async function offers(peer: Peer, wanted: string, signal: AbortSignal): Promise<boolean> {
		const look = bounds(clock, LOOK_MS, signal);
		try {
			const card = (await calls.open(peer, look.signal)).card();
			return card !== undefined && cardOffers(card, wanted);
		} catch (error) {
			log.info(`The card of ${peer.name} could not be read: ${asPeerError(error, { peer: peer.name }).message}`);
			return false;
		} finally {
			look.release();
		}
	}

	function fan(peers: readonly string[], message: string, mode: Mode, options: FanOptions): Promise<FanOutcome> {
		const { signal, onProgress, timeoutMs, hops, trace } = options;
		const run = (peer: string, within: AbortSignal) =>
			calls.call(peer, message, {
				timeoutMs,
				hops,
				trace,
				signal: within,
				// Those who answer now are wanted.
				queue: false,
				onProgress: (progress) => onProgress?.(peer, progress),
			});
		return fanOut({ peers: [...new Set(peers)], message, mode, signal, run, judge: parts.judge });
	}

	return {
		call: calls.call,
		deliver: calls.deliver,
		status: calls.status,
		discover: calls.discover,
		async orchestrate(capability, message, options) {
			const names = (await capable(capability, options.signal)).map((peer) => peer.name);
			return fan(names, message, options.mode, options);
		},
		broadcast: (agents, message, options) => fan(agents, message, "all", options),
		async list() {
			const peers = (await directory.list()).filter((peer) => peer.source === "config");
			const queued = parts.queue?.list() ?? [];
			return { peers, conversations: await conversations.list(), metrics: parts.metrics(), queued };
		},
		history: (context, limit) => conversations.recall(context, limit),
		peers: () => directory.list(),
		async close() {
			await calls.close();
			await attempt("close the directory of peers", () => directory.close(), log);
		},
	};
}
