import assert from "node:assert/strict";
import { Output } from "../../src/agent/output.ts";
import type { Redactor } from "../../src/guard/redact.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { nullLog } from "../../src/lib/log.ts";
import { textOf } from "../../src/protocol/parts.ts";
import type { TaskEvent } from "../../src/protocol/task.ts";
import { contextId, type Part, taskId } from "../../src/protocol/types.ts";
import { TaskLog } from "../../src/tasks/log.ts";

/** Takes out the word `hush`, and holds back the word that is being written. */
function wordRedactor(): Redactor {
	let held = "";
	const safe = (text: string) => text.replaceAll("hush", "****");
	return {
		push(delta) {
			held += delta;
			const at = held.lastIndexOf(" ") + 1;
			const out = held.slice(0, at);
			held = held.slice(at);
			return safe(out);
		},
		end() {
			const out = safe(held);
			held = "";
			return out;
		},
	};
}

function bench() {
	const opening = { id: taskId("t"), contextId: contextId("c"), owner: "a", label: "a", v03: false };
	const log = new TaskLog(opening, manualClock(), nullLog);
	const pieces: string[] = [];
	log.on((event: TaskEvent) => {
		if (event.kind !== "artifact") return;
		const flags = `${event.append ? "+" : "="}${event.lastChunk ? "." : ""}`;
		pieces.push(`${event.artifact.artifactId} ${flags} ${textOf(event.artifact.parts)}`);
	});
	const out = new Output(log, wordRedactor, "reply");
	const artifact = (parts: readonly Part[], over: { append?: boolean; lastChunk?: boolean } = {}) =>
		out.artifact({ type: "artifact", artifact: { artifactId: "a", parts }, ...over });
	return { log, out, pieces, artifact };
}

describe("the output of a turn", () => {
	it("holds back what may become a secret and lets the rest go at once", () => {
		const { out, pieces } = bench();
		out.text("keep hu");
		assert.deepEqual(pieces, ["reply = keep "]);
		out.text("sh now");
		out.end();
		assert.deepEqual(pieces, ["reply = keep ", "reply + **** ", "reply +. now"]);
	});

	it("opens the reply with what comes out first, also when that is the end", () => {
		const { out, pieces, log } = bench();
		out.text("one");
		assert.deepEqual(pieces, []);
		assert.equal(out.end(), true);
		assert.deepEqual(pieces, ["reply =. one"]);
		assert.equal(log.task.artifacts?.[0]?.name, "reply");
	});

	it("closes with an empty piece when nothing was held back", () => {
		const { out, pieces } = bench();
		out.text("done ");
		out.end();
		assert.deepEqual(pieces, ["reply = done ", "reply +. "]);
	});

	it("sends nothing for a turn without output, and says that it is of no use", () => {
		const { out, pieces } = bench();
		out.text("");
		assert.equal(out.end(), false);
		assert.deepEqual(pieces, []);
	});

	it("counts an artifact as output", () => {
		const { out, artifact } = bench();
		artifact([{ raw: "YQ==" }]);
		assert.equal(out.end(), true);
	});

	it("forgets what was held back when the reply starts again", () => {
		const { out, pieces, log } = bench();
		out.text("old wo");
		out.restart();
		out.text("new text");
		out.end();
		assert.deepEqual(pieces, ["reply = old ", "reply = new ", "reply +. text"]);
		assert.deepEqual(log.task.artifacts?.[0]?.parts, [{ text: "new text" }]);
	});

	it("takes back what was sent when nothing follows a restart", () => {
		const { out, log } = bench();
		out.text("void ");
		out.restart();
		assert.equal(out.end(), false);
		assert.deepEqual(log.task.artifacts?.[0]?.parts, [{ text: "" }]);
	});

	it("takes a whole artifact as it is, closed, without secrets in text, data and names", () => {
		const { out, log } = bench();
		const parts: Part[] = [
			{ text: "say hush", mediaType: "text/plain" },
			{ text: "again" },
			{ data: { deep: ["hush", 1, null, { key: "hush" }] } },
			{ url: "https://files.example/hush" },
		];
		const artifact = { artifactId: "a", name: "hush.md", parts, metadata: { note: "hush" } };
		out.artifact({ type: "artifact", artifact });
		out.end();
		assert.deepEqual(log.task.artifacts, [
			{
				artifactId: "a",
				name: "****.md",
				metadata: { note: "****" },
				parts: [
					{ text: "say ****", mediaType: "text/plain" },
					{ text: "again" },
					{ data: { deep: ["****", 1, null, { key: "****" }] } },
					{ url: "https://files.example/hush" },
				],
			},
		]);
	});

	it("finds a secret that is cut in two by the pieces of an artifact", () => {
		const { artifact, pieces, log } = bench();
		artifact([{ text: "it is hu" }], { lastChunk: false });
		artifact([{ text: "sh okay" }], { append: true });
		artifact([{ text: "!" }], { append: true, lastChunk: true });
		assert.deepEqual(pieces, ["a = it is ", "a + **** ", "a +. okay!"]);
		assert.deepEqual(log.task.artifacts?.[0]?.parts, [{ text: "it is **** okay!" }]);
	});

	it("keeps text ahead of the file that followed it", () => {
		const { artifact, log } = bench();
		artifact([{ text: "see" }], { lastChunk: false });
		artifact([{ raw: "YQ==" }, { text: "and" }], { append: true, lastChunk: true });
		assert.deepEqual(log.task.artifacts?.[0]?.parts, [{ text: "see" }, { raw: "YQ==" }, { text: "and" }]);
	});

	it("opens an artifact that the agent appends to without having opened it", () => {
		const { artifact, pieces, out } = bench();
		artifact([{ text: "x " }], { append: true });
		out.end();
		assert.deepEqual(pieces, ["a = x ", "a +. "]);
	});

	it("closes what the agent left open, once", () => {
		const { artifact, pieces, out } = bench();
		artifact([{ text: "tail" }], { lastChunk: false });
		out.end();
		assert.deepEqual(pieces, ["a = ", "a +. tail"]);
	});

	it("replaces an artifact that the agent sends again", () => {
		const { artifact, log } = bench();
		artifact([{ text: "one" }]);
		artifact([{ text: "two" }]);
		assert.deepEqual(log.task.artifacts, [{ artifactId: "a", parts: [{ text: "two" }] }]);
	});
});
