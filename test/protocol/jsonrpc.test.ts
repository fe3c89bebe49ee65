import assert from "node:assert/strict";
import { A2AError, type ErrorName } from "../../src/protocol/errors.ts";
import { MAX_DEPTH } from "../../src/protocol/json.ts";
import {
	failure,
	operationFor,
	type RpcId,
	readReply,
	readRequest,
	reply,
	request,
} from "../../src/protocol/jsonrpc.ts";
import { OPERATIONS, type OperationName } from "../../src/protocol/operations.ts";

const fails = (run: () => unknown, name: ErrorName, message: RegExp = /./) =>
	assert.throws(run, (error) => {
		assert.ok(error instanceof A2AError, String(error));
		assert.equal(error.name, name);
		assert.match(error.message, message);
		return true;
	});
const nested = (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`;

describe("readRequest", () => {
	it("reads id, method and params", () => {
		assert.deepEqual(readRequest('{"jsonrpc":"2.0","id":"a","method":"GetTask","params":{"id":"t"},"trace":1}'), {
			id: "a",
			method: "GetTask",
			params: { id: "t" },
		});
	});

	it("keeps every lawful id in type and value", () => {
		// R076
		for (const id of ["a", "", "0", 0, -7, 1.5, 42, Number.MAX_SAFE_INTEGER, "ключ-🔑", null])
			assert.equal(readRequest(JSON.stringify({ jsonrpc: "2.0", id, method: "x" })).id, id);
	});

	it("tells a request without an id from one whose id is null", () => {
		assert.equal(readRequest('{"jsonrpc":"2.0","method":"x"}').id, undefined);
	});

	it("has no params when there are none or null", () => {
		assert.equal(readRequest('{"jsonrpc":"2.0","id":1,"method":"x"}').params, undefined);
		assert.equal(readRequest('{"jsonrpc":"2.0","id":1,"method":"x","params":null}').params, undefined);
	});

	it("allows white space and a byte order mark around the JSON", () => {
		assert.equal(readRequest('\uFEFF\r\n\t {"jsonrpc":"2.0","id":1,"method":"x"} \n').method, "x");
	});

	it("gives a parse error for what is no JSON", () => {
		// R074
		for (const body of ["", "{", '{"jsonrpc":"2.0",', '{"id":NaN}', '{"a":1,}', "{nope", "\uFFFD\uFFFD{\0"])
			fails(() => readRequest(body), "ParseError", /Invalid JSON payload/);
	});

	it("does not parse what is nested too deeply, and does not count brackets in strings", () => {
		for (const body of ["[".repeat(200_000), '{"a":'.repeat(101), `["\\\\",${"[".repeat(100)}`])
			fails(() => readRequest(body), "InvalidRequestError", /more than 100 levels/);
		for (const id of ["[".repeat(200), `\\"${"[".repeat(200)}`])
			assert.equal(readRequest(`{"jsonrpc":"2.0","method":"m","id":"${id}"}`).method, "m");
	});

	it("gives an invalid request for JSON that is no single request", () => {
		const bodies = [
			'"text"',
			"42",
			"true",
			"null",
			"[]",
			'[{"jsonrpc":"2.0","id":1,"method":"x"}]',
			'[1,"two",null]',
			'{"id":1,"method":"x"}',
			'{"jsonrpc":"1.0","id":1,"method":"x"}',
			'{"jsonrpc":2.0,"id":1,"method":"x"}',
			'{"jsonrpc":"2.0","id":1}',
			'{"jsonrpc":"2.0","id":1,"method":5}',
			'{"jsonrpc":"2.0","id":1,"method":["x"]}',
			'{"jsonrpc":"2.0","id":true,"method":"x"}',
			'{"jsonrpc":"2.0","id":{"a":1},"method":"x"}',
			'{"jsonrpc":"2.0","id":["a"],"method":"x"}',
			`{"jsonrpc":"2.0","id":${"9".repeat(100_000)},"method":"x"}`,
			`{"jsonrpc":"2.0","id":"${"a".repeat(1_000_000)}","method":"x"}`,
			'{"__proto__":{"jsonrpc":"2.0","method":"x"}}',
		];
		for (const body of bodies) fails(() => readRequest(body), "InvalidRequestError");
	});

	it("refuses JSON that is nested too deeply, quickly, and takes what is just not", () => {
		const body = (levels: number) => `{"jsonrpc":"2.0","id":1,"method":"x","params":${nested(levels)}}`;
		fails(() => readRequest(body(100_000)), "InvalidRequestError", /100 levels/);
		fails(() => readRequest(body(MAX_DEPTH)), "InvalidRequestError", /100 levels/);
		assert.equal(readRequest(body(MAX_DEPTH - 1)).method, "x");
	});
});

