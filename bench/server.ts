/** The server that users have, with another agent behind it than Pi. */

import type { Runner } from "../src/agent/runner.ts";
import { type App, createApp, type ServerStatus } from "../src/app.ts";
import { loadConfig } from "../src/config/load.ts";
import type { Log } from "../src/lib/log.ts";
import type { AgentExtension } from "../src/protocol/types.ts";

export interface ServerOptions {
	/** Where its files go: settings, audit log, conversations. */
	readonly agentDir: string;
	/** The agent; one for each run of the server. */
	readonly runner: () => Runner;
	/** `A2A_*` variables, the only configuration beside `settings.json` in `agentDir`. */
	readonly env?: Readonly<Record<string, string | undefined>>;
	/** Declared on the card beside those that users have. */
	readonly extensions?: readonly AgentExtension[];
	/** Lifts rate limit, concurrency and turn caps. */
	readonly unlimited?: boolean;
}

const UNLIMITED = { rateLimitPerMin: Infinity, maxConcurrent: Infinity, maxPingpongTurns: Infinity };

const log: Log = {
	info: () => undefined,
	warn: (text, cause) => void process.stderr.write(`${text}${cause ? `: ${cause}` : ""}\n`),
};

/** An app that listens. Closing it is the caller's business. Throws when it cannot listen. */
export async function startServer(
	options: ServerOptions,
): Promise<{ readonly app: App; readonly status: ServerStatus }> {
	const { agentDir, runner, env = {}, extensions = [] } = options;
	const loaded = await loadConfig({ agentDir, cwd: agentDir, env, projectTrusted: false, hostname: "localhost" });
	for (const problem of loaded.problems) log.warn(problem.text);
	const config = options.unlimited ? { ...loaded.config, ...UNLIMITED } : loaded.config;
	const app = createApp(
		{ ...loaded, config },
		{
			agentDir,
			cwd: agentDir,
			env,
			projectTrusted: false,
			runner,
			describe: () => ({
				pid: process.pid,
				cwd: agentDir,
				tools: [],
				skills: [
					{ id: "directives", name: "Directives", description: "Follows the first word of a message.", tags: ["test"] },
				],
				extensions,
				piVersion: "none",
			}),
			judge: async () => undefined,
			log,
		},
	);
	try {
		return { app, status: await app.server.start() };
	} catch (error) {
		await app.close();
		throw error;
	}
}
