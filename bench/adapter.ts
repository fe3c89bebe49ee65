/**
 * Our server and client for a side-by-side benchmark of A2A implementations: `start` serves with the benchmark's own
 * agent, `make` gives a client. Run it under tsx (`OURS_NODE="--import tsx"`, `OURS_ENTRY` and `OURS_CLIENT` naming this file).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunEvent, Runner } from "../src/agent/runner.ts";
import { connectHttp } from "../src/bindings/http/client.ts";
import { createHttpPool } from "../src/bindings/http/pool.ts";
import { Channel } from "../src/lib/channel.ts";
import { systemClock } from "../src/lib/clock.ts";
import { newMessageId } from "../src/lib/ids.ts";
import { replyText, textOf } from "../src/protocol/parts.ts";
import { startServer } from "./server.ts";

/** The benchmark's agent: the text of a message says what it does. */
interface Executor {
	parse(text: string): object | null;
	echo(text: string): string;
	emit(command: object, taskId: string, onChunk: (text: string) => void): Promise<void>;
}

function runnerOf({ parse, echo, emit }: Executor): Runner {
	return {
		async *run(turn): AsyncIterable<RunEvent> {
			const text = textOf(turn.message.parts);
			const command = parse(text);
			if (!command) {
				yield { type: "text", delta: echo(text) };
				return;
			}
			const chunks = new Channel<string>();
			const done = emit(command, turn.taskId, (chunk) => chunks.push(chunk)).finally(() => chunks.end());
			for await (const delta of chunks) yield { type: "text", delta };
			await done;
		},
		close: async () => undefined,
	};
}

/** Serves until `close`. Its files go into a folder of its own. */
export async function start({ executor }: { readonly executor: Executor }) {
	const agentDir = mkdtempSync(join(tmpdir(), "pi-a2a-bench-"));
	const { app, status } = await startServer({
		agentDir,
		runner: () => runnerOf(executor),
		unlimited: true,
		env: { A2A_AGENT_NAME: "bench", A2A_PORT: "0", A2A_DISCOVERY_LOCAL: "false" },
	});
	return {
		url: status.url,
		async close() {
			await app.close();
			rmSync(agentDir, { recursive: true, force: true });
		},
	};
}

/** One client over a kept connection. `call` gives the reply text, `stream` the number of items. */
export async function make({ url }: { readonly url: string }) {
	const pool = createHttpPool();
	const { signal } = new AbortController();
	const { agent, call } = await connectHttp(
		{
			url: new URL(url),
			sendTimeoutMs: 30_000,
			streamTimeoutMs: 30_000,
			retryAttempts: 0,
			verifySsl: true,
			check: async () => undefined,
			pool,
			clock: systemClock,
		},
		signal,
	);
	const params = (text: string) => ({
		message: { messageId: newMessageId(), role: "ROLE_USER" as const, parts: [{ text }] },
	});
	return {
		async call(text: string) {
			const reply = await agent.request("SendMessage", params(text), call(signal));
			return "task" in reply ? replyText(reply.task.artifacts ?? []) : textOf(reply.message.parts);
		},
		async stream(text: string) {
			let items = 0;
			for await (const _item of agent.stream("SendStreamingMessage", params(text), call(signal))) items += 1;
			return items;
		},
		close: () => pool.close(),
	};
}
