/**
 * `npm run sut -- --port P [--token T] [--peer-tokens a:t1,b:t2] [--extension URI[!]]… [--card-key FILE] [--no-push]
 * [--state DIR] [--no-limits]`
 *
 * The very server and operations that Pi users have, bound to 127.0.0.1, with `scripted-agent.ts` in place of Pi. The first
 * line on stdout is the base URL; SIGTERM or SIGINT stops it. `--state` keeps its files (audit log, conversations); without
 * it they are removed at the end. `--extension` declares one on the card, with a `!` as required; `--card-key` signs the
 * card; `--no-push` takes push notifications off it. `--no-limits` lifts rate limit, concurrency and turn caps, for
 * suites that send thousands of requests.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../src/lib/clock.ts";
import { scriptedAgent } from "./scripted-agent.ts";
import { startServer } from "./server.ts";

const { values: options } = parseArgs({
	options: {
		port: { type: "string", default: "0" },
		token: { type: "string" },
		"peer-tokens": { type: "string" },
		extension: { type: "string", multiple: true, default: [] },
		"card-key": { type: "string" },
		"no-push": { type: "boolean", default: false },
		state: { type: "string" },
		"no-limits": { type: "boolean", default: false },
	},
});
const agentDir = options.state ?? mkdtempSync(join(tmpdir(), "pi-a2a-sut-"));
const clean = () => options.state ?? rmSync(agentDir, { recursive: true, force: true });

function fail(why: string): never {
	process.stderr.write(`cannot serve on port ${options.port}: ${why}\n`);
	clean();
	process.exit(1);
}

const { app, status } = await startServer({
	agentDir,
	runner: () => scriptedAgent(systemClock),
	unlimited: options["no-limits"],
	extensions: options.extension.map((text) => {
		const uri = text.replace(/!$/, "");
		return { uri, ...(uri === text ? {} : { required: true }) };
	}),
	env: {
		A2A_AGENT_NAME: "pi-a2a-sut",
		A2A_PORT: options.port,
		A2A_PORT_FALLBACK: "0",
		A2A_BEARER_TOKEN: options.token,
		A2A_PEER_TOKENS: options["peer-tokens"],
		A2A_CARD_KEY: options["card-key"],
		A2A_PUSH_NOTIFICATIONS: String(!options["no-push"]),
		A2A_DISCOVERY_LOCAL: "false",
	},
}).catch((error: Error) => fail(error.message));

// Whoever asks for one port means that port: under another it would test a stranger.
if (options.port !== "0" && String(status.port) !== options.port) {
	await app.close();
	fail("it is taken");
}
process.stdout.write(`${status.url}\n`);

// The server keeps no process alive (it must not keep Pi alive), so this one stays for its signal.
const stay = setInterval(() => undefined, 2 ** 30);
async function stop(): Promise<void> {
	clearInterval(stay);
	await app.close();
	clean();
}
process.once("SIGTERM", stop).once("SIGINT", stop);
