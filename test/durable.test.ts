/** The journal of a server whose address changes. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "../src/config/keys.ts";
import { createDurable } from "../src/durable.ts";
import { manualClock } from "../src/lib/clock.ts";
import { contextId, taskId } from "../src/protocol/types.ts";
import { TaskStore } from "../src/tasks/store.ts";

const config = {
	journalEnabled: true,
	workspace: "/w",
	journalMaxAgeDays: 30,
	journalMaxTasks: 100,
	journalMaxMegabytes: 10,
} as Config;
const at = (port: number) => ({ host: "127.0.0.1", port });

describe("the journal of a server whose address changes", () => {
	let agentDir: string;
	const lives: { close(): void }[] = [];
	beforeEach(() => {
		agentDir = mkdtempSync(join(tmpdir(), "pi-a2a-move-"));
	});
	afterEach(() => {
		for (const each of lives.splice(0)) each.close();
		rmSync(agentDir, { recursive: true, force: true });
	});

	function live() {
		const said: string[] = [];
		const log = { info: () => undefined, warn: (text: string) => void said.push(text) };
		const clock = manualClock();
		const tasks = new TaskStore({ limits: { maxFinished: 2, maxKept: 100 }, clock });
		const durable = createDurable({ agentDir, tasks, clock, log });
		lives.push(durable);
		const open = (id: string) =>
			tasks.open({ id: taskId(id), contextId: contextId("c"), owner: "alice", label: "Alice", v03: false });
		const done = (id: string) => open(id).append({ kind: "status", status: { state: "TASK_STATE_COMPLETED" } });
		const ids = () =>
			tasks
				.list("alice", {})
				.tasks.map(({ id }) => id)
				.sort();
		return { tasks, durable, open, done, ids, said };
	}
	const folders = () => readdirSync(join(agentDir, "a2a_tasks"));
	const names = Array.from({ length: 9 }, (_, n) => `t${n}`);

	for (const [where, isUsed] of [
		["a new address", false],
		["one that has tasks of its own", true],
	] as const) {
		it(`goes along to ${where}, with what is not in memory too, and leaves nothing to be done again`, async () => {
			if (isUsed) {
				const earlier = live();
				await earlier.durable.open(config, at(2));
				earlier.done("earlier");
				earlier.durable.close();
			}
			const all = isUsed ? ["earlier", ...names, "works"] : [...names, "works"];
			const it = live();
			await it.durable.open(config, at(1));
			const works = it.open("works");
			works.append({ kind: "status", status: { state: "TASK_STATE_WORKING" } });
			for (const name of names) {
				it.done(name);
				await it.tasks.written();
			}
			await it.durable.open(config, at(2));
			assert.deepEqual(it.ids(), all);
			works.append({ kind: "status", status: { state: "TASK_STATE_COMPLETED" } });
			it.durable.close();
			assert.equal(folders().length, 1);
			const later = live();
			await later.durable.open(config, at(2));
			assert.deepEqual(later.ids(), all);
			assert.deepEqual(later.tasks.unfinished(), []);
			const old = live();
			await old.durable.open(config, at(1));
			assert.deepEqual(old.ids(), []);
			assert.deepEqual([...it.said, ...later.said, ...old.said], []);
		});
	}
});
