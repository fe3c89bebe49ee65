import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { type ManualClock, manualClock } from "../../src/lib/clock.ts";
import type { Log } from "../../src/lib/log.ts";
import type { Dispatch, Settled } from "../../src/peers/homecoming.ts";
import { createQueue, type Deliver, type Queue } from "../../src/peers/queue.ts";
import { createQueueStore } from "../../src/peers/queue-store.ts";
import { PeerError, type PeerReply } from "../../src/peers/reply.ts";
import { contextId, type Message, taskId } from "../../src/protocol/types.ts";
import { until } from "./rig.ts";

const HOUR_MS = 3_600_000;

const message = (text: string): Message => ({
	messageId: `m-${text}`,
	contextId: contextId("c1"),
	role: "ROLE_USER",
	parts: [{ text }],
});
const entry = (text: string, peer = "worker") => ({ agent: peer, peer, message: message(text) });
const answered = (peer: string, running: boolean, id?: string): PeerReply => ({
	...{ peer, state: running ? "TASK_STATE_WORKING" : "TASK_STATE_COMPLETED", text: running ? "" : "done" },
	...(id === undefined ? {} : { taskId: taskId(id) }),
	...{ artifacts: [], running, notes: [], durationMs: 1 },
});
const later = { later: "it is away", tried: false };

