/** What a caller's tasks may do on this machine: decided from who the caller is and what the operator wrote. Pure. */

/**
 * Which tools a session that serves a peer has. `full`: those of the host. `no-config-writes`: the same, but nothing is
 * written that would load into the host later. `read-only`: what only reads. A list: those that it names.
 */
export type ToolRule = "full" | "no-config-writes" | "read-only" | readonly string[];

/** What the operator wrote for one identity, or as `default`. */
export interface WrittenPolicy {
	readonly tools?: ToolRule;
	/** Folder in which the tasks work, instead of `server.workspace`. */
	readonly workspace?: string;
	/** The file tools may not leave the workspace. */
	readonly confined?: boolean;
	/** Answers of the model for one task, those included that only call tools. */
	readonly maxTurns?: number;
	/** Seconds of work on one task. */
	readonly maxSeconds?: number;
	/** Tokens of one task, in and out, cached ones included. */
	readonly maxTokens?: number;
	/** The tasks may call other agents. */
	readonly mayCall?: boolean;
	/** What the policy does not allow is put to whoever sits in front of this host. */
	readonly ask?: boolean;
}

/** What holds for one caller. */
export interface PeerPolicy extends WrittenPolicy {
	readonly tools: ToolRule;
	readonly confined: boolean;
	readonly mayCall: boolean;
	readonly ask: boolean;
}

export type Policies = Readonly<Record<string, WrittenPolicy>>;

/** The entry for callers without one of their own, and for what an entry leaves out. */
export const DEFAULT = "default";
/** Tools that change nothing. */
export const READING: readonly string[] = ["read", "grep", "find", "ls"];

/**
 * The policy of the caller with this id (`peer:alice`, `ip:127.0.0.1`, `gateway:work`, `mailbox:dev`). Written down is
 * the id, or of a peer its name alone; what its entry leaves out comes from `default`.
 */
export function policyFor(caller: string, policies: Policies): PeerPolicy {
	const entry = (key: string) => (Object.hasOwn(policies, key) ? policies[key] : undefined);
	const own = entry(caller) ?? (caller.startsWith("peer:") ? entry(caller.slice("peer:".length)) : undefined);
	const written: WrittenPolicy = { ...entry(DEFAULT), ...own };
	const { tools = "no-config-writes" } = written;
	return {
		...written,
		tools,
		confined: written.confined ?? tools === "read-only",
		mayCall: written.mayCall ?? (tools === "full" || tools === "no-config-writes"),
		ask: written.ask ?? false,
	};
}

/** The names of the tools that a policy grants; `undefined`: those of the host. */
export function toolsOf({ tools }: Pick<PeerPolicy, "tools">): readonly string[] | undefined {
	if (tools === "read-only") return READING;
	return typeof tools === "string" ? undefined : tools;
}

/** The policy for a caller in a line; `undefined` where the operator wrote nothing that is about it. */
export function policyText(caller: string, policies: Policies): string | undefined {
	const usual = describePolicy(policyFor(caller, {}));
	const text = describePolicy(policyFor(caller, policies));
	return text === usual ? undefined : text;
}

/** A policy in a line for people. */
export function describePolicy({ tools, ...policy }: PeerPolicy): string {
	const words = [
		typeof tools === "string" ? tools : `tools: ${tools.join(", ") || "none"}`,
		policy.workspace === undefined ? "" : `in ${policy.workspace}`,
		policy.confined ? "confined" : "",
		policy.maxTurns === undefined ? "" : `${policy.maxTurns} turns`,
		policy.maxSeconds === undefined ? "" : `${policy.maxSeconds} s`,
		policy.maxTokens === undefined ? "" : `${policy.maxTokens} tokens`,
		policy.mayCall ? "" : "no calls",
		policy.ask ? "asks" : "",
	];
	return words.filter((word) => word !== "").join(", ");
}
