import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RunEvent } from "../../src/agent/runner.ts";
import { policyFor, type WrittenPolicy } from "../../src/guard/peer-policy.ts";
import { type ManualClock, manualClock } from "../../src/lib/clock.ts";
import { ASK_MS, type PolicyGate, policyGate, readableOf } from "../../src/pi/session-policy.ts";

const COMPLETED: RunEvent = { type: "completed" };

describe("the gate of a policy", () => {
	let workspace: string;
	let agentDir: string;
	let clock: ManualClock;
	let events: RunEvent[];
	let questions: string[];
	let stop: AbortController;
	beforeEach(() => {
		workspace = mkdtempSync(join(tmpdir(), "a2a-gate-"));
		agentDir = mkdtempSync(join(tmpdir(), "a2a-agent-"));
		clock = manualClock();
		[events, questions] = [[], []];
		stop = new AbortController();
	});
	afterEach(() => {
		for (const folder of [workspace, agentDir]) rmSync(folder, { recursive: true, force: true });
	});

	function gate(policy: WrittenPolicy, answer?: (signal: AbortSignal) => Promise<boolean>): PolicyGate {
		return policyGate({
			policy: policyFor("peer:alice", { alice: policy }),
			caller: { id: "peer:alice", label: "alice", authenticated: true, loopback: true },
			places: { workspace, agentDir, taskFolder: join(agentDir, "a2a_files", "t"), readable: [] },
			free: ["a2a_ask"],
			confirm:
				answer &&
				((question, signal) => {
					questions.push(question);
					return answer(signal);
				}),
			say: (event) => events.push(event),
			signal: stop.signal,
			clock,
		});
	}

	it("takes silence for no, after a minute", async () => {
		const guard = gate({ tools: "read-only", ask: true }, () => new Promise(() => undefined));
		const permit = guard.permit("bash", { command: "make" });
		await clock.advance(ASK_MS - 1);
		assert.equal(
			events.some((event) => event.type === "activity" && event.activity.type === "refused"),
			false,
		);
		await clock.advance(1);
		assert.match((await permit) ?? "", /does not allow this tool, and nobody allowed it within 60 s/);
		assert.equal(guard.ending(COMPLETED).type, "auth-required");
		assert.equal(clock.pending, 0);
	});

	it("takes the question back when the task is stopped, and allows nothing, whatever is answered then", async () => {
		let taken = false;
		const answer = (signal: AbortSignal) =>
			new Promise<boolean>((resolve) =>
				signal.addEventListener("abort", () => {
					taken = true;
					resolve(true);
				}),
			);
		const guard = gate({ tools: "read-only", ask: true }, answer);
		const permit = guard.permit("bash", { command: "make" });
		stop.abort();
		assert.notEqual(await permit, undefined);
		assert.equal(taken, true);
		assert.equal(clock.pending, 0);
	});

	it("lets a turn complete that went on after a refusal", async () => {
		const guard = gate({ tools: "read-only" });
		await guard.permit("write", { path: "x" });
		await guard.permit("read", { path: "x" });
		assert.equal(guard.ending(COMPLETED), COMPLETED);
	});

	it("asks for one call at a time: what was allowed once is asked again", async () => {
		const guard = gate({ tools: "read-only", ask: true }, async () => true);
		for (const command of ["one", "two"]) assert.equal(await guard.permit("bash", { command }), undefined);
		assert.equal(questions.length, 2);
		assert.equal(guard.ending(COMPLETED), COMPLETED);
	});

	it("asks in lines that nothing can forge, and says when it does not show all", async () => {
		const guard = gate({ tools: "read-only", ask: true }, async () => false);
		await guard.permit("bash", { command: `ls\u001b[2J\nAllow it once? \u202e${"x".repeat(700)}; rm -rf ~` });
		const lines = questions[0]?.split("\n") ?? [];
		assert.equal(lines.length, 3);
		assert.doesNotMatch(questions[0] ?? "", /[\u001b\u202e]/);
		assert.match(lines[1] ?? "", /more characters are not shown\)$/);
	});

	it("does not ask, and fails a turn that ends on a refusal, where the policy does not say to", async () => {
		const guard = gate({ tools: "read-only" }, async () => true);
		assert.match((await guard.permit("write", { path: "x" })) ?? "", /peer:alice does not allow this tool\./);
		assert.deepEqual(questions, []);
		assert.match(JSON.stringify(guard.ending(COMPLETED)), /"failed".*write/);
		assert.equal(guard.ending({ type: "input-required", question: "?" }).type, "input-required");
	});

	it("leaves tools for the talk with the caller alone, and calls to the key for them", async () => {
		const guard = gate({ tools: ["read"] });
		assert.equal(await guard.permit("a2a_ask", {}), undefined);
		assert.match((await guard.permit("a2a_call", {})) ?? "", /calling other agents/);
		assert.equal(await gate({ tools: ["read"], mayCall: true }).permit("a2a_call", {}), undefined);
	});

	it("knows the tools by the names that mailbox contracts use", async () => {
		const guard = gate({ tools: ["read_file", "Run_Command"] });
		assert.equal(guard.offers("read"), true);
		assert.equal(guard.offers("bash"), true);
		assert.equal(guard.offers("write"), false);
	});

	it("tells which files that load later a command has changed", async () => {
		mkdirSync(join(workspace, ".pi"));
		writeFileSync(join(workspace, ".pi", "kept.md"), "x");
		writeFileSync(join(workspace, "AGENTS.md"), "x");
		const guard = gate({});
		assert.equal(await guard.permit("bash", { command: "make" }), undefined);
		assert.equal(await guard.changed(), undefined);
		mkdirSync(join(workspace, ".pi", "extensions"));
		writeFileSync(join(workspace, ".pi", "extensions", "x.ts"), "");
		writeFileSync(join(workspace, "AGENTS.md"), "y and more");
		writeFileSync(join(agentDir, "settings.json"), "{}");
		const changed = await guard.changed();
		for (const name of [".pi/extensions/x.ts", "AGENTS.md", join(agentDir, "settings.json")])
			assert.ok(changed?.includes(name), name);
		assert.equal(changed?.includes("kept.md"), false);
	});

	it("looks after nothing where only reading was done, or everything is allowed", async () => {
		for (const [policy, tool] of [
			[{}, "read"],
			[{ tools: "full" }, "bash"],
		] as const) {
			const guard = gate(policy);
			assert.equal(await guard.permit(tool, { path: "x" }), undefined);
			writeFileSync(join(workspace, "AGENTS.md"), tool);
			assert.equal(await guard.changed(), undefined);
		}
	});

	it("lets the files beside a skill be read, and of a skill in one file that file", () => {
		assert.deepEqual(readableOf(["/s/lint/SKILL.md", "/home/u/note.md"]), ["/s/lint", "/home/u/note.md"]);
	});
});
