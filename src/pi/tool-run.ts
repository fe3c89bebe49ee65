/** What each tool does, by name. */
import { call, status, type ToolSetting } from "./tool-call.ts";
import { discover, history, list, orchestrate, peers } from "./tool-lists.ts";
import type { ToolArgs, ToolName, ToolResult } from "./tools.ts";

const RUNS: { readonly [K in ToolName]: (args: ToolArgs<K>, setting: ToolSetting) => Promise<ToolResult> } = {
	a2a_call: call,
	a2a_status: status,
	a2a_discover: discover,
	a2a_list: (_args, setting) => list(setting),
	a2a_history: history,
	a2a_orchestrate: orchestrate,
	a2a_peers: (_args, setting) => peers(setting),
};

/** Runs a tool; a throw is how a tool fails. */
export function runTool<K extends ToolName>(name: K, args: ToolArgs<K>, setting: ToolSetting): Promise<ToolResult> {
	return RUNS[name](args, setting);
}
