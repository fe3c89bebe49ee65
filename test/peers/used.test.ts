import assert from "node:assert/strict";
import { usedIn } from "../../src/peers/used.ts";

describe("peers/used", () => {
	it("reads what a task used in the shapes that agents have for it", () => {
		const said = { inputTokens: 10, outputTokens: 2, costUsd: 0.5, durationMs: 7, model: "a/b" };
		assert.deepEqual(usedIn({ "pi/usage": { ...said, turns: 1 } }), said);
		assert.deepEqual(usedIn({ usage: { prompt_tokens: 1, completion_tokens: 2, total_tokens: 3 } }), {
			...{ inputTokens: 1, outputTokens: 2, totalTokens: 3 },
		});
		const google = { promptTokenCount: 4, candidatesTokenCount: 5 };
		assert.deepEqual(usedIn({ adk_usage_metadata: google }), { inputTokens: 4, outputTokens: 5 });
	});

	it("takes nothing that is no number, or less than nothing", () => {
		assert.equal(usedIn(undefined), undefined);
		assert.equal(usedIn({ usage: "much" }), undefined);
		assert.equal(usedIn({ usage: { input_tokens: "1", output_tokens: -1, model: "" } }), undefined);
	});
});
