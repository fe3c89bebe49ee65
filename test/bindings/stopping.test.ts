import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startServer } from "../../bench/server.ts";
import type { App } from "../../src/app.ts";
import { type Script, said, scriptedRunner, untilAborted } from "../support/scripted-runner.ts";
import { until } from "./gateway-support.ts";
import { type Reply, rpc } from "./http-support.ts";

/** `quick …` is said back; anything else works until it is told to stop. */
const script: Script = async function* (turn) {
	if (said(turn).startsWith("quick")) yield { type: "text", delta: said(turn) };
	else if (said(turn).startsWith("slow")) {
		await new Promise((resolve) => setTimeout(resolve, 400));
		yield { type: "text", delta: said(turn) };
	} else yield* untilAborted(turn);
};

describe("the server of an app", () => {
	let agentDir = "";
	let app: App;
	let url = "";
	beforeEach(async () => {
		agentDir = await mkdtemp(join(tmpdir(), "stopping-"));
	});
	afterEach(async () => {
		await app.close();
		await rm(agentDir, { recursive: true, force: true });
	});

	async function start(server: object, runner = () => scriptedRunner(script)): Promise<void> {
		const discovery = { local: { enabled: false } };
		await writeFile(join(agentDir, "settings.json"), JSON.stringify({ a2a: { discovery, server } }));
		const started = await startServer({ agentDir, runner, env: { A2A_PORT: "0" } });
		app = started.app;
		assert.ok(started.status.url);
		url = started.status.url;
	}
	const message = (text: string) => ({ messageId: text, role: "ROLE_USER", parts: [{ text }] });
	const send = (text: string, returnImmediately = false) =>
		rpc(url, "SendMessage", { message: message(text), configuration: { returnImmediately } }, { "a2a-version": "1.0" });
	const stateOf = ({ json }: { readonly json: Reply }): string => json.result.task.status.state;
	const health = async (): Promise<Record<string, unknown>> => {
		const response = await fetch(`${url}health`);
		return { ...((await response.json()) as Record<string, unknown>), code: response.status };
	};
	const running = (count: number) => until(`${count} tasks`, () => app.tasks.running().length === count);
	const journal = async () => {
		const [folder] = await readdir(join(agentDir, "a2a_tasks"));
		assert.ok(folder);
		const names = (await readdir(join(agentDir, "a2a_tasks", folder))).filter((name) => name.endsWith(".jsonl"));
		const texts = names.map((name) => readFile(join(agentDir, "a2a_tasks", folder, name), "utf8"));
		return (await Promise.all(texts)).join("");
	};

	it("refuses what is too much with 503 and Retry-After, in both bindings", async () => {
		await start({ maxConcurrent: 1 });
		await send("hang", true);
		const refused = await send("one too many");
		assert.equal(refused.status, 503);
		assert.equal(refused.json.error?.code, -32053);
		const wait = Number(refused.headers.get("retry-after"));
		assert.ok(wait >= 1 && wait <= 600, `${wait}`);
		const rest = await fetch(`${url}rest/message:send`, {
			method: "POST",
			headers: { "content-type": "application/a2a+json", "a2a-version": "1.0" },
			body: JSON.stringify({ message: message("one too many") }),
		});
		assert.equal(rest.status, 503);
		assert.ok(Number(rest.headers.get("retry-after")) >= 1);
		const { error } = (await rest.json()) as { error: { status: string; message: string } };
		assert.equal(error.status, "RESOURCE_EXHAUSTED");
		assert.match(error.message, /^Too many tasks are running; try again in \d+ s$/);
	});

	it("says at /health whether it has room", async () => {
		await start({ maxConcurrent: 1, queue: { size: 2 } });
		const { name, version, status, ...rest } = await health();
		assert.equal(status, "ok");
		assert.deepEqual(rest, { code: 200, readiness: "ready", running: 0, queued: 0, slots: 1 });
		await send("hang", true);
		const queued = await send("quick", true);
		assert.equal(stateOf(queued), "TASK_STATE_SUBMITTED");
		assert.deepEqual(queued.json.result.task.status.message.metadata, { "pi/queue": { position: 1, of: 1 } });
		const busy = await health();
		assert.deepEqual([busy.code, busy.readiness, busy.running, busy.queued], [200, "busy", 1, 1]);
	});

	it("stops at once: who waits is told, all is written down, the port is free, again is harmless", async () => {
		await start({ maxConcurrent: 1, queue: { size: 2 } });
		const waiting = [send("hang"), send("queued")];
		await running(2);
		const begun = Date.now();
		await app.server.stop();
		assert.ok(Date.now() - begun < 1_000, `${Date.now() - begun} ms`);
		for (const reply of await Promise.all(waiting)) {
			assert.equal(stateOf(reply), "TASK_STATE_FAILED");
			assert.equal(reply.json.result.task.status.message.parts[0].text, "the A2A server was stopped");
			assert.match(await journal(), new RegExp(`"whole":"${reply.json.result.task.id}"`));
		}
		await assert.rejects(fetch(`${url}health`));
		await app.server.stop();
		const { port } = new URL(url);
		const other = await startServer({ agentDir, runner: () => scriptedRunner(script), env: { A2A_PORT: port } });
		assert.equal(String(other.status.port), port);
		await other.app.close();
	});

	it("tells who waits within a second also when its runner does not stop", async () => {
		await start({}, () =>
			scriptedRunner(() => ({ [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => undefined) }) })),
		);
		const waiting = send("stubborn");
		await running(1);
		const begun = Date.now();
		const stopped = app.server.stop();
		assert.equal(stateOf(await waiting), "TASK_STATE_FAILED");
		assert.ok(Date.now() - begun < 1_000, `${Date.now() - begun} ms`);
		await stopped;
	}).timeout(10_000);

	it("gives running tasks their time when it is stopped, and takes nothing new meanwhile", async () => {
		await start({ drainSec: 20 });
		const waiting = send("slow but sure");
		await running(1);
		const stopped = app.server.stop();
		const refused = await send("new");
		assert.deepEqual([refused.status, refused.headers.get("retry-after")], [503, "30"]);
		assert.match(refused.json.error?.message ?? "", /stopping/);
		const draining = await health();
		assert.deepEqual([draining.code, draining.readiness, draining.running], [503, "draining", 1]);
		assert.equal(stateOf(await waiting), "TASK_STATE_COMPLETED");
		await stopped;
		await assert.rejects(fetch(`${url}health`));
	});

	for (const [how, again] of [
		["a second stop", () => app.server.stop()],
		["the end of the session", () => app.close()],
	] as const)
		it(`has that time cut short by ${how}`, async () => {
			await start({ drainSec: 20 });
			const waiting = send("hang");
			await running(1);
			const stopped = app.server.stop();
			assert.equal((await health()).readiness, "draining");
			const begun = Date.now();
			await Promise.all([stopped, again()]);
			assert.ok(Date.now() - begun < 1_000, `${Date.now() - begun} ms`);
			assert.equal(stateOf(await waiting), "TASK_STATE_FAILED");
		});

	it("is not given that time when it is stopped twice at once", async () => {
		await start({ drainSec: 20 });
		const waiting = send("hang");
		await running(1);
		const begun = Date.now();
		await Promise.all([app.server.stop(), app.server.stop()]);
		assert.ok(Date.now() - begun < 1_000, `${Date.now() - begun} ms`);
		assert.equal(stateOf(await waiting), "TASK_STATE_FAILED");
	});

	it("does not make the end of the session wait", async () => {
		await start({ drainSec: 20 });
		const waiting = send("hang");
		await running(1);
		const begun = Date.now();
		await app.close();
		assert.ok(Date.now() - begun < 1_000, `${Date.now() - begun} ms`);
		assert.equal(stateOf(await waiting), "TASK_STATE_FAILED");
	});

	it("starts again after it was stopped, with room for work", async () => {
		await start({ drainSec: 1 });
		await app.server.stop();
		const status = await app.server.start();
		assert.ok(status.url);
		url = status.url;
		assert.equal((await health()).readiness, "ready");
		assert.equal(stateOf(await send("quick again")), "TASK_STATE_COMPLETED");
	});
});
