/** A call through a network that fails at every byte of it: the right result or an honest statement, and work done once. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptedAgent } from "../../bench/scripted-agent.ts";
import { startServer } from "../../bench/server.ts";
import type { App } from "../../src/app.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { PeerError, type PeerReply } from "../../src/peers/reply.ts";
import { retriesSafely } from "../../src/protocol/card.ts";
import type { AgentCard } from "../../src/protocol/types.ts";
import { type CuttingProxy, cuttingProxy, type Harm } from "../support/cutting-proxy.ts";
import { startUs, type Us } from "../support/sdk-us.ts";

/** Every byte with NETWORK_TEST_STRIDE=1; by default one in so many, from a different one in each way of failing. */
const STRIDE = Number(process.env.NETWORK_TEST_STRIDE ?? 41);
const ACTS = ["cut", "end", "stall", "twice"] as const;

/** Ways to call the same server, by what its card says: whether it streams, and whether it may be asked again. */
const KINDS = [
	{ name: "peer", streaming: true, safe: true, how: "" },
	{ name: "whole", streaming: false, safe: true, how: ", in one reply" },
	{ name: "stranger", streaming: true, safe: false, how: ", from a peer that promises nothing" },
	{ name: "strangerWhole", streaming: false, safe: false, how: ", in one reply of a peer that promises nothing" },
] as const;
type Kind = (typeof KINDS)[number];

describe("a call through a network that fails", () => {
	let folder: string;
	let proxy: CuttingProxy;
	let served: App;
	let us: Us;
	let count = 0;

	before(async () => {
		folder = await mkdtemp(join(tmpdir(), "pi-a2a-network-"));
		await writeFile(join(folder, "settings.json"), "{}");
		proxy = await cuttingProxy();
		const { app, status } = await startServer({
			agentDir: folder,
			runner: () => scriptedAgent(systemClock),
			unlimited: true,
			env: { A2A_PORT: "0", A2A_PUBLIC_URL: `http://127.0.0.1:${proxy.port}/`, A2A_DISCOVERY_LOCAL: "false" },
		});
		served = app;
		proxy.target = status.port ?? 0;
		const url = `http://127.0.0.1:${proxy.port}/`;
		const card = (await (await fetch(`${url}.well-known/agent-card.json`)).json()) as AgentCard;
		const peerOf = ({ streaming, safe }: Kind) => {
			const { extensions = [], ...capabilities } = { ...card.capabilities, streaming };
			assert.ok(retriesSafely(card));
			return { url, card: { ...card, capabilities: safe ? { ...capabilities, extensions } : capabilities } };
		};
		const others = KINDS.slice(1).map((kind) => [kind.name, peerOf(kind)] as const);
		us = await startUs({ peers: { peer: { url }, ...Object.fromEntries(others) } });
	});
	after(async () => {
		await us.close();
		await served.close();
		await proxy.close();
		await rm(folder, { recursive: true, force: true });
	});

	/** What came of one call, and how often its work was done. */
	async function tried({ name }: Kind, harm: Harm | undefined, detached: boolean) {
		count += 1;
		const words = `echo ${detached ? "later" : "now"} ${count}`;
		proxy.plan(harm);
		const signal = new AbortController().signal;
		const reply = await us.outbound.call(name, words, { signal, detached, timeoutMs: 10_000 }).then(
			(value): PeerReply | PeerError => value,
			(error: unknown) => {
				assert.ok(error instanceof PeerError, String(error));
				return error;
			},
		);
		const done = served.tasks.all().filter((log) => JSON.stringify(log.task.history).includes(`"${words}"`));
		return { reply, times: done.length, wanted: words.slice(5), passed: { ...proxy.passed } };
	}

	/** Never more than is known: the answer itself, or words that leave open what is open. */
	function isHonest({ reply, times, wanted }: Awaited<ReturnType<typeof tried>>, where: string): void {
		assert.ok(times <= 1, `${where}: the work was done ${times} times`);
		if (reply instanceof PeerError) {
			assert.notEqual(reply.state, "TASK_STATE_COMPLETED", where);
			assert.notEqual(reply.message, "", where);
			return;
		}
		if (reply.running) return;
		assert.deepEqual([times, reply.text], [1, wanted], where);
	}

	/** Harm to a call at every byte, or one in so many. */
	function harmed(kind: Kind, detached: boolean, way: "up" | "down", act: Harm["act"], shift: number): void {
		const how = `${detached ? ", detached" : ""}${kind.how}`;
		it(`ends well or honestly: ${act} on the way ${way}${how}`, async function () {
			this.timeout(1_200_000);
			const { passed } = await tried(kind, undefined, detached);
			const unanswered: string[] = [];
			let tries = 0;
			for (let at = 1 + shift * 7; at <= passed[way]; at += kind.how === "" || STRIDE === 1 ? STRIDE : STRIDE * 3) {
				const outcome = await tried(kind, { way, at, act }, detached);
				const where = `${act} ${way} at byte ${at} of ${passed[way]}`;
				isHonest(outcome, where);
				tries += 1;
				const { reply } = outcome;
				if (reply instanceof PeerError) unanswered.push(`${where}: ${reply.message}`);
				else if (reply.running) unanswered.push(`${where}: ${reply.notes.join(" ")}`);
				// A delay or a copy of the request is no reason not to answer.
				if (act === "stall" || act === "twice") assert.equal(outcome.reply instanceof PeerError, false, where);
			}
			assert.ok(tries > 0);
			// One failure of the network must not cost the answer, where the peer can be asked again.
			if (kind.safe)
				assert.deepEqual(unanswered.slice(0, 5), [], `${unanswered.length} of ${tries} calls had no answer`);
		});
	}

	for (const kind of KINDS)
		for (const detached of kind.streaming ? [false, true] : [false])
			for (const way of ["up", "down"] as const)
				for (const [shift, act] of ACTS.entries()) {
					if (act === "twice" && way === "down") continue;
					harmed(kind, detached, way, act, shift);
				}
});
