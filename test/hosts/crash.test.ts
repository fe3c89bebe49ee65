/**
 * A server that is killed again and again while several callers give it work, each of them sending every message again
 * until it knows how its task has ended. Chance has a seed: CRASH_SEED; CRASH_TASKS, CRASH_KILLS and CRASH_ROUNDS ask for
 * more of it.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { StreamResponse, Task } from "../../src/protocol/types.ts";
import { pieces, TALLY } from "../support/crash-work.ts";
import { freePort } from "../support/free-port.ts";
import { seeded } from "../support/seeded.ts";

const SERVER = fileURLToPath(new URL("../support/crash-server.ts", import.meta.url));
const number = (name: string, usual: number) => Number(process.env[name] ?? usual);
const TASKS = number("CRASH_TASKS", 200);
const KILLS = number("CRASH_KILLS", 6);
const ROUNDS = number("CRASH_ROUNDS", 1);
const SEED = number("CRASH_SEED", 1);
const CALLERS = ["ann", "bob", "cyd", "dan", "eve"];
const tokenOf = (caller: string) => ["word", "of", caller].join("-");

/** What a caller has been told of a message. */
interface Told {
	readonly caller: string;
	readonly messageId: string;
	readonly text: string;
	taskId?: string;
	/** The text that a stream has brought. */
	streamed: string;
	ended?: Task;
}

const isOver = ({ status: { state } }: Task) => state === "TASK_STATE_COMPLETED" || state === "TASK_STATE_FAILED";
const replyOf = (task: Task) =>
	(task.artifacts ?? []).flatMap(({ parts }) => parts.map((part) => ("text" in part ? part.text : "?"))).join("");

