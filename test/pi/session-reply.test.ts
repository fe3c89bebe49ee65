import assert from "node:assert/strict";
import type { RunEvent } from "../../src/agent/runner.ts";
import { Reply } from "../../src/pi/session-reply.ts";

const start = { type: "message_start", message: { role: "assistant", content: [] } };
const delta = (text: string) => ({
	type: "message_update",
	assistantMessageEvent: { type: "text_delta", delta: text },
});
const end = (text: string, stopReason = "stop", more: object = {}) => ({
	type: "message_end",
	message: { role: "assistant", content: text === "" ? [] : [{ type: "text", text }], stopReason, ...more },
});
const message = (text: string, stopReason = "stop", more: object = {}) => [
	start,
	delta(text),
	end(text, stopReason, more),
];

function play(reply: Reply, ...events: object[]): RunEvent[] {
	return events.flatMap((event) => reply.on(event));
}

/** What a reader of the events has in the end. */
function textOf(events: readonly RunEvent[]): string {
	return events.reduce((text, event) => {
		if (event.type === "restart") return "";
		return event.type === "text" ? text + event.delta : text;
	}, "");
}

describe("a reply made of a session's events", () => {
	it("gives each piece at once", () => {
		const reply = new Reply();
		assert.deepEqual(play(reply, start, delta("Hel")), [{ type: "text", delta: "Hel" }]);
		assert.deepEqual(play(reply, delta("lo"), end("Hello")), [{ type: "text", delta: "lo" }]);
		assert.deepEqual(reply.end({}), { type: "completed" });
	});

	it("parts the texts of several messages by an empty line, and messages without text by nothing", () => {
		const events = play(new Reply(), ...message("one", "toolUse"), start, end("", "toolUse"), ...message("two"));
		assert.equal(textOf(events), "one\n\ntwo");
	});

	it("takes the text from the end of a message that did not come in pieces", () => {
		assert.equal(textOf(play(new Reply(), start, end("whole"))), "whole");
		assert.equal(textOf(play(new Reply(), end("whole"))), "whole");
		assert.equal(textOf(play(new Reply(), start, delta("who"), end("whole"))), "whole");
	});

	it("replaces pieces that an extension changed at the end of the message", () => {
		const events = play(new Reply(), ...message("kept", "toolUse"), start, delta("secret"), end("hidden"));
		assert.equal(textOf(events), "kept\n\nhidden");
	});

	it("reads the system message of newer hosts as none of the model's", () => {
		const system = { role: "system", content: [{ type: "text", text: "rules" }] };
		const events = play(
			new Reply(),
			{ type: "message_start", message: system },
			{ type: "message_end", message: system },
		);
		assert.deepEqual(events, []);
	});

	for (const stop of ["error", "length"]) {
		it(`voids a message that was cut off (${stop}) when the model is asked again, and keeps what was before`, () => {
			const events = play(new Reply(), ...message("one", "toolUse"), ...message("tw", stop), ...message("two"));
			assert.equal(textOf(events), "one\n\ntwo");
			assert.equal(events.filter((event) => event.type === "restart").length, 1);
		});
	}

	it("does not say restart when the cut-off message had given nothing", () => {
		const events = play(new Reply(), start, end("", "error"), ...message("two"));
		assert.deepEqual(events, [{ type: "text", delta: "two" }]);
	});

	it("says a retry with its reason", () => {
		const retry = { type: "auto_retry_start", attempt: 1, maxAttempts: 3, errorMessage: "503 busy\nsecond line" };
		const [event] = play(new Reply(), retry);
		assert.deepEqual(event, {
			type: "activity",
			activity: { type: "retry", name: "retry", detail: "attempt 1: 503 busy second line" },
		});
	});

	describe("with the mark of a question", () => {
		it("holds back what may become the mark, and gives it when it does not", () => {
			const reply = new Reply();
			assert.deepEqual(play(reply, start, delta("[INPUT"), delta("_REQ")), []);
			assert.deepEqual(play(reply, delta("UEST] ok")), [{ type: "text", delta: "[INPUT_REQUEST] ok" }]);
		});

		it("gives a text that ends within the mark", () => {
			assert.equal(textOf(play(new Reply(), ...message("[INPUT"))), "[INPUT");
		});

		it("ends with the question, cut anywhere", () => {
			const text = "\n[INPUT_REQUIRED]: Which one?";
			for (let cut = 0; cut <= text.length; cut++) {
				const reply = new Reply();
				const events = play(reply, start, delta(text.slice(0, cut)), delta(text.slice(cut)), end(text));
				assert.deepEqual(events, []);
				assert.deepEqual(reply.end({}), { type: "input-required", question: "Which one?" });
			}
		});

		it("never asks an empty question", () => {
			const reply = new Reply();
			play(reply, ...message("[INPUT_REQUIRED]"));
			const ending = reply.end({});
			assert.ok(ending.type === "input-required" && ending.question !== "");
		});

		it("takes a question that the model worked on after as text", () => {
			const reply = new Reply();
			const events = play(reply, ...message("[INPUT_REQUIRED] Hm?", "toolUse"), ...message("Done."));
			assert.equal(textOf(events), "Hm?\n\nDone.");
			assert.deepEqual(reply.end({}), { type: "completed" });
		});

		it("keeps the mark inside a text", () => {
			assert.equal(textOf(play(new Reply(), ...message("See [INPUT_REQUIRED]"))), "See [INPUT_REQUIRED]");
		});
	});

	describe("with tools", () => {
		const call = (args: unknown, toolName = "bash") => ({ type: "tool_execution_start", toolName, args });
		const detail = (event: object) => {
			const [found] = play(new Reply(["a2a_ask"]), event);
			return found?.type === "activity" ? found.activity.detail : undefined;
		};

		it("tells the most telling argument in one clean line", () => {
			assert.equal(detail(call({ timeout: 5, command: "ls\n\u001b[31m -l" })), "ls -l");
			assert.equal(detail(call({ limit: 3, path: "a/b.ts" })), "a/b.ts");
			assert.equal(detail(call({ depth: 2 })), '{"depth":2}');
			assert.equal(detail(call({})), undefined);
			assert.equal(detail(call(undefined)), undefined);
			assert.equal(detail(call({ command: "x".repeat(5000) }))?.length, 160);
		});

		it("says nothing of a hidden tool", () => {
			assert.deepEqual(play(new Reply(["a2a_ask"]), call({ question: "?" }, "a2a_ask")), []);
		});
	});

	describe("ends", () => {
		const ending = (events: object[], outcome: Parameters<Reply["end"]>[0] = {}) => {
			const reply = new Reply();
			play(reply, ...events);
			return reply.end(outcome);
		};
		const reason = (event: RunEvent) => (event.type === "failed" ? event.reason : `not failed: ${event.type}`);

		it("failed with the provider's reason, retries counted", () => {
			const failed = end("", "error", { errorMessage: '500: {"error":{"message":"overloaded"}}' });
			assert.equal(reason(ending([start, failed])), "500: overloaded");
			const retry = { type: "auto_retry_start", attempt: 1, errorMessage: "x" };
			assert.equal(reason(ending([start, failed, retry, start, failed])), "500: overloaded (after 1 retry)");
		});

		it("failed when the prompt was refused, in words fit for a peer", () => {
			const error = new Error("No API key found for acme.\n\nUse /login or see:\n  /opt/pi/docs/providers.md");
			assert.equal(reason(ending([], { error })), "No API key found for acme.");
		});

		it("failed when nothing came, when it was empty, and when the length was used up by thinking", () => {
			assert.match(reason(ending([])), /no output/);
			assert.match(reason(ending([start, end("")])), /empty answer/);
			assert.match(reason(ending(message(" \n"))), /empty answer/);
			assert.match(reason(ending([...message("old", "toolUse"), start, end("", "length")])), /length stop/);
		});

		it("completed with the text of an earlier message when the last one only stopped", () => {
			assert.deepEqual(ending([...message("The answer.", "toolUse"), start, end("")]), { type: "completed" });
		});

		it("with the question that was asked through the tool, unless the model failed after it", () => {
			const asked = "Which?";
			assert.deepEqual(ending([start, end("", "toolUse")], { asked }), { type: "input-required", question: asked });
			assert.equal(ending([start, end("", "error")], { asked }).type, "failed");
		});

		it("failed when something on this side stopped the run", () => {
			assert.match(reason(ending([start, end("half", "aborted")])), /stopped/);
		});
	});

	it("is not thrown off by events of any shape", () => {
		const odd = [
			{},
			{ type: 5 },
			{ type: "message_end" },
			{ type: "message_end", message: null },
			{ type: "message_update" },
		];
		const content = { type: "message_end", message: { role: "assistant", content: [null, 5, { type: "text" }] } };
		assert.deepEqual(play(new Reply(), ...odd, content), []);
	});
});
