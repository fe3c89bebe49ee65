import assert from "node:assert/strict";
import { createAgent } from "../../src/agent/agent.ts";
import { createRedactor } from "../../src/guard/redact.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { nullLog } from "../../src/lib/log.ts";
import type { Call, WorkLimits } from "../../src/protocol/agent.ts";
import { textOf } from "../../src/protocol/parts.ts";
import { TaskStore } from "../../src/tasks/store.ts";
import { aborted, scriptedRunner } from "../support/scripted-runner.ts";

describe("agent: limits that a call sets to its work", () => {
	function stage() {
		const clock = manualClock();
		const tasks = new TaskStore({ limits: { maxFinished: 10 } as never, clock, log: nullLog });
		const runner = scriptedRunner(async function* (turn) {
			await aborted(turn.signal);
			yield { type: "text", delta: "too late" };
		});
		const agent = createAgent({
			tasks,
			runner,
			clock,
			limits: { maxConcurrent: 3, replyTimeoutMs: 0, asyncTimeoutMs: 0 } as never,
			redact: createRedactor,
			card: () => undefined,
			capabilities: { streaming: true, push: false, extended: false },
			log: nullLog,
		});
		const send = (limits: WorkLimits) => {
			const call: Call = {
				caller: { id: "mailbox:boss", label: "boss", authenticated: true, loopback: false },
				signal: new AbortController().signal,
				service: { version: "1.0", extensions: [] },
				limits,
			};
			const message = { messageId: `m${Math.random()}`, role: "ROLE_USER", parts: [{ text: "dig" }] } as const;
			return agent.request("SendMessage", { message }, call);
		};
		return { clock, runner, send };
	}

	it("reach the runner, and end the work when its time is over", async () => {
		const { clock, runner, send } = stage();
		const sent = send({ tools: ["read"], maxTurns: 3, maxMs: 60_000 });
		await clock.advance(59_000);
		assert.deepEqual([runner.turns[0]?.limits?.tools, runner.turns[0]?.limits?.maxTurns], [["read"], 3]);
		assert.equal(runner.turns[0]?.signal.aborted, false);
		await clock.advance(1_000);
		const result = await sent;
		assert.ok("task" in result);
		assert.equal(result.task.status.state, "TASK_STATE_FAILED");
		assert.match(textOf(result.task.status.message?.parts ?? []), /within the 60 s that its caller allows/);
		assert.equal(runner.turns[0]?.signal.aborted, true);
	});

	it("end the work when the right to do it is taken back", async () => {
		const { clock, runner, send } = stage();
		const revoked = new AbortController();
		const sent = send({ revoked: revoked.signal });
		await clock.advance(0);
		revoked.abort();
		const result = await sent;
		assert.ok("task" in result);
		assert.equal(result.task.status.state, "TASK_STATE_CANCELED");
		assert.equal(runner.turns[0]?.signal.aborted, true);
	});
});
