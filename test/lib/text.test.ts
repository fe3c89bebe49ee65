import assert from "node:assert/strict";
import { newContextId, newId, newMessageId, newTaskId } from "../../src/lib/ids.ts";
import { clip, dispatchLabel, oneLine } from "../../src/lib/text.ts";

describe("oneLine", () => {
	it("makes one line of many, and one space of many", () => {
		assert.equal(oneLine("  a\r\nb\t\tc\u2028d\u0085e \u00a0 f\n"), "a b c d e f");
	});

	it("removes what a terminal would obey", () => {
		assert.equal(oneLine("\u001b[31mred\u001b[0m \u001b[2J\u001b[Hhome"), "red home");
		assert.equal(oneLine("\u001b]8;;https://evil.example\u0007link\u001b]8;;\u001b\\ \u001b]0;title\u0007x"), "link x");
		assert.equal(oneLine("\u009b31mred\u009dtitle\u009cx \u0007\u0000y"), "redx y");
		assert.equal(oneLine("\u001b"), "");
	});

	it("removes what cannot be seen but changes what is", () => {
		assert.equal(oneLine("a\u202eb\u2066c\u200bd\ufeffe\u00adf\u{e0041}g"), "abcdefg");
	});

	it("leaves every other script and sign alone", () => {
		assert.equal(oneLine("żółw 漢字 🐢 e\u0301"), "żółw 漢字 🐢 e\u0301");
	});

	it("clips with an ellipsis and never cuts a character in two", () => {
		assert.equal(oneLine("abcdef", 4), "abc…");
		assert.equal(oneLine("abcd", 4), "abcd");
		assert.equal(oneLine("ab🐢cd", 4), "ab…");
		assert.equal(clip("ab🐢cd", 5), "ab🐢…");
	});

	it("takes no longer for a megabyte than for a page, and still says that something was cut", () => {
		assert.equal(oneLine("x".repeat(50_000_000), 10), `${"x".repeat(9)}…`);
		assert.equal(oneLine(`a${" ".repeat(1_000_000)}b`, 10), "a…");
		const start = Date.now();
		for (let n = 0; n < 200; n++) oneLine("\u001b]".repeat(1_000_000), 100);
		assert.ok(Date.now() - start < 5_000);
	});
});

describe("dispatchLabel", () => {
	it("is the beginning of the id of a task", () => {
		assert.equal(dispatchLabel("task-1b4f8d1c30d54819"), "a2a-1b4");
		assert.equal(dispatchLabel("F47ac10b-58cc"), "a2a-f47");
		assert.equal(dispatchLabel("…"), "a2a-0");
	});
});

describe("ids", () => {
	it("have a prefix and sixteen random digits, and do not repeat", () => {
		assert.match(newTaskId(), /^task-[0-9a-f]{16}$/);
		assert.match(newContextId(), /^ctx-[0-9a-f]{16}$/);
		assert.match(newMessageId(), /^msg-[0-9a-f]{16}$/);
		const many = Array.from({ length: 10_000 }, () => newId("x"));
		assert.equal(new Set(many).size, many.length);
		// Each of the sixteen digits takes every value: none of them is the version or variant of a UUID.
		for (let at = 2; at < 18; at++) assert.equal(new Set(many.map((id) => id[at])).size, 16);
	});
});
