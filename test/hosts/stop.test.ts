/** Stopping the server, quitting and starting a session anew, each with tasks at work. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Task } from "../../src/protocol/types.ts";
import { ask, type ExtensionStage, openExtensionStage, type Place, until } from "../support/extension-stage.ts";
import { freePort } from "../support/free-port.ts";
import type { PiRpc } from "../support/pi-host.ts";
import { hasTmux } from "../support/pi-tui.ts";

/** From the order to stop until everybody who waits has been told and all is written down. */
const STOP_MS = 1_000;

const isAlive = (pid: number): boolean => {
	try {
		return process.kill(pid, 0);
	} catch {
		return false;
	}
};

describe("a Pi that ends while tasks are at work", function () {
	this.timeout(90_000);
	let stage: ExtensionStage;
	let port: number;
	before(async () => {
		stage = await openExtensionStage();
		port = await freePort();
	});
	after(() => stage.end());

	async function rpc<T>(method: string, params: object): Promise<T> {
		const response = await fetch(`http://127.0.0.1:${port}/`, {
			method: "POST",
			headers: { "content-type": "application/json", "a2a-version": "1.0" },
			body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
		});
		const { result, error } = (await response.json()) as { result?: T; error?: { message: string } };
		if (error) throw new Error(error.message);
		return result as T;
	}
	let ids = 0;
	async function send(text: string): Promise<{ readonly task: Task; readonly at: number }> {
		ids += 1;
		const message = { messageId: `m-${ids}`, role: "ROLE_USER", parts: [{ text }] };
		const { task } = await rpc<{ task: Task }>("SendMessage", { message });
		return { task, at: Date.now() };
	}
	const up = () =>
		fetch(`http://127.0.0.1:${port}/health`).then(
			({ ok }) => ok,
			() => false,
		);
	async function untilUp(): Promise<void> {
		for (const end = Date.now() + 30_000; !(await up()); await pause(50)) {
			assert.ok(Date.now() < end, "the server is not up");
		}
	}

	/** A model that does not answer, a command that runs, and a request that waits for a slot. */
	async function atWork({ cwd }: Place) {
		const file = join(cwd, `pid-${ids}`);
		const bash = { command: `echo $$ > ${file}; sleep 300` };
		const waiting = [send("HANG"), send(`CALL bash ${JSON.stringify(bash)}`)];
		await until(() => existsSync(file) && readFileSync(file, "utf8").endsWith("\n"), "the command");
		waiting.push(send("SAY queued"));
		for (;;) {
			const health = (await (await fetch(`http://127.0.0.1:${port}/health`)).json()) as { queued: number };
			if (health.queued === 1) break;
			await pause(20);
		}
		return { waiting, pid: Number(readFileSync(file, "utf8")) };
	}

	/** All three are told the same end in time, it is on disk, and the command is dead. */
	async function ended({ waiting, pid }: Awaited<ReturnType<typeof atWork>>, place: Place, begun: number) {
		const tasks = await Promise.all(waiting);
		const slowest = Math.max(...tasks.map(({ at }) => at - begun));
		assert.ok(slowest < STOP_MS, `told after ${slowest} ms`);
		const [folder] = readdirSync(join(place.agentDir, "a2a_tasks"));
		assert.ok(folder);
		const names = readdirSync(join(place.agentDir, "a2a_tasks", folder)).filter((name) => name.endsWith(".jsonl"));
		const text = names.map((name) => readFileSync(join(place.agentDir, "a2a_tasks", folder, name), "utf8")).join("");
		for (const { task } of tasks) {
			assert.equal(task.status.state, "TASK_STATE_FAILED", JSON.stringify(task.status));
			assert.match(text, new RegExp(`"whole":"${task.id}".*TASK_STATE_FAILED`));
		}
		await until(() => !isAlive(pid), "the end of the command", STOP_MS);
		return tasks.map(({ task }) => task);
	}
	const settings = () => ({
		a2a: { server: { enabled: true, port, portFallback: 0, maxConcurrent: 2, queue: { size: 2 } } },
	});
	const start = () => stage.rpc(settings());

	it("by /a2a-server stop: all end in a second, the port is free at once, a second stop is harmless", async () => {
		const pi = await start();
		await untilUp();
		const work = await atWork(pi.place);
		const begun = Date.now();
		assert.match(await ask(pi, "/a2a-server stop", /stopped/), /stopped/);
		assert.ok(Date.now() - begun < STOP_MS, `stopped after ${Date.now() - begun} ms`);
		const tasks = await ended(work, pi.place, begun);
		assert.equal(await up(), false);
		assert.match(await ask(pi, "/a2a-server stop", /not running/), /not running/);
		assert.match(await ask(pi, "/a2a-server start", /listening/), new RegExp(`:${port}`));
		for (const task of tasks) assert.deepEqual(await rpc("GetTask", { id: task.id }), task);
		assert.equal(await pi.stop(), 0);
	});

	it("by a new session and by quitting: the same, and the next one is on the same port", async () => {
		const pi: PiRpc & { readonly place: Place } = await start();
		await untilUp();
		const first = await atWork(pi.place);
		let begun = Date.now();
		const renewed = pi.command({ type: "new_session" });
		await ended(first, pi.place, begun);
		await renewed;
		await untilUp();
		const second = await atWork(pi.place);
		begun = Date.now();
		const code = pi.stop();
		await ended(second, pi.place, begun);
		assert.equal(await code, 0);
		assert.doesNotMatch(pi.stderr, /stale|unhandled/i);
		const next = await start();
		await untilUp();
		assert.equal(await next.stop(), 0);
	});

	it("by /reload and by Ctrl+D in the terminal: the same", async function () {
		if (!(await hasTmux())) this.skip();
		const pi = await stage.tui(settings());
		await untilUp();
		const first = await atWork(pi.place);
		await pi.type("/reload");
		let begun = Date.now();
		await pi.press("Enter");
		await ended(first, pi.place, begun);
		await pi.waitFor(/eloaded/, 30_000);
		await untilUp();
		const second = await atWork(pi.place);
		begun = Date.now();
		await pi.press("C-d");
		await ended(second, pi.place, begun);
		assert.equal(await pi.exited(30_000), 0);
		assert.equal(await up(), false);
	});
});
