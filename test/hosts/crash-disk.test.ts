/** The server with a disk that is full, or cannot be written, for real. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Task } from "../../src/protocol/types.ts";
import { freePort } from "../support/free-port.ts";

const SUT = fileURLToPath(new URL("../../bench/sut.ts", import.meta.url));
const mount = (...args: string[]) => spawnSync("mount", args).status === 0;

describe("the server and its disk", function () {
	this.timeout(60_000);
	let root: string;
	let state: string;
	let port: number;
	let current: ChildProcess | undefined;
	let errors = "";
	beforeEach(async () => {
		root = mkdtempSync(join(tmpdir(), "pi-a2a-disk-"));
		state = join(root, "state");
		mkdirSync(state);
		port = await freePort();
		errors = "";
	});
	afterEach(async () => {
		await kill();
		if (mounted) assert.equal(spawnSync("umount", [state]).status, 0);
		mounted = false;
		rmSync(root, { recursive: true, force: true });
	});
	let mounted = false;

	/** A small disk of its own for the server; false where nobody lets us have one. */
	function smallDisk(): boolean {
		if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
		mounted = mount("-t", "tmpfs", "-o", "size=1m", "tmpfs", state);
		return mounted;
	}

	/** `before`: what a shell does first. */
	async function start(before = ":"): Promise<void> {
		const line = `${before}; exec "$0" --import tsx "$@"`;
		const args = [SUT, "--port", String(port), "--state", state, "--no-limits"];
		const child = spawn("sh", ["-c", line, process.execPath, ...args], { stdio: ["ignore", "pipe", "pipe"] });
		current = child;
		child.stderr?.on("data", (piece) => {
			errors += String(piece);
		});
		await new Promise<void>((resolve, reject) => {
			child.stdout?.once("data", () => resolve());
			child.once("exit", (code) => reject(new Error(`exit ${code}: ${errors}`)));
		});
	}
	async function kill(): Promise<void> {
		const child = current;
		current = undefined;
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const gone = new Promise((resolve) => child.once("exit", resolve));
		child.kill("SIGKILL");
		await gone;
	}
	async function rpc<T>(method: string, params: object): Promise<T> {
		const response = await fetch(`http://127.0.0.1:${port}/`, {
			method: "POST",
			headers: { "content-type": "application/json", "a2a-version": "1.0" },
			body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
		});
		const { result, error } = (await response.json()) as { readonly result?: T; readonly error?: object };
		assert.ok(result, JSON.stringify(error));
		return result;
	}
	let count = 0;
	async function send(text: string): Promise<Task> {
		count += 1;
		const message = { messageId: `m${count}`, role: "ROLE_USER", parts: [{ text: `echo ${text}` }] };
		const { task } = await rpc<{ task: Task }>("SendMessage", { message });
		assert.equal(task.status.state, "TASK_STATE_COMPLETED");
		return task;
	}
	const get = (id: string) => rpc<Task>("GetTask", { id });
	const known = async (id: string) => get(id).catch(() => undefined);
	/** Sends tasks until the journal is known not to be written. */
	async function untilFull(): Promise<Task[]> {
		const sent: Task[] = [];
		for (let n = 0; n < 400 && !/cannot be written/.test(errors); n++) sent.push(await send("x".repeat(8_000)));
		assert.match(errors, /The task journal cannot be written; tasks are kept in memory.*(ENOSPC|EFBIG)/);
		return sent;
	}
	function everyLineIsWhole(): void {
		const folder = join(state, "a2a_tasks");
		for (const name of readdirSync(folder, { recursive: true }).map(String)) {
			if (!name.endsWith(".jsonl")) continue;
			for (const line of readFileSync(join(folder, name), "utf8").split("\n")) if (line !== "") JSON.parse(line);
		}
	}

	it("fails no task when a file cannot grow any more, and has the others after a kill", async () => {
		// In blocks of 512 bytes. What else is written stays below it.
		await start("ulimit -f 512");
		const sent = await untilFull();
		for (const task of sent) assert.deepEqual(await get(task.id), task);
		await kill();
		everyLineIsWhole();
		await start();
		const kept = await Promise.all(sent.map(({ id }) => known(id)));
		// Of the one that met the end of the file there may be the beginning; it is not said to be more.
		const isWhole = (task: Task | undefined) => task?.status.state === "TASK_STATE_COMPLETED";
		assert.ok(kept.every((task) => !task || isWhole(task) || task.status.state === "TASK_STATE_FAILED"));
		const whole = kept.filter(isWhole);
		assert.ok(whole.length > 5 && whole.length >= sent.length - 2, `${whole.length} of ${sent.length}`);
		assert.deepEqual(whole, sent.slice(0, whole.length));
		assert.doesNotMatch(errors, /could not be read/);
	});

	it("writes down everything when a full disk has room again", async function () {
		if (!smallDisk()) this.skip(); // needs to be root on Linux, to mount a small disk
		writeFileSync(join(state, "ballast"), Buffer.alloc(600_000));
		await start();
		const sent = await untilFull();
		sent.push(await send("while it is full"));
		for (const task of sent) assert.deepEqual(await get(task.id), task);
		rmSync(join(state, "ballast"));
		for (let n = 0; n < 800 && !isWritten("while it is full"); n++) await pause(25);
		await kill();
		everyLineIsWhole();
		await start();
		for (const task of sent) assert.deepEqual(await get(task.id), task);
		assert.doesNotMatch(errors, /could not be read/);
	});
	function isWritten(text: string): boolean {
		const folder = join(state, "a2a_tasks");
		if (!existsSync(folder)) return false;
		const files = readdirSync(folder, { recursive: true }).map(String);
		return files.some((name) => name.endsWith(".jsonl") && readFileSync(join(folder, name), "utf8").includes(text));
	}

	it("serves from memory on a disk that is mounted read-only, and says so", async function () {
		if (!smallDisk()) this.skip(); // needs to be root on Linux, to mount a small disk
		await start();
		const before = await send("before");
		await kill();
		assert.ok(mount("-o", "remount,ro", state));
		await start();
		const task = await send("on a read-only disk");
		assert.deepEqual(await get(task.id), task);
		assert.match(errors, /The task journal cannot be used.*EROFS/);
		await kill();
		assert.ok(mount("-o", "remount,rw", state));
		await start();
		assert.deepEqual(await get(before.id), before);
	});
});
