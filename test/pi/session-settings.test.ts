import assert from "node:assert/strict";
import { childSettings, mergeSettings } from "../../src/pi/session-settings.ts";

type Compaction = { enabled: boolean; reserveTokens: number; keepRecentTokens: number };
const compaction = (settings: object, window: number | undefined) =>
	childSettings({ ...settings }, window).compaction as Compaction;

describe("the settings of a session that serves a peer", () => {
	it("compact whatever the user chose, and keep what fits the model's window", () => {
		for (const window of [4_000, 8_192, 32_000, 128_000, 200_000, 1_000_000]) {
			const { enabled, reserveTokens, keepRecentTokens } = compaction({ compaction: { enabled: false } }, window);
			assert.equal(enabled, true);
			assert.ok(reserveTokens > 0 && keepRecentTokens > 0);
			// What is kept and a summary must fit, or the next request would be over the limit again.
			assert.ok(reserveTokens + keepRecentTokens <= window / 2, `${window}: ${reserveTokens} + ${keepRecentTokens}`);
		}
		assert.ok(compaction({}, 1_000_000).keepRecentTokens > compaction({}, 32_000).keepRecentTokens);
	});

	it("take a smaller share that the user set, and not one that is too large for the window", () => {
		const set = { compaction: { reserveTokens: 2_000, keepRecentTokens: 3_000 } };
		assert.deepEqual(compaction(set, 128_000), { enabled: true, reserveTokens: 2_000, keepRecentTokens: 3_000 });
		assert.ok(compaction(set, 8_000).keepRecentTokens < 3_000);
		assert.ok(compaction({}, undefined).keepRecentTokens > 0);
	});

	it("retry once in one place", () => {
		assert.deepEqual(childSettings({}, 1000).retry, { enabled: true, provider: { maxRetries: 0 } });
		const own = { retry: { maxRetries: 7, provider: { maxRetries: 2, timeoutMs: 5 } } };
		assert.deepEqual(childSettings(own, 1000).retry, { enabled: true, ...own.retry });
	});

	it("leave out what would be loaded a second time, and keep the rest", () => {
		const settings = {
			packages: ["npm:x"],
			extensions: ["a"],
			skills: [],
			prompts: [],
			themes: [],
			shellPath: "/bin/sh",
		};
		const { compaction: _c, retry: _r, ...rest } = childSettings(settings, 1000);
		assert.deepEqual(rest, { shellPath: "/bin/sh" });
	});

	it("of a trusted project go over the user's, one level deep", () => {
		const merged = mergeSettings(
			{ retry: { maxRetries: 1, enabled: true }, a: [1] },
			{ retry: { maxRetries: 2 }, a: [2], b: 3 },
		);
		assert.deepEqual(merged, { retry: { maxRetries: 2, enabled: true }, a: [2], b: 3 });
	});
});
