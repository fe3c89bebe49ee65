import assert from "node:assert/strict";
import { createShared } from "../../src/lib/shared.ts";

describe("lib/shared", () => {
	const never = () => new AbortController().signal;

	it("does work once for those who ask at the same time, and again for those who ask later", async () => {
		const shared = createShared<number>();
		let done = 0;
		const work = async () => ++done;
		const both = await Promise.all([shared.join("a", work, never()), shared.join("a", work, never())]);
		assert.deepEqual(both, [1, 1]);
		assert.deepEqual(await Promise.all([shared.join("a", work, never()), shared.join("b", work, never())]), [2, 3]);
	});

	it("lets callers leave, and stops the work with the last one", async () => {
		const shared = createShared<number>();
		let stopped: unknown;
		const work = (signal: AbortSignal) =>
			new Promise<number>((_, reject) => {
				signal.addEventListener("abort", () => {
					stopped = signal.reason;
					reject(signal.reason);
				});
			});
		const [first, second] = [new AbortController(), new AbortController()];
		const calls = [first, second].map(({ signal }) => shared.join("a", work, signal).catch((reason) => reason));
		first.abort("one");
		assert.equal(await calls[0], "one");
		assert.equal(stopped, undefined);
		second.abort("two");
		assert.equal(await calls[1], "two");
		assert.equal(stopped, "two");
		assert.equal(await shared.join("a", async () => 7, never()), 7, "what was stopped is not waited for");
		await assert.rejects(
			shared.join("a", async () => 8, first.signal),
			(reason) => reason === "one",
		);
	});

	it("gives everybody the failure, and tries anew afterwards", async () => {
		const shared = createShared<number>();
		const fail = async () => Promise.reject(new Error("no"));
		const both = [shared.join("a", fail, never()), shared.join("a", fail, never())];
		for (const each of both) await assert.rejects(each, /no/);
		assert.equal(await shared.join("a", async () => 1, never()), 1);
	});
});
