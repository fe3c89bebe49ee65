import assert from "node:assert/strict";
import { Meter } from "../../src/pi/session-usage.ts";

const end = (usage: unknown, more: object = {}) => ({
	type: "message_end",
	message: { role: "assistant", provider: "p", model: "m", usage, ...more },
});

describe("the use of a run", () => {
	it("is the sum of what the host says of each answer", () => {
		const meter = new Meter();
		meter.on(end({ input: 10, output: 2, cacheRead: 5, cacheWrite: 1, cost: { total: 0.1 } }));
		meter.on({ type: "message_end", message: { role: "user", usage: { input: 99 } } });
		meter.on({ type: "message_start", message: { role: "assistant", usage: { input: 99 } } });
		meter.on(end({ input: 1, output: 1, cacheRead: 0, cacheWrite: 0, cost: { total: 0.2 } }, { model: "n" }));
		assert.deepEqual(meter.total(12.4), {
			...{ inputTokens: 11, outputTokens: 3, cacheReadTokens: 5, cacheWriteTokens: 1 },
			...{ costUsd: 0.3, turns: 2, durationMs: 12, model: "p/n" },
		});
	});

	it("is not known when no model has answered", () => {
		assert.equal(new Meter().total(5), undefined);
	});

	it("makes nothing up where the host says nothing, or nonsense", () => {
		const meter = new Meter();
		meter.on(end({ input: -1, output: Number.NaN, cacheRead: "9" }, { model: undefined }));
		meter.on(end(undefined, { model: 7 }));
		const zeros = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
		assert.deepEqual(meter.total(0), { ...zeros, turns: 2, durationMs: 0 });
	});
});
