import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, createApp } from "../src/app.ts";
import { type Loaded, loadConfig } from "../src/config/load.ts";
import { diagnose, doctorText, isOlder } from "../src/doctor.ts";
import type { Facts } from "../src/doctor-facts.ts";
import { type LookParts, lookAround } from "../src/doctor-look.ts";
import { systemClock } from "../src/lib/clock.ts";
import { nullLog } from "../src/lib/log.ts";
import { freePort } from "./support/free-port.ts";
import { echo, scriptedRunner } from "./support/scripted-runner.ts";

const LONG = ["0123456789", "abcdef", "xyz"].join("");
const running = {
	running: true,
	inFlight: 0,
	callers: [],
	host: "127.0.0.1",
	port: 9910,
	url: "http://127.0.0.1:9910/",
};

describe("the doctor", () => {
	let root: string;
	const apps: App[] = [];
	const servers: Server[] = [];
	const sockets: Socket[] = [];
	before(() => {
		root = mkdtempSync(join(tmpdir(), "doctor-"));
	});
	afterEach(async () => {
		for (const app of apps.splice(0)) await app.close();
		for (const socket of sockets.splice(0)) socket.destroy();
		for (const server of servers.splice(0)) server.close();
	});
	after(() => rmSync(root, { recursive: true, force: true }));

	let count = 0;
	async function settings(a2a: object): Promise<Loaded & { readonly agentDir: string }> {
		const agentDir = mkdtempSync(join(root, `${++count}-`));
		writeFileSync(join(agentDir, "settings.json"), JSON.stringify({ a2a }), { mode: 0o600 });
		const host = { agentDir, cwd: agentDir, env: {}, projectTrusted: false };
		return Object.assign(await loadConfig({ ...host, hostname: `host-${count}` }), { agentDir });
	}

	describe("as a judgement", () => {
		async function judged(a2a: object, facts: Partial<Facts> = {}): Promise<string> {
			const { config, problems } = await settings(a2a);
			const well = {
				...{ own: [], peers: [], gateways: [], files: [], mailbox: undefined, mdnsMissing: undefined },
				...{ auditProblem: undefined, freeBytes: 2 ** 40, piVersion: "1.6.0", nodeVersion: "22.1.0" },
			};
			return doctorText(diagnose({ config, problems, server: running, ...well, ...facts }));
		}
		const peer = (facts: Partial<Facts["peers"][number]>) => ({
			peers: [
				{ name: "w", source: "config", address: "http://h:1/", answer: "ok", ...facts } as Facts["peers"][number],
			],
		});
		const gateway = (state: string) =>
			({ gateways: [{ key: "g", url: "http://g:1", state, detail: "no answer" }] }) as unknown as Partial<Facts>;

		it("counts what is well in one line", async () => {
			const peerTokens = { alice: LONG };
			assert.match(await judged({ server: { peerTokens } }), /^✓ (\d+) of \1 checks are well\.$/);
		});

		/** What makes a check fail, and the line that it gives. */
		const FAULTS: readonly (readonly [name: string, a2a: object, facts: Partial<Facts>, line: RegExp])[] = [
			["a setting that cannot be used", { server: { port: "x" } }, {}, /^! settings: .*server\.port .* → Correct it/m],
			[
				"a short token",
				{ server: { sharedToken: "abc" } },
				{},
				/^! tokens: server\.sharedToken is easy .* → .*openssl/m,
			],
			[
				"one token for two callers",
				{ server: { peerTokens: { a: LONG, b: LONG } } },
				{},
				/^✗ tokens: server\.peerTokens\.b is the same token as server\.peerTokens\.a.* → Give each/m,
			],
			[
				"trust without tokens",
				{ server: { trustedPeers: ["a"] } },
				{},
				/^! tokens: server\.trustedPeers .* → Add a token/m,
			],
			[
				"trust that is overruled",
				{ server: { trustedPeers: ["a"], allowAllUsers: true, peerTokens: { a: LONG } } },
				{},
				/^! tokens: server\.allowAllUsers .* → Set/m,
			],
			["no token", { server: { enabled: true } }, {}, /^· tokens: no token is set.* → Set server\.peerTokens/m],
			[
				"a server that is off",
				{},
				{ server: { ...running, running: false } },
				/^· server: it is off.* → Run \/a2a-server start/m,
			],
			[
				"a server that could not start",
				{ server: { enabled: true } },
				{ server: { ...running, running: false, problem: "port 1 needs rights" } },
				/^✗ server: it does not run: port 1 needs rights → Correct that/m,
			],
			[
				"a port that climbed",
				{},
				{ server: { ...running, port: 9912 } },
				/^! port: 9910 was taken, .* 9912.* → End what/m,
			],
			[
				"a server nearer than was meant",
				{ server: { host: "0.0.0.0" } },
				{},
				/^! server: it listens on 127.* → Set server\.peerTokens/m,
			],
			[
				"a journal that cannot be written",
				{},
				{ server: { ...running, problem: "tasks are kept in memory only: EACCES" } },
				/^! journal: tasks are kept in memory only: EACCES → Make a2a_tasks/m,
			],
			[
				"a card that is out of reach",
				{},
				{ own: [{ url: "http://127.0.0.1:9910/", look: { problem: "refused" } }] },
				/^✗ card: our own card .* refused → Look whether a firewall/m,
			],
			[
				"a public URL that leads nowhere",
				{ server: { publicUrl: "https://p.example/" } },
				{ own: [{ url: "https://p.example/", look: { problem: "HTTP 502" } }] },
				/^✗ card: .* HTTP 502 → Check server\.publicUrl/m,
			],
			[
				"a peer that wants another token",
				{},
				peer({ answer: "unauthorized" }),
				/^✗ peer w: .* → Set a2a\.peers\.w\.auth\.token/m,
			],
			["a peer that does not trust us", {}, peer({ answer: "untrusted" }), /^✗ peer w: .* → Its operator must add us/m],
			[
				"a peer that is away",
				{},
				peer({ answer: "failed", why: "refused" }),
				/^! peer w: no answer .* → Start it, or correct/m,
			],
			["a peer of the network", {}, peer({ source: "mdns", answer: "unasked" }), /^· peer w: .* → Allow it/m],
			[
				"a clock that is off",
				{},
				peer({ skewMs: -90_000 }),
				/^! clock: that of w is 90 s behind ours → Set the clock/m,
			],
			["a gateway that is away", {}, gateway("backing off"), /^! gateway g: .*no answer → Check that it runs/m],
			["a gateway that has not decided", {}, gateway("pending"), /^! gateway g: .* → Its operator must accept/m],
			["a gateway that has shut us out", {}, gateway("revoked"), /^! gateway g: .* → Its operator has taken/m],
			["a gateway that is switched off", {}, gateway("off"), /^· gateway g: .* → Set discovery\.gateways\.g\.enabled/m],
			[
				"a mailbox that was not joined",
				{},
				{ mailbox: { root: "/m", orchestrator: false, running: 0 } },
				/^! mailbox: not joined at \/m → Make that folder/m,
			],
			[
				"no mDNS package",
				{ discovery: { mdns: { enabled: true } } },
				{ mdnsMissing: "Run: npm i x" },
				/^! mDNS: .* → Run: npm i x/m,
			],
			["an audit log that is shut", {}, { auditProblem: "EACCES" }, /^✗ audit log: .*EACCES → Make the file/m],
			["a full disk", {}, { freeBytes: 5 * 1024 * 1024 }, /^! disk: 5 MB are free .* → Make room/m],
			["an old Pi", {}, { piVersion: "0.60.2" }, /^✗ Pi: 0\.60\.2 is older than 0\.73\.1 → Update Pi/m],
			["an old Node", {}, { nodeVersion: "18.20.0" }, /^✗ Node: 18\.20\.0 is older than 20\.6\.0 → Update Node/m],
			[
				"a file that others may read",
				{},
				{ files: [{ path: "/a/settings.json", mode: "644", folder: false }] },
				/^! files: .* \(mode 644\) → Run: chmod 600 "\/a\/settings\.json"/m,
			],
			[
				"a file of somebody else",
				{},
				{ files: [{ path: "/a/b", folder: true }] },
				/^✗ files: \/a\/b belongs .* → Give it back/m,
			],
		];
		for (const [name, a2a, facts, line] of FAULTS)
			it(`says in one line what to do about ${name}`, async () => {
				const text = await judged(a2a, facts);
				assert.match(text, line);
				assert.match(text, /^✓ \d+ of \d+ checks are well; each line above/m);
			});

		it("puts the worst first, and never shows a token", async () => {
			const secret = ["sec", "ret"].join("");
			const text = await judged({ server: { sharedToken: secret, peerTokens: { a: secret } } });
			assert.match(text, /^✗[\s\S]*\n!/);
			assert.ok(!text.includes(secret));
		});

		it("compares versions by their numbers", () => {
			assert.deepEqual(
				[
					isOlder("0.73.1", "0.73.1"),
					isOlder("0.9.9", "0.73.1"),
					isOlder("1.0.0", "0.73.1"),
					isOlder("20.10.0", "20.6.0"),
				],
				[false, true, false, false],
			);
		});
	});

	describe("with its eyes open", function () {
		this.timeout(20_000);

		async function session(a2a: object): Promise<App & { readonly agentDir: string }> {
			const loaded = await settings(a2a);
			const { agentDir } = loaded;
			const app = createApp(loaded, {
				...{ agentDir, cwd: agentDir, env: {}, projectTrusted: false, log: nullLog },
				runner: () => scriptedRunner(echo),
				describe: () => ({ pid: process.pid, cwd: agentDir, tools: [], skills: [], piVersion: "0" }),
				judge: async () => undefined,
			});
			apps.push(app);
			return Object.assign(app, { agentDir });
		}
		async function look(app: App & { readonly agentDir: string }, more: Partial<LookParts> = {}): Promise<Facts> {
			const { signal } = new AbortController();
			return lookAround({ app, agentDir: app.agentDir, piVersion: "1.6.0", clock: systemClock, signal, ...more });
		}

		it("finds nothing wrong with two sessions that know each other's tokens, and leaves no task behind", async () => {
			const one = await session({ server: { port: 0, peerTokens: { two: LONG } } });
			const { url = "" } = await one.server.start();
			const two = await session({
				server: { port: 0, peerTokens: { one: `${LONG}!` } },
				peers: { one: { url, auth: { token: LONG } } },
			});
			await two.server.start();
			const facts = await look(two, { hasMdns: () => true });
			assert.deepEqual([facts.own.length, facts.peers.map(({ answer }) => answer)], [1, ["ok"]]);
			assert.match(doctorText(diagnose(facts)), /^✓ (\d+) of \1 checks are well\.$/);
			assert.deepEqual(one.tasks.all(), []);
		});

		it("tells a wrong token from no trust, and either from nobody there or nobody answering", async () => {
			const one = await session({ server: { port: 0, peerTokens: { two: LONG }, trustedPeers: ["other"] } });
			const { url = "" } = await one.server.start();
			const port = await freePort();
			const mute = createServer((socket) => void sockets.push(socket));
			servers.push(mute);
			await new Promise<void>((done) => mute.listen(port, "127.0.0.1", done));
			const silent = `http://127.0.0.1:${port}/`;
			const dead = `http://127.0.0.1:${await freePort()}/`;
			const peers = {
				wrong: { url, auth: { token: `${LONG}?` } },
				distrusted: { url, auth: { token: LONG } },
				dead: { url: dead },
				silent: { url: silent },
			};
			const two = await session({ peers, timeouts: { send: 60 } });
			const began = Date.now();
			const { peers: seen, own } = await look(two);
			assert.ok(Date.now() - began < 8_000);
			assert.deepEqual(Object.fromEntries(seen.map(({ name, answer }) => [name, answer])), {
				wrong: "unauthorized",
				distrusted: "untrusted",
				dead: "failed",
				silent: "failed",
			});
			assert.match(seen.find(({ name }) => name === "silent")?.why ?? "", /within 2 s/);
			assert.deepEqual(own, []);
		});

		it("measures a peer's clock against ours", async () => {
			const one = await session({ server: { port: 0 } });
			const { url = "" } = await one.server.start();
			const two = await session({ peers: { one: { url } } });
			const facts = await look(two, { clock: { ...systemClock, now: () => Date.now() - 3_600_000 } });
			assert.match(doctorText(diagnose(facts)), /^! clock: that of one is 3[56]\d\d s ahead of ours/m);
		});

		it("finds a public URL that leads nowhere", async () => {
			const publicUrl = `http://127.0.0.1:${await freePort()}/`;
			const one = await session({ server: { port: 0, publicUrl } });
			await one.server.start();
			const { own } = await look(one);
			assert.deepEqual(
				own.map(({ look: { ...seen } }) => "problem" in seen),
				[false, true],
			);
		});

		it("finds files that others may read, an audit log that is none, and room on the disk", async function () {
			if (process.platform === "win32") return this.skip();
			const one = await session({});
			chmodSync(join(one.agentDir, "settings.json"), 0o644);
			mkdirSync(join(one.agentDir, "a2a_audit.jsonl"), { mode: 0o700 });
			const facts = await look(one, { hasMdns: () => false });
			assert.deepEqual(
				facts.files.map(({ path, mode }) => [path, mode]),
				[[join(one.agentDir, "settings.json"), "644"]],
			);
			assert.match(facts.auditProblem ?? "", /is not a file/);
			assert.ok((facts.freeBytes ?? 0) > 0);
			assert.match(facts.mdnsMissing ?? "", /npm i bonjour-service/);
		});
	});
});