describe("a server that is killed while it works", function () {
	this.timeout(120_000 * ROUNDS);
	let state: string;
	let port: number;
	let current: ChildProcess | undefined;
	let errors = "";
	beforeEach(async () => {
		state = mkdtempSync(join(tmpdir(), "pi-a2a-crash-"));
		port = await freePort();
		errors = "";
		const server = { maxConcurrent: 6, queue: { size: 100 }, rateLimitPerMin: 1_000_000, resumeTasks: true };
		writeFileSync(join(state, "settings.json"), JSON.stringify({ a2a: { server } }));
	});
	afterEach(async () => {
		await kill();
		rmSync(state, { recursive: true, force: true });
	});

	/** Starts it; resolves when it listens, or has died. */
	function start(): Promise<void> {
		const env = { ...process.env, CRASH_TOKENS: CALLERS.map((name) => `${name}:${tokenOf(name)}`).join(",") };
		const args = ["--import", "tsx", SERVER, state, String(port)];
		const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], env });
		current = child;
		child.stderr?.on("data", (piece) => {
			errors += String(piece);
		});
		return new Promise((resolve) => {
			child.stdout?.once("data", () => resolve());
			child.once("exit", () => resolve());
		});
	}
	async function kill(): Promise<void> {
		const child = current;
		if (!child || child.exitCode !== null || child.signalCode !== null) return;
		const gone = new Promise((resolve) => child.once("exit", resolve));
		child.kill("SIGKILL");
		await gone;
	}

	function post(caller: string, method: string, params: object): Promise<Response> {
		const headers = { "content-type": "application/json", "a2a-version": "1.0" };
		return fetch(`http://127.0.0.1:${port}/`, {
			method: "POST",
			headers: { ...headers, authorization: `Bearer ${tokenOf(caller)}` },
			body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
		});
	}
	async function rpc<T>(caller: string, method: string, params: object): Promise<T> {
		const { result, error } = (await (await post(caller, method, params)).json()) as { result?: T; error?: object };
		// Whatever else a server may say, it is not to refuse: that would be a loss.
		assert.ok(result, JSON.stringify(error));
		return result;
	}

	function noted(told: Told, task: Pick<Task, "id">): void {
		assert.equal(told.taskId ?? task.id, task.id, `${told.messageId} has begun two tasks`);
		told.taskId = task.id;
	}

	/** One try to get the message done; throws what the network throws. */
	async function attempt(told: Told, chance: () => number): Promise<void> {
		const { caller, messageId, text } = told;
		const message = { messageId, role: "ROLE_USER", parts: [{ text }] };
		const way = chance();
		if (way < 0.4) {
			const reply = await post(caller, "SendStreamingMessage", { message });
			let streamed = "";
			const read = (line: string) => {
				if (!line.startsWith("data: ")) return;
				const { result } = JSON.parse(line.slice(6)) as { result: StreamResponse };
				if ("task" in result) {
					noted(told, result.task);
					streamed = replyOf(result.task);
				} else if ("statusUpdate" in result) noted(told, { id: result.statusUpdate.taskId });
				else if ("artifactUpdate" in result) {
					const [part] = result.artifactUpdate.artifact.parts;
					streamed = (result.artifactUpdate.append ? streamed : "") + (part && "text" in part ? part.text : "");
				}
				if (streamed.length > told.streamed.length) told.streamed = streamed;
			};
			let rest = "";
			for await (const piece of reply.body ?? []) {
				const lines = (rest + Buffer.from(piece).toString()).split("\n");
				rest = lines.pop() ?? "";
				lines.forEach(read);
			}
		} else {
			const configuration = { returnImmediately: way < 0.7 };
			noted(told, (await rpc<{ task: Task }>(caller, "SendMessage", { message, configuration })).task);
		}
		while (!told.ended) {
			const task = await rpc<Task>(caller, "GetTask", { id: told.taskId });
			if (isOver(task)) told.ended = task;
			else await pause(5);
		}
	}

	async function work(all: readonly Told[], chance: () => number): Promise<void> {
		for (const told of all) {
			while (!told.ended) {
				try {
					await attempt(told, chance);
				} catch (error) {
					if (error instanceof assert.AssertionError) throw error;
					await pause(10); // it is dead, and comes again
				}
			}
		}
	}

	async function everyTask(caller: string): Promise<Task[]> {
		const found: Task[] = [];
		for (let pageToken = ""; ; ) {
			const page = await rpc<{ tasks: Task[]; nextPageToken: string }>(caller, "ListTasks", {
				pageSize: 50,
				pageToken,
			});
			found.push(...page.tasks);
			pageToken = page.nextPageToken;
			if (pageToken === "") return found;
		}
	}

	/** Everything that was told is so, and nothing else has happened. Gives how many tasks were done. */
	async function account(all: readonly Told[]): Promise<number> {
		const ran = readFileSync(join(state, TALLY), "utf8").trim().split("\n");
		assert.equal(new Set(ran).size, ran.length, "a message was worked on twice");
		let done = 0;
		for (const told of all) {
			const task = await rpc<Task>(told.caller, "GetTask", { id: told.taskId });
			assert.deepEqual(task, told.ended, "an ended task has changed");
			const whole = pieces(told.text).join("");
			const reply = replyOf(task);
			assert.ok(reply.startsWith(told.streamed), `lost of ${told.messageId}: ${told.streamed} / ${reply}`);
			if (task.status.state === "TASK_STATE_COMPLETED") {
				done += 1;
				assert.equal(reply, whole);
				assert.ok(ran.includes(told.messageId));
			} else {
				assert.match(JSON.stringify(task.status.message), /host stopped/);
				assert.ok(whole.startsWith(reply), `${reply} of ${whole}`);
			}
		}
		for (const caller of CALLERS) {
			const mine = all.filter((told) => told.caller === caller);
			const ids = (await everyTask(caller)).map(({ id }) => id);
			assert.deepEqual([...ids].sort(), mine.map(({ taskId = "" }) => taskId).sort());
		}
		const folder = join(state, "a2a_tasks");
		for (const name of readdirSync(folder, { recursive: true }).map(String)) {
			if (!name.endsWith(".jsonl")) continue;
			const lines = readFileSync(join(folder, name), "utf8").split("\n");
			for (const line of lines.slice(0, -1)) JSON.parse(line);
		}
		assert.doesNotMatch(errors, /could not be read|cannot be (used|written|read)/);
		return done;
	}

	for (let round = 0; round < ROUNDS; round++) {
		it(`accounts for each of ${TASKS} tasks of ${CALLERS.length} callers after ${KILLS} kills (seed ${SEED + round})`, async () => {
			const chance = seeded(SEED + round);
			const all = Array.from({ length: TASKS }, (_, n): Told => {
				const caller = CALLERS[n % CALLERS.length] ?? "";
				const messageId = `m-${n}`;
				return { caller, messageId, text: `words ${1 + Math.floor(chance() * 40)} ${messageId}`, streamed: "" };
			});
			await start();
			// Each caller has several conversations at a time.
			const workers = CALLERS.flatMap((caller) => [0, 1, 2].map((n) => ({ caller, n })));
			const working = Promise.all(
				workers.map(({ caller, n }) => {
					const mine = all.filter((told) => told.caller === caller);
					return work(
						mine.filter((_, i) => i % 3 === n),
						chance,
					);
				}),
			);
			let isDone = false;
			const finished = working.finally(() => {
				isDone = true;
			});
			finished.catch(() => undefined); // reported below
			let kills = 0;
			for (; kills < KILLS && !isDone; kills++) {
				// Most in the middle of work, some while it starts.
				await pause(10 + chance() * 250);
				await kill();
				const starting = start();
				if (chance() < 0.2) {
					await pause(chance() * 1200);
					await kill();
					await start();
				} else await starting;
			}
			await finished;
			await kill();
			await start();
			const done = await account(all);
			// Otherwise it would not have been killed in the middle of anything, or have done nothing.
			assert.ok(done > TASKS / 4 && done < TASKS, `${done} of ${TASKS} done`);
			assert.ok(kills >= Math.min(3, KILLS), `${kills} kills`);
			if (process.env.CRASH_ROUNDS) process.stdout.write(`${JSON.stringify({ seed: SEED + round, kills, done })}\n`);
		});
	}
});
