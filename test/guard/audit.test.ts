import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AuditEntry, type AuditedTask, type AuditLog, auditLog } from "../../src/guard/audit.ts";
import type { Credential } from "../../src/guard/identity.ts";
import { redaction } from "../../src/guard/redact.ts";
import { type ManualClock, manualClock } from "../../src/lib/clock.ts";
import { JsonlFile } from "../../src/lib/jsonl.ts";
import type { Ended } from "../../src/protocol/agent.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import type { Activity } from "../../src/protocol/task.ts";
import { contextId, type Task, type TaskState, taskId } from "../../src/protocol/types.ts";
import { rows, secret } from "./corpora.ts";
import { caller, cancel, get, send } from "./steps.ts";

describe("the audit log", () => {
	let root = "";
	let path = "";
	let clock: ManualClock;
	let audit: AuditLog;
	let warnings: string[];
	const log = { info: () => undefined, warn: (text: string) => void warnings.push(text) };
	beforeEach(async () => {
		root = await mkdtemp(join(tmpdir(), "pi-a2a-audit-"));
		path = join(root, "a2a_audit.jsonl");
		warnings = [];
		clock = manualClock();
		audit = auditLog(new JsonlFile(path, { maxBytes: 1_000_000, keep: 2 }), clock, log);
	});
	afterEach(async () => {
		await audit.close();
		await rm(root, { recursive: true, force: true });
	});
	const written = async () => (await audit.tail(100)) as AuditEntry[];
	const run = (step: Parameters<AuditLog["policy"]>[0], outcome: Parameters<Ended>[0] = {}) =>
		(audit.policy(step) as Ended)(outcome);

	it("has a line for what was asked: who, what, where, and the beginning of it", async () => {
		run(send(caller("peer:alice", "alice"), { text: "count\n the TODOs", contextId: "ctx-1", taskId: "task-1" }));
		assert.deepEqual(await written(), [
			{
				time: "2026-01-01T00:00:00.000Z",
				direction: "in",
				peer: "alice",
				caller: "peer:alice",
				operation: "SendMessage",
				taskId: "task-1",
				contextId: "ctx-1",
				preview: "count the TODOs",
			},
		]);
	});

	it("names the extensions in force", async () => {
		const step = send(caller("peer:alice", "alice"));
		const extensions = ["https://example.com/a", "https://example.com/b"];
		run({ ...step, call: { ...step.call, service: { ...step.call.service, extensions } } });
		run(step);
		const [with2, without] = await written();
		assert.equal(with2?.extensions, "https://example.com/a, https://example.com/b");
		assert.equal(without && "extensions" in without, false);
	});

	it("says what the caller may do, and what its policy refused, allowed and let happen", async () => {
		const file = new JsonlFile(path, { maxBytes: 1_000_000, keep: 2 });
		const policyOf = (id: string) => (id === "peer:alice" ? "read-only, asks" : undefined);
		const strict = auditLog(file, clock, log, undefined, policyOf);
		for (const id of ["peer:alice", "peer:bob"]) (strict.policy(send(caller(id, id))) as Ended)({});
		const told: ((event: { kind: string; activity?: Activity }) => void)[] = [];
		strict.follow({
			onOpen: (opener) =>
				opener({
					...{ id: "task-1", contextId: "ctx-1", owner: "peer:alice", label: "alice" },
					task: { id: taskId("task-1"), contextId: contextId("ctx-1"), status: { state: "TASK_STATE_WORKING" } },
					on: (reader) => {
						told.push(reader);
						return () => undefined;
					},
				}),
		});
		for (const type of ["tool", "refused", "allowed", "changed"] as const)
			told[0]?.({ kind: "activity", activity: { type, name: "bash", detail: `it was\n${type}` } });
		const lines = (await strict.tail(10)) as AuditEntry[];
		await strict.close();
		assert.deepEqual(
			lines.map(({ operation, policy, error, preview, taskId: task }) => [operation, policy ?? error ?? preview, task]),
			[
				["SendMessage", "read-only, asks", undefined],
				["SendMessage", "hello", undefined],
				["tool refused", "bash: it was refused", "task-1"],
				["tool allowed", "bash: it was allowed", "task-1"],
				["tool changed", "bash: it was changed", "task-1"],
			],
		);
	});

	it("has a line for every refusal, and none for looking on", async () => {
		run(get("peer:a", "task-1"));
		run(get("peer:a", "task-2"), { error: new A2AError("TaskNotFoundError") });
		run(cancel("peer:a", "task-3"));
		run(send("peer:a"), { error: new A2AError("BusyError") });
		const lines = await written();
		assert.deepEqual(
			lines.map(({ operation, taskId: id, error }) => [operation, id, error]),
			[
				["GetTask", "task-2", "Task not found"],
				["CancelTask", "task-3", undefined],
				["SendMessage", undefined, undefined],
				["SendMessage", undefined, "Too many tasks are running"],
			],
		);
	});

	it("says how a task ended and how long it took, once", async () => {
		const readers: (() => void)[] = [];
		let state: TaskState = "TASK_STATE_SUBMITTED";
		const task = (): Task => ({
			id: taskId("task-1"),
			contextId: contextId("ctx-1"),
			status: { state },
			artifacts: [{ artifactId: "reply", parts: [{ text: "three TODOs" }] }],
		});
		const logOf: AuditedTask = {
			id: "task-1",
			contextId: "ctx-1",
			owner: "peer:alice",
			label: "alice",
			get task() {
				return task();
			},
			on(reader) {
				readers.push(
					() => reader({ kind: "status" }),
					() => reader({ kind: "artifact" }),
				);
				return () => undefined;
			},
		};
		audit.follow({ onOpen: (opener) => opener(logOf) });
		for (const next of ["TASK_STATE_WORKING", "TASK_STATE_COMPLETED"] as const) {
			await clock.advance(250);
			state = next;
			readers[0]?.();
		}
		readers[1]?.();
		assert.deepEqual(await written(), [
			{
				time: "2026-01-01T00:00:00.500Z",
				direction: "in",
				peer: "alice",
				caller: "peer:alice",
				operation: "task",
				taskId: "task-1",
				contextId: "ctx-1",
				state: "TASK_STATE_COMPLETED",
				durationMs: 500,
				preview: "three TODOs",
			},
		]);
	});

	it("tells of calls to peers", async () => {
		audit.outbound({
			peer: "bob",
			operation: "SendMessage",
			state: "TASK_STATE_COMPLETED",
			durationMs: 12.4,
			preview: "hi",
		});
		assert.deepEqual(await written(), [
			{
				time: "2026-01-01T00:00:00.000Z",
				direction: "out",
				peer: "bob",
				operation: "SendMessage",
				state: "TASK_STATE_COMPLETED",
				durationMs: 12,
				preview: "hi",
			},
		]);
	});

	it("holds no secret, in no field, however long the text is", async () => {
		const token = secret(36);
		run(send("peer:a", { text: `use token: ${token} now` }));
		run(send("peer:a", { text: `${"word ".repeat(117)} password: ${token}` }));
		run(send("peer:a", { text: `${" ".repeat(570)}password: ${token}${token}` }));
		audit.outbound({
			peer: "bob",
			operation: "SendMessage",
			preview: `password: ${token}`,
			error: `Bearer ${token} is wrong`,
		});
		const lines = await written();
		assert.equal(lines.length, 4);
		const text = await readFile(path, "utf8");
		for (let at = 0; at + 10 <= token.length; at++) assert.ok(!text.includes(token.slice(at, at + 10)), text);
		assert.match(lines[0]?.preview ?? "", /^use token: \[redacted:token\] now$/);
		assert.ok(lines.every(({ preview = "" }) => preview.length <= 200));
	});

	it("holds no configured token whatever it looks like, in ids neither", async () => {
		const token = "n0-shape-at-all-7";
		const file = new JsonlFile(path, { maxBytes: 1_000_000, keep: 2 });
		const strict = auditLog(file, clock, log, () => redaction([token]));
		(strict.policy(send("peer:a", { text: `it is ${token}.`, contextId: `c-${token}` })) as Ended)({});
		strict.outbound({ peer: "bob", operation: "GetTask", taskId: token, error: `no ${token}` });
		assert.equal((await strict.tail(9)).length, 2);
		assert.doesNotMatch(await readFile(path, "utf8"), /n0-shape/);
		await strict.close();
	});

	it("cannot be given a forged line, an escape or an unseen character (R142)", async () => {
		const texts = rows<{ readonly text: string }>("injection.dev.jsonl").map(({ text }) => text);
		texts.push('x\n{"time":"2026-01-01","direction":"in","peer":"operator"}\r\n', "a\u2028b\u009bc\u202ed");
		for (const text of texts) {
			run(send(caller("peer:a", text), { text, contextId: text, taskId: text }));
			audit.outbound({ peer: text, operation: "SendMessage", error: text });
		}
		await written();
		const lines = (await readFile(path, "utf8")).split("\n");
		assert.equal(lines.pop(), "");
		assert.equal(lines.length, texts.length * 2);
		for (const line of lines) {
			assert.doesNotMatch(line, /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u200b\ufeff]|[\u{e0000}-\u{e007f}]/u);
			const entry = JSON.parse(line) as AuditEntry;
			assert.ok([entry.peer, entry.contextId ?? "", entry.taskId ?? ""].every((field) => field.length <= 128));
		}
	});

	it("writes what comes together together, within a moment", async () => {
		for (let n = 0; n < 10; n++) run(send("peer:a"));
		await assert.rejects(stat(path), { code: "ENOENT" });
		await clock.advance(20);
		await audit.close();
		assert.equal((await readFile(path, "utf8")).trim().split("\n").length, 10);
		assert.equal((await stat(path)).mode & 0o777, 0o600);
		assert.equal(clock.pending, 0);
	});

	it("loses nothing when it is closed, and can be closed twice", async () => {
		run(send("peer:a"));
		await audit.close();
		await audit.close();
		assert.equal((await readFile(path, "utf8")).trim().split("\n").length, 1);
	});

	it("does not grow for ever", async () => {
		const small = auditLog(new JsonlFile(path, { maxBytes: 4_000, keep: 2 }), clock, log);
		for (let n = 0; n < 400; n++) {
			(small.policy(send("peer:a", { text: `message ${n}` })) as Ended)({});
			if (n % 10 === 9) await small.tail(1);
		}
		await small.close();
		const sizes = await Promise.all((await readdir(root)).map(async (name) => (await stat(join(root, name))).size));
		assert.equal(sizes.length, 3);
		assert.ok(sizes.every((size) => size <= 4_000));
		assert.deepEqual(
			((await small.tail(1)) as AuditEntry[]).map(({ preview }) => preview),
			["message 399"],
		);
	});

	it("says once that it cannot write, and stops nobody", async () => {
		await rm(root, { recursive: true });
		const nowhere = auditLog(new JsonlFile("/dev/null/a2a_audit.jsonl"), clock, log);
		for (let n = 0; n < 3; n++) (nowhere.policy(send("peer:a")) as Ended)({});
		await nowhere.close();
		await new Promise(setImmediate);
		assert.deepEqual(warnings, ["Could not write to the audit log"]);
	});

	it("tells of callers who were turned away, and counts a flood of them", async () => {
		const identify = audit.identified((credential) => {
			if (credential.token === "right") return caller("peer:a");
			throw new A2AError("UnauthorizedError");
		});
		const from = (token: string): Credential => ({ scheme: "bearer", token, address: "192.0.2.7" });
		assert.equal(identify(from("right")).id, "peer:a");
		for (let n = 0; n < 100; n++) assert.throws(() => identify(from("wrong")), { name: "UnauthorizedError" });
		await clock.advance(60_000);
		assert.throws(() => identify(from("wrong")));
		const lines = await written();
		assert.equal(lines.length, 21);
		assert.deepEqual(lines.at(-1), {
			time: "2026-01-01T00:01:00.000Z",
			direction: "in",
			peer: "192.0.2.7",
			caller: "ip:192.0.2.7",
			operation: "authenticate",
			error: "A valid bearer token is required (and 80 like it)",
		});
	});

	it("has a line for whoever is turned away at the door, and counts a flood of them", async () => {
		for (let n = 0; n < 25; n++) audit.refused("10.0.0.9", new A2AError("ForbiddenError", "no such Host"));
		await clock.advance(60_000);
		audit.refused("10.0.0.9", new A2AError("PayloadTooLargeError"));
		const lines = await written();
		assert.equal(lines.length, 21);
		const { peer, caller: who, operation, error } = lines[0] ?? {};
		assert.deepEqual([peer, who, operation, error], ["10.0.0.9", "ip:10.0.0.9", "connect", "no such Host"]);
		assert.equal(lines.at(-1)?.error, "The body is too large (and 5 like it)");
	});

	it("has a line for a change of settings: which, not to what", async () => {
		audit.changed(["server.sharedToken", "server.host"]);
		audit.changed([]);
		const [line, ...others] = await written();
		assert.deepEqual(
			[line?.peer, line?.operation, line?.preview, others.length],
			["operator", "settings", "server.sharedToken, server.host", 0],
		);
	});
});
