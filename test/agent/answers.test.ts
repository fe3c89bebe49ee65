/** What the caller takes, what it gets, and what it is told of the use. */
import assert from "node:assert/strict";
import type { RunEvent, Turn } from "../../src/agent/runner.ts";
import { apply, toEvent } from "../../src/protocol/task.ts";
import type { Artifact, StreamResponse, Task } from "../../src/protocol/types.ts";
import { all, assertIdle, bench, call, message, type Script, statusText } from "../support/scripted-runner.ts";

const modes = (acceptedOutputModes: readonly string[]) => ({ configuration: { acceptedOutputModes } });

/** Says `text` in pieces of three characters. */
const saying = (text: string, ...more: readonly RunEvent[]): Script =>
	async function* () {
		for (let at = 0; at < text.length; at += 3) yield { type: "text", delta: text.slice(at, at + 3) };
		yield* more;
	};

/** The task as a reader of the stream has it in the end. */
function folded(items: readonly StreamResponse[]): Task {
	const [first, ...rest] = items;
	assert.ok(first && "task" in first);
	return rest.reduce((task, item) => {
		const event = toEvent(item);
		assert.ok(event);
		return apply(task, event);
	}, first.task);
}

/** Runs a script for a caller who takes `accepts`; stream, answer and GetTask must agree. */
async function outcome(script: Script, accepts: readonly string[]) {
	const us = bench(script);
	const answer = await us.agent.request("SendMessage", { message: message("m1"), ...modes(accepts) }, call());
	assert.ok("task" in answer);
	const stream = all(us.agent.stream("SendStreamingMessage", { message: message("m2"), ...modes(accepts) }, call()));
	await us.clock.advance(20);
	const items = await stream;
	const artifacts = answer.task.artifacts ?? [];
	assert.deepEqual(folded(items).artifacts ?? [], artifacts);
	assert.deepEqual((await us.get(answer.task.id)).artifacts ?? [], artifacts);
	await assertIdle(us);
	return { task: answer.task, artifacts, items, turns: us.runner.turns };
}

const state = (task: Task) => task.status.state.replace("TASK_STATE_", "");
const contents = (artifacts: readonly Artifact[]) => artifacts.flatMap(({ parts }) => parts);
const DATA = { a: [1, "two"] };

describe("a reply that is one JSON document", () => {
	for (const accepts of [["application/json"], ["text/plain", "application/json"], ["application/json", "*/*"]])
		for (const [how, text] of [
			["bare", JSON.stringify(DATA)],
			["in a fence", `\n\`\`\`json\n${JSON.stringify(DATA, undefined, 1)}\n\`\`\`\n`],
			["in a fence without a word", `\`\`\`\n${JSON.stringify(DATA)}\`\`\``],
		] as const)
			it(`${how}, is one data part for who takes ${accepts.join(" and ")}`, async () => {
				const { task, artifacts, items } = await outcome(saying(text), accepts);
				assert.deepEqual(artifacts, [
					{ artifactId: "reply", name: "reply", parts: [{ data: DATA, mediaType: "application/json" }] },
				]);
				assert.equal(state(task), "COMPLETED");
				assert.equal(items.filter((item) => "artifactUpdate" in item).length, 1);
			});

	it("stays text for who has not asked for JSON by name", async () => {
		for (const accepts of [[], ["text/plain"], ["*/*"]]) {
			const { artifacts } = await outcome(saying('{"a":1}'), accepts);
			assert.deepEqual(contents(artifacts), [{ text: '{"a":1}' }]);
		}
	});

	it("has no secret in it, also none that only its name gives away", async () => {
		const token = ["ghp", "_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");
		const { artifacts } = await outcome(saying(JSON.stringify({ note: `use ${token}`, password: "xK9$mq2!vL" })), [
			"application/json",
		]);
		assert.doesNotMatch(JSON.stringify(artifacts), /ghp_|xK9/);
	});

	it("behind what the agent said on its way is found for who takes JSON alone, and nothing is lost", async () => {
		const { task, artifacts } = await outcome(saying('Let me look.\n\nAnd count.\n\n{"n":3}'), ["application/json"]);
		assert.deepEqual(contents(artifacts), [{ data: { n: 3 }, mediaType: "application/json" }]);
		assert.equal(state(task), "COMPLETED");
		assert.match(
			statusText(task),
			/Not among the accepted output modes \(application\/json\):\n\nLet me look\.\n\nAnd count\./,
		);
	});
});

