import assert from "node:assert/strict";
import { every, manualClock, systemClock } from "../../src/lib/clock.ts";

describe("the manual clock", () => {
	it("stands still until it is moved, and fires what falls due in order", async () => {
		const clock = manualClock(1_000);
		const fired: string[] = [];
		clock.after(20, () => fired.push(`b ${clock.now()}`));
		clock.after(10, () => fired.push(`a ${clock.now()}`));
		clock.after(20, () => fired.push(`c ${clock.now()}`));
		await clock.advance(19);
		assert.deepEqual(fired, ["a 1010"]);
		await clock.advance(1);
		assert.deepEqual(fired, ["a 1010", "b 1020", "c 1020"]);
		assert.deepEqual([clock.now(), clock.pending], [1_020, 0]);
	});

	it("runs what a timer starts before the next one fires", async () => {
		const clock = manualClock();
		const steps: string[] = [];
		const work = async (name: string) => {
			for (let turn = 0; turn < 3; turn++) {
				await clock.sleep(10);
				steps.push(`${name}${turn}`);
			}
		};
		const both = Promise.all([work("a"), work("b")]);
		await clock.advance(30);
		await both;
		assert.deepEqual(steps, ["a0", "b0", "a1", "b1", "a2", "b2"]);
	});

	it("forgets a timer that was canceled, and never fires one that is infinitely far", async () => {
		const clock = manualClock();
		let fired = 0;
		clock.after(10, () => fired++)();
		clock.after(Number.POSITIVE_INFINITY, () => fired++);
		await clock.advance(1e12);
		assert.deepEqual([fired, clock.pending], [0, 0]);
	});
});

describe("sleep", () => {
	it("ends early when the signal aborts, and leaves no timer", async () => {
		const clock = manualClock();
		const waking = new AbortController();
		const slept = clock.sleep(1_000, waking.signal);
		waking.abort();
		await slept;
		assert.equal(clock.pending, 0);
		await clock.sleep(1_000, waking.signal);
		assert.equal(clock.pending, 0);
	});

	it("works on the real clock as well", async () => {
		const start = systemClock.now();
		const waking = new AbortController();
		const long = systemClock.sleep(60_000, waking.signal);
		await Promise.all([systemClock.sleep(20), new Promise((resolve) => setTimeout(resolve, 30))]);
		assert.ok(systemClock.now() - start >= 19);
		waking.abort();
		await long;
		assert.ok(systemClock.now() - start < 50_000);
	});
});

describe("the real clock", () => {
	it("waits for times longer than setTimeout can", async () => {
		let fired = false;
		const cancel = systemClock.after(2 ** 31 + 10, () => {
			fired = true;
		});
		systemClock.after(Number.POSITIVE_INFINITY, () => {
			fired = true;
		});
		await new Promise((resolve) => setTimeout(resolve, 20));
		cancel();
		assert.equal(fired, false);
	});

	it("keeps no process alive", () => {
		const before = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
		const cancel = systemClock.after(60_000, () => undefined);
		const after = process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
		cancel();
		assert.equal(after, before);
	});
});

describe("every", () => {
	it("ticks until its owner ends, and goes on after a tick that failed", async () => {
		const clock = manualClock();
		const owner = new AbortController();
		const errors: unknown[] = [];
		let ticks = 0;
		every(
			clock,
			100,
			() => {
				ticks += 1;
				if (ticks === 2) throw new Error("tick");
			},
			owner.signal,
			(error) => errors.push(error),
		);
		await clock.advance(450);
		assert.equal(ticks, 4);
		assert.equal(errors.length, 1);
		owner.abort();
		await clock.advance(1_000);
		assert.deepEqual([ticks, clock.pending], [4, 0]);
	});

	it("begins the next wait when a slow tick is done", async () => {
		const clock = manualClock();
		const owner = new AbortController();
		const starts: number[] = [];
		const begin = clock.now();
		const tick = () => {
			starts.push(clock.now() - begin);
			return clock.sleep(250);
		};
		every(clock, 100, tick, owner.signal, assert.ifError);
		await clock.advance(1_000);
		owner.abort();
		assert.deepEqual(starts, [100, 450, 800]);
	});
});
