/** The server that users have, killed without warning and started again on the same address. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Task } from "../../src/protocol/types.ts";
import { freePort } from "../support/free-port.ts";

const SUT = fileURLToPath(new URL("../../bench/sut.ts", import.meta.url));

describe("the server after a kill", function () {
	this.timeout(120_000);
	let state: string;
	let port: number;
	const children: ChildProcess[] = [];
	beforeEach(async () => {
		state = mkdtempSync(join(tmpdir(), "pi-a2a-kill-"));
		port = await freePort();
	});
	afterEach(async () => {
		for (const child of children) await killed(child);
		rmSync(state, { recursive: true, force: true });
	});

	async function start(onPort = port): Promise<{ readonly child: ChildProcess; readonly errors: () => string }> {
		const args = ["--import", "tsx", SUT, "--port", String(onPort), "--state", state, "--no-limits"];
		const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
		children.push(child);
		let errors = "";
		child.stderr?.on("data", (piece) => {
			errors += String(piece);
		});
		await new Promise<void>((resolve, reject) => {
			child.stdout?.once("data", () => resolve());
			child.once("exit", (code) => reject(new Error(`exit ${code}: ${errors}`)));
		});
		return { child, errors: () => errors };
	}
	async function killed(child: ChildProcess): Promise<void> {
		if (child.exitCode !== null || child.signalCode !== null) return;
		const gone = new Promise((resolve) => child.once("exit", resolve));
		child.kill("SIGKILL");
		await gone;
	}
	let ids = 0;
	const headers = { "content-type": "application/json", "a2a-version": "1.0" };
	function post(method: string, params: object, more: object = {}): Promise<Response> {
		ids += 1;
		const body = JSON.stringify({ jsonrpc: "2.0", id: ids, method, params });
		return fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers: { ...headers, ...more }, body });
	}
	async function rpc<T>(method: string, params: object): Promise<T> {
		const { result, error } = (await (await post(method, params)).json()) as { result?: T; error?: { code: number } };
		if (error) throw Object.assign(new Error(`error ${error.code}`), error);
		return result as T;
	}
	const params = (text: string, messageId: string, returnImmediately = false) => ({
		message: { messageId, role: "ROLE_USER", parts: [{ text }] },
		configuration: { returnImmediately },
	});
	const send = async (text: string, messageId: string, returnImmediately = false) =>
		(await rpc<{ task: Task }>("SendMessage", params(text, messageId, returnImmediately))).task;
	const get = (id: string) => rpc<Task>("GetTask", { id });

	it("accounts for every task that it told of, whenever it was killed", async () => {
		const told = new Map<string, string>();
		for (const round of [0, 1, 2]) {
			const { child } = await start();
			const sending = Array.from({ length: 20 }, async (_, n) => {
				const id = `m-${round}-${n}`;
				const text = n % 4 === 0 ? "slow 30000" : n % 4 === 1 ? `chunks ${200 * (n + 1)}` : `echo ${id}`;
				try {
					const task = await send(text, id, n % 4 === 0);
					told.set(id, task.id);
				} catch {
					// It died before it had told anybody: this message may be sent again.
				}
			});
			// In the middle of it, each time a little later.
			const enough = told.size + 5 + round;
			while (told.size < enough) await new Promise((resolve) => setTimeout(resolve, 2));
			await killed(child);
			await Promise.all(sending);
		}
		assert.ok(told.size > 10, `${told.size}`);
		await start();
		for (const [messageId, id] of told) {
			const task = await get(id);
			const slow = Number(messageId.split("-")[2]) % 4 === 0;
			assert.equal(task.status.state, slow ? "TASK_STATE_FAILED" : "TASK_STATE_COMPLETED", JSON.stringify(task.status));
			assert.equal(task.history?.[0]?.messageId, messageId);
		}
		const all = await rpc<{ tasks: Task[]; totalSize: number }>("ListTasks", { pageSize: 100 });
		const messages = all.tasks.map(({ history }) => history?.[0]?.messageId);
		// No message has begun two tasks.
		assert.equal(new Set(messages).size, messages.length);
		assert.ok([...told.values()].every((id) => all.tasks.some((task) => task.id === id)));
	});

	it("answers a message that is sent again with the task that it had", async () => {
		const { child } = await start();
		const task = await send("echo once", "m1");
		await killed(child);
		await start();
		assert.deepEqual(await send("echo once", "m1"), task);
		assert.deepEqual(await get(task.id), task);
	});

	it("lets a reader go on after the last event, by its id", async () => {
		await start();
		const reply = await post("SendStreamingMessage", params("chunks 5", "m1"));
		const events = (await reply.text()).trim().split("\n\n");
		const last = (event: string | undefined) => ({ "last-event-id": /^id: (.*)$/m.exec(event ?? "")?.[1] ?? "" });
		assert.match(events[0] ?? "", /^id: task-[0-9a-f]{16}:\d+\ndata: /);
		for (const at of [0, 3, events.length - 2]) {
			const again = await post("SendStreamingMessage", params("chunks 5", "m1"), last(events[at]));
			const data = (list: string[]) => list.map((event) => JSON.stringify(event.replace(/"id":\d+/, "")));
			assert.deepEqual(data((await again.text()).trim().split("\n\n")), data(events.slice(at + 1)));
		}
		const id = /"id":"(task-[0-9a-f]+)"/.exec(events[0] ?? "")?.[1];
		const rest = await fetch(`http://127.0.0.1:${port}/rest/tasks/${id}:subscribe`, {
			headers: { ...headers, ...last(events[events.length - 2]) },
		});
		assert.match(await rest.text(), /^id: task-[0-9a-f]+:\d+\ndata: \{"statusUpdate":.*COMPLETED.*\n\n$/);
	});

	it("keeps the tasks of two sessions apart, and takes up its own again", async () => {
		const other = await freePort();
		await Promise.all([start(), start(other)]);
		const task = await send("echo mine", "m1");
		const mine = port;
		port = other;
		await assert.rejects(get(task.id), /Task not found/);
		port = mine;
		for (const child of children) await killed(child);
		await start();
		assert.deepEqual(await get(task.id), task);
		for (const name of readdirSync(join(state, "a2a_tasks"))) {
			assert.equal(statSync(join(state, "a2a_tasks", name)).mode & 0o777, 0o700);
		}
	});

	it("serves from memory where nothing can be written, and says so", async () => {
		writeFileSync(join(state, "a2a_tasks"), "not a folder");
		const { errors } = await start();
		const task = await send("echo x", "m1");
		assert.deepEqual(await get(task.id), task);
		assert.match(errors(), /The task journal cannot be used/);
	});
});
