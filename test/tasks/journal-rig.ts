/** A journal in a folder of its own whose process can die at any moment. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "../../src/lib/clock.ts";
import { Segments } from "../../src/lib/segments.ts";
import { contextId, type TaskId, type TaskState, taskId } from "../../src/protocol/types.ts";
import { Journal } from "../../src/tasks/journal.ts";
import type { TaskLog } from "../../src/tasks/log.ts";
import type { Lines } from "../../src/tasks/records.ts";
import { type StoreLimits, TaskStore } from "../../src/tasks/store.ts";

/** A life of the process: a store over the journal, until `die`. */
export type Life = ReturnType<ReturnType<typeof journalRig>["live"]>;

export function journalRig(segmentBytes = 8 * 1024 * 1024) {
	const root = mkdtempSync(join(tmpdir(), "pi-a2a-journal-"));
	const folder = join(root, "tasks");
	const clock = manualClock();
	const said: string[] = [];
	const log = { warn: (text: string) => void said.push(text), info: (text: string) => void said.push(text) };
	const lives: { die(): void }[] = [];

	/** Everything that was in the journal before is in the store. */
	function live(limits: Partial<StoreLimits> = {}) {
		const files = new Segments(folder, segmentBytes);
		let dead = false;
		let broken: Error | undefined;
		const writes: (readonly string[])[] = [];
		const lines = new Proxy(files, {
			get(target, name) {
				if (name === "append") {
					return (texts: readonly string[]) => {
						if (dead) return [];
						if (broken) throw broken;
						writes.push(texts);
						return target.append(texts);
					};
				}
				const value = Reflect.get(target, name, target);
				return typeof value === "function" ? value.bind(target) : value;
			},
		}) as Lines;
		const journal = new Journal({ lines, clock, log });
		const tasks = new TaskStore({ limits: { maxFinished: 100, maxKept: 100, ...limits }, clock, log });
		tasks.adopt(journal);
		const life = {
			tasks,
			journal,
			/** The lines of every write. */
			writes,
			open: (id: string, over: { owner?: string; context?: string } = {}): TaskLog =>
				tasks.open({
					id: taskId(id),
					contextId: contextId(over.context ?? "c"),
					owner: over.owner ?? "alice",
					label: "Alice",
					v03: false,
				}),
			set: (task: TaskLog, state: TaskState) => task.append({ kind: "status", status: { state } }),
			say: (task: TaskLog, text: string, append = true) =>
				task.append({
					kind: "artifact",
					artifact: { artifactId: "reply", parts: [{ text }] },
					append,
					lastChunk: false,
				}),
			ask: (task: TaskLog, messageId: string, text = "do it") =>
				task.append({ kind: "message", message: { messageId, role: "ROLE_USER", parts: [{ text }] } }),
			/** A task that ended, with a message `m-ID` and a reply. */
			done(id: string, over: { owner?: string; context?: string; reply?: string } = {}): TaskLog {
				const task = life.open(id, over);
				life.ask(task, `m-${id}`);
				life.set(task, "TASK_STATE_WORKING");
				life.say(task, over.reply ?? `reply of ${id}`, false);
				life.set(task, "TASK_STATE_COMPLETED");
				return task;
			},
			get: (id: string, owner = "alice") => tasks.get(owner, taskId(id)).task,
			ids: (owner = "alice"): TaskId[] => tasks.list(owner, {}).tasks.map((each) => each.id),
			/** From now on nothing can be written; undefined: it can again. */
			breakWith(error: Error | undefined) {
				broken = error;
			},
			/** What is done a little at a time goes on. */
			turn: () => new Promise<void>((resolve) => void setImmediate(resolve)),
			/** As a kill does it: what was not handed to the system is lost, nothing is put in order. */
			die() {
				dead = true;
				files.close();
			},
		};
		lives.push(life);
		return life;
	}

	return {
		root,
		folder,
		clock,
		said,
		live,
		/** The names of the files with lines, oldest first. */
		files: () => readdirSync(folder).filter((name) => name.endsWith(".jsonl")),
		/** Everything that is written, as lines. */
		text: () =>
			readdirSync(folder)
				.filter((name) => name.endsWith(".jsonl"))
				.map((name) => readFileSync(join(folder, name), "utf8"))
				.join(""),
		end() {
			for (const each of lives) each.die();
			rmSync(root, { recursive: true, force: true });
		},
	};
}
