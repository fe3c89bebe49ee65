import assert from "node:assert/strict";
import type { ServerStatus } from "../../src/app.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { footer, showActivity } from "../../src/pi/activity.ts";
import type { Row } from "../../src/pi/transcript.ts";
import type { Screen } from "../../src/pi/ui.ts";
import { contextId, type Message, type TaskState, taskId } from "../../src/protocol/types.ts";
import type { TaskLog } from "../../src/tasks/log.ts";
import { TaskStore } from "../../src/tasks/store.ts";

function stage(wanted = true, drawn = false, policyOf: (caller: string) => string | undefined = () => undefined) {
	const clock = manualClock();
	const tasks = new TaskStore({ limits: { maxFinished: 10 }, clock });
	const rows: Row[] = [];
	const toasts: string[] = [];
	const footers: (string | undefined)[] = [];
	const screen: Screen = {
		mode: "tui",
		idle: true,
		notify: (text, kind) => toasts.push(`${kind}: ${text}`),
		status: (text) => footers.push(text),
		working: () => undefined,
		onEscape: () => () => undefined,
		dialog: async () => undefined,
	};
	const status = (): ServerStatus => ({
		running: true,
		port: 9910,
		inFlight: tasks.running().length,
		callers: tasks.running().map((log) => log.label),
	});
	const stop = showActivity({
		tasks,
		screen,
		clock,
		add: (row) => rows.push(row) > 0 && drawn,
		wanted: () => wanted,
		status,
		policyOf,
	});
	const open = (label = "alice") =>
		tasks.open({
			id: taskId("task-1b4f8d1c30d54819"),
			contextId: contextId("c"),
			owner: `peer:${label}`,
			label,
			v03: false,
		});
	return { clock, tasks, rows, toasts, footers, stop, open };
}

const message = (text: string): Message => ({ messageId: text, role: "ROLE_USER", parts: [{ text }] });
const end = (log: TaskLog, state: TaskState, text?: string) =>
	log.append({
		kind: "status",
		status: { state, ...(text ? { message: { ...message(text), role: "ROLE_AGENT" } } : {}) },
	});
const say = (log: TaskLog, text: string) =>
	log.append({
		kind: "artifact",
		artifact: { artifactId: "reply", parts: [{ text }] },
		append: true,
		lastChunk: false,
	});
const tool = (log: TaskLog, name: string, detail: string) =>
	log.append({ kind: "activity", activity: { type: "tool", name, detail } });

