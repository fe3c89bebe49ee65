/** The port to whatever hosts the extension: in Pi the live session, in the benchmark a script. Types only. */
import type { Runner } from "./agent/runner.ts";
import type { Config } from "./config/keys.ts";
import type { Log } from "./lib/log.ts";
import type { AgentExtension, AgentSkill } from "./protocol/types.ts";

/** What the live session tells about itself; it becomes the Agent Card and the registry entry. */
export interface HostFacts {
	readonly pid: number;
	readonly cwd: string;
	/** `provider/id` */
	readonly model?: string;
	readonly tools: readonly string[];
	readonly skills: readonly AgentSkill[];
	/** Declared on the card beside our own (§4.6); a required one is asked of every call. */
	readonly extensions?: readonly AgentExtension[];
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
	/** A runner for inbound tasks under this configuration. Each server run has its own, and closes it. */
	runner(config: Config): Runner;
	/** Asked anew for every card. */
	describe(): HostFacts;
	readonly log: Log;
	/** Asks the person in front of the session; absent when there is nobody. `signal` takes the question back. */
	confirm?(question: string, signal: AbortSignal): Promise<boolean>;
	/**
	 * Lets the session's own model choose among replies ("best"): the index of the chosen one; undefined when it cannot.
	 */
	judge(
		question: string,
		replies: readonly { peer: string; text: string }[],
		signal: AbortSignal,
	): Promise<number | undefined>;
}
