import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type App, createApp } from "../src/app.ts";
import { loadConfig } from "../src/config/load.ts";
import { nullLog } from "../src/lib/log.ts";
import { selfSigned } from "./bindings/certificate.ts";
import { echo, scriptedRunner } from "./support/scripted-runner.ts";

describe("the app", () => {
	let root: string;
	const apps: App[] = [];
	beforeEach(() => {
		root = mkdtempSync(join(tmpdir(), "app-security-"));
	});
	afterEach(async () => {
		for (const app of apps.splice(0)) await app.close();
		rmSync(root, { recursive: true, force: true });
	});

	async function session(name: string, a2a: object): Promise<App> {
		const agentDir = join(root, name);
		mkdirSync(agentDir);
		writeFileSync(join(agentDir, "settings.json"), JSON.stringify({ a2a }));
		const host = { agentDir, cwd: agentDir, env: { PATH: process.env.PATH }, projectTrusted: false };
		const app = createApp(await loadConfig({ ...host, hostname: name }), {
			...host,
			runner: () => scriptedRunner(echo),
			describe: () => ({ pid: process.pid, cwd: agentDir, tools: [], skills: [], piVersion: "0" }),
			log: nullLog,
			judge: async () => undefined,
		});
		apps.push(app);
		return app;
	}
	function certificate(): { readonly cert: string; readonly key: string } {
		const files = { cert: join(root, "cert.pem"), key: join(root, "key.pem") };
		const made = selfSigned(true);
		writeFileSync(files.cert, made.cert);
		writeFileSync(files.key, made.key, { mode: 0o600 });
		return files;
	}

	it("serves https with a certificate, and is called by whoever trusts it, with a token from a command", async () => {
		const tls = certificate();
		const one = await session("one", { server: { port: 0, tls, peerTokens: { two: "!printf of-two" } } });
		const { url = "" } = await one.server.start();
		assert.match(url, /^https:/);
		const auth = { token: "!printf of-two" };
		const two = await session("two", { peers: { one: { url, auth, caFile: tls.cert }, blind: { url, auth } } });
		const signal = new AbortController().signal;
		assert.match((await two.outbound.call("one", "hello", { signal })).text, /hello/);
		await assert.rejects(two.outbound.call("blind", "hello", { signal }), /its certificate is not accepted/);
	});

	it("does not start with half of a certificate, nor with a token that nobody can find", async () => {
		const { cert } = certificate();
		const half = await session("half", { server: { port: 0, tls: { cert } } });
		await assert.rejects(half.server.start(), /does not start: server\.tls\.key is not set/);
		const lost = await session("lost", { server: { port: 0, sharedToken: "!exit 1" } });
		await assert.rejects(lost.server.start(), /does not start: .*server\.sharedToken is \(from a command\)/);
		assert.equal(lost.server.status().running, false);
	});

	it("writes changes of settings and refusals at the door to its audit log", async () => {
		const one = await session("one", { server: { port: 0 } });
		const { url = "" } = await one.server.start();
		const told = await fetch(url, { method: "POST", headers: { origin: "http://evil.example" } });
		assert.equal(told.status, 403);
		await one.apply(new Map<string, unknown>([["server.sharedToken", ["new", "word"].join("-")]]));
		const lines = JSON.stringify(await one.audit.tail(10));
		assert.match(lines, /"operation":"connect","error":"Requests from web pages are not served/);
		assert.match(lines, /"operation":"settings","preview":"server\.sharedToken"/);
		assert.doesNotMatch(lines, /new-word/);
	});
});
