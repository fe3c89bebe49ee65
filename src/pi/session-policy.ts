/** The policy for a caller, at the door of every tool of the session that serves it. */
import { basename, dirname } from "node:path";
import type { RunEvent } from "../agent/runner.ts";
import { describePolicy, type PeerPolicy, READING, toolsOf } from "../guard/peer-policy.ts";
import type { Clock } from "../lib/clock.ts";
import { oneLine } from "../lib/text.ts";
import type { Caller } from "../protocol/agent.ts";
import { leaves, loadsLater, type Places, redirections } from "./protected-paths.ts";
import { isNamed } from "./session-limits.ts";
import { watchLoaded } from "./session-watch.ts";

/** How long the user of the host has to answer; nothing said is no. */
export const ASK_MS = 60_000;
/** So much of a tool's arguments is shown to whoever must decide. */
const SHOWN = 600;
/** Changed files that are named; the rest is counted. */
const MOST_NAMED = 5;
/** Arguments that name a file. */
const PATHS = ["path", "file_path", "filePath", "file", "filename"];

export interface PolicyParts {
	readonly policy: PeerPolicy;
	readonly caller: Caller;
	readonly places: Places;
	/** Tools that serve the talk with the caller: no policy is about them. */
	readonly free: readonly string[];
	/** Asks the user of this host; absent where there is none. */
	readonly confirm: ((question: string, signal: AbortSignal) => Promise<boolean>) | undefined;
	readonly say: (event: RunEvent) => void;
	readonly signal: AbortSignal;
	readonly clock: Clock;
}

type Input = { readonly [name: string]: unknown };

/** What the session must know of a policy. */
export interface PolicyGate {
	/** Tools that the policy names: the session has them also where the host's own model has them not. */
	readonly grants: readonly string[];
	/** Whether the model is offered a tool. */
	offers(tool: string): boolean;
	/** Why a call may not be made; `undefined` when it may. Asks the user of the host where the policy says so. */
	permit(tool: string, input: Input): Promise<string | undefined>;
	/** Which files that load later have changed, in a line; asked when the turn has ended. Never rejects. */
	changed(): Promise<string | undefined>;
	/** The ending of the turn: one that only explains a refusal is no success. */
	ending(event: RunEvent): RunEvent;
}

/** Where a skill's files are: beside its SKILL.md. */
export const readableOf = (skills: readonly string[]): string[] =>
	skills.map((path) => (basename(path) === "SKILL.md" ? dirname(path) : path));

const pathsIn = (input: Input): string[] =>
	PATHS.flatMap((name) => (typeof input[name] === "string" ? [input[name]] : []));

/** Why the policy does not allow a call; `undefined` when it does. */
export function refusalOf({ policy, places, free }: Omit<PolicyParts, "say">, tool: string, input: Input) {
	if (free.includes(tool)) return undefined;
	if (tool.startsWith("a2a_")) return policy.mayCall ? undefined : "calling other agents";
	const tools = toolsOf(policy);
	if (!isNamed({ limits: tools && { tools }, free }, tool)) return "this tool";
	const paths = pathsIn(input);
	if (policy.confined && paths.some((path) => leaves(path, places))) return "paths outside the workspace";
	if (policy.tools === "full" || READING.includes(tool)) return undefined;
	const written = typeof input.command === "string" ? redirections(input.command) : [];
	if (![...paths, ...written].some((path) => loadsLater(path, places))) return undefined;
	return "writing files that load into this host or its programs later";
}

/** One line about a call; a command that does not fit says so, since its end may be what matters. */
function callText(tool: string, input: Input): string {
	const text = `${tool} ${JSON.stringify(input)}`;
	return text.length > SHOWN
		? `${oneLine(text.slice(0, SHOWN), SHOWN)} (${text.length - SHOWN} more characters are not shown)`
		: oneLine(text, SHOWN);
}

const aborted = (signal: AbortSignal) =>
	new Promise<undefined>((resolve) => {
		if (signal.aborted) resolve(undefined);
		else signal.addEventListener("abort", () => resolve(undefined), { once: true });
	});

/** The gate of one turn. */
export function policyGate(parts: PolicyParts): PolicyGate {
	const { policy, caller, confirm, say, signal, clock } = parts;
	/** The last call that was refused, while none was let through after it. */
	let last: { readonly call: string; readonly reason: string } | undefined;
	const watch = watchLoaded(parts.places);
	const watched = (tool: string) => policy.tools !== "full" && !READING.includes(tool) && !parts.free.includes(tool);

	/** Why the user of the host does not allow it. */
	async function ask(call: string, what: string): Promise<string | undefined> {
		if (!policy.ask) return "";
		if (!confirm) return "nobody is at this host to allow it";
		const over = new AbortController();
		const cancel = clock.after(ASK_MS, () => over.abort());
		const both = AbortSignal.any([signal, over.signal]);
		const who = caller.label === caller.id ? caller.id : `${caller.label} (${caller.id})`;
		const detail = `for the user of this host to allow ${oneLine(call, 160)}`;
		say({ type: "activity", activity: { type: "note", name: "waiting", detail } });
		const question = `${who} wants more than its policy (${describePolicy(policy)}) allows: ${what}.\n${call}\nAllow it once?`;
		try {
			const allowed = await Promise.race([confirm(question, both), aborted(both)]);
			if (allowed === true && !both.aborted) return undefined;
			return over.signal.aborted ? `nobody allowed it within ${ASK_MS / 1000} s` : "the user of this host denied it";
		} finally {
			cancel();
		}
	}

	return {
		grants: toolsOf(policy) ?? [],
		// What can be asked for must be known to the model.
		offers: (tool) => policy.ask || refusalOf(parts, tool, {}) === undefined,
		async permit(tool, input) {
			const what = refusalOf(parts, tool, input);
			const call = callText(tool, input);
			const why = what === undefined ? undefined : await ask(call, what);
			if (what === undefined || why === undefined) {
				const detail = `allowed by the user of this host: ${oneLine(call, 160)}`;
				if (what !== undefined) say({ type: "activity", activity: { type: "allowed", name: tool, detail } });
				last = undefined;
				if (watched(tool)) await watch.begin();
				return undefined;
			}
			const reason = `The policy of this agent for ${caller.id} does not allow ${what}${why && `, and ${why}`}.`;
			last = { call: oneLine(call, 160), reason };
			const detail = `${reason} It was: ${last.call}`;
			say({ type: "activity", activity: { type: "refused", name: tool, detail } });
			return `${reason} Do what you can without it, or say that it is needed; do not try another way around.`;
		},
		async changed() {
			const changed = await watch.changes();
			if (changed.length === 0) return undefined;
			const more = changed.length > MOST_NAMED ? ` and ${changed.length - MOST_NAMED} more` : "";
			const named = changed.slice(0, MOST_NAMED).join(", ");
			return `what loads into this host or its programs changed while the task ran: ${named}${more}`;
		},
		ending(event) {
			if (event.type !== "completed" || !last) return event;
			if (policy.ask && confirm)
				return {
					type: "auth-required",
					question: `${last.reason} To have it tried again, send a message: ${last.call}`,
				};
			return { type: "failed", reason: `${last.reason} It was: ${last.call}` };
		},
	};
}