describe("writing envelopes", () => {
	it("has a result or an error, never both", () => {
		assert.deepEqual(reply("a", { x: 1 }), { jsonrpc: "2.0", id: "a", result: { x: 1 } });
		assert.deepEqual(Object.keys(failure(null, new A2AError("ParseError"))), ["jsonrpc", "id", "error"]);
	});

	it("says an error with its code, its details and the fields that were wrong", () => {
		const violations = [{ field: "message.parts", description: "expected at least one item" }];
		const wire = failure(3, new A2AError("InvalidParamsError", "message.parts: no", { violations, cause: "secret" }));
		assert.deepEqual(JSON.parse(JSON.stringify(wire)), {
			jsonrpc: "2.0",
			id: 3,
			error: {
				code: -32602,
				message: "message.parts: no",
				data: [
					{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "INVALID_PARAMS", domain: "a2a-protocol.org" },
					{ "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: violations },
				],
			},
		});
	});

	it("leaves params out of a request that has none", () => {
		assert.deepEqual(request(1, "GetExtendedAgentCard", undefined), {
			jsonrpc: "2.0",
			id: 1,
			method: "GetExtendedAgentCard",
		});
		assert.deepEqual(request("i", "GetTask", { id: "t" }), {
			jsonrpc: "2.0",
			id: "i",
			method: "GetTask",
			params: { id: "t" },
		});
	});
});

describe("readReply", () => {
	it("gives the result of a reply to the request", () => {
		for (const id of [0, "", "0", "a", 7] as RpcId[]) assert.deepEqual(readReply(reply(id, { ok: 1 }), id), { ok: 1 });
		assert.equal(readReply(reply(1, null), 1), null);
		assert.deepEqual(readReply({ jsonrpc: "2.0", id: 1, error: null, result: 5 }, 1), 5);
	});

	it("takes an absent result for null where the operation has none", () => {
		const bare = { jsonrpc: "2.0", id: 1 };
		assert.equal(readReply(bare, 1, true), null);
		assert.throws(() => readReply(bare, 1), /neither a result nor an error/);
		assert.throws(() => readReply(bare, 2, true), /its id/);
	});

	it("refuses an envelope that is none, or answers another request", () => {
		// R077
		const message = { message: { messageId: "m", role: "ROLE_AGENT", parts: [] } };
		const envelopes: unknown[] = [
			{ id: 1, result: message },
			{ jsonrpc: "2.0", id: 999, result: message },
			{ jsonrpc: "2.0", id: "1", result: message },
			{ jsonrpc: "2.0", result: message },
			{ jsonrpc: "2.0", id: null, result: message },
			{ jsonrpc: "2.0", id: 1 },
			{ jsonrpc: 2, id: 1, result: message },
			{ jsonrpc: "2.0", id: 1, error: { message: "no code" } },
			{ jsonrpc: "2.0", id: 2, error: { code: -32001, message: "for another" } },
			[reply(1, message)],
			null,
			"text",
			reply(1, JSON.parse(nested(200))),
		];
		for (const envelope of envelopes)
			fails(() => readReply(envelope, 1), "InvalidAgentResponseError", /^The peer's reply/);
	});

	it("throws the peer's error by its name, with its code and its text", () => {
		assert.throws(
			() => readReply({ jsonrpc: "2.0", id: 1, error: { code: -32004, message: "no streaming here" } }, 1),
			(error) =>
				error instanceof A2AError &&
				error.name === "UnsupportedOperationError" &&
				error.message === "no streaming here" &&
				error.details.metadata?.code === "-32004",
		);
	});

	it("knows the errors of its own range, and calls an unknown code internal", () => {
		const thrown = (code: number) => readReply({ jsonrpc: "2.0", id: 1, error: { code, message: "m" } }, 1);
		fails(() => thrown(-32050), "UnauthorizedError");
		fails(() => thrown(-32600), "InvalidRequestError");
		fails(() => thrown(-31999), "InternalError");
	});

	it("knows by its words that a task is not there, where the code says nothing", () => {
		const thrown = (message: string) => readReply({ jsonrpc: "2.0", id: 1, error: { code: -32603, message } }, 1);
		fails(() => thrown("Task not found: t1"), "TaskNotFoundError", /^Task not found: t1$/);
		fails(() => thrown("The queue of task not found"), "InternalError");
	});

	it("takes an error whose id is null: the peer could not read ours", () => {
		fails(
			() => readReply({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "bad" } }, 7),
			"ParseError",
			/bad/,
		);
	});

	it("has one bounded line for a peer's text, and a text of its own for none", () => {
		const thrown = (message: unknown) => () =>
			readReply({ jsonrpc: "2.0", id: 1, error: { code: -32001, message } }, 1);
		fails(thrown("a\n\u001b[31mb\u202e"), "TaskNotFoundError", /^a \[31mb$/);
		fails(thrown("x".repeat(9000)), "TaskNotFoundError", /^x{499}…$/);
		fails(thrown({ evil: 1 }), "TaskNotFoundError", /^Task not found$/);
		fails(thrown(""), "TaskNotFoundError", /^Task not found$/);
	});

	it("keeps the fields that the peer found wrong", () => {
		const violations = [{ field: "message.parts", description: "empty" }];
		const sent = failure(1, new A2AError("InvalidParamsError", "no", { violations }));
		assert.throws(
			() => readReply(sent, 1),
			(error) => {
				assert.ok(error instanceof A2AError);
				assert.deepEqual(error.details.violations, violations);
				return true;
			},
		);
	});
});

describe("operationFor", () => {
	it("knows every operation by its 1.0 name and by its older ones", () => {
		for (const operation of Object.keys(OPERATIONS) as OperationName[]) {
			assert.deepEqual(operationFor(operation), { operation, style: "1.0" });
			for (const alias of OPERATIONS[operation].aliases)
				assert.deepEqual(operationFor(alias), { operation, style: "path" });
		}
	});

	it("knows no other method, whatever its name", () => {
		for (const method of [
			"",
			"getTask",
			"GETTASK",
			"get_task",
			"SendMesage",
			"SendMessage\0",
			"sendmessage ",
			"rpc.discover",
			"constructor",
			"toString",
			"__proto__",
			"tasks/explode",
		])
			assert.equal(operationFor(method), undefined, method);
	});
});
