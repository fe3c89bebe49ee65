import assert from "node:assert/strict";
import { reasonOf } from "../../src/pi/session-reason.ts";

describe("a reason for a peer", () => {
	const cases: readonly (readonly [unknown, string])[] = [
		["429 too many requests", "429 too many requests"],
		[new Error("plain"), "plain"],
		['400: {"message":"bad thing"}', "400: bad thing"],
		['{"error":{"message":"{\\"detail\\":\\"deep\\"}"}}', "deep"],
		["unexpected { in text", "unexpected { in text"],
		["ENOENT: no such file, open '/home/joe/.pi/agent/x.json'", "ENOENT: no such file, open '…'"],
		["cannot read C:\\Users\\joe\\x.txt now", "cannot read …"],
		["POST https://api.example/v1/chat/completions failed", "POST https://api.example/v1/chat/completions failed"],
		["read and/or write", "read and/or write"],
		["one\ntwo\n\nadvice", "one two"],
		["", "the model call failed"],
		[undefined, "the model call failed"],
	];
	for (const [error, expected] of cases) {
		it(`is ${JSON.stringify(expected)} for ${JSON.stringify(error instanceof Error ? error.message : error)}`, () => {
			const reason = reasonOf(error);
			if (expected.endsWith("read …")) assert.doesNotMatch(reason, /joe/);
			else assert.equal(reason, expected);
		});
	}

	it("is one line of bounded length", () => {
		assert.ok(reasonOf(`x\u001b[31m${"long ".repeat(500)}`).length <= 300);
	});
});
