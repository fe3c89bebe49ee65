import assert from "node:assert/strict";
import { plain } from "../../src/lib/text.ts";

describe("lib/text: plain", () => {
	it("keeps lines, tabs, and letters of every script", () => {
		const text = "a\tb\n\n  état 北京 🧪 👨\u200d👩\u200d👧 می\u200cخواهم";
		assert.equal(plain(text), text);
	});

	it("makes every line end one line break", () => {
		assert.equal(plain("a\r\nb\rc\u2028d\u0085e"), "a\nb\nc\nd\ne");
	});

	it("removes what steers a terminal, with its parameters", () => {
		assert.equal(
			plain("\x1b[2J\x1b[31mred\x1b[0m \x1b]52;c;ZXZpbA==\x07 \x1b]8;;http://x\x1b\\link\x07\x00\x9b"),
			"red  link",
		);
	});

	it("removes what turns text around or hides it", () => {
		assert.equal(plain("a\u202eb\u2066c\u200bd\ufeffe\u{e0041}f"), "abcdef");
	});

	it("loses nothing behind a sequence that never ends", () => {
		assert.equal(plain("a\x1b]0;title\nthe rest \x9d of it"), "a0;title\nthe rest  of it");
	});

	it("takes time in proportion to the text, whatever it holds", () => {
		for (const piece of ["\x1b]", "\x1b[", "\x1b[0;", "\r"]) {
			const began = performance.now();
			plain(piece.repeat(200_000));
			assert.ok(performance.now() - began < 2_000, JSON.stringify(piece));
		}
	});
});
