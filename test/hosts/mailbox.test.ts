import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startOrchestrator } from "../../src/bindings/mailbox/orchestrator.ts";
import { type Post, startPost } from "../../src/bindings/mailbox/post.ts";
import { MailRoot } from "../../src/bindings/mailbox/root.ts";
import { listAgents } from "../../src/bindings/mailbox/roster.ts";
import { fileEvents } from "../../src/bindings/mailbox/watch.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { nullLog } from "../../src/lib/log.ts";
import type { JsonObject } from "../../src/protocol/types.ts";
import { holder, TIMES } from "../bindings/mailbox-support.ts";
import { ask, type ExtensionStage, openExtensionStage, toolResult, until } from "../support/extension-stage.ts";
import type { PiRpc } from "../support/pi-host.ts";

describe("real Pis that share a mailbox", function () {
	this.timeout(90_000);
	let stage: ExtensionStage;
	let folder: string;
	let root: MailRoot;
	let host: PiRpc;
	let post: Post;
	let router: ReturnType<typeof startOrchestrator>;

	before(async () => {
		stage = await openExtensionStage();
		folder = await mkdtemp(join(tmpdir(), "mailbox-hosts-"));
		const path = join(folder, "box");
		const keep = { forMs: 3_600_000, atMost: 100 };
		root = new MailRoot(path, { clock: systemClock, log: nullLog, keep, maxBytes: 16_000_000 });
		await root.open();
		await root.make("boss");
		const a2a = (id: string) => ({ mailbox: { enabled: true, root: path, id }, server: { port: 0 } });
		host = await stage.rpc({ a2a: a2a("host") });
		await stage.rpc({ a2a: a2a("worker") });
		let here: readonly string[] = [];
		const look = setInterval(() => {
			void listAgents(root, 15_000).then((all) => {
				here = all.flatMap(({ id, alive }) => (alive ? [id] : []));
			});
		}, 50);
		await until(() => here.includes("host") && here.includes("worker"), "both have joined").finally(() =>
			clearInterval(look),
		);
		post = startPost({ root, id: "boss", pollMs: 100, watch: fileEvents });
		router = startOrchestrator({ root, self: holder(), times: TIMES, watch: fileEvents });
	});
	after(async () => {
		await post?.close();
		await router?.close();
		await stage.end();
		await rm(folder, { recursive: true, force: true });
	});

	async function answer(payload: JsonObject, contract: JsonObject = {}): Promise<JsonObject> {
		const asking = { ttlSeconds: 30, contract, signal: AbortSignal.timeout(30_000) };
		for await (const each of post.ask("worker", payload, asking)) if (each.last !== false) return each;
		return {};
	}

	it("call each other by their tools, and list what lies there", async () => {
		const call = `CALL a2a_call ${JSON.stringify({ agent: "worker", message: "SAY done over files" })}`;
		const run = await host.prompt(`CALL a2a_peers {}\n${call}`);
		assert.match(toolResult(run.events, "a2a_peers").text, /worker/);
		const { text, isError } = toolResult(run.events, "a2a_call");
		assert.equal(isError, false, text);
		assert.match(text, /done over files/);
		assert.match(await ask(host, "/a2a-list"), /worker\/inbox {2}request/);
		assert.match(await ask(host, "/a2a-send worker SAY by hand"), /by hand/);
		assert.match(await ask(host, "/a2a-status", /Mailbox/), /this session is host/);
	});

	it("give a task the tools that its contract names, and no others", async () => {
		const script = `CALL bash {"command": "echo ran-it"}`;
		assert.match(String((await answer({ text: script }, { capabilities: ["bash"] })).text), /ran-it/);
		const refused = await answer({ text: script }, { capabilities: ["read_file"] });
		assert.doesNotMatch(String(refused.text), /ran-it/);
		const tools = String((await answer({ text: "DUMP tools" }, { capabilities: ["read_file"] })).text);
		assert.match(tools, /read/);
		assert.doesNotMatch(tools, /bash|write/);
	});

	it("let a task have so many turns with tools, and so much time", async () => {
		const two = `CALL bash {"command": "echo one"}\nCALL bash {"command": "echo two"}\nRESULT`;
		const once = { constraints: { max_tool_turns: 1, max_duration_seconds: 60 } };
		assert.match(String((await answer({ text: two }, once)).text), /used up/);
		const brief = { constraints: { max_duration_seconds: 1 } };
		const late = await answer({ text: "SLEEP 20000\nSAY late" }, brief);
		assert.deepEqual([late.state, /1 s that its caller allows/.test(String(late.text))], ["failed", true]);
	});
});