describe("pi/activity", () => {
	it("tells of arrival, steps, text and completion, each once", async () => {
		const { clock, rows, toasts, footers, open } = stage();
		const log = open();
		log.append({ kind: "message", message: message("find all\nTODOs") });
		end(log, "TASK_STATE_WORKING");
		say(log, "Let me ");
		say(log, "look.");
		tool(log, "bash", "grep -rn TODO src");
		say(log, "There are 3.");
		await clock.advance(12_300);
		end(log, "TASK_STATE_COMPLETED");
		assert.deepEqual(
			rows.map((row) => row.text),
			[
				"[A2A inbound] dispatch from alice: find all TODOs",
				"[A2A inbound] a2a-1b4 ✎ Let me look.",
				"[A2A inbound] a2a-1b4 ⚙ bash grep -rn TODO src",
				"[A2A inbound] A2A dispatch a2a-1b4 completed (12.3s) — Let me look.There are 3.",
			],
		);
		assert.deepEqual(toasts, [
			"info: [A2A inbound] dispatch from alice: find all TODOs",
			"info: [A2A inbound] A2A dispatch a2a-1b4 completed (12.3s) — Let me look.There are 3.",
		]);
		assert.deepEqual([footers[0], footers.at(-1)], ["A2A ⇠ 1 from alice", "A2A :9910"]);
	});

	it("shows the policy with the task, what it refused, and warns of files that would load later", () => {
		const { rows, toasts, open } = stage(true, false, (caller) =>
			caller === "peer:bob" ? "read-only, 5 turns" : undefined,
		);
		const log = open("bob");
		log.append({ kind: "message", message: message("look") });
		const refused = { type: "refused", name: "bash", detail: "not allowed" } as const;
		log.append({ kind: "activity", activity: refused });
		log.append({ kind: "activity", activity: { type: "changed", name: "files", detail: "changed: AGENTS.md" } });
		assert.deepEqual(
			rows.map((row) => row.text),
			[
				"[A2A inbound] dispatch from bob (read-only, 5 turns): look",
				"[A2A inbound] a2a-1b4 ⛔ bash not allowed",
				"[A2A inbound] a2a-1b4 ⚠ changed: AGENTS.md",
			],
		);
		assert.equal(toasts.at(-1), "warning: [A2A inbound] a2a-1b4 ⚠ changed: AGENTS.md");
	});

	it("warns of a failure with its reason", () => {
		const { rows, toasts, open } = stage();
		end(open(), "TASK_STATE_FAILED", "quota used up");
		assert.deepEqual(rows, [
			{ kind: "failed", text: "[A2A inbound] A2A dispatch a2a-1b4 failed: quota used up (0ms)" },
		]);
		assert.match(toasts[0] ?? "", /^warning: /);
	});

	it("says that a task was canceled or rejected", () => {
		const { rows, open } = stage();
		end(open(), "TASK_STATE_CANCELED");
		assert.deepEqual(rows[0]?.text, "[A2A inbound] A2A dispatch a2a-1b4 canceled (0ms)");
	});

	it("shows whom a question waits for, and the answer", () => {
		const { rows, open } = stage();
		const log = open("bob");
		log.append({ kind: "message", message: message("rename it") });
		end(log, "TASK_STATE_INPUT_REQUIRED", "which module?");
		log.append({ kind: "message", message: message("the parser") });
		assert.deepEqual(
			rows.slice(1).map((row) => row.text),
			[
				"[A2A inbound] A2A dispatch a2a-1b4 waits for bob: which module?",
				"[A2A inbound] a2a-1b4 answer from bob: the parser",
			],
		);
	});

	it("shows words of a long answer every few seconds", async () => {
		const { clock, rows, open } = stage();
		const log = open();
		say(log, "one ");
		await clock.advance(6000);
		say(log, "two ");
		say(log, "three");
		assert.deepEqual(
			rows.map((row) => row.text),
			["[A2A inbound] a2a-1b4 ✎ one two"],
		);
	});

	it("stops showing steps of a task that has very many", () => {
		const { rows, open } = stage();
		const log = open();
		for (let n = 0; n < 300; n++) tool(log, "bash", `step ${n}`);
		end(log, "TASK_STATE_COMPLETED");
		assert.equal(rows.length, 102);
		assert.match(rows[100]?.text ?? "", /further steps are not shown/);
		assert.equal(rows[101]?.kind, "completed");
	});

	it("gives toasts and footer only when the transcript is not wanted", () => {
		const { rows, toasts, footers, open } = stage(false);
		const log = open();
		log.append({ kind: "message", message: message("hi") });
		end(log, "TASK_STATE_COMPLETED");
		assert.deepEqual([rows.length, toasts.length], [0, 2]);
		assert.ok(footers.length > 0);
	});

	it("does not say twice on a terminal what is drawn at once", () => {
		const { tasks, rows, toasts, open } = stage(true, true);
		const log = open();
		log.append({ kind: "message", message: message("hi") });
		assert.deepEqual([rows.length, toasts.length, tasks.running().length], [1, 0, 1]);
	});

	it("leaves no reader behind", () => {
		const { stop, tasks, open, rows } = stage();
		const log = open();
		const before = log.readers;
		stop();
		assert.equal(log.readers, before - 1);
		tool(log, "bash", "ls");
		assert.equal(rows.length, 0);
		tasks.open({ id: taskId("task-2"), contextId: contextId("c"), owner: "o", label: "o", v03: false });
		assert.equal(rows.length, 0);
	});

	it("keeps the footer short and empty when there is nothing to say", () => {
		assert.equal(footer({ running: false, inFlight: 0, callers: [] }), undefined);
		const callers = ["a", "b", "c", "d", "e"];
		assert.equal(footer({ running: true, inFlight: 7, callers }), "A2A ⇠ 7 from a, b, c, d, …");
	});
});
