/**
 * `npm run sut -- --port P [--token T] [--peer-tokens a:t1,b:t2] [--state DIR] [--no-limits]`
 *
 * The very server and operations that Pi users have, bound to 127.0.0.1, with `scripted-agent.ts` in place of Pi. The first
 * line on stdout is the base URL; SIGTERM or SIGINT stops it. `--state` keeps its files (audit log, registry); without it
 * they are removed at the end. `--no-limits` lifts rate limit, concurrency and turn caps, for suites that send thousands of requests.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createApp } from "../src/app.ts";
import { loadConfig } from "../src/config/load.ts";
import { systemClock } from "../src/lib/clock.ts";
import { scriptedAgent } from "./scripted-agent.ts";

const { values: options } = parseArgs({
	options: {
		port: { type: "string", default: "0" },
		token: { type: "string" },
		"peer-tokens": { type: "string" },
		state: { type: "string" },
		"no-limits": { type: "boolean", default: false },
	},
});
const agentDir = options.state ?? mkdtempSync(join(tmpdir(), "pi-a2a-sut-"));
const loaded = await loadConfig({
	agentDir,
	cwd: agentDir,
	env: {
		A2A_AGENT_NAME: "pi-a2a-sut",
		A2A_PORT: options.port,
		A2A_PORT_FALLBACK: "0",
		A2A_BEARER_TOKEN: options.token,
		A2A_PEER_TOKENS: options["peer-tokens"],
		A2A_DISCOVERY_LOCAL: "false",
	},
	projectTrusted: false,
	hostname: "sut",
});
const unlimited = { rateLimitPerMin: Infinity, maxConcurrent: Infinity, maxPingpongTurns: Infinity };
const config = options["no-limits"] ? { ...loaded.config, ...unlimited } : loaded.config;
const log = {
	info: () => undefined,
	warn: (text: string, cause?: unknown) => process.stderr.write(`${text}${cause ? `: ${cause}` : ""}\n`),
};
for (const problem of loaded.problems) log.warn(problem.text);
const app = createApp(
	{ ...loaded, config },
	{
		agentDir,
		cwd: agentDir,
		env: {},
		projectTrusted: false,
		runner: () => scriptedAgent(systemClock),
		describe: () => ({
			pid: process.pid,
			cwd: agentDir,
			tools: [],
			skills: [
				{ id: "directives", name: "Directives", description: "Follows the first word of a message.", tags: ["test"] },
			],
			piVersion: "none",
		}),
		judge: async () => undefined,
		log,
	},
);
// A process that asked for one port means that port: taking another would make its caller test a stranger.
const status = await app.server.start();
if (!status.running || (options.port !== "0" && String(status.port) !== options.port)) {
	process.stderr.write(`cannot listen on port ${options.port}: ${status.problem ?? `only ${status.port} was free`}\n`);
	await app.close();
	process.exit(1);
}
process.stdout.write(`${status.url}\n`);
// The server does not keep a process alive (it must not keep Pi alive), so this one stays for its signal.
const stay = setInterval(() => undefined, 2 ** 30);
async function stop() {
	clearInterval(stay);
	await app.close();
	if (!options.state) rmSync(agentDir, { recursive: true, force: true });
}
process.once("SIGTERM", stop).once("SIGINT", stop);
