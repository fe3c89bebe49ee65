/** Calling other agents: everything that tools and commands need, in one place. */
import type { ConversationSummary, Turn } from "./conversations.ts";
import type { FanOutcome, Mode } from "./fanout.ts";
import type { Peer } from "./peer.ts";
import type { PeerReply, Progress } from "./reply.ts";
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
	/** Our own limit in milliseconds; by default the peer's own, else that of the configuration. */
	readonly timeoutMs?: number | undefined;
	/** How many agents have already passed this work on; sent as `pi/hops`. Default 0. */
	readonly hops?: number | undefined;
	readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface StatusOptions {
	/** Stops the waiting; the task goes on. */
	readonly signal: AbortSignal;
	/** Milliseconds to wait for the end of the task; 0 or absent asks once. */
	readonly waitMs?: number | undefined;
	readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface FanOptions {
	readonly signal: AbortSignal;
	readonly timeoutMs?: number | undefined;
	readonly hops?: number | undefined;
	/** Progress of each peer, as it comes. */
	readonly onProgress?: ((peer: string, progress: Progress) => void) | undefined;
}

export interface Overview {
	/** The peers that the operator wrote down. */
	readonly peers: readonly Peer[];
	/** Newest first. */
	readonly conversations: readonly ConversationSummary[];
	readonly metrics: object;
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
	/** Everybody who can be called, by the shown name. */
	peers(): Promise<readonly Peer[]>;
	/** Ends what runs and gives back sources and files. May be called twice. */
	close(): Promise<void>;
}
