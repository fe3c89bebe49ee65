/**
 * The parts of a running extension, as tools, commands and the host's screen see them.
 */
import type { Runner } from "./agent/runner.ts";
import type { Loaded } from "./config/load.ts";
import type { metrics } from "./guard/metrics.ts";
import type { Log } from "./lib/log.ts";
import type { Outbound } from "./peers/outbound.ts";
import type { AgentSkill } from "./protocol/types.ts";
import type { TaskStore } from "./tasks/store.ts";

/** How the inbound server stands. */
export interface ServerStatus {
	readonly running: boolean;
	/** Where it answers, `http://127.0.0.1:9910/`. */
	readonly url?: string;
	readonly cardUrl?: string;
	/** Port and host really bound. */
	readonly port?: number;
	readonly host?: string;
	/** Inbound tasks that have not ended. */
	readonly inFlight: number;
	/** Labels of the callers of those tasks, each once. */
	readonly callers: readonly string[];
	/** Why it is not running, or what an operator should know. One line. */
	readonly problem?: string;
}

/** What the live session tells about itself; it becomes the Agent Card and the registry entry. */
export interface HostFacts {
	readonly pid: number;
	readonly cwd: string;
	/** `provider/id` */
	readonly model?: string;
	readonly tools: readonly string[];
	readonly skills: readonly AgentSkill[];
	readonly sessionName?: string;
	readonly sessionId?: string;
	readonly piVersion: string;
}

/** What the extension needs from whatever hosts it. */
export interface Host {
	readonly agentDir: string;
	readonly cwd: string;
	readonly env: Record<string, string | undefined>;
	/** The host trusts the repository it stands in. */
	readonly projectTrusted: boolean;
	readonly runner: Runner;
	/** Asked anew for every card. */
	describe(): HostFacts;
	readonly log: Log;
	/**
	 * Lets the session's own model choose among replies ("best"): the index of the chosen one; undefined when it cannot.
	 */
	judge(
		question: string,
		replies: readonly { peer: string; text: string }[],
		signal: AbortSignal,
	): Promise<number | undefined>;
}

/** A running extension, from `session_start` to `session_shutdown`. */
export interface App {
	/** The configuration in force; a new value after `apply`. */
	readonly loaded: Loaded;
	readonly server: {
		/** Starts listening; when it listens already, says how it stands. Throws an error with one line that says why. */
		start(): Promise<ServerStatus>;
		/** Ends streams and tasks and gives the port back. May be called when it is not running. */
		stop(): Promise<void>;
		status(): ServerStatus;
	};
	/** Calling other agents. */
	readonly outbound: Outbound;
	/** Inbound tasks. */
	readonly tasks: TaskStore;
	readonly metrics: ReturnType<typeof metrics>;
	/** The newest `n` entries, oldest first. */
	readonly audit: { tail(n: number): Promise<readonly object[]> };
	/** Saves edits to settings.json, reloads the configuration and restarts what must restart. One line per effect. */
	apply(edits: ReadonlyMap<string, unknown>): Promise<readonly string[]>;
	/** Gives everything back. May be called twice. */
	close(): Promise<void>;
}
