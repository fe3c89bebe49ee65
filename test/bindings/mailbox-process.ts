/**
 * A process of the mailbox under test. `work <root> <id> <journal>`: a worker that stands for orchestrator too, and writes
 * down when it begins and ends a request. `send <root> <id> <count> <parallel> <ttl> <worker>…`: sends requests, prints a
 * line for each outcome.
 */
import { appendFileSync } from "node:fs";
import { connectMailbox } from "../../src/bindings/mailbox/client.ts";
import type { MailServer } from "../../src/bindings/mailbox/server.ts";
import type { Agent } from "../../src/protocol/agent.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import type { Params } from "../../src/protocol/operations.ts";
import { mailboxStage, TIMES } from "./mailbox-support.ts";

const [mode = "", path = "", id = "", ...rest] = process.argv.slice(2);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const stage = mailboxStage({ path });

/** Works some milliseconds on each message, and says which one it was. */
function worker(journal: string, times: { readonly ms: number }): Agent {
	const note = (what: string, message: string) =>
		appendFileSync(journal, `${JSON.stringify({ what, message, pid: process.pid, at: Date.now() })}\n`);
	return {
		async request(_operation, params) {
			const { message } = params as Params["SendMessage"];
			note("begin", message.messageId);
			await pause(times.ms * (0.5 + Math.random()));
			note("end", message.messageId);
			const parts = [{ text: message.messageId }];
			return { message: { messageId: `re-${message.messageId}`, role: "ROLE_AGENT", parts } } as never;
		},
		stream() {
			throw new A2AError("UnsupportedOperationError");
		},
	};
}

async function work(): Promise<MailServer> {
	const [journal = "", ms = "5"] = rest;
	stage.orchestrate();
	return stage.serve(worker(journal, { ms: Number(ms) }), { id });
}

async function send(): Promise<void> {
	const [count = "0", parallel = "1", ttl = "30", ...workers] = rest;
	const post = await stage.post(id);
	const inbox = stage.root.box(id, "inbox");
	/** Last answers that lay in the inbox, by request. */
	const lasts = new Map<string, Set<string>>();
	const look = async () => {
		for (const { type, payload, id: own } of (await inbox.read()).mails) {
			if (type !== "response" || payload.last === false || payload.in_reply_to === undefined) continue;
			const request = String(payload.in_reply_to);
			lasts.set(request, (lasts.get(request) ?? new Set()).add(own));
		}
	};
	let next = 0;
	async function lane(): Promise<void> {
		for (let n = next++; n < Number(count); n = next++) {
			const to = workers[Math.floor(Math.random() * workers.length)] ?? "";
			const message = `${id}-${n}`;
			const began = performance.now();
			const target = { ...stage.target(post, to), ttlSeconds: Number(ttl) };
			const contract = n % 2 === 0 ? { capabilities: ["echo"] } : {};
			let outcome: object;
			try {
				const { agent, call } = await connectMailbox({ ...target, contract });
				const parts = [{ text: "work" }];
				const params = { message: { messageId: message, role: "ROLE_USER", parts } } as const;
				const result = await agent.request("SendMessage", params, call(new AbortController().signal));
				outcome = { text: "message" in result && "text" in (result.message.parts[0] ?? {}) && result.message.parts[0] };
			} catch (error) {
				outcome = { error: error instanceof Error ? `${error.name}: ${error.message}` : String(error) };
			}
			await look();
			process.stdout.write(`${JSON.stringify({ message, to, ms: performance.now() - began, ...outcome })}\n`);
		}
	}
	await Promise.all(Array.from({ length: Number(parallel) }, lane));
	await pause(300);
	await look();
	const twice = [...lasts].filter(([, ids]) => ids.size > 1).map(([request]) => request);
	process.stdout.write(`${JSON.stringify({ twice, deadMs: TIMES.deadMs })}\n`);
	await stage.close();
}

if (mode === "work") {
	const server = await work();
	process.stdout.write(`${JSON.stringify({ ready: server.id })}\n`);
	// A timer of the clock keeps no process alive.
	setInterval(() => undefined, 60_000);
	process.once("SIGTERM", () => void stage.close().then(() => process.exit(0)));
} else {
	const alive = setInterval(() => undefined, 60_000);
	await send();
	clearInterval(alive);
}
