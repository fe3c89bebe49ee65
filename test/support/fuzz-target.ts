/**
 * `npx tsx test/support/fuzz-target.ts [--token T]`: our server with the scripted agent, for a sender of malformed requests.
 *
 * Prints `PORT n` when it listens, `RUN` for every turn that the agent begins, and `POLLUTED` once when a request has
 * changed `Object.prototype`. SIGTERM ends it.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { scriptedAgent } from "../../bench/scripted-agent.ts";
import { startServer } from "../../bench/server.ts";
import { systemClock } from "../../src/lib/clock.ts";

const { values } = parseArgs({ options: { token: { type: "string" } } });
const agentDir = mkdtempSync(join(tmpdir(), "pi-a2a-fuzz-"));
const say = (line: string) => void process.stdout.write(`${line}\n`);

const { app, status } = await startServer({
	agentDir,
	runner() {
		const agent = scriptedAgent(systemClock);
		return {
			run(turn) {
				say("RUN");
				return agent.run(turn);
			},
			close: () => agent.close(),
		};
	},
	unlimited: true,
	env: { A2A_PORT: "0", A2A_BEARER_TOKEN: values.token, A2A_DISCOVERY_LOCAL: "false" },
});

const members = () => Object.getOwnPropertyNames(Object.prototype).join();
const clean = members();
const watch = setInterval(() => {
	if (members() === clean) return;
	say("POLLUTED");
	clearInterval(watch);
}, 20);
// The server keeps no process alive.
const stay = setInterval(() => undefined, 2 ** 30);
process.once("SIGTERM", async () => {
	clearInterval(watch);
	clearInterval(stay);
	await app.close();
	rmSync(agentDir, { recursive: true, force: true });
});
say(`PORT ${status.port}`);
