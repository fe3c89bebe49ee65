import assert from "node:assert/strict";
import { visibleWidth } from "@mariozechner/pi-tui";
import { drawCall, drawResult, lines, type Paint, wrapping } from "../../src/pi/render.ts";
import type { ToolDetails } from "../../src/pi/tools.ts";

const theme: Paint = { fg: (_color, text) => text, bold: (text) => text };
const result = (details?: ToolDetails, text = "plain") => ({ content: [{ type: "text" as const, text }], details });
const draw = (component: { render(width: number): readonly string[] }, width = 80) => component.render(width);
const body = Array.from({ length: 30 }, (_, index) => `line ${index}`).join("\n");

describe("pi/render", () => {
	it("draws a call in one line, also while its arguments arrive", () => {
		const call = drawCall("a2a_call");
		assert.deepEqual(draw(call({ agent: "worker", message: "find\nall", async_dispatch: true }, theme)), [
			"a2a_call worker find all (detached)",
		]);
		assert.deepEqual(draw(call({}, theme)), ["a2a_call"]);
		assert.deepEqual(draw(call(undefined, theme)), ["a2a_call"]);
		assert.deepEqual(draw(drawCall("a2a_orchestrate")({ capability: "web", message: "m" }, theme)), [
			"a2a_orchestrate web (all) m",
		]);
	});

	it("folds a long result and shows all of it when expanded", () => {
		const details: ToolDetails = { title: "worker · completed", body, tone: "success" };
		const folded = draw(drawResult(result(details), { expanded: false, isPartial: false }, theme));
		assert.deepEqual([folded[0], folded.length, folded.at(-1)], ["✓ worker · completed", 8, "  … 24 more lines"]);
		assert.equal(draw(drawResult(result(details), { expanded: true, isPartial: false }, theme)).length, 31);
	});

	it("shows the newest lines while a call runs", () => {
		const drawn = draw(
			drawResult(result({ title: "working", body, tone: "muted" }), { expanded: false, isPartial: true }, theme),
		);
		assert.equal(drawn.at(-1), "  line 29");
	});

	it("draws an error, and a result without details, from its text", () => {
		const options = { expanded: false, isPartial: false };
		assert.deepEqual(draw(drawResult(result(undefined, "a\nb"), options, theme, { isError: true })), ["a", "b"]);
		assert.deepEqual(draw(drawResult(result(undefined, "a"), options, theme)), ["a"]);
	});

	it("never draws a line wider than the terminal, whatever the text", () => {
		const wide = { title: "t".repeat(500), body: `${"北".repeat(300)}\n\tx`, tone: "warning" } as const;
		for (const width of [1, 2, 7, 40]) {
			for (const line of draw(drawResult(result(wide), { expanded: true, isPartial: false }, theme), width)) {
				assert.ok(visibleWidth(line) <= width, `${visibleWidth(line)} > ${width}`);
			}
		}
	});

	it("draws a line of its own instead of throwing", () => {
		const broken = lines(() => {
			throw new Error("no theme");
		});
		assert.deepEqual(draw(broken), ["(not drawn: Error: no theme)"]);
	});

	it("wraps what is to be read to its end: no word is lost, and a line goes on below its first word", () => {
		const text = "- a peer  with a second column that is long\n    cwd: /one /two /three /four\n\n\tend";
		assert.deepEqual(wrapping(text)(30), [
			"- a peer  with a second column",
			"  that is long",
			"    cwd: /one /two /three",
			"    /four",
			"",
			"    end",
		]);
		const details: ToolDetails = { title: "worker · completed", body: "word ".repeat(100), tone: "success" };
		const drawn = draw(drawResult(result(details), { expanded: true, isPartial: false }, theme), 40);
		assert.equal(drawn.join(" ").match(/word/g)?.length, 100);
	});

	it("wraps a word of 48000 letters while a person does not notice", () => {
		const begun = performance.now();
		const drawn = wrapping("x".repeat(48_000))(78);
		assert.equal(drawn.join("").length, 48_000);
		assert.ok(performance.now() - begun < 700, `${performance.now() - begun} ms`);
	});
});