describe("a reply in text", () => {
	it("goes out as it is written to who takes JSON as well, once it is seen to be none", async () => {
		const { artifacts, items } = await outcome(saying("plain words, not JSON"), ["application/json", "text/plain"]);
		assert.deepEqual(contents(artifacts), [{ text: "plain words, not JSON" }]);
		assert.ok(items.filter((item) => "artifactUpdate" in item).length > 2);
	});

	it("that only begins like JSON is not lost", async () => {
		for (const text of ["{not json}", "```json\nno\n```", "```ts\nx\n```", "[1] is a footnote", "``"]) {
			const { artifacts } = await outcome(saying(text), ["application/json", "text/plain"]);
			assert.deepEqual(contents(artifacts), [{ text }], text);
		}
	});

	it("fails the task of who takes none, and stands in its status", async () => {
		const { task, artifacts } = await outcome(saying("some words"), ["application/json"]);
		assert.deepEqual(artifacts, []);
		assert.equal(state(task), "FAILED");
		assert.match(statusText(task), /\(application\/json\):\n\nsome words$/);
	});

	it("is void after a restart, however it was held", async () => {
		const script = saying('{"old":1', { type: "restart" }, { type: "text", delta: '{"new":2}' });
		const { artifacts } = await outcome(script, ["application/json"]);
		assert.deepEqual(contents(artifacts), [{ data: { new: 2 }, mediaType: "application/json" }]);
	});
});

describe("files of a task", () => {
	const png = { raw: "iVBORw==", filename: "a.png", mediaType: "image/png" };
	const file: RunEvent = { type: "artifact", artifact: { artifactId: "f", parts: [png] } };

	it("go to who takes them; the text that is not taken stands in the status", async () => {
		const { task, artifacts } = await outcome(saying("see the picture", file), ["image/*"]);
		assert.deepEqual(contents(artifacts), [png]);
		assert.equal(state(task), "COMPLETED");
		assert.match(statusText(task), /see the picture$/);
	});

	it("that are not taken are named, not sent", async () => {
		const { task, artifacts } = await outcome(saying("words", file), ["text/plain"]);
		assert.deepEqual(contents(artifacts), [{ text: "words" }]);
		assert.match(statusText(task), /\(text\/plain\):\n\nimage\/png a\.png$/);
	});

	it("pass the redactor when they are text, whatever they are called, and are left alone otherwise", async () => {
		const token = ["ghp", "_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"].join("");
		const part = (text: string | Buffer) => ({
			raw: Buffer.from(text).toString("base64"),
			mediaType: "application/octet-stream",
		});
		const binary = part(Buffer.from([0xff, 0x00, ...Buffer.from(token)]));
		const clean = part("nothing secret\n");
		const parts = [part(`key: ${token}\n`), binary, clean];
		const { artifacts } = await outcome(saying("", { type: "artifact", artifact: { artifactId: "f", parts } }), []);
		const [first, ...others] = contents(artifacts);
		assert.ok(first && "raw" in first);
		assert.match(Buffer.from(first.raw, "base64").toString(), /^key: \[redacted:[\w-]+\]\n$/);
		assert.deepEqual(others, [binary, clean]);
	});
});

describe("what a turn is told, and what a task tells", () => {
	it("the runner hears what the caller takes", async () => {
		const { turns } = await outcome(saying("x"), ["text/plain", "a/b"]);
		assert.deepEqual(turns[0]?.accepts, ["text/plain", "a/b"]);
	});

	it("the use of all turns of a task is added up at its end", async () => {
		const us = bench(async function* (turn: Turn) {
			yield {
				type: "usage",
				usage: { inputTokens: 10, outputTokens: 2, costUsd: 0.5, turns: 1, model: turn.resumed ? "p/b" : "p/a" },
			};
			if (turn.resumed) yield { type: "text", delta: "done" };
			else yield { type: "input-required", question: "which?" };
		});
		const asked = await us.send("one");
		assert.deepEqual(asked.metadata?.["pi/usage"], {
			inputTokens: 10,
			outputTokens: 2,
			costUsd: 0.5,
			turns: 1,
			model: "p/a",
		});
		const done = await us.send("two", { task: asked.id });
		assert.deepEqual(done.metadata?.["pi/usage"], {
			inputTokens: 20,
			outputTokens: 4,
			costUsd: 1,
			turns: 2,
			model: "p/b",
		});
		await assertIdle(us);
	});

	it("a trace goes with the turn, stands on the task, and holds for later turns without one", async () => {
		const us = bench(async function* (turn: Turn) {
			if (turn.resumed) yield { type: "text", delta: "done" };
			else yield { type: "input-required", question: "which?" };
		});
		const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
		const asked = await us.send("one", {}, { ...call(), trace });
		await us.send("two", { task: asked.id });
		assert.deepEqual(
			us.runner.turns.map((turn) => turn.trace),
			[trace, trace],
		);
		assert.equal(asked.metadata?.traceparent, trace);
		assert.equal((await us.send("three")).metadata, undefined);
		await us.agent.close("end");
	});
});