describe("peers/queue", () => {
	let root: string;
	let clock: ManualClock;
	const warnings: string[] = [];
	const log: Log = { info: () => undefined, warn: (text) => void warnings.push(text) };
	const open: Queue[] = [];

	beforeEach(async () => {
		root = join(await mkdtemp(join(tmpdir(), "queue-")), "here");
		clock = manualClock();
		warnings.length = 0;
	});
	afterEach(async () => {
		for (const queue of open.splice(0)) await queue.close();
		await rm(join(root, ".."), { recursive: true });
	});

	/** A process of its own; what it says and what it follows. */
	function host(deliver: Deliver, limits: { maxCount?: number } = {}) {
		const told: Settled[] = [];
		const followed: Dispatch[] = [];
		const listeners: ((settled: Settled) => void)[] = [];
		const homecoming = {
			follow: (dispatch: Dispatch) => void followed.push(dispatch),
			tell: (settled: Settled) => void told.push(settled),
			onSettled(listener: (settled: Settled) => void) {
				listeners.push(listener);
				return () => void listeners.splice(listeners.indexOf(listener), 1);
			},
		};
		const queue = createQueue({
			store: createQueueStore(root, clock, log),
			limits: () => ({ on: true, maxAgeMs: HOUR_MS, maxCount: limits.maxCount ?? 10 }),
			...{ deliver, homecoming, clock, log },
		});
		open.push(queue);
		const settle = (settled: Settled) => {
			for (const listener of listeners) listener(settled);
		};
		return { queue, told, followed, settle };
	}

	/** Lets time pass until `happened`; files take real time. */
	async function passing(ms: number, happened: () => boolean, what: string): Promise<void> {
		for (let left = ms; left > 0 && !happened(); left -= 1_000) {
			await clock.advance(1_000);
			await new Promise((resolve) => setTimeout(resolve, 2));
		}
		await until(happened, what);
	}

	async function files(): Promise<string[]> {
		const names = await readdir(root, { recursive: true });
		return names.filter((name) => /\.(json|bad)$/.test(name)).sort();
	}

	/** Nothing is left on disk. */
	async function gone(): Promise<void> {
		for (let tries = 0; (await files()).length > 0; tries++) assert.ok(tries < 1000, "files are left");
	}

	it("keeps a message on disk, for its user alone, before its sender is told", async () => {
		const { queue } = host(async () => later);
		const reply = await queue.put(entry("one"), "worker: could not be reached.");
		assert.equal(reply.running, true);
		assert.match(
			reply.notes.join(" "),
			/Queued, not delivered yet: worker: could not.*number 1 for worker.*Do not send it/,
		);
		const [name = ""] = await files();
		assert.equal((await stat(join(root, name))).mode & 0o777, 0o600);
		assert.deepEqual(JSON.parse(await readFile(join(root, name), "utf8")).message, message("one"));
		await queue.put(entry("two"), "away");
		await queue.put(entry("three", "other"), "away");
		assert.deepEqual(
			queue.list().map(({ peer, place, text }) => [peer, place, text]),
			[
				["worker", 1, "one"],
				["worker", 2, "two"],
				["other", 1, "three"],
			],
		);
	});

	it("delivers in order when the peer is back, with growing pauses before, and brings the results home", async () => {
		let away = true;
		const tries: number[] = [];
		const sent: string[] = [];
		const start = clock.now();
		const { queue, told, followed, settle } = host(async ({ peer, message: { messageId } }, sending) => {
			tries.push((clock.now() - start) / 1000);
			if (away) return later;
			await sending();
			sent.push(messageId);
			return messageId === "m-one" ? answered(peer, true, "t1") : answered(peer, false);
		});
		queue.start();
		for (const text of ["one", "two", "three"]) await queue.put(entry(text), "away");
		await passing(60_000, () => tries.length >= 3, "three tries");
		const [first = 0, second = 0, third = 0] = tries;
		assert.ok(first >= 5 && second - first >= 3 && third - second >= 7, tries.join());
		assert.deepEqual(sent, []);
		away = false;
		await passing(120_000, () => told.length === 2, "both that ended are told of");
		assert.deepEqual(sent, ["m-one", "m-two", "m-three"]);
		assert.deepEqual(
			followed.map(({ peer, taskId: id }) => [peer, id]),
			[["worker", "t1"]],
		);
		assert.deepEqual(
			queue.list().map(({ place }) => place),
			[0],
		);
		const [dispatch] = followed;
		assert.ok(dispatch);
		settle({ dispatch, reply: answered("worker", false, "t1") });
		await passing(5_000, () => queue.list().length === 0, "the first is forgotten");
		await gone();
	});

	it("tells of what was not delivered in time, and of what the peer refused", async () => {
		const { queue, told } = host(async ({ peer }) => {
			if (peer === "worker") return later;
			throw new PeerError("other: no", { peer });
		});
		queue.start();
		await queue.put(entry("one"), "away");
		await queue.put(entry("two", "other"), "away");
		await passing(30_000, () => told.length === 1, "the refusal");
		assert.ok(told[0] && "error" in told[0] && told[0].error instanceof PeerError);
		assert.equal(told[0].error.message, "other: no");
		await clock.leap(HOUR_MS);
		await passing(400_000, () => told.length === 2, "the end of its time");
		assert.ok(told[1] && "error" in told[1] && told[1].error instanceof PeerError);
		assert.match(told[1].error.message, /worker: a message could not be delivered in time and was given up: one/);
		await until(() => queue.list().length === 0, "nothing is kept");
		await gone();
	});

	it("refuses one more than it may keep, and says so", async () => {
		const { queue } = host(async () => later, { maxCount: 1 });
		await queue.put(entry("one"), "away");
		await assert.rejects(queue.put(entry("two"), "away"), /away The queue is full \(queue\.maxCount, 1\)/);
		assert.equal(queue.list().length, 1);
	});

	it("goes on after a restart: what waits, what may have been sent, what the peer works on", async () => {
		const first = host(async ({ peer, message: { messageId } }, sending) => {
			await sending();
			if (messageId === "m-one") return answered(peer, true, "t1");
			return new Promise(() => undefined);
		});
		first.queue.start();
		for (const text of ["one", "two", "three"]) await first.queue.put(entry(text), "away");
		await passing(30_000, () => first.queue.list().length === 3 && first.followed.length === 1, "the first is there");
		await until(() => first.queue.list().filter(({ place }) => place > 0).length === 2, "two wait");
		await first.queue.close();
		const seen: [string, boolean | undefined][] = [];
		const second = host(async ({ peer, tried, message: { messageId } }) => {
			seen.push([messageId, tried]);
			return answered(peer, false);
		});
		second.queue.start();
		await passing(120_000, () => second.told.length === 2, "the others are delivered");
		assert.deepEqual(seen, [
			["m-two", true],
			["m-three", undefined],
		]);
		assert.deepEqual(
			second.followed.map(({ taskId: id }) => id),
			["t1"],
		);
	});

	it("leaves to another process what is that one's", async () => {
		const { queue } = host(async () => later);
		await queue.put(entry("one"), "away");
		// A claim of this very process would be taken up again: that of its parent is not.
		const [folder = ""] = await readdir(root);
		const owner = join(root, folder, "owner");
		const born = (await readFile(`/proc/${process.ppid}/stat`, "utf8").catch(() => "")).split(") ")[1]?.split(" ")[19];
		await writeFile(owner, `${process.ppid} ${born ?? "-"} ${hostname()}\n`);
		const other = host(async () => later);
		other.queue.start();
		await clock.advance(120_000);
		assert.deepEqual(other.queue.list(), []);
		assert.equal((await files()).length, 1);
	});

	it("sets aside what was edited until it is no message, and says why", async () => {
		const first = host(async () => later);
		for (const text of ["one", "two", "three"]) await first.queue.put(entry(text), "away");
		await first.queue.close();
		const [one = "", two = ""] = await files();
		await writeFile(join(root, one), "{");
		const edited = JSON.parse(await readFile(join(root, two), "utf8"));
		await writeFile(join(root, two), JSON.stringify({ ...edited, message: { ...edited.message, parts: [{}] } }));
		const second = host(async ({ peer }) => answered(peer, false));
		second.queue.start();
		await passing(60_000, () => second.told.length === 1, "the good one is delivered");
		for (let tries = 0; (await files()).length > 2; tries++) assert.ok(tries < 1000, "the good one is left");
		assert.ok((await files()).every((name) => name.endsWith(".json.bad")));
		assert.match(warnings[0] ?? "", /set aside as .*\.bad: .*not valid JSON/);
		assert.match(warnings[1] ?? "", /set aside as .*\.bad: .*message\.parts\[0\]/);
	});
});
