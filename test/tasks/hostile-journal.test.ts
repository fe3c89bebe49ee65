/** Journals that somebody has edited, and tasks that are made to crowd out those of others. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { manualClock } from "../../src/lib/clock.ts";
import { contextId, taskId } from "../../src/protocol/types.ts";
import type { TaskLog } from "../../src/tasks/log.ts";
import { TaskStore } from "../../src/tasks/store.ts";
import { journalRig } from "./journal-rig.ts";

/** What may stand where something else should. */
const WRONG = [
	null,
	-1,
	1e300,
	9e15,
	1.5,
	"",
	"x",
	[],
	[null],
	{},
	true,
	"__proto__",
	{ kind: "status" },
	{ parts: null },
];

/** `value` with each of its members, at any depth, exchanged for each wrong one, and left out. */
function* mutants(value: unknown): Generator<unknown> {
	if (value === null || typeof value !== "object") return;
	const copy = (): Record<string, unknown> =>
		(Array.isArray(value) ? [...value] : { ...value }) as unknown as Record<string, unknown>;
	for (const [key, member] of Object.entries(value)) {
		for (const wrong of [undefined, ...WRONG]) yield Object.assign(copy(), { [key]: wrong });
		for (const deeper of mutants(member)) yield Object.assign(copy(), { [key]: deeper });
	}
}

describe("a journal that somebody has edited", () => {
	let rig: ReturnType<typeof journalRig>;
	beforeEach(() => {
		rig = journalRig();
	});
	afterEach(() => rig.end());

	it("costs the line that is wrong and nothing else, whatever is wrong in it", async function () {
		this.timeout(60_000);
		const before = rig.live();
		before.done("t1");
		const open = before.open("t2", { owner: "bob" });
		before.ask(open, "m1");
		before.set(open, "TASK_STATE_WORKING");
		before.say(open, "half", false);
		await before.journal.written();
		before.done("t3", { owner: "carol" });
		await before.journal.written();
		before.die();
		const [name = ""] = rig.files();
		const path = join(rig.folder, name);
		const lines = readFileSync(path, "utf8").trim().split("\n");
		let tried = 0;
		for (const [index, line] of lines.entries()) {
			for (const mutant of mutants(JSON.parse(line))) {
				// One in some: all of them, in turns over the lines, would take a minute.
				if (++tried % 7 !== 0) continue;
				const bad = JSON.stringify(mutant);
				for (const file of rig.files()) writeFileSync(join(rig.folder, file), "");
				writeFileSync(path, `${lines.with(index, bad).join("\n")}\n`);
				const life = rig.live();
				for (const log of life.tasks.all()) {
					const { id, contextId, status, history = [], artifacts = [] } = log.task;
					assert.deepEqual([id, contextId], [log.id, log.contextId], bad);
					assert.ok(status.state, bad);
					for (const { parts } of [...history, ...artifacts]) for (const part of parts) assert.ok(part, bad);
					const { nextPageToken } = life.tasks.list(log.owner, { pageSize: 1 });
					life.tasks.list(log.owner, { pageToken: nextPageToken });
				}
				for (const log of life.tasks.unfinished()) {
					life.say(log, " and more");
					assert.ok(life.set(log, "TASK_STATE_FAILED"), bad);
				}
				// It goes on as usual, and the others are there.
				life.done("new");
				assert.equal(life.ids()[0], "new", bad);
				if (!line.includes('"t3"')) assert.equal(life.get("t3", "carol").status.state, "TASK_STATE_COMPLETED", bad);
				life.die();
			}
		}
		assert.ok(tried > 500, `${tried}`);
	});

	it("says of a task whose content cannot be read that it is lost, and lists it with the others", async () => {
		const before = rig.live();
		for (const id of ["t1", "t2"]) before.done(id);
		await before.journal.written();
		before.die();
		const path = join(rig.folder, rig.files()[0] ?? "");
		const text = readFileSync(path, "utf8");
		writeFileSync(path, text.replace('"parts":[{"text":"reply of t1"}]', '"parts":[{"test":"reply of t1"}]'));
		const after = rig.live();
		assert.deepEqual(after.ids().sort(), ["t1", "t2"]);
		const { status, artifacts } = after.get("t1");
		assert.deepEqual([status.state, artifacts], ["TASK_STATE_COMPLETED", undefined]);
		assert.match(JSON.stringify(status.message?.parts), /cannot be read/);
		assert.ok(rig.said.some((line) => line.includes("t1 cannot be read")));
	});

	it("does not hold up the start with a pipe in place of a file", function () {
		if (process.platform === "win32") this.skip();
		mkdirSync(rig.folder, { mode: 0o700 });
		execFileSync("mkfifo", [join(rig.folder, "00000001.jsonl")]);
		assert.throws(() => rig.live(), /is not a file/);
	});
});

describe("ended tasks", () => {
	it("that are large crowd out those of their own caller, not the small ones of another", async () => {
		const rig = journalRig();
		const life = rig.live({ maxFinished: 1000, maxKept: 1000, maxBytes: 200_000 });
		for (let n = 0; n < 50; n++) life.done(`b${n}`, { owner: "bob" });
		for (let n = 0; n < 12; n++) {
			await life.journal.written();
			life.done(`m${n}`, { owner: "mallory", reply: "x".repeat(50_000) });
		}
		assert.equal(life.ids("bob").length, 50);
		assert.ok(life.ids("mallory").length <= 4);
		rig.end();
	});

	it("that are large come in short pages, each of them once", () => {
		const rig = journalRig();
		const life = rig.live();
		for (let n = 0; n < 12; n++) life.done(`t${n}`, { reply: "x".repeat(3_000_000) });
		const seen: string[] = [];
		let pages = 0;
		let pageToken: string | undefined;
		do {
			const page = life.tasks.list("alice", { pageToken: pageToken ?? "", includeArtifacts: true });
			assert.ok(JSON.stringify(page).length < 12_000_000);
			seen.push(...page.tasks.map(({ id }) => id));
			pageToken = page.nextPageToken;
			pages += 1;
		} while (pageToken);
		assert.deepEqual(
			seen,
			Array.from({ length: 12 }, (_, n) => `t${11 - n}`),
		);
		assert.equal(pages, 4);
		rig.end();
	});

	for (const where of ["without a journal", "with one"]) {
		it(`take a bounded room in memory, whatever came with them, ${where}`, async () => {
			const rig = journalRig();
			const limits = { maxFinished: 1000, maxKept: 1000, maxCharacters: 1_000_000 };
			const tasks = where === "with one" ? rig.live(limits).tasks : new TaskStore({ limits, clock: manualClock() });
			const logs = Array.from({ length: 20 }, (_, n) => {
				const log = tasks.open({ id: taskId(`t${n}`), contextId: contextId("c"), owner: "a", label: "a", v03: false });
				const parts = [{ raw: "QUJD".repeat(50_000), mediaType: "image/png" }];
				log.append({ kind: "message", message: { messageId: `m${n}`, role: "ROLE_USER", parts } });
				log.append({ kind: "status", status: { state: "TASK_STATE_COMPLETED" } });
				return log;
			});
			await tasks.written();
			// A task that rests gives another value each time that it is asked for.
			const isHeld = (log: TaskLog) => [log.task, log.task].every((task, _, [first]) => task === first);
			const inMemory = logs.filter((log) => tasks.all().includes(log) && isHeld(log));
			assert.ok(inMemory.length > 0 && inMemory.length < 6, `${inMemory.length}`);
			assert.equal(tasks.all().length, where === "with one" ? 20 : inMemory.length);
			rig.end();
		});
	}
});
