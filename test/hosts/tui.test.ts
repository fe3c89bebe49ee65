import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { ask, type ExtensionStage, openExtensionStage, type Place, serve } from "../support/extension-stage.ts";
import type { PiRpc } from "../support/pi-host.ts";
import { hasTmux, type PiTui } from "../support/pi-tui.ts";

const START_MS = 30_000;

describe("the extension in the interactive Pi", function () {
	this.timeout(90_000);
	let stage: ExtensionStage;
	let other: PiRpc;
	let url: string;
	let pi: PiTui & { readonly place: Place };
	before(async function () {
		if (!(await hasTmux())) this.skip();
		stage = await openExtensionStage();
		other = await stage.rpc({ a2a: { server: { port: 0 } } });
		url = await serve(other);
		pi = await stage.tui({ a2a: { server: { enabled: true, port: 0 }, peers: { worker: { url } } } });
		await pi.waitFor(/A2A :\d+/, START_MS);
	});
	after(() => stage?.end());

	const footerPort = async () => /A2A :(\d+)/.exec(await pi.screen())?.[1];
	const settings = async () => JSON.parse(await readFile(join(pi.place.agentDir, "settings.json"), "utf8"));
	/** The port of the footer once it answers and is another one than `before`. */
	async function served(before?: string): Promise<string> {
		for (const end = Date.now() + START_MS; Date.now() < end; await pause(50)) {
			const port = await footerPort();
			if (!port || port === before) continue;
			const isUp = await fetch(`http://127.0.0.1:${port}/health`)
				.then((reply) => reply.ok)
				.catch(() => false);
			if (isUp) return port;
		}
		throw new Error(`no other server than that on ${before}:\n${await pi.screen()}`);
	}
	/** Types a command; the list of completions may be open and take the first Enter. */
	async function command(text: string, shows: string | RegExp): Promise<string> {
		await pi.type(`${text} `, "Enter");
		return pi.waitFor(shows, START_MS);
	}

	/** Moves the panel's selection down to the row of `label`, one drawn step at a time. */
	async function goTo(label: string): Promise<void> {
		for (let n = 0; n < 80; n++) {
			const selected = /❯ (.+?)(?: {2}|$)/m.exec(await pi.screen())?.[1] ?? "";
			if (selected === label) return;
			await pi.press("Down");
			await pi.waitGone(new RegExp(`❯ ${selected.replace(/[.+*]/g, "\\$&")}( {2}|$)`, "m"));
		}
		throw new Error(`no row ${label}`);
	}

	it("shows its commands, and completes sub-commands and peers", async () => {
		await command("/a2a-help", "Manage the inbound server");
		await pi.type("/a2a-server st");
		await pi.waitFor(/→ start|start\s+|❯ start/);
		await pi.press("C-u");
		await pi.type("/a2a-send w");
		await pi.waitFor(/worker/);
		await pi.press("C-u");
	});

	it("draws a call and its reply, folded, and stops the peer's task on Esc", async () => {
		await pi.type('CALL a2a_call {"agent":"worker","message":"SAY from the worker"}', "Enter");
		const screen = await pi.waitFor(/✓ worker · completed/);
		assert.match(screen, /a2a_call worker SAY from the worker/);
		await pi.type('CALL a2a_call {"agent":"worker","message":"HANG"}', "Enter");
		await pi.waitFor(/A2A → worker · working/);
		await pi.press("Escape");
		await pi.waitFor(/the call was stopped/);
		await other.waitForUi((request) => /A2A dispatch a2a-\w+ canceled/.test(request.message ?? ""));
	});

	it("stops what was sent by hand on Esc", async () => {
		await pi.type("/a2a-send worker HANG", "Enter");
		await pi.waitFor(/A2A → worker · working .*Esc stops it/);
		await pi.press("Escape");
		await pi.waitFor(/Error: \[A2A → worker .*canceled\]/);
		await pi.waitGone("Esc stops it");
	});

	it("shows what a peer has it do, and keeps it from its model", async () => {
		await ask(other, `/a2a-send http://127.0.0.1:${await footerPort()} SAY served to you`, /completed/);
		const screen = await pi.waitFor(/\[A2A inbound\] A2A dispatch a2a-\w+ completed/);
		assert.match(screen, /\[A2A inbound\] dispatch from \S+: SAY served to you/);
		await pi.type("DUMP roles", "Enter");
		await pi.waitFor(/\["system|system,/);
		const request = stage.llm.requests.findLast((each) => each.lastUser === "DUMP roles");
		assert.doesNotMatch(JSON.stringify(request?.body.messages), /A2A inbound/);
	});

	it("has a settings panel that saves on Esc and holds at once", async () => {
		await command("/a2a-config", "A2A settings");
		await goTo("server.maxConcurrent");
		await pi.press("Enter");
		await pi.waitFor("a whole number from 1 to 1000");
		await pi.press("BSpace");
		await pi.type("none", "Enter");
		await pi.waitFor("expected a whole number");
		await pi.press("C-u");
		await pi.type("7", "Enter");
		await pi.waitFor(/server\.maxConcurrent \* +7/);
		await pi.press("Escape");
		await pi.waitFor("Saved 1 setting.");
		assert.deepEqual((await settings()).a2a.server, { enabled: true, port: 0, maxConcurrent: 7 });
		await command("/a2a-config", /server\.maxConcurrent +7 {2}\(user settings\)/);
		await pi.press("Escape");
		await pi.waitGone("A2A settings");
	});

	it("adds a peer in the panel, which can be called at once", async () => {
		await command("/a2a-config", "A2A settings");
		await goTo("+ add to peers");
		await pi.press("Enter");
		await pi.waitFor("Name of the new entry");
		await pi.type("second", "Enter");
		await pi.waitFor("peers.second.url");
		const address = await serve(await stage.rpc({ a2a: { server: { port: 0 } } }));
		await pi.type(address, "Enter");
		await pi.waitFor("peers › second");
		await pi.press("Escape");
		await pi.waitGone("A2A settings");
		await command("/a2a-send second SAY hello second", /\n *hello second/);
		assert.equal((await settings()).a2a.peers.second.url, address);
	});

	it("leaves the panel with Ctrl+C without saving", async () => {
		const before = await settings();
		await command("/a2a-config", "A2A settings");
		await pi.press("Enter");
		await pi.waitFor(/server\.enabled \* +false/);
		await pi.press("C-c");
		await pi.waitGone("A2A settings");
		assert.deepEqual(await settings(), before);
	});

	it("survives reload and a new session with one server, and ends with nothing left", async () => {
		// R104
		const first = await served();
		await pi.type("/reload", "Enter");
		await pi.waitFor(/eloaded/, START_MS);
		const second = await served(first);
		await pi.type("/new", "Enter");
		await pi.waitFor(/ew session/, START_MS);
		const port = await served(second);
		for (const ended of [first, second]) await assert.rejects(fetch(`http://127.0.0.1:${ended}/health`));
		await pi.type("SAY still here", "Enter");
		await pi.waitFor(/\n *still here/);
		await pi.press("C-d");
		assert.equal(await pi.exited(START_MS), 0);
		await assert.rejects(fetch(`http://127.0.0.1:${port}/health`));
		assert.doesNotMatch(await pi.stderr(), /stale|unhandled|rror/);
	});
});
