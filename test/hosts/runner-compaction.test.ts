import assert from "node:assert/strict";
import { openStage, type RunnerHost, type Stage } from "../support/runner-client.ts";

/** About 2000 tokens that the model's own reply adds to the history. */
const BULK = "REPEAT 1000 bulk-text";

describe("a long conversation in a real Pi with a small model", function () {
	this.timeout(60_000);
	let stage: Stage;
	let host: RunnerHost;
	const summaries = () => stage.llm.requests.filter((request) => request.lastUser.includes("<conversation>")).length;
	before(async () => {
		// The user's own session does not compact; unattended work must, or it would die at the window.
		stage = await openStage({
			settings: { compaction: { enabled: false } },
			models: [{ id: "small", contextWindow: 12_000, maxTokens: 1000 }],
		});
		host = await stage.start();
	});
	after(() => stage.end());

	it("is summed up when the window fills, and the task ends with its own answer", async () => {
		await host.turn({ text: `${BULK}\nSAY one`, context: "fills" });
		await host.turn({ text: `${BULK}\nSAY two`, context: "fills" });
		const before = summaries();
		const { text, ending, events } = await host.turn({ text: "SAY three\nUSAGE 11800 10", context: "fills" });
		assert.equal(text, "three");
		assert.deepEqual(ending, { type: "completed" });
		assert.ok(summaries() > before, "nothing was summed up");
		assert.ok(events.some((event) => event.type === "activity" && event.activity.type === "compaction"));
		const next = await host.turn({ text: "DUMP users", context: "fills" });
		assert.match(next.text, /summary of \d+ characters/);
		assert.equal(next.ending?.type, "completed");
	});

	it("goes on by itself when the provider says that the window is full", async () => {
		await host.turn({ text: `${BULK}\nSAY one`, context: "full" });
		await host.turn({ text: `${BULK}\nSAY two`, context: "full" });
		const refusal =
			"FAIL 1 400 This model's maximum context length is 12000 tokens. However, your messages resulted in 13000 tokens";
		const { text, ending } = await host.turn({ text: `${refusal}\nSAY after all`, context: "full" });
		assert.equal(text, "after all");
		assert.deepEqual(ending, { type: "completed" });
	});

	it("can be stopped while it is summed up", async () => {
		await host.turn({ text: `${BULK}\nSAY one`, context: "stop" });
		await host.turn({ text: `${BULK}\nSAY two`, context: "stop" });
		const before = summaries();
		const stop = new AbortController();
		const turn = host.turn(
			{ text: "SAY three\nUSAGE 11800 10", context: "stop" },
			{
				signal: stop.signal,
				onEvent: (event) => {
					if (event.type === "activity" && event.activity.type === "compaction") stop.abort();
				},
			},
		);
		await turn.catch(() => undefined);
		assert.ok(stop.signal.aborted);
		assert.ok(summaries() <= before + 2);
		assert.equal((await host.turn({ text: "SAY next", context: "stop" })).text, "next");
		assert.deepEqual((await host.state()).said, []);
	});
});
