import assert from "node:assert/strict";
import { appendFileSync, chmodSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Segments } from "../../src/lib/segments.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { type Message, taskId } from "../../src/protocol/types.ts";
import { journalRig, type Life } from "./journal-rig.ts";

describe("the task journal", () => {
	let rig: ReturnType<typeof journalRig>;
	beforeEach(() => {
		rig = journalRig();
	});
	afterEach(() => rig.end());

	describe("after the death of the process", () => {
		it("gives ended tasks exactly as they were", async () => {
			const before = rig.live();
			const tasks = [before.done("t1"), before.done("t2", { owner: "bob" }), before.done("t3", { reply: "ä 🧪" })];
			await before.journal.written();
			const known = tasks.map(({ task }) => structuredClone(task));
			before.die();
			const after = rig.live();
			assert.deepEqual([after.get("t1"), after.get("t2", "bob"), after.get("t3")], known);
			assert.deepEqual(after.tasks.unfinished(), []);
			assert.throws(() => after.get("t2"), A2AError);
		});

		it("lists them in the same order, and goes on with a page of before", async () => {
			const before = rig.live();
			for (let n = 0; n < 9; n++) before.done(`t${n}`);
			// All in one millisecond; the oldest is touched last.
			const slow = before.open("slow");
			before.done("t9");
			before.set(slow, "TASK_STATE_COMPLETED");
			await before.journal.written();
			const whole = before.ids();
			const page = before.tasks.list("alice", { pageSize: 4 });
			before.die();
			const after = rig.live();
			assert.deepEqual(after.ids(), whole);
			const next = after.tasks.list("alice", { pageSize: 4, pageToken: page.nextPageToken });
			assert.deepEqual(
				[...page.tasks, ...next.tasks].map(({ id }) => id),
				whole.slice(0, 8),
			);
		});

		it("has of a task that ran what it had produced, and goes on counting its events", async () => {
			const before = rig.live();
			const task = before.open("t1");
			before.ask(task, "m1");
			before.set(task, "TASK_STATE_WORKING");
			before.say(task, "half of ", false);
			await before.journal.written();
			before.say(task, "the answer");
			await before.journal.written();
			const [known, n] = [structuredClone(task.task), task.n];
			before.say(task, " and more that was never told");
			before.die();
			const after = rig.live();
			const [found] = after.tasks.unfinished();
			assert.deepEqual(found?.task, known);
			assert.equal(found?.n, n);
			after.set(found, "TASK_STATE_FAILED");
			assert.equal(found.n, n + 1);
		});

		it("knows a message that is sent again, within its window", async () => {
			const before = rig.live();
			before.done("t1");
			await before.journal.written();
			before.die();
			const window = { sent: { windowMs: 60_000, size: 10 } };
			const after = rig.live(window);
			const message: Message = { messageId: "m-t1", role: "ROLE_USER", parts: [{ text: "do it" }] };
			assert.equal(after.tasks.withMessage("alice", message)?.id, "t1");
			assert.equal(after.tasks.withMessage("bob", message), undefined);
			assert.equal(after.tasks.withMessage("alice", { ...message, parts: [{ text: "else" }] }), undefined);
			await rig.clock.advance(60_001);
			assert.equal(after.tasks.withMessage("alice", message), undefined);
		});

		it("still has what was kept with a task, until nothing is to be kept any more, also when files are tidied", async () => {
			const before = rig.live();
			const [task, ended] = [before.open("t1"), before.open("t2")];
			before.tasks.keep(task, ["first"]);
			before.tasks.keep(task, ["tell", { me: true }]);
			before.tasks.keep(ended, "untold");
			before.set(ended, "TASK_STATE_COMPLETED");
			await before.journal.written();
			before.die();
			const notes = ({ tasks }: Life) => tasks.all().map(({ note }) => note);
			for (let lives = 0; lives < 3; lives++) {
				const after = rig.live();
				assert.deepEqual(notes(after), [["tell", { me: true }], "untold"]);
				after.done(`more-${lives}`);
				after.tasks.drop(after.tasks.all().at(-1) ?? assert.fail());
				after.journal.close();
			}
			const last = rig.live();
			for (const task of last.tasks.all()) last.tasks.keep(task, undefined);
			last.set(last.tasks.unfinished()[0] ?? assert.fail(), "TASK_STATE_COMPLETED");
			await last.journal.written();
			last.die();
			for (let lives = 0; lives < 3; lives++) {
				const after = rig.live();
				assert.deepEqual(notes(after), [undefined, undefined]);
				after.die();
			}
		});

		it("keeps what is kept with an ended task while files are tidied, and lets go of it when told", async () => {
			const small = journalRig(2_000);
			const busy = async (name: string, more: (life: Life) => void) => {
				const life = small.live({ maxFinished: 2, maxKept: 2 });
				more(life);
				for (let n = 0; n < 60; n++) {
					life.tasks.drop(life.done(`${name}-${n}`, { owner: "bob", reply: "x".repeat(300) }));
					await life.journal.written();
				}
				life.journal.close();
			};
			const note = () => {
				const life = small.live();
				life.die();
				return life.tasks.all().find(({ id }) => id === "kept")?.note;
			};
			try {
				await busy("a", (life) => life.tasks.keep(life.done("kept"), "untold"));
				assert.equal(note(), "untold");
				await busy("b", () => undefined);
				assert.equal(note(), "untold");
				await busy("c", (life) => {
					for (const task of life.tasks.all()) life.tasks.keep(task, undefined);
				});
				await busy("d", () => undefined);
				assert.equal(note(), undefined);
			} finally {
				small.end();
			}
		});

		it("does not bring back a task that was forgotten", async () => {
			const before = rig.live();
			const task = before.open("direct");
			before.set(task, "TASK_STATE_WORKING");
			await before.journal.written();
			before.tasks.drop(task);
			before.set(task, "TASK_STATE_COMPLETED");
			before.done("t1");
			await before.journal.written();
			before.die();
			assert.deepEqual(rig.live().ids(), ["t1"]);
		});

		it("reads a journal that many lives have written", async () => {
			for (let n = 0; n < 5; n++) {
				const life = rig.live();
				life.done(`t${n}`);
				await life.journal.written();
				life.die();
			}
			assert.deepEqual(rig.live().ids(), ["t4", "t3", "t2", "t1", "t0"]);
			assert.equal(rig.files().length, 5);
		});
	});

	describe("what it writes", () => {
		it("is one write for one turn of the loop, and one line for the text of it", async () => {
			const { open, set, say, writes, journal } = rig.live();
			const task = open("t1");
			set(task, "TASK_STATE_WORKING");
			say(task, "a", false);
			for (const text of ["b", "c", "d"]) say(task, text);
			await journal.written();
			assert.equal(writes.length, 1);
			assert.deepEqual(
				writes[0]?.map((line) => Object.keys(JSON.parse(line))[0]),
				["open", "event", "event"],
			);
			assert.match(writes[0]?.[2] ?? "", /"n":5,.*"text":"abcd"/);
		});

		it("is the whole task alone when it begins and ends in one turn", async () => {
			const { done, writes, journal } = rig.live();
			done("t1");
			done("t2");
			await journal.written();
			assert.deepEqual(
				writes.map((lines) => lines.map((line) => JSON.parse(line).whole)),
				[["t1", "t2"]],
			);
		});

		it("can be read by nobody else, and goes through no link", async () => {
			const life = rig.live();
			life.done("t1");
			await life.journal.written();
			assert.equal(statSync(rig.folder).mode & 0o777, 0o700);
			assert.equal(statSync(join(rig.folder, rig.files()[0] ?? "")).mode & 0o777, 0o600);
			const other = join(rig.root, "other");
			mkdirSync(other);
			symlinkSync(other, join(rig.root, "link"));
			assert.throws(() => new Segments(join(rig.root, "link"), 100), /not a folder of this user/);
			writeFileSync(join(rig.root, "victim"), "");
			symlinkSync(join(rig.root, "victim"), join(other, "00000001.jsonl"));
			assert.throws(() => [...new Segments(other, 100).lines(1)], /ELOOP|symbolic/);
			chmodSync(other, 0o755);
			new Segments(other, 100);
			assert.equal(statSync(other).mode & 0o777, 0o700);
		});
	});

	describe("that was damaged", () => {
		it("loses the line that a crash cut short and nothing else", async () => {
			const before = rig.live();
			before.done("t1");
			const running = before.open("t2");
			before.set(running, "TASK_STATE_WORKING");
			await before.journal.written();
			before.die();
			appendFileSync(join(rig.folder, rig.files()[0] ?? ""), '{"event":"t2","n":2,"what":{"kind":"sta');
			const after = rig.live();
			assert.deepEqual(after.ids(), ["t2", "t1"]);
			assert.equal(after.get("t2").status.state, "TASK_STATE_WORKING");
			assert.match(readFileSync(join(rig.folder, "damaged.txt"), "utf8"), /"kind":"sta\n$/);
			after.done("t3");
			await after.journal.written();
			after.die();
			assert.deepEqual(rig.live().ids(), ["t3", "t2", "t1"]);
		});

		it("is read around a line that is none, says so once, and keeps that line aside", async () => {
			const before = rig.live();
			before.done("t1");
			await before.journal.written();
			before.die();
			const file = join(rig.folder, rig.files()[0] ?? "");
			writeFileSync(file, `garbage\n${readFileSync(file, "utf8")}{"whole":"t9","task":{}}\n\0\0\0\n`);
			rig.live().die();
			assert.deepEqual(rig.said, [`3 lines of the task journal could not be read; see damaged.txt in ${rig.folder}`]);
			const after = rig.live();
			assert.deepEqual(after.ids(), ["t1"]);
			assert.equal(after.get("t1").status.state, "TASK_STATE_COMPLETED");
			assert.equal(rig.said.length, 1);
			assert.match(readFileSync(join(rig.folder, "damaged.txt"), "utf8"), /^garbage\n\{"whole":"t9"/);
		});
	});

	describe("that cannot be written", () => {
		const full = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });

		it("stops nobody, says so once, and misses nothing when it can be written again", async () => {
			const life = rig.live();
			const running = life.open("t1");
			life.set(running, "TASK_STATE_WORKING");
			await life.journal.written();
			life.breakWith(full);
			life.say(running, "told while the disk was full", false);
			life.done("t2");
			await life.journal.written();
			life.done("t3");
			await life.journal.written();
			assert.match(life.journal.problem ?? "", /in memory only.*ENOSPC/);
			assert.equal(rig.said.length, 1);
			assert.equal(life.get("t3").status.state, "TASK_STATE_COMPLETED");
			life.breakWith(undefined);
			await rig.clock.advance(5_000);
			assert.equal(life.journal.problem, undefined);
			life.die();
			const after = rig.live();
			assert.deepEqual(after.ids(), ["t3", "t2", "t1"]);
			assert.equal(after.get("t1").artifacts?.[0]?.parts.length, 1);
		});

		it("leaves no half line behind", () => {
			const files = new Segments(join(rig.root, "half"), 1000);
			files.append(["one"]);
			// What is no string makes the write fail.
			assert.throws(() => files.append([Symbol("x") as unknown as string]));
			files.append(["two"]);
			assert.deepEqual(
				[...files.lines(1)].map((line) => line.text()),
				["one", "two"],
			);
			files.close();
		});
	});

	describe("in its bounds", () => {
		it("keeps so many tasks, and forgets those of the caller that has most", async () => {
			const limits = { maxFinished: 2, maxKept: 5 };
			const life = rig.live(limits);
			life.done("b1", { owner: "bob" });
			for (let n = 0; n < 8; n++) life.done(`t${n}`);
			await life.journal.written();
			assert.deepEqual([life.ids(), life.ids("bob")], [["t7", "t6", "t5", "t4"], ["b1"]]);
			life.die();
			const after = rig.live(limits);
			assert.deepEqual([after.ids(), after.ids("bob")], [["t7", "t6", "t5", "t4"], ["b1"]]);
		});

		it("reads those that are not in memory", async () => {
			const life = rig.live({ maxFinished: 2 });
			const tasks = ["t1", "t2", "t3", "t4"].map((id) => structuredClone(life.done(id).task));
			await life.journal.written();
			assert.deepEqual(
				["t1", "t2", "t3", "t4"].map((id) => life.get(id)),
				tasks,
			);
			assert.deepEqual(life.ids(), ["t4", "t3", "t2", "t1"]);
		});

		it("forgets what ended too long ago", async () => {
			const limits = { maxAgeMs: 1_000 };
			const life = rig.live(limits);
			life.done("t1");
			await rig.clock.advance(800);
			life.done("t2");
			await rig.clock.advance(800);
			life.done("t3");
			assert.deepEqual(life.ids(), ["t3", "t2"]);
			await life.journal.written();
			life.die();
			await rig.clock.advance(800);
			assert.deepEqual(rig.live(limits).ids(), ["t3"]);
		});

		it("does not bring a forgotten task back by what older files still say of it", async () => {
			rig.end();
			rig = journalRig(4_000);
			const life = rig.live();
			const task = life.open("gone");
			life.set(task, "TASK_STATE_WORKING");
			life.done("kept", { reply: "x".repeat(4_000) });
			await life.journal.written();
			life.set(task, "TASK_STATE_COMPLETED");
			const filler = life.done("filler", { reply: "x".repeat(4_000) });
			await life.journal.written();
			for (const each of [task, filler]) life.tasks.drop(each);
			life.done("last");
			for (let n = 0; n < 100 && rig.text().includes('"whole":"gone"'); n++) await life.turn();
			assert.match(rig.text(), /"open":"gone"[\s\S]*\{"drop":"gone"\}/);
			assert.doesNotMatch(rig.text(), /"whole":"gone"/);
			life.die();
			assert.deepEqual(rig.live().ids(), ["last", "kept"]);
		});

		it("is no longer than it may be on disk, and what was forgotten stays so", async () => {
			rig.end();
			rig = journalRig(10_000);
			const limits = { maxFinished: 3, maxBytes: 20_000 };
			const life = rig.live(limits);
			const old = life.open("old");
			life.set(old, "TASK_STATE_WORKING");
			for (let n = 0; n < 200; n++) {
				const task = life.open(`t${n}`);
				life.set(task, "TASK_STATE_WORKING");
				// Its first lines are in another file than its end, now and then.
				await life.journal.written();
				life.say(task, "x".repeat(500), false);
				life.set(task, "TASK_STATE_COMPLETED");
				await life.journal.written();
			}
			assert.ok(rig.text().length < 2 * 20_000 + 2 * 10_000, `${rig.text().length}`);
			// The one that ended last was counted when it was written.
			life.done("last");
			await life.journal.written();
			const known = life.ids();
			assert.ok(known.length > 10);
			const tasks = known.map((id) => structuredClone(life.get(id)));
			life.die();
			const after = rig.live(limits);
			assert.deepEqual(after.ids(), known);
			assert.deepEqual(
				known.map((id) => after.get(id)),
				tasks,
			);
			assert.deepEqual(
				after.tasks.unfinished().map(({ id }) => id),
				[taskId("old")],
			);
			assert.deepEqual(rig.said, []);
		});
	});
});
