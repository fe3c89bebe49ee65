import assert from "node:assert/strict";
import { accepted } from "../../src/protocol/accepted.ts";

describe("what a caller accepts", () => {
	it("is anything when nothing is said, and then nothing is JSON by wish", () => {
		for (const modes of [undefined, []]) {
			const { text, json, takes } = accepted(modes);
			assert.deepEqual([text, json, takes({ raw: "", mediaType: "a/b" })], [true, false, true]);
		}
	});

	it("is matched by type, by wildcard, without regard to case and parameters", () => {
		for (const mode of ["image/png", "image/*", "*/*", "IMAGE/PNG", "image/png; q=1"])
			assert.equal(accepted([mode]).takes({ raw: "", mediaType: "image/png" }), true, mode);
		for (const mode of ["image/gif", "text/*", "image", "application/json"])
			assert.equal(accepted([mode]).takes({ raw: "", mediaType: "image/png" }), false, mode);
	});

	it("takes a part without a media type for what it is", () => {
		assert.equal(accepted(["text/plain"]).takes({ text: "x" }), true);
		assert.equal(accepted(["application/json"]).takes({ data: 1 }), true);
		assert.equal(accepted(["application/json"]).takes({ text: "x" }), false);
		assert.equal(accepted(["text/plain"]).takes({ url: "http://x" }), false);
	});

	it("lets Markdown pass for text, and the words of before 1.0 for their kinds", () => {
		assert.equal(accepted(["text/markdown"]).text, true);
		assert.equal(accepted(["text/plain"]).takes({ text: "x", mediaType: "text/markdown" }), true);
		assert.equal(accepted(["text"]).text, true);
		assert.equal(accepted(["data"]).takes({ data: {} }), true);
	});

	it("asks for JSON only by its name", () => {
		for (const mode of ["application/json", "application/*", "Application/JSON"])
			assert.equal(accepted([mode]).json, true);
		for (const mode of ["*/*", "text/plain", "application/pdf"]) assert.equal(accepted([mode]).json, false, mode);
	});
});
