import assert from "node:assert/strict";
import { leftOf } from "../../src/pi/session-again.ts";
import { taskId } from "../../src/protocol/types.ts";

const mark = (data: object) => ({ type: "custom", customType: "pi-a2a", data });
const message = (role: string, more: object = {}) => ({ type: "message", message: { role, ...more } });
const user = message("user");
const begins = mark({ task: "t", message: "m1" });
const calls = (id: string, name = "bash", more: object = {}) =>
	message("assistant", { stopReason: "toolUse", content: [{ type: "toolCall", id, name, arguments: {} }], ...more });
const result = (toolCallId: string, more: object = {}) => message("toolResult", { toolCallId, ...more });
const says = (text: string, stopReason = "stop") =>
	message("assistant", { stopReason, content: [{ type: "text", text }] });
const left = (...entries: object[]) => leftOf([{ type: "session" }, ...entries], taskId("t"));

describe("what a transcript says of a turn that was cut off", () => {
	it("is nothing when the turn had not begun, whatever was said before", () => {
		assert.equal(left(), undefined);
		assert.equal(left(mark({ task: "other", message: "m0" }), user, calls("a")), undefined);
		assert.equal(left(begins, user, mark({ task: "other", message: "m2" }), user), undefined);
		assert.equal(left(begins)?.begun, false);
	});

	it("lets it go on after the message, a tool that has ended and a cut off answer", () => {
		for (const rest of [[], [calls("a"), mark({ tool: "a" }), result("a")], [says("half", "error")]]) {
			const found = left(begins, user, ...rest);
			assert.deepEqual([found?.begun, found?.unsure, found?.done, found?.message], [true, false, false, "m1"]);
		}
	});

	it("does not let it go on when a tool may have been at work", () => {
		assert.equal(left(begins, user, calls("a"))?.unsure, true);
		assert.equal(left(begins, user, calls("a"), mark({ tool: "a" }))?.unsure, true);
		// The host had not written the answer yet that calls the tool.
		assert.equal(left(begins, user, mark({ tool: "a" }))?.unsure, true);
		assert.equal(left(begins, user, calls("a"), calls("b"), result("b"))?.unsure, true);
		// Of an answer that was cut off nothing is run.
		assert.equal(left(begins, user, calls("a", "bash", { stopReason: "aborted" }))?.unsure, false);
	});

	it("does not let it go on when the caller had set limits that nobody knows any more", () => {
		assert.equal(left(mark({ task: "t", message: "m1", limited: true }), user)?.unsure, true);
	});

	it("is all, when the model had said all or asked the caller", () => {
		assert.equal(left(begins, user, says("the answer"))?.done, true);
		const question = { content: [{ type: "toolCall", id: "q", name: "a2a_ask", arguments: { question: "Which?" } }] };
		const asked = left(begins, user, calls("q", "a2a_ask", question), result("q"));
		assert.deepEqual([asked?.done, asked?.asked], [true, "Which?"]);
		const refused = left(begins, user, calls("q", "a2a_ask", question), result("q", { isError: true }));
		assert.deepEqual([refused?.done, refused?.asked], [false, undefined]);
	});

	it("knows of files that were given back, and of what was said", () => {
		const found = left(begins, user, says("first", "toolUse"), calls("f", "a2a_attach"), result("f"));
		assert.equal(found?.attached, true);
		assert.equal(found?.said.length, 2);
	});
});
