import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** `A2A_MAILBOX_FULL=1`: ten workers, four senders, 5 000 requests. */
const FULL = process.env.A2A_MAILBOX_FULL === "1";
const SIZE = FULL
	? { workers: 10, senders: 4, each: 1250, parallel: 10, kills: 24, everyMs: 3_000, ttl: 240 }
	: { workers: 3, senders: 2, each: 200, parallel: 8, kills: 3, everyMs: 1_500, ttl: 60 };

const SCRIPT = fileURLToPath(new URL("mailbox-process.ts", import.meta.url));

interface Outcome {
	readonly message: string;
	readonly ms: number;
	readonly text?: { readonly text: string };
	readonly error?: string;
	readonly twice?: readonly string[];
}
interface Entry {
	readonly what: "begin" | "end";
	readonly message: string;
	readonly pid: number;
	readonly at: number;
}

const lines = <T>(text: string): T[] =>
	text
		.split("\n")
		.filter(Boolean)
		.map((line) => JSON.parse(line) as T);

describe("a mailbox whose workers and orchestrators are killed", function () {
	this.timeout(FULL ? 900_000 : 120_000);
	let folder: string;
	let journal: string;
	const children = new Set<ChildProcess>();
	const killedAt = new Map<number, number>();

	before(() => {
		folder = mkdtempSync(join(tmpdir(), "mailbox-kill-"));
		journal = join(folder, "journal");
	});
	after(async () => {
		await Promise.all([...children].map((child) => kill(child)));
		rmSync(folder, { recursive: true, force: true });
	});

	function start(...args: string[]): { child: ChildProcess; output: () => string } {
		const child = spawn(process.execPath, ["--import", "tsx", SCRIPT, ...args], { stdio: ["ignore", "pipe", "pipe"] });
		let text = "";
		let said = "";
		child.stdout?.on("data", (chunk) => (text += chunk));
		child.stderr?.on("data", (chunk) => (said += chunk));
		children.add(child);
		child.once("exit", (code) => {
			children.delete(child);
			if (code) process.stderr.write(said.slice(0, 2_000));
		});
		return { child, output: () => text };
	}

	function ended(child: ChildProcess): Promise<void> {
		if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve();
		return new Promise((resolve) => child.once("exit", () => resolve()));
	}

	async function kill(child: ChildProcess): Promise<void> {
		child.kill("SIGKILL");
		killedAt.set(child.pid ?? 0, Date.now());
		await ended(child);
	}

	async function ready(started: ReturnType<typeof start>): Promise<ChildProcess> {
		while (!started.output().includes("ready")) {
			assert.ok(started.child.exitCode === null, "a worker did not start");
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
		return started.child;
	}

	it("answers each request once or says why not, and never works on one in two places at once", async () => {
		const names = Array.from({ length: SIZE.workers }, (_, n) => `worker-${n}`);
		const work = (name: string) => ready(start("work", folder, name, journal));
		const workers = new Map<string, ChildProcess>();
		for (const [n, child] of (await Promise.all(names.map(work))).entries()) workers.set(names[n] ?? "", child);
		const senders = Array.from({ length: SIZE.senders }, (_, n) =>
			start("send", folder, `sender-${n}`, ...[SIZE.each, SIZE.parallel, SIZE.ttl].map(String), ...names),
		);
		let over = false;
		const all = Promise.all(senders.map(({ child }) => ended(child))).then(() => {
			over = true;
		});
		let kills = 0;
		let routers = 0;
		while (!over && kills < SIZE.kills) {
			await Promise.race([all, new Promise((resolve) => setTimeout(resolve, SIZE.everyMs))]);
			if (over) break;
			const { pid } = JSON.parse(readFileSync(join(folder, "box", "orchestrator.json"), "utf8")) as { pid: number };
			const router = [...workers].find(([, child]) => child.pid === pid);
			// Every third time the orchestrator, which is one of the workers.
			const victim = kills % 3 === 0 && router ? router : [...workers][Math.floor(Math.random() * workers.size)];
			if (!victim) continue;
			if (victim[1].pid === pid) routers += 1;
			kills += 1;
			await kill(victim[1]);
			void work(victim[0]).then((child) => workers.set(victim[0], child));
		}
		await all;
		const outcomes = senders.flatMap(({ output }) => lines<Outcome>(output()));
		const answers = outcomes.filter(({ message }) => message !== undefined);
		const results = answers.filter(({ text }) => text !== undefined);
		const failures = answers.filter(({ error }) => error !== undefined);
		assert.ok(kills > 0 && routers > 0, `${kills} kills, ${routers} of them of the orchestrator`);
		assert.equal(answers.length, SIZE.senders * SIZE.each, "a request was lost");
		assert.equal(new Set(answers.map(({ message }) => message)).size, answers.length);
		for (const { message, text } of results) assert.deepEqual(text, { text: message });
		for (const { error } of failures) assert.match(error ?? "", /died|expired|went away/);
		assert.deepEqual(
			outcomes.flatMap(({ twice = [] }) => twice),
			[],
			"two answers to one request",
		);
		const runs = check(lines<Entry>(readFileSync(journal, "utf8")), killedAt);
		const ms = results.map((each) => each.ms).sort((a, b) => a - b);
		const at = (part: number) => Math.round(ms[Math.floor(ms.length * part)] ?? 0);
		if (FULL)
			process.stdout.write(
				`      ${answers.length} requests, ${results.length} answered, ${failures.length} with a reason; ${kills} kills, ` +
					`${routers} of the orchestrator; ${runs} runs; p50 ${at(0.5)} ms, p99 ${at(0.99)} ms\n`,
			);
	});
});

/** No two runs of one request may overlap; gives how many runs there were. A run that was killed ends with its process. */
function check(entries: readonly Entry[], killedAt: ReadonlyMap<number, number>): number {
	const runs = new Map<string, { from: number; to: number; pid: number }[]>();
	for (const { what, message, pid, at } of entries) {
		const known = runs.get(message) ?? [];
		runs.set(message, known);
		if (what === "begin") known.push({ from: at, to: killedAt.get(pid) ?? Number.POSITIVE_INFINITY, pid });
		else for (const run of known) if (run.pid === pid) run.to = Math.min(run.to, at);
	}
	let count = 0;
	for (const [message, all] of runs) {
		count += all.length;
		const inTurn = all.sort((a, b) => a.from - b.from);
		for (const [n, run] of inTurn.entries()) {
			const before = inTurn[n - 1];
			assert.ok(!before || before.to <= run.from, `${message} was worked on twice at once: ${JSON.stringify(inTurn)}`);
		}
		assert.ok(all.length <= 3, `${message} was begun ${all.length} times`);
	}
	return count;
}
