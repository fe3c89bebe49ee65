/** The limits that a caller sets to the work of a session: which tools, and in how many turns. */
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import type { WorkLimits } from "../protocol/agent.ts";
import { toolsNamed } from "../tool-names.ts";

export interface LimitOptions {
	readonly limits: Pick<WorkLimits, "tools" | "maxTurns"> | undefined;
	/** Tools that serve the talk with the caller: no contract needs to name them, and they cost no turn. */
	readonly free: readonly string[];
}

/** Whether a contract lets a tool be used. */
export function isNamed({ limits, free }: LimitOptions, tool: string): boolean {
	if (limits?.tools === undefined || free.includes(tool)) return true;
	return toolsNamed(limits.tools).includes(tool.toLowerCase());
}

/** Counts the turns in which `pi` uses tools; the function says why a tool may not run, if it may not. */
export function limiter(pi: ExtensionAPI, options: LimitOptions): (tool: string) => string | undefined {
	const { limits, free } = options;
	const most = limits?.maxTurns ?? Number.POSITIVE_INFINITY;
	let used = 0;
	let counted = false;
	pi.on("turn_start", () => {
		counted = false;
	});
	return (tool) => {
		if (!isNamed(options, tool)) return "The contract of this task does not name this tool.";
		if (free.includes(tool)) return undefined;
		if (!counted && used >= most)
			return `The ${most} turns with tools that this task may take are used up; answer now.`;
		if (!counted) used += 1;
		counted = true;
		return undefined;
	};
}
