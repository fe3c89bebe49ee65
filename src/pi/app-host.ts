/** The live session of Pi as the host of an app. */
import { resolve } from "node:path";
import {
	type ExtensionAPI,
	type ExtensionContext,
	getAgentDir,
	type ToolDefinition,
} from "@mariozechner/pi-coding-agent";
import type { Runner, Turn } from "../agent/runner.ts";
import type { App } from "../app.ts";
import type { Config } from "../config/keys.ts";
import type { Loaded } from "../config/load.ts";
import { type PeerPolicy, policyFor } from "../guard/peer-policy.ts";
import type { Host } from "../host.ts";
import { fromHome } from "../lib/home.ts";
import type { Log } from "../lib/log.ts";
import { describeSession } from "./describe.ts";
import { hostOf } from "./host.ts";
import { judgeOf } from "./judge.ts";
import { taskFolder } from "./session-inbox.ts";
import { piRunner, sweepFiles, sweepTranscripts } from "./sessions.ts";
import { confirmOn, type Screen } from "./ui.ts";

export interface AppHostParts {
	readonly pi: ExtensionAPI;
	/** The session's context. Throws once the session is over. */
	readonly ctx: () => ExtensionContext;
	readonly log: Log;
	readonly screen: Screen;
	/** Tools of ours for a task that has passed through so many agents. */
	readonly childTools: (hops: number, trace?: string, folder?: string) => readonly ToolDefinition[];
}

/** An app, and what Pi alone can do for it. */
export interface HostedApp {
	readonly app: App;
	/** Deletes transcripts and files of tasks that are older than the configuration allows. */
	sweep(): Promise<void>;
}

/** How many agents a task has passed through, counting this one. A caller may write anything there. */
export function hopsOf({ message }: Pick<Turn, "message">): number {
	const said = message.metadata?.["pi/hops"];
	return typeof said === "number" && Number.isFinite(said) && said > 0 ? Math.floor(said) + 1 : 1;
}

/** The policy of each caller. A relative workspace starts at the one for all. */
export const policiesOf =
	({ peerPolicies, workspace: all }: Pick<Config, "peerPolicies" | "workspace">) =>
	(caller: string): PeerPolicy => {
		const { workspace, ...policy } = policyFor(caller, peerPolicies);
		return workspace === undefined ? policy : { ...policy, workspace: resolve(all, fromHome(workspace)) };
	};

/** Makes the app of the session behind `pi`. */
export function appHost(
	createApp: (loaded: Loaded, host: Host) => App,
	loaded: Loaded,
	{ pi, ctx, log, screen, childTools }: AppHostParts,
): HostedApp {
	const agentDir = getAgentDir();
	const host = hostOf(pi, ctx());
	const tools = (turn: Turn) => childTools(hopsOf(turn), turn.trace, taskFolder(agentDir, turn.taskId));
	const asking = host.mode === "tui" || host.mode === "rpc" ? { confirm: confirmOn(screen, ctx) } : {};
	const runner = (config: Config): Runner =>
		piRunner({
			host,
			agentDir,
			workspace: config.workspace,
			transcripts: config.childTranscripts,
			files: {
				maxBytes: config.fileMaxBytes,
				maxTotalBytes: config.fileMaxTotalBytes,
				maxCount: config.fileMaxCount,
			},
			log,
			childTools: tools,
			policyOf: policiesOf(config),
			...asking,
		});
	const app: App = createApp(loaded, {
		agentDir,
		cwd: host.cwd,
		env: process.env,
		projectTrusted: host.trusted,
		runner,
		describe: () => describeSession(pi, ctx()),
		log,
		...asking,
		judge: judgeOf(host, agentDir),
	});

	return {
		app,
		async sweep() {
			const days = app.loaded.config.childTranscriptRetentionDays;
			await sweepTranscripts(agentDir, days, log);
			await sweepFiles(agentDir, days, log);
		},
	};
}
