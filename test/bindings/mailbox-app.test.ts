import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "../../bench/server.ts";
import type { RunEvent, Turn } from "../../src/agent/runner.ts";
import { type App, createApp } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { mailboxText } from "../../src/pi/command-server.ts";
import { aborted, echo, type Script, said, scriptedRunner } from "../support/scripted-runner.ts";
import { until } from "./gateway-support.ts";
import { remembering, rpc } from "./http-support.ts";

const signal = new AbortController().signal;

describe("sessions that share a mailbox", () => {
	let root = "";
	const apps: App[] = [];

	beforeEach(async () => {
		root = await mkdtemp(join(tmpdir(), "mailbox-app-"));
	});
	afterEach(async () => {
		for (const app of apps.splice(0)) await app.close();
		await rm(root, { recursive: true, force: true });
	});

	async function session(name: string, script: Script = echo, more: { mailbox?: object; server?: object } = {}) {
		const agentDir = join(root, name);
		await mkdir(agentDir);
		const mailbox = { enabled: true, root: join(root, "box"), ...more.mailbox };
		const settings = {
			discovery: { local: { enabled: false } },
			mailbox,
			server: { maxPingpongTurns: 20, ...more.server },
		};
		await writeFile(join(agentDir, "settings.json"), JSON.stringify({ a2a: settings }));
		const env = { A2A_PORT: "0", A2A_AGENT_NAME: name };
		const runner = scriptedRunner(script);
		const started = await startServer({ agentDir, runner: () => runner, env });
		apps.push(started.app);
		return { ...started, runner, agentDir };
	}

	const audited = async (app: App) => (await app.audit.tail(50)) as readonly { direction?: string; peer?: string }[];

	it("list each other, call each other, and go on with a conversation", async () => {
		const one = await session("one");
		const two = await session("two");
		const peers = await one.app.outbound.peers();
		assert.deepEqual(
			peers.map(({ name, source }) => [name, source]),
			[["two", "mailbox"]],
		);
		const reply = await one.app.outbound.call("two", "hello you", { signal });
		assert.equal(reply.text, "hello you");
		const again = await one.app.outbound.call("two", "and again", { signal, contextId: reply.contextId });
		assert.equal(again.contextId, reply.contextId);
		assert.deepEqual(
			two.runner.turns.map(({ contextId }) => contextId === reply.contextId),
			[true, true],
		);
		assert.equal(two.runner.turns[0]?.caller.id, "mailbox:one");
		const entries = (await audited(two.app)).filter(({ direction }) => direction === "in");
		assert.match(String(entries[0]?.peer), /mailbox:one/);
		const routers = [one.app, two.app].filter((app) => app.mailbox.status()?.orchestrator);
		assert.equal(routers.length, 1);
		const status = two.app.mailbox.status();
		assert.match(status ? mailboxText(status) : "", /this session is two/);
		assert.match(await one.app.mailbox.list(), /two\/inbox {2}request/);
	});

	it("ask back over it, and are answered", async () => {
		const ask: Script = async function* (turn: Turn) {
			yield turn.resumed
				? { type: "text", delta: `so ${said(turn)}` }
				: ({ type: "input-required", question: "Which one?" } as RunEvent);
		};
		const one = await session("one");
		await session("two", ask);
		const question = await one.app.outbound.call("two", "delete it", { signal });
		assert.equal(question.question, "Which one?");
		const options = { signal, contextId: question.contextId, taskId: question.taskId };
		assert.equal((await one.app.outbound.call("two", "the red one", options)).text, "so the red one");
	});

	it("hand over long work, and ask how it stands", async () => {
		const one = await session("one");
		let finish: () => void = () => undefined;
		const long: Script = async function* () {
			await new Promise<void>((resolve) => {
				finish = resolve;
			});
			yield { type: "text", delta: "finished" };
		};
		await session("two", long);
		const sent = await one.app.outbound.call("two", "dig", { signal, detached: true });
		assert.equal(sent.running, true);
		finish();
		const status = await one.app.outbound.status("two", sent.taskId ?? "", { signal, waitMs: 5_000 });
		assert.equal(status.text, "finished");
	});

	it("bind the work to the contract of the request: tools, turns, time", async () => {
		const one = await session("one", echo, { mailbox: { maxToolTurns: 7, maxDurationSec: 1 } });
		const two = await session("two", async function* (turn) {
			await aborted(turn.signal);
			yield { type: "text", delta: "never" };
		});
		await assert.rejects(one.app.outbound.call("two", "dig", { signal }), /1 s that its caller allows/);
		assert.equal(two.runner.turns[0]?.limits?.maxTurns, 7);
		assert.equal(two.runner.turns[0]?.signal.aborted, true);
	});

	it("say who may: the same rules as for everybody", async () => {
		const one = await session("one");
		await session("two", echo, { server: { trustedPeers: ["mailbox:three"] } });
		await assert.rejects(one.app.outbound.call("two", "hello", { signal }), /trusted/);
	});

	it("take credentials out of what leaves", async () => {
		const key = ["sk", "ant", "api03", "A".repeat(95)].join("-");
		const one = await session("one");
		const two = await session("two");
		const reply = await one.app.outbound.call("two", `use ${key}`, { signal });
		assert.ok(!reply.text.includes(key));
		const box = readFileSync(join(root, "box", "agents", "two", "inbox.json"), "utf8");
		assert.ok(!box.includes(key));
		assert.equal(two.runner.turns.length, 1);
	});

	it("let a caller of the server reach an agent of the mailbox where that is allowed, each as its own", async () => {
		const one = await session("one", echo, {
			mailbox: { bridge: true },
			server: { peerTokens: { ann: "t-ann", bob: "t-bob" } },
		});
		const two = await session("two");
		const closed = await session("closed");
		const message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: "over the bridge" }] };
		const send = (url = "", name = "") =>
			rpc(
				url,
				"SendMessage",
				{ tenant: "mailbox/two", message },
				{ authorization: `Bearer t-${name}`, "a2a-version": "1.0" },
			);
		const sent = await send(one.status.url, "ann");
		const { task } = sent.json.result;
		assert.deepEqual(task.artifacts[0].parts, [{ text: "over the bridge" }]);
		assert.equal(two.runner.turns[0]?.caller.id, "mailbox:one/peer:ann");
		const get = async (name: string) => {
			const headers = { authorization: `Bearer t-${name}`, "a2a-version": "1.0" };
			return (await rpc(one.status.url ?? "", "GetTask", { tenant: "mailbox/two", id: task.id }, headers)).json;
		};
		assert.equal((await get("ann")).result.id, task.id);
		assert.equal((await get("bob")).error?.code, -32001);
		assert.equal((await send(closed.status.url)).json.error?.code, -32055);
	});

	it("put their address in the mailbox on the card", async () => {
		const { status } = await session("one");
		const card = (await (await fetch(status.cardUrl ?? "")).json()) as { supportedInterfaces: { url: string }[] };
		assert.ok(card.supportedInterfaces.some(({ url }) => url === "mailbox:one"));
	});

	it("take ids that nobody living has, and leave in good order", async () => {
		const one = await session("one", echo, { mailbox: { id: "same" } });
		const two = await session("two", echo, { mailbox: { id: "same" } });
		assert.deepEqual([one.app.mailbox.status()?.id, two.app.mailbox.status()?.id], ["same", "same-2"]);
		await one.app.close();
		assert.deepEqual(await two.app.outbound.peers(), []);
		const three = await session("three", echo, { mailbox: { id: "same" } });
		assert.equal(three.app.mailbox.status()?.id, "same");
		await until("routed", () => [two, three].some(({ app }) => app.mailbox.status()?.orchestrator));
	});

	it("join and leave when the settings change", async () => {
		const { app } = await session("one", echo, { mailbox: { enabled: false } });
		assert.equal(app.mailbox.status(), undefined);
		await assert.rejects(app.mailbox.list(), /is off/);
		await app.apply(new Map([["mailbox.enabled", true]]));
		assert.equal(app.mailbox.status()?.id, "one");
		await app.apply(new Map([["mailbox.id", "other"]]));
		assert.equal(app.mailbox.status()?.id, "other");
		await app.apply(new Map([["mailbox.enabled", false]]));
		assert.equal(app.mailbox.status(), undefined);
	});

	it("serve over the mailbox alone, with no port open", async () => {
		const one = await session("one");
		const agentDir = join(root, "quiet");
		await mkdir(agentDir);
		const mailbox = { enabled: true, root: join(root, "box"), id: "quiet" };
		await writeFile(join(agentDir, "settings.json"), JSON.stringify({ a2a: { mailbox } }));
		const loaded = await loadConfig({ agentDir, cwd: agentDir, env: {}, projectTrusted: false, hostname: hostname() });
		const app = createApp(loaded, {
			agentDir,
			cwd: agentDir,
			env: {},
			projectTrusted: false,
			runner: () => scriptedRunner(echo),
			describe: () => ({ pid: process.pid, cwd: agentDir, tools: [], skills: [], piVersion: "0" }),
			log: remembering(),
			judge: async () => undefined,
		});
		apps.push(app);
		await app.mailbox.start();
		assert.equal(app.server.status().running, false);
		assert.equal((await one.app.outbound.call("quiet", "hello", { signal })).text, "hello");
	});

	it("write nothing where the mailbox is off", async () => {
		await session("one", echo, { mailbox: { enabled: false } });
		assert.equal(existsSync(join(root, "box")), false);
	});
});
