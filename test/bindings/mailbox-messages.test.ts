import assert from "node:assert/strict";
import { DEFAULTS, envelope, isAgentId, readMail, repliesTo } from "../../src/bindings/mailbox/messages.ts";
import { asked, errorIn, errorPayload, resultIn, resultPayload } from "../../src/bindings/mailbox/payload.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import type { JsonObject } from "../../src/protocol/types.ts";

const NOW = Date.UTC(2026, 0, 1);
const FULL = {
	a2a_version: "0.1",
	msg_id: "m-1",
	type: "request",
	from: "orchestrator",
	to: "worker",
	timestamp: "2026-01-01T00:00:00Z",
	ttl_seconds: 30,
	contract: {
		capabilities: ["list_files", "read_file", "web_search"],
		constraints: { max_tool_turns: 8, max_duration_seconds: 60 },
	},
	payload: { text: "hello" },
};

const bad = (change: object): string => {
	try {
		readMail({ ...FULL, ...change }, NOW);
	} catch (error) {
		const { path, problem } = error as { path: string; problem: string };
		return `${path}: ${problem}`;
	}
	return "fine";
};

describe("mailbox: messages", () => {
	it("reads every member of the envelope, and keeps what it does not know", () => {
		const raw = { ...FULL, x_note: { a: [1] }, payload: { text: "hello", more: 1 } };
		const mail = readMail(raw, NOW);
		assert.deepEqual(
			[mail.id, mail.type, mail.from, mail.to, mail.at, mail.until, mail.processed],
			["m-1", "request", "orchestrator", "worker", NOW, NOW + 30_000, false],
		);
		assert.deepEqual(mail.contract, {
			capabilities: ["list_files", "read_file", "web_search"],
			maxToolTurns: 8,
			maxDurationMs: 60_000,
		});
		assert.equal(mail.raw, raw);
	});

	it("has the defaults of the text for what is absent", () => {
		const { a2a_version: _v, ttl_seconds: _t, contract: _c, payload: _p, ...least } = FULL;
		const mail = readMail(least, NOW);
		assert.equal(mail.until, NOW + DEFAULTS.ttlSeconds * 1000);
		assert.deepEqual(mail.contract, { maxToolTurns: 8, maxDurationMs: 60_000 });
		assert.deepEqual(mail.payload, {});
		assert.deepEqual(readMail({ ...FULL, contract: { capabilities: [] } }, NOW).contract.capabilities, []);
	});

	it("writes every member, the defaults as well", () => {
		const raw = envelope({ id: "m", type: "request", from: "a", to: "b", payload: { text: "x" } }, NOW);
		assert.deepEqual(raw, {
			a2a_version: "0.1",
			msg_id: "m",
			type: "request",
			from: "a",
			to: "b",
			timestamp: "2026-01-01T00:00:00.000Z",
			ttl_seconds: 30,
			contract: { constraints: { max_tool_turns: 8, max_duration_seconds: 60 } },
			payload: { text: "x" },
		});
	});

	it("says what is wrong with a message, and where", () => {
		let deep: JsonObject = {};
		for (let n = 0; n < 120; n++) deep = { deep };
		for (const [change, problem] of [
			[{ a2a_version: "1.0" }, "a2a_version: expected 0.1"],
			[{ msg_id: undefined }, "msg_id: expected an id"],
			[{ msg_id: 7 }, "msg_id: expected an id"],
			[{ type: "reqest" }, "type: expected one of request, response, broadcast, lease, heartbeat"],
			[{ from: "*" }, "from: expected the id of an agent"],
			[{ from: "a\nb" }, "from: expected the id of an agent"],
			[{ to: "" }, "to: expected the id of an agent, or *"],
			[{ timestamp: "yesterday" }, "timestamp: expected a time such as 2026-01-31T12:00:00Z"],
			[{ timestamp: 17 }, "timestamp: expected a time such as 2026-01-31T12:00:00Z"],
			[{ timestamp: "2026-01-01T02:00:00Z" }, "timestamp: lies in the future"],
			[{ ttl_seconds: "30" }, "ttl_seconds: expected a number of seconds"],
			[{ ttl_seconds: -1 }, "ttl_seconds: expected a number of seconds"],
			[{ contract: [] }, "contract: expected an object"],
			[{ contract: { capabilities: "x" } }, "contract.capabilities: expected a list of names"],
			[
				{ contract: { constraints: { max_tool_turns: 1.5 } } },
				"contract.constraints.max_tool_turns: expected a whole number",
			],
			[
				{ contract: { constraints: { max_duration_seconds: "long" } } },
				"contract.constraints.max_duration_seconds: expected a number of seconds",
			],
			[{ payload: "text" }, "payload: expected an object"],
			[{ payload: deep }, "payload: is nested more than 100 levels deep"],
		] as const)
			assert.equal(bad(change), problem);
		assert.throws(() => readMail("text", NOW), { problem: "expected an object with the members of an envelope" });
		assert.equal(bad({}), "fine");
	});

	it("knows what may be an id", () => {
		for (const id of ["a", "Worker 1", "../../up", "con", "x".repeat(200), "é"]) assert.equal(isAgentId(id), true, id);
		for (const id of ["", "*", " a", "a\n", "x".repeat(201), 7]) assert.equal(isAgentId(id), false);
	});

	it("finds the request that an answer is for, as somebody writes it by hand too", () => {
		const answer = (more: object) => repliesTo(readMail({ ...FULL, type: "response", ...more }, NOW));
		assert.equal(answer({ payload: { in_reply_to: "r" } }), "r");
		assert.equal(answer({ payload: { request_id: "r" } }), "r");
		assert.equal(answer({ in_reply_to: "r" }), "r");
		assert.equal(answer({}), "m-1");
	});
});

