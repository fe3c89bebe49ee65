import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { openStage, type RunnerHost, type Stage } from "../support/runner-client.ts";

/** Whether a process with this word in its command line runs. */
const runs = (word: string) => {
	const list = execFileSync("ps", ["-eo", "args"], { encoding: "utf8" });
	return list.split("\n").some((line) => line.includes(word));
};

async function until(what: () => boolean | Promise<boolean>, ms: number): Promise<boolean> {
	for (const end = Date.now() + ms; Date.now() < end; await pause(20)) if (await what()) return true;
	return what();
}

describe("stopping a turn in a real Pi", function () {
	this.timeout(60_000);
	let stage: Stage;
	let host: RunnerHost;
	before(async () => {
		stage = await openStage();
		host = await stage.start();
	});
	after(() => stage.end());

	/** Starts a turn, waits for `begun`, aborts it; gives how long the session's end took in ms. */
	async function stopped(
		ask: { text: string; context: string },
		begun: () => boolean | Promise<boolean>,
	): Promise<number> {
		const stop = new AbortController();
		const turn = host.turn(ask, { signal: stop.signal });
		const settled = turn.catch(() => undefined);
		assert.ok(await until(begun, 10_000), "the turn did not begin");
		const at = Date.now();
		stop.abort();
		await settled;
		// The next turn of the context waits until the stopped one has been given back.
		await host.turn({ text: "SAY next", context: ask.context });
		return Date.now() - at;
	}

	// R033
	it("ends a shell command and its children, and the session takes the next turn", async () => {
		const text = `CALL bash {"command":"sleep 613 & sleep 614; echo never"}`;
		const took = await stopped({ text, context: "shell" }, () => runs("sleep 614"));
		assert.ok(took < 2000, `took ${took} ms`);
		assert.equal(runs("sleep 613"), false);
		assert.equal(runs("sleep 614"), false);
	});

	it("hangs up on a model that does not answer", async () => {
		const took = await stopped({ text: "HANG", context: "hang" }, () => stage.llm.inFlight === 1);
		assert.ok(took < 2000, `took ${took} ms`);
		assert.ok(await until(() => stage.llm.inFlight === 0, 1000));
	});

	it("hangs up on a model in mid-stream and says no more", async () => {
		const stop = new AbortController();
		let after = 0;
		const turn = host.turn(
			{ text: "STREAM 2000 5", context: "stream" },
			{
				signal: stop.signal,
				onEvent: () => {
					if (stop.signal.aborted) after++;
					stop.abort();
				},
			},
		);
		await assert.rejects(turn);
		assert.ok(await until(() => stage.llm.inFlight === 0, 1000));
		assert.equal(after, 0);
	});

	it("is not lost when it comes before the session has begun", async () => {
		for (const wait of [0, 1, 5, 20]) {
			const before = stage.llm.requests.length;
			const stop = new AbortController();
			const turn = host.turn({ text: "STREAM 400 10", context: `early ${wait}` }, { signal: stop.signal });
			await pause(wait);
			stop.abort();
			await turn.catch(() => undefined);
			await host.turn({ text: "SAY next", context: `early ${wait}` });
			const left = stage.llm.requests.slice(before).filter((request) => request.steps[0]?.startsWith("STREAM"));
			assert.ok(left.every((request) => request.aborted));
		}
	});

	it("ends the wait between two attempts", async () => {
		const own = await openStage({ settings: { retry: { maxRetries: 3, baseDelayMs: 60_000 } } });
		try {
			const other = await own.start();
			const stop = new AbortController();
			const turn = other.turn({ text: "FAIL 9 503 busy", context: "wait" }, { signal: stop.signal });
			assert.ok(await until(() => own.llm.requests.length === 1, 10_000));
			await pause(100);
			const at = Date.now();
			stop.abort();
			await turn.catch(() => undefined);
			assert.equal((await other.turn({ text: "SAY next", context: "wait" })).text, "next");
			assert.ok(Date.now() - at < 2000);
		} finally {
			await own.end();
		}
	});

	it("a turn that waits behind another never begins when it is stopped", async () => {
		const first = host.turn({ text: "SLEEP 400\nSAY one", context: "behind" });
		await pause(50);
		const stop = new AbortController();
		const second = host.turn({ text: "SAY unwanted", context: "behind" }, { signal: stop.signal });
		await pause(50);
		stop.abort();
		await second.catch(() => undefined);
		assert.equal((await first).text, "one");
		assert.equal((await host.turn({ text: "FIND unwanted", context: "behind" })).text, "NOT FOUND");
	});

	it("remembers what was said before a stopped turn", async () => {
		await host.turn({ text: "SAY token-blue", context: "kept" });
		await stopped({ text: "HANG", context: "kept" }, () => stage.llm.inFlight === 1);
		assert.match((await host.turn({ text: "FIND token-blue", context: "kept" })).text, /^FOUND/);
	});

	it("closing the runner stops everything, and twice is harmless", async () => {
		const own = await stage.start();
		const turn = own.turn({ text: 'CALL bash {"command":"sleep 615"}', context: "close" });
		assert.ok(await until(() => runs("sleep 615"), 10_000));
		const at = Date.now();
		await Promise.all([own.close(), own.close()]);
		assert.ok(Date.now() - at < 2000);
		assert.equal(runs("sleep 615"), false);
		const stopped = { type: "failed", reason: "host stopped" };
		assert.deepEqual((await turn).ending, stopped);
		assert.deepEqual((await own.turn({ text: "SAY late", context: "close" })).events, [stopped]);
		await own.close();
	});

	it("leaves the host without a complaint", async () => {
		const { said } = await host.state();
		assert.deepEqual(said, []);
		assert.equal(host.pi.stderr, "");
	});
});
