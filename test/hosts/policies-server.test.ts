/** Policies as the operator and a caller meet them: settings, screen, audit log, and the way back after a refusal. */
import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Task } from "../../src/protocol/types.ts";
import { ask, type ExtensionStage, notices, openExtensionStage, serve, until } from "../support/extension-stage.ts";

const call = (tool: string, input: object) => `CALL ${tool} ${JSON.stringify(input)}`;

describe("policies for peers on a server", function () {
	this.timeout(120_000);
	let stage: ExtensionStage;
	before(async () => {
		stage = await openExtensionStage();
	});
	after(() => stage.end());

	let count = 0;
	async function send(url: string, text: string, more: object = {}): Promise<Task> {
		count += 1;
		const message = { messageId: `m${count}`, role: "ROLE_USER", parts: [{ text }], ...more };
		const response = await fetch(url, {
			method: "POST",
			headers: { "content-type": "application/json", "a2a-version": "1.0" },
			body: JSON.stringify({ jsonrpc: "2.0", id: count, method: "SendMessage", params: { message } }),
		});
		const reply = (await response.json()) as { readonly result?: { readonly task?: Task } };
		assert.ok(reply.result?.task, JSON.stringify(reply));
		return reply.result.task;
	}
	const server = (peerPolicies: object) => ({ a2a: { server: { port: 0, peerPolicies } } });

	it("shows the policy with the task, writes it and each refusal to the audit log, and warns of what changed", async () => {
		const pi = await stage.rpc(server({ "ip:127.0.0.1": { maxTurns: 4 } }));
		const url = await serve(pi);
		const write = call("write", { path: ".pi/extensions/x.ts", content: "x" });
		const task = await send(url, write);
		assert.equal(task.status.state, "TASK_STATE_FAILED");
		assert.match(JSON.stringify(task.status.message), /policy of this agent for ip:127\.0\.0\.1/);
		const quiet = await send(url, `${call("bash", { command: "mkdir -p .pi && touch .pi/APPEND_SYSTEM.md" })}\nSAY ok`);
		assert.equal(quiet.status.state, "TASK_STATE_COMPLETED");
		const arrived = /dispatch from ip:127\.0\.0\.1 \(no-config-writes, 4 turns\): /;
		await until(() => notices(pi).some((text) => arrived.test(text)), "the policy on the screen");
		const warned = /⚠ what loads into this host.* changed while the task ran: \.pi\/APPEND_SYSTEM\.md/;
		await until(() => notices(pi).some((text) => warned.test(text)), "the warning on the screen");
		await pi.stop();
		const lines = (await readFile(join(pi.place.agentDir, "a2a_audit.jsonl"), "utf8")).trim().split("\n");
		const entries = lines.map((line) => JSON.parse(line));
		const sent = entries.filter(({ operation }) => operation === "SendMessage");
		assert.deepEqual([...new Set(sent.map(({ policy }) => policy))], ["no-config-writes, 4 turns"]);
		const refused = entries.find(({ operation }) => operation === "tool refused");
		assert.equal(refused?.taskId, task.id);
		assert.match(refused?.error, /^write: .*load into this host/);
		assert.match(entries.find(({ operation }) => operation === "tool changed")?.error, /APPEND_SYSTEM/);
	});

	it("lets the caller come back to a task that waits for a permission", async () => {
		const pi = await stage.rpc(server({ default: { tools: "read-only", ask: true } }));
		const url = await serve(pi);
		let allow = false;
		pi.onUi = () => ({ confirmed: allow });
		const text = call("bash", { command: "echo made > made.txt; cat made.txt" });
		const task = await send(url, text);
		assert.equal(task.status.state, "TASK_STATE_AUTH_REQUIRED");
		assert.match(JSON.stringify(task.status.message), /denied it.*send a message/);
		allow = true;
		const again = await send(url, text, { taskId: task.id, contextId: task.contextId });
		assert.equal(again.status.state, "TASK_STATE_COMPLETED");
		assert.equal(await readFile(join(pi.place.cwd, "made.txt"), "utf8"), "made\n");
	});

	it("offers no way to call others where the policy does not allow it", async () => {
		const pi = await stage.rpc(server({ default: { mayCall: false } }));
		const told = JSON.stringify((await send(await serve(pi), "DUMP tools")).artifacts);
		assert.doesNotMatch(told, /a2a_(call|discover|orchestrate|peers|status)/);
		assert.match(told, /a2a_ask/);
		const open = await stage.rpc(server({}));
		assert.match(JSON.stringify((await send(await serve(open), "DUMP tools")).artifacts), /a2a_call/);
	});

	it("does not take a policy from a repository", async () => {
		const place = await stage.place(server({ default: { tools: "read-only" } }));
		await mkdir(join(place.cwd, ".pi"));
		const block = { a2a: { server: { peerPolicies: { "ip:127.0.0.1": { tools: "full" } } } } };
		await writeFile(join(place.cwd, ".pi", "settings.json"), JSON.stringify(block));
		const pi = await stage.rpc({ place });
		const told = JSON.stringify((await send(await serve(pi), "DUMP tools")).artifacts);
		assert.doesNotMatch(told, /bash|write/);
	});

	it("does not start with a policy that it cannot read", async () => {
		for (const policy of [{ tools: "readonly" }, { tool: "read-only" }]) {
			const pi = await stage.rpc(server({ default: policy }));
			const said = await ask(pi, "/a2a-server start", /listening|not start|peerPolicies/);
			assert.doesNotMatch(said, /listening on/, JSON.stringify(policy));
			await pi.stop();
		}
	});
});
