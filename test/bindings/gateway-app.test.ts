import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { startServer } from "../../bench/server.ts";
import type { App, ServerStatus } from "../../src/app.ts";
import type { GatewayConfig } from "../../src/config/entries.ts";
import { gatewaysText } from "../../src/pi/command-server.ts";
import { echo, scriptedRunner } from "../support/scripted-runner.ts";
import { type Switchboard, switchboard } from "../support/switchboard.ts";
import { until } from "./gateway-support.ts";
import { rpc } from "./http-support.ts";

const signal = new AbortController().signal;

describe("sessions that share a gateway", () => {
	let root = "";
	let board: Switchboard;
	const apps: App[] = [];

	beforeEach(async () => {
		root = await mkdtemp(join(tmpdir(), "gateway-app-"));
		board = await switchboard();
	});
	afterEach(async () => {
		for (const app of apps.splice(0)) await app.close();
		await board.close();
		await rm(root, { recursive: true, force: true });
	});

	async function session(
		name: string,
		gateway: Partial<GatewayConfig> = {},
		server: object = {},
	): Promise<{ app: App; status: ServerStatus }> {
		const agentDir = join(root, name);
		await mkdir(agentDir);
		const discovery = {
			local: { enabled: false },
			gateways: { work: { url: board.url, token: board.bootstrap, name, ...gateway } },
		};
		await writeFile(join(agentDir, "settings.json"), JSON.stringify({ a2a: { discovery, server } }));
		const env = { A2A_PORT: "0", A2A_AGENT_NAME: name };
		const started = await startServer({ agentDir, runner: () => scriptedRunner(echo), env });
		apps.push(started.app);
		await until("registered", () => started.app.gateways()[0]?.state === "registered");
		return started;
	}

	const callers = async (app: App) => {
		const entries = (await app.audit.tail(50)) as readonly { direction?: string; peer?: string }[];
		return entries.filter(({ direction }) => direction === "in").map(({ peer }) => peer);
	};

	for (const channel of [true, false])
		it(`call each other through it ${channel ? "down its channel" : "over a connection of its own"}`, async () => {
			const one = await session("one", { channel });
			const two = await session("two", { channel });
			const open = () => board.channels.length === (channel ? 2 : 0);
			await until("open", open);
			const names = (await one.app.outbound.peers()).map(({ name }) => name);
			assert.deepEqual(names, ["gw/work/two"]);
			const reply = await one.app.outbound.call("gw/work/two", "hello you", { signal });
			assert.equal(reply.text, "hello you");
			assert.match(String((await callers(two.app))[0]), /gateway:work/);
			const line = gatewaysText(two.app.gateways());
			assert.match(line, channel ? /^- work \(http:.*\): registered as two, channel open$/ : /: registered as two$/);
			await two.app.close();
			assert.deepEqual([...board.peers.keys()], ["one"]);
		});

	it("are still open to this machine when they have no token, and closed when they have one", async () => {
		const hello = { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "hello" }] } };
		const { status } = await session("open");
		assert.equal((await rpc(status.url ?? "", "SendMessage", hello)).status, 200);
		const closed = await session("closed", {}, { sharedToken: "own-token" });
		assert.equal((await rpc(closed.status.url ?? "", "SendMessage", hello)).status, 401);
		const token = board.peers.get("closed")?.upstreamToken;
		const headers = { authorization: `Bearer ${token}` };
		assert.equal((await rpc(closed.status.url ?? "", "SendMessage", hello, headers)).status, 200);
		assert.deepEqual((await callers(closed.app)).slice(-1), ["gateway:work"]);
	});

	it("change their settings while they run", async () => {
		const { app } = await session("one");
		await until("open", () => board.channels.length === 1);
		await app.apply(new Map([["discovery.gateways.work.channel", false]]));
		await until("closed", () => board.channels.length === 0);
		await until("registered", () => app.gateways()[0]?.state === "registered");
		await app.apply(new Map([["discovery.gateways.work.enabled", false]]));
		await until("left", () => board.peers.size === 0);
		assert.equal(app.gateways()[0]?.state, "off");
	});

	// R101
	it("keep no process alive, with the channel open", async () => {
		const script = `
			const { createGateways } = await import(${JSON.stringify(new URL("../../src/gateways.ts", import.meta.url).href)});
			const { systemClock } = await import(${JSON.stringify(new URL("../../src/lib/clock.ts", import.meta.url).href)});
			const gateways = { work: { enabled: true, url: ${JSON.stringify(board.url)}, token: ${JSON.stringify(board.bootstrap)}, heartbeatSec: 60, channel: true } };
			const all = createGateways({ config: () => ({ gateways, agentName: "pi", verifySsl: true }), agentDir: ${JSON.stringify(root)},
				clock: systemClock, log: { warn: console.error, info: console.error } });
			all.start({ url: () => "http://127.0.0.1:1/", port: 1, card: () => ({ skills: [] }), handler: async () => ({}) });
			const stay = setInterval(() => {
				if (all.status()[0].channel !== "open") return;
				clearInterval(stay);
				process.stdout.write("open");
			}, 5);`;
		const args = ["--import", "tsx", "--input-type=module", "-e", script];
		const cwd = fileURLToPath(new URL("../..", import.meta.url));
		const { stdout } = await promisify(execFile)(process.execPath, args, { cwd, timeout: 15_000 });
		assert.equal(stdout, "open");
	});
});
