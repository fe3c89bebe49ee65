/** Agents that pass work on, over real connections. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "../../bench/server.ts";
import type { Runner } from "../../src/agent/runner.ts";
import type { App } from "../../src/app.ts";
import { textOf } from "../../src/protocol/parts.ts";

describe("work that agents pass on", () => {
	const apps = new Map<string, App>();
	const folders: string[] = [];

	/** `to b c …`: the agent asks b to do the rest; nothing left: it is done. */
	function passing(name: string): Runner {
		return {
			async *run({ message, trace, signal }) {
				const [next, ...rest] = textOf(message.parts).split(" ");
				const app = apps.get(name);
				if (!next || next === "end" || !app) {
					yield { type: "text", delta: `${name} did it` };
					return;
				}
				const peer = app.loaded.config.peers[next] ? next : assert.fail(next);
				try {
					const reply = await app.outbound.call(peer, rest.join(" ") || "end", { signal, trace, hops: 1 });
					yield { type: "text", delta: reply.text };
				} catch (error) {
					yield { type: "failed", reason: error instanceof Error ? error.message : String(error) };
				}
			},
			close: async () => undefined,
		} as Runner;
	}

	before(async () => {
		const urls: Record<string, { url: string }> = {};
		for (const name of ["c", "b", "a"]) {
			const agentDir = await mkdtemp(join(tmpdir(), "pi-a2a-loop-"));
			folders.push(agentDir);
			await writeFile(join(agentDir, "settings.json"), "{}");
			const env = { A2A_AGENT_NAME: name, A2A_PORT: "0", A2A_DISCOVERY_LOCAL: "false" };
			const { app, status } = await startServer({ agentDir, runner: () => passing(name), unlimited: false, env });
			apps.set(name, app);
			urls[name] = { url: status.url ?? "" };
		}
		for (const app of apps.values()) await app.apply(new Map([["peers", urls]]));
	});
	after(async () => {
		for (const app of apps.values()) await app.close();
		for (const folder of folders) await rm(folder, { recursive: true, force: true });
	});

	const ask = (who: string, to: string, what: string) =>
		(apps.get(who) ?? assert.fail(who)).outbound.call(to, what, { signal: new AbortController().signal });

	it("goes from one to the next", async () => {
		assert.equal((await ask("a", "b", "c end")).text, "c did it");
	});

	it("is refused where it has been before, and everybody on the way learns of the circle", async () => {
		await assert.rejects(ask("a", "b", "c b end"), /would go in a circle: b → c → b\. Do it yourself/);
		await assert.rejects(ask("a", "b", "a end"), /would go in a circle: a → b → a/);
	});
});