describe("mailbox: operations in payloads", () => {
	const askedIn = (payload: JsonObject) => asked(readMail({ ...FULL, payload }, NOW));

	it("takes an operation with its parameters and service parameters", () => {
		const service = { "A2A-Version": "1.0", "A2A-Extensions": "https://e.example/x", traceparent: "00-1-2-01" };
		const found = askedIn({ operation: "GetTask", params: { id: "t" }, service, on_behalf_of: "peer:alice" });
		assert.deepEqual(found, {
			operation: "GetTask",
			params: { id: "t" },
			service: { version: "1.0", extensions: ["https://e.example/x"] },
			trace: "00-1-2-01",
			behalf: "peer:alice",
			plain: false,
		});
		assert.throws(() => askedIn({ operation: "toString" }), { name: "MethodNotFoundError" });
		assert.throws(() => askedIn({ service: { "A2A-Version": "0.3" } }), { name: "VersionNotSupportedError" });
		assert.throws(() => askedIn({ service: { "A2A-Version": "9" } }), { name: "VersionNotSupportedError" });
	});

	it("takes anything else for a message", () => {
		const parts = (payload: JsonObject) =>
			(askedIn(payload).params as { message: { parts: unknown; contextId?: string } }).message;
		assert.deepEqual(parts({ text: "hello" }), { messageId: "m-1", role: "ROLE_USER", parts: [{ text: "hello" }] });
		assert.deepEqual(parts({ task: "do", depth: 2 }).parts, [{ text: "do" }, { data: { depth: 2 } }]);
		assert.deepEqual(parts({ a: 1 }).parts, [{ data: { a: 1 } }]);
		assert.deepEqual(parts({}).parts, [{ data: {} }]);
		assert.equal(parts({ text: "x", context_id: "c" }).contextId, "c");
		assert.deepEqual(parts({ message: { parts: [{ text: "y" }] } }).parts, [{ text: "y" }]);
		assert.deepEqual(parts({ message: "plain" }).parts, [{ text: "plain" }]);
	});

	it("brings an error over by its name, with its details", () => {
		const details = {
			violations: [{ field: "a", description: "b" }],
			metadata: { taskId: "t" },
			retryAfter: 3,
		};
		const error = new A2AError("RateLimitedError", "slowly", details);
		const back = errorIn(errorPayload({ plain: false }, error));
		assert.deepEqual([back?.name, back?.message, back?.details], ["RateLimitedError", "slowly", details]);
		assert.equal(errorIn({ error: { name: "constructor", message: "x" } })?.name, "InternalError");
		assert.equal(errorIn({ result: {} }), undefined);
	});

	it("answers a plain request in plain members too, and reads an answer in plain text", () => {
		const task = {
			id: "t",
			contextId: "c",
			status: { state: "TASK_STATE_COMPLETED" },
			artifacts: [{ artifactId: "r", parts: [{ text: "done" }] }],
		};
		const plain = resultPayload(askedIn({ text: "x" }), { task });
		assert.deepEqual(plain, { state: "completed", text: "done", task_id: "t", context_id: "c", result: { task } });
		assert.deepEqual(resultPayload(askedIn({ operation: "SendMessage" }), { task }), { result: { task } });
		const byHand = resultIn("SendMessage", { in_reply_to: "m-1", text: "42" });
		assert.deepEqual("message" in byHand && byHand.message.parts, [{ text: "42" }]);
		assert.throws(() => resultIn("GetTask", {}), { name: "InvalidAgentResponseError" });
	});
});
