import assert from "node:assert/strict";
import { manualClock } from "../../src/lib/clock.ts";
import { budgets } from "../../src/pi/session-budget.ts";

const answer = (stopReason: string, tokens = 0) => ({
	type: "message_end",
	message: { role: "assistant", stopReason, usage: { input: tokens, output: 0 } },
});

describe("the budget of a task", () => {
	it("has no end where none is set", async () => {
		const clock = manualClock();
		const left = budgets(clock)("t", {});
		for (let i = 0; i < 1000; i++) left.on(answer("toolUse", 1_000_000));
		await clock.advance(1e9);
		assert.equal(left.reason(), undefined);
		assert.equal(left.signal.aborted, false);
		left.close();
	});

	it("lets the last turn answer, but not call tools for another", () => {
		const of = budgets(manualClock());
		const good = of("good", { maxTurns: 2 });
		good.on(answer("toolUse"));
		good.on(answer("stop"));
		assert.equal(good.signal.aborted, false);
		const bad = of("bad", { maxTurns: 2 });
		bad.on(answer("toolUse"));
		assert.equal(bad.signal.aborted, false);
		bad.on(answer("toolUse"));
		assert.match(bad.reason() ?? "", /2 turns; they are used up/);
		assert.equal(bad.signal.aborted, true);
		for (const left of [good, bad]) left.close();
	});

	it("counts the tokens of failed attempts, but not their turns", () => {
		const left = budgets(manualClock())("t", { maxTurns: 1, maxTokens: 100 });
		left.on(answer("error", 60));
		left.on(answer("stop", 40));
		assert.equal(left.reason(), undefined);
		left.on(answer("stop", 1));
		assert.match(left.reason() ?? "", /100 tokens/);
		left.close();
	});

	it("is one for all turns of a task; the time between them is not counted", async () => {
		const clock = manualClock();
		const of = budgets(clock);
		const limits = { maxSeconds: 10, maxTurns: 3 };
		const first = of("t", limits);
		await clock.advance(6_000);
		first.on(answer("stop"));
		first.close();
		await clock.advance(60_000);
		const second = of("t", limits);
		assert.equal(second.reason(), undefined);
		await clock.advance(3_999);
		assert.equal(second.reason(), undefined);
		await clock.advance(1);
		assert.match(second.reason() ?? "", /10 seconds/);
		second.close();
		const third = of("t", limits);
		await clock.advance(0);
		assert.match(third.reason() ?? "", /10 seconds/);
		third.close();
		const other = of("u", limits);
		assert.equal(other.signal.aborted, false);
		other.close();
		assert.equal(clock.pending, 0);
	});

	it("is used up from the start when a task comes back with nothing left", () => {
		const of = budgets(manualClock());
		const first = of("t", { maxTurns: 1 });
		first.on(answer("stop"));
		first.close();
		assert.equal(of("t", { maxTurns: 1 }).signal.aborted, true);
	});
});
