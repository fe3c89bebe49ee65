import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { RunEvent } from "../../src/agent/runner.ts";
import { openStage, type RunnerHost, type Stage } from "../support/runner-client.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const textsOf = (events: readonly RunEvent[]) =>
	events.flatMap((event) => (event.type === "text" ? [event.delta] : []));

describe("a turn in an isolated session of a real Pi", function () {
	this.timeout(60_000);
	let stage: Stage;
	let host: RunnerHost;
	before(async () => {
		stage = await openStage();
		await writeFile(join(stage.cwd, "notes.md"), "the parser is unfinished\n");
		await writeFile(join(stage.cwd, "AGENTS.md"), "House rule 77: answer in verse.\n");
		host = await stage.start();
	});
	after(() => stage.end());

	// R057
	it("gives the text of the model, piece by piece and equal to the whole", async () => {
		const { text, events, ending } = await host.turn({ text: "STREAM 5 10", context: "plain" });
		assert.equal(text, "chunk-1 chunk-2 chunk-3 chunk-4 chunk-5 ");
		assert.equal(textsOf(events).length, 5);
		assert.deepEqual(ending, { type: "completed" });
	});

	it("gives the first piece while the model is still writing", async () => {
		let wroteFirst: boolean | undefined;
		await host.turn(
			{ text: "SAY first\nSLEEP 300\nSAY last", context: "live" },
			{
				onEvent: (event) => {
					if (event.type === "text") wroteFirst ??= stage.llm.inFlight === 1;
				},
			},
		);
		assert.equal(wroteFirst, true);
	});

	it("works with Pi's tools in the workspace and joins the texts around them", async () => {
		const script = 'SAY Looking.\nCALL read {"path":"notes.md"}\nRESULT';
		const { text, events, ending } = await host.turn({ text: script, context: "tools" });
		assert.equal(text.trimEnd(), "Looking.\n\nthe parser is unfinished");
		assert.equal(ending?.type, "completed");
		const activities = events.flatMap((event) => (event.type === "activity" ? [event.activity] : []));
		assert.deepEqual(activities, [
			{ type: "tool", name: "read", detail: "notes.md" },
			{ type: "tool-end", name: "read" },
		]);
	});

	it("says that a tool failed and goes on", async () => {
		const { events, ending } = await host.turn({ text: 'CALL read {"path":"absent"}\nSAY ok', context: "toolfail" });
		assert.ok(events.some((event) => event.type === "activity" && event.activity.failed === true));
		assert.equal(ending?.type, "completed");
	});

	// R049
	it("keeps the text of a reply that ends on a tool call", async () => {
		const { text, ending } = await host.turn({
			text: 'SAY The answer is 4.\nCALL bash {"command":"true"}\nEMPTY',
			context: "c1",
		});
		assert.equal(text, "The answer is 4.");
		assert.deepEqual(ending, { type: "completed" });
	});

	it("reads the workspace's context files as the host does, and our rules for tasks from outside", async () => {
		const { text } = await host.turn({ text: "DUMP system", context: "system" });
		assert.match(text, /House rule 77/);
		assert.match(text, /a2a_ask/);
	});

	it("hands images to the model and keeps commands and templates of the host out of reach", async () => {
		const { text } = await host.turn({
			context: "images",
			parts: [{ text: "/quit\nDUMP images" }, { raw: PIXEL, mediaType: "image/png" }],
		});
		assert.match(text, /image\/png/);
		assert.equal((await host.turn({ text: "/new", context: "images" })).ending?.type, "completed");
	});

	it("remembers within a context of a caller, and nothing across contexts or callers", async () => {
		await host.turn({ text: "SAY noted: code-alpha-9", context: "memory" });
		assert.match((await host.turn({ text: "FIND code-alpha-.", context: "memory" })).text, /^FOUND: code-alpha-9/);
		assert.equal((await host.turn({ text: "FIND code-alpha-.", context: "other" })).text, "NOT FOUND");
		const foreign = await host.turn({ text: "FIND code-alpha-.", context: "memory", caller: "peer:bob" });
		assert.equal(foreign.text, "NOT FOUND");
	});

	// R061
	it("runs turns of one context one after another", async () => {
		const replies = await Promise.all([
			host.turn({ text: "SAY one\nSLEEP 150", context: "queue" }),
			host.turn({ text: "SAY two\nDUMP roles", context: "queue" }),
		]);
		const third = await host.turn({ text: "FIND (one|two)$", context: "queue" });
		assert.deepEqual(
			replies.map(({ ending }) => ending?.type),
			["completed", "completed"],
		);
		assert.match(replies[1].text, /"user","assistant","user"\]$/);
		assert.equal(third.ending?.type, "completed");
	});

	// R038
	it("asks the caller through a tool and goes on in the same session with the answer", async () => {
		const first = await host.turn({
			text: 'CALL a2a_ask {"question":"Which module?"}',
			context: "ask",
			taskId: "task-q",
		});
		assert.deepEqual(first.events, [{ type: "input-required", question: "Which module?" }]);
		const second = await host.turn({ text: "FIND Which module", context: "ask", taskId: "task-q", resumed: true });
		assert.match(second.text, /^FOUND: Which module/);
		assert.deepEqual(second.ending, { type: "completed" });
		const again = await host.turn({ text: 'CALL a2a_ask {"question":"And now?"}', context: "ask" });
		assert.deepEqual(again.ending, { type: "input-required", question: "And now?" });
	});

	it("starts no tool behind a question", async () => {
		const script =
			'CALL a2a_ask {"question":"Sure?"}\nALSO bash {"command":"touch made"}\nCALL bash {"command":"touch made2"}\nSAY x';
		const { ending } = await host.turn({ text: script, context: "behind" });
		assert.deepEqual(ending, { type: "input-required", question: "Sure?" });
		const { text } = await host.turn({ text: 'CALL bash {"command":"ls made2 || echo none"}', context: "behind2" });
		assert.match(text, /none/);
	});

	it("takes a reply that begins with the mark as a question, and gives none of it as text", async () => {
		const { events } = await host.turn({ text: "SAY [INPUT_REQUIRED] CAD or USD?", context: "mark" });
		assert.deepEqual(events, [{ type: "input-required", question: "CAD or USD?" }]);
	});

	it("voids what a cut-off model call had written when it is retried", async () => {
		const { events, text, ending } = await host.turn({
			text: 'SAY before\nCALL bash {"command":"true"}\nCUTONCE\nSAY whole',
			context: "retry",
		});
		assert.equal(text, "before\n\nwhole");
		assert.deepEqual(ending, { type: "completed" });
		assert.ok(events.some((event) => event.type === "activity" && event.activity.type === "retry"));
	});

	const failures: readonly (readonly [string, string, RegExp])[] = [
		[
			"the provider's reason in one line",
			"ERROR 400 your plan has no such model",
			/^400:? your plan has no such model$/,
		],
		["retries used up", "FAIL 9 503 overloaded", /overloaded \(after 2 retries\)$/],
		["no output", "EMPTY", /^no usable reply was produced \(empty answer\)$/],
		["a length stop with no text", "EMPTY\nLENGTH", /^no usable reply was produced \(length stop\)$/],
		["a connection that is always cut", "CUT", /terminated/],
		["a filtered answer", "FILTER", /filter/],
	];
	for (const [name, script, reason] of failures) {
		it(`fails with a reason: ${name}`, async () => {
			const { ending } = await host.turn({ text: script, context: `failure ${name}` });
			assert.equal(ending?.type, "failed");
			assert.match(ending?.type === "failed" ? ending.reason : "", reason);
		});
	}

	it("never passes off an earlier reply as the answer of a turn that had none", async () => {
		await host.turn({ text: "SAY old answer", context: "stale" });
		const { ending, text } = await host.turn({ text: "EMPTY\nLENGTH", context: "stale" });
		assert.equal(text, "");
		assert.equal(ending?.type, "failed");
	});

	it("says that an answer was cut by its length", async () => {
		const { text, ending } = await host.turn({ text: "SAY as far as it goes\nLENGTH", context: "length" });
		assert.equal(text, "as far as it goes");
		assert.deepEqual(ending, { type: "completed", metadata: { "pi/stopReason": "length" } });
	});

	it("goes on after a failure in the same context", async () => {
		await host.turn({ text: "ERROR 400 no", context: "after" });
		assert.equal((await host.turn({ text: "SAY fine", context: "after" })).text, "fine");
	});

	it("logs nothing and throws nothing in the host over all of this", async () => {
		const { said } = await host.state();
		assert.deepEqual(said, []);
		assert.equal(host.pi.stderr, "");
	});
});
