import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ExtensionStage, openExtensionStage, serve } from "../support/extension-stage.ts";

/** Milliseconds that the end of a Pi may take on a busy machine; a socket or timer left over would take for ever. */
const SOON = 30_000;

describe("the extension in print and json mode", function () {
	this.timeout(90_000);
	let stage: ExtensionStage;
	let url: string;
	before(async () => {
		stage = await openExtensionStage();
		url = await serve(await stage.rpc({ a2a: { server: { port: 0 } } }));
	});
	after(() => stage.end());

	it("lets Pi exit by itself with the server on, and says nothing on standard output", async () => {
		// R101, R105
		for (const args of [[], ["--mode", "json"]]) {
			const a2a = { server: { enabled: true, port: 0 }, discovery: { mdns: { enabled: true } } };
			const run = await stage.once("SAY ok", { a2a, args });
			assert.equal(run.code, 0, run.stderr);
			assert.ok(run.ms < SOON);
			assert.doesNotMatch(run.stdout, /A2A (server|settings|inbound)|listening/);
			if (args.length === 0) assert.equal(run.stdout, "ok\n");
		}
	});

	it("lets a model call a peer", async () => {
		const run = await stage.once('CALL a2a_call {"agent":"w","message":"SAY from afar"}', {
			a2a: { peers: { w: { url } } },
		});
		assert.equal(run.code, 0, run.stderr);
		assert.match(run.stdout, /^\[A2A → w · .* completed .*\n[\s\S]*from afar/);
	});

	it("lets a model call a peer when nothing at all is configured", async () => {
		const run = await stage.once(`CALL a2a_call ${JSON.stringify({ agent: url, message: "SAY by address" })}`);
		assert.equal(run.code, 0, run.stderr);
		assert.match(run.stdout, /by address/);
	});

	it("tells the model of a peer that is down, though Pi has nothing to do between the tries", async () => {
		const dead = "http://127.0.0.1:9";
		const call = await stage.once(`CALL a2a_call ${JSON.stringify({ agent: `${dead}1`, message: "x" })}`);
		assert.match(call.stdout, /\[A2A → http:\/\/127\.0\.0\.1:91\/ · failed\]/);
		const sent = await stage.once(`/a2a-send ${dead}2 hello`, { a2a: {} });
		assert.match(sent.stderr, /· failed\]/);
	});

	it("waits for a detached task as long as the model says", async () => {
		const a2a = { peers: { w: { url } } };
		const script = 'CALL a2a_call {"agent":"w","message":"SLEEP 1500\\nSAY slow","async_dispatch":true}\nDUMP messages';
		const sent = await stage.once(script, { a2a });
		const id = /task-[0-9a-f]{16}/.exec(sent.stdout)?.[0];
		assert.ok(id, sent.stdout + sent.stderr);
		const looked = await stage.once(`CALL a2a_status {"agent":"w","task_id":"${id}","wait_seconds":20}`, { a2a });
		assert.match(looked.stdout, /completed[\s\S]*slow/);
	});

	it("answers commands on standard error, and waits for their end", async () => {
		const peers = { w: { url } };
		const help = await stage.once("/a2a-help", { a2a: {} });
		assert.match(help.stderr, /\/a2a-send <agent> <msg>/);
		const list = await stage.once("/a2a-agents", { a2a: { peers } });
		assert.match(list.stderr, /- w {2}http/);
		const sent = await stage.once("/a2a-send w SAY by hand", { a2a: { peers } });
		assert.match(sent.stderr, /completed[\s\S]*by hand/);
		const wrong = await stage.once("/a2a-server dance", { a2a: {} });
		assert.match(wrong.stderr, /Usage: \/a2a-server start\|stop\|status/);
		for (const run of [help, list, sent, wrong]) {
			assert.equal(run.stdout, "");
			assert.ok(run.ms < SOON);
		}
	});

	it("names a setting that cannot be used, with its file, and goes on with the default", async () => {
		const run = await stage.once("SAY ok", { a2a: { timeouts: { send: "soon" } } });
		assert.equal(run.stdout, "ok\n");
		assert.match(run.stderr, /settings\.json: timeouts\.send is "soon", expected a whole number/);
	});

	it("puts nothing of its own into what the model reads, but its tools", async () => {
		// R105
		const place = await stage.place({ a2a: { server: { enabled: true, port: 0 } } });
		await stage.once("SAY what did you read", { place });
		const request = stage.llm.requests.findLast((each) => each.lastUser === "SAY what did you read");
		assert.ok(request?.tools.includes("a2a_call"));
		const messages = request?.body.messages ?? [];
		assert.doesNotMatch(JSON.stringify(messages.filter((message) => message.role !== "system")), /A2A|listening/);
		const settings = await readFile(join(place.agentDir, "settings.json"), "utf8");
		assert.match(settings, /"a2a"/);
	});
});
