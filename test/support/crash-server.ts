/**
 * `crash-server.ts STATE PORT`: the server that users have over an agent that writes down each turn before it does it, so
 * that whoever kills this process can count. The first line on stdout says that it listens. It ends by a signal only.
 */
import { closeSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { startServer } from "../../bench/server.ts";
import type { Runner } from "../../src/agent/runner.ts";
import { textOf } from "../../src/protocol/parts.ts";
import { pieces, TALLY } from "./crash-work.ts";

const [state = "", port = ""] = process.argv.slice(2);
const tally = openSync(join(state, TALLY), "a");

const runner: Runner = {
	async *run({ message, signal }) {
		writeSync(tally, `${message.messageId}\n`);
		fsyncSync(tally);
		for (const delta of pieces(textOf(message.parts))) {
			if (signal.aborted) return;
			yield { type: "text", delta };
			await pause(2);
		}
	},
	async close() {
		closeSync(tally);
	},
};

const { status } = await startServer({
	agentDir: state,
	runner: () => runner,
	env: {
		A2A_PORT: port,
		A2A_PORT_FALLBACK: "0",
		A2A_PEER_TOKENS: process.env.CRASH_TOKENS,
		A2A_DISCOVERY_LOCAL: "false",
	},
});
process.stdout.write(`${status.url}\n`);
setInterval(() => undefined, 2 ** 30);
