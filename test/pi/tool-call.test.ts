import assert from "node:assert/strict";
import { manualClock } from "../../src/lib/clock.ts";
import type { CallOptions, Outbound, StatusOptions } from "../../src/peers/outbound.ts";
import { PeerError, type PeerReply } from "../../src/peers/reply.ts";
import { hopsOf } from "../../src/pi/app-host.ts";
import { ballot, choice } from "../../src/pi/judge.ts";
import type { ToolSetting } from "../../src/pi/tool-call.ts";
import { runTool } from "../../src/pi/tool-run.ts";
import type { ToolResult } from "../../src/pi/tools.ts";
import { contextId, taskId } from "../../src/protocol/types.ts";

const done: PeerReply = {
	peer: "worker",
	state: "TASK_STATE_COMPLETED",
	text: "done",
	contextId: contextId("c1"),
	taskId: taskId("t1"),
	artifacts: [],
	running: false,
	notes: [],
	durationMs: 5,
};

function setting(outbound: Partial<Outbound>) {
	const updates: ToolResult[] = [];
	const clock = manualClock();
	const onUpdate = (update: ToolResult) => void updates.push(update);
	const all: ToolSetting = {
		outbound: outbound as Outbound,
		clock,
		signal: new AbortController().signal,
		onUpdate: onUpdate as ToolSetting["onUpdate"],
		hops: 2,
		cwd: "/work",
	};
	return { all, updates, clock };
}
const textOf = (result: ToolResult) => result.content.map((part) => (part.type === "text" ? part.text : "")).join("");

describe("pi/tool-run", () => {
	it("passes arguments, signal and hops on to the call, an empty context id as none", async () => {
		const calls: [string, string, CallOptions][] = [];
		const call: Outbound["call"] = async (...args) => {
			calls.push(args);
			return done;
		};
		const { all } = setting({ call });
		const result = await runTool("a2a_call", { agent: " worker ", message: "do it", context_id: "" }, all);
		const [agent, message, options] = calls[0] ?? assert.fail();
		assert.deepEqual(
			[agent, message, options.contextId, options.detached, options.hops],
			["worker", "do it", undefined, false, 2],
		);
		assert.equal(options.signal, all.signal);
		assert.match(textOf(result), /^\[A2A → worker · context c1 · task t1 · completed/);
		assert.deepEqual(result.details?.facts?.taskId, "t1");
	});

	it("passes files with where they may be, data and the trace on, and refuses data that is no JSON", async () => {
		const calls: CallOptions[] = [];
		const call: Outbound["call"] = async (_agent, _message, options) => {
			calls.push(options);
			return done;
		};
		const all = { ...setting({ call }).all, within: ["/work"], trace: "t" };
		const args = { agent: "w", message: "x", files: ["a.txt"], data: '{"a":[1]}' };
		await runTool("a2a_call", args, all);
		const [{ files, data, trace } = assert.fail()] = calls;
		assert.deepEqual([files, data, trace], [{ paths: ["a.txt"], from: "/work", within: ["/work"] }, { a: [1] }, "t"]);
		await assert.rejects(runTool("a2a_call", { ...args, data: "{a" }, all), /data: it is not valid JSON/);
		assert.equal(calls.length, 1);
	});

	it("turns seconds into milliseconds for a status, and never below zero", async () => {
		const waits: (number | undefined)[] = [];
		const status = async (_agent: string, _task: string, options: StatusOptions) => {
			waits.push(options.waitMs);
			return done;
		};
		const { all } = setting({ status });
		await runTool("a2a_status", { agent: "w", task_id: "t1", wait_seconds: 2.5 }, all);
		await runTool("a2a_status", { agent: "w", task_id: "t1", wait_seconds: -1 }, all);
		await runTool("a2a_status", { agent: "w", task_id: "t1" }, all);
		assert.deepEqual(waits, [2500, 0, 0]);
	});

	it("fails by throwing: state, ids, reason and what to do", async () => {
		const facts = { peer: "worker", state: "TASK_STATE_FAILED", taskId: taskId("t9"), hint: "Ask later." } as const;
		const call = () => Promise.reject(new PeerError("quota used up", facts));
		await assert.rejects(runTool("a2a_call", { agent: "worker", message: "x" }, setting({ call }).all), {
			message: "[A2A → worker · task t9 · failed]\nquota used up\nNext: Ask later.",
		});
	});

	it("reports progress at once when something new happens, else not too often", async () => {
		const { all, updates, clock } = setting({
			call: async (_agent, _message, { onProgress }) => {
				const at = (text: string, activity?: string) =>
					onProgress?.({ state: "TASK_STATE_WORKING", text, elapsedMs: 1, ...(activity ? { activity } : {}) });
				at("a");
				at("ab");
				at("abc", "⚙ read x");
				await clock.advance(200);
				at("abcd", "⚙ read x");
				return done;
			},
		});
		await runTool("a2a_call", { agent: "w", message: "x" }, all);
		assert.deepEqual(
			updates.map((update) => update.details?.body),
			["a", "abc", "abcd"],
		);
	});

	it("fails a fan-out only when nobody answered, with every reason", async () => {
		const failures = [{ peer: "a", error: new PeerError("a: no", { peer: "a" }) }];
		const none = { mode: "first", replies: [], failures, notes: ["No peer completed the task."] } as const;
		const { all } = setting({ orchestrate: async () => none });
		const args = { capability: "x", message: "y", mode: "first" } as const;
		await assert.rejects(runTool("a2a_orchestrate", args, all), /No peer completed the task\.[\s\S]*a: no/);
		const some = setting({ orchestrate: async () => ({ ...none, mode: "all", replies: [done], notes: [] }) });
		const result = await runTool("a2a_orchestrate", { capability: "x", message: "y" }, some.all);
		assert.equal(result.details?.tone, "warning");
	});
});

describe("what a session that serves a peer passes on", () => {
	it("counts one more agent than the caller said, whatever the caller said", () => {
		const hops = (said: unknown) =>
			hopsOf({ message: { messageId: "m", role: "ROLE_USER", parts: [], metadata: { "pi/hops": said as number } } });
		assert.deepEqual([hops(undefined), hops(3), hops(-99), hops("7"), hops(Number.POSITIVE_INFINITY)], [1, 4, 1, 1, 1]);
	});
});

describe("pi/judge", () => {
	it("numbers the answers and reads the number that is chosen", () => {
		const text = ballot("what?", [{ text: "one" }, { text: "two\u202e" }]);
		assert.match(text, /=== request ===\nwhat\?\n\n=== answer 1 ===\none\n\n=== answer 2 ===\ntwo\n\n/);
		assert.deepEqual(
			["2", "Answer 1.", "3", "none", ""].map((words) => choice(words, 2)),
			[1, 0, undefined, undefined, undefined],
		);
	});
});
