import assert from "node:assert/strict";
import { decodeParams } from "../../src/protocol/decode.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { parseJson } from "../../src/protocol/json.ts";
import type { OperationName } from "../../src/protocol/operations.ts";

type Loose = { [key: string]: unknown };
const message = (over: Loose = {}): Loose => ({ messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }], ...over });
const send = (over: Loose = {}, more: Loose = {}) => decodeParams.SendMessage({ message: message(over), ...more });
const parts = (...list: unknown[]) => send({ parts: list }).message.parts;

/** `run` is refused, and the refusal names `field` in its text and in its violations. */
function refused(run: () => unknown, field: string, why: RegExp = /./): void {
	assert.throws(run, (error) => {
		assert.ok(error instanceof A2AError, String(error));
		assert.equal(error.name, "InvalidParamsError");
		assert.deepEqual(
			error.details.violations?.map((violation) => violation.field),
			[field],
		);
		assert.match(error.details.violations?.[0]?.description ?? "", why);
		assert.ok(error.message.startsWith(field === "" ? "Invalid parameters: " : `${field}: `), error.message);
		assert.ok(error.message.length < 300, "the text repeats nothing of what came");
		return true;
	});
}

describe("decodeParams.SendMessage", () => {
	it("gives the request as it is", () => {
		const request = {
			tenant: "t",
			message: {
				messageId: "m",
				role: "ROLE_USER",
				parts: [
					{ text: "", mediaType: "text/plain", filename: "a.txt", metadata: { k: [1, "two", null] } },
					{ raw: "aGk=", mediaType: "image/png" },
					{ url: "https://x.example/a" },
					{ data: { a: [1, { b: null }] } },
				],
				contextId: "c",
				taskId: "t",
				metadata: { s: "x", z: null, o: { a: [] } },
				extensions: ["https://e.example/1"],
				referenceTaskIds: ["t0"],
			},
			configuration: {
				acceptedOutputModes: ["text/plain"],
				historyLength: 0,
				returnImmediately: true,
				taskPushNotificationConfig: {
					url: "https://h.example/x",
					id: "p",
					token: "k",
					authentication: { scheme: "Bearer", credentials: "c" },
				},
			},
			metadata: { n: 1.5 },
		};
		assert.deepEqual(decodeParams.SendMessage(structuredClone(request)), request);
		assert.deepEqual(decodeParams.SendStreamingMessage(structuredClone(request)), request);
	});

	it("gives the same again for what it gave", () => {
		const once = send({ parts: [{ kind: "text", text: "x" }] }, { contextId: "c" });
		assert.deepEqual(decodeParams.SendMessage(once), once);
	});

	it("ignores members that it does not know, wherever they are", () => {
		// R072
		const got = decodeParams.SendMessage({
			message: { ...message(), futureHint: { x: 1 }, parts: [{ text: "hi", futureHint: 1 }] },
			configuration: { futureOption: { a: 1 } },
			futureParam: [1],
		});
		assert.deepEqual(got, { message: message(), configuration: {} });
	});

	it("takes null for absent", () => {
		const got = send(
			{ contextId: null, taskId: null, metadata: null, extensions: null },
			{ metadata: null, configuration: null },
		);
		assert.deepEqual(got, { message: message() });
	});

	it("takes an empty id of a context or task for absent, as proto does", () => {
		assert.deepEqual(send({ contextId: "", taskId: "" }), { message: message() });
	});

	it("reads the names of the proto too", () => {
		const got = decodeParams.SendMessage({
			message: {
				message_id: "m",
				role: "ROLE_USER",
				parts: [{ text: "x", media_type: "text/plain" }],
				context_id: "c",
			},
			configuration: { return_immediately: true, history_length: 2 },
		});
		assert.equal(got.message.messageId, "m");
		assert.equal(got.message.contextId, "c");
		assert.equal(got.message.parts[0]?.mediaType, "text/plain");
		assert.deepEqual(got.configuration, { returnImmediately: true, historyLength: 2 });
	});

	it("takes a context id beside the message, when the message has none", () => {
		assert.equal(send({}, { contextId: "outer" }).message.contextId, "outer");
		assert.equal(send({ contextId: "inner" }, { contextId: "outer" }).message.contextId, "inner");
		assert.equal("contextId" in send({}, { contextId: "outer" }), false);
		assert.equal(send({}, { contextId: 5 }).message.contextId, undefined);
	});

	it("understands the role and the parts of 0.3", () => {
		assert.equal(send({ role: "user" }).message.role, "ROLE_USER");
		assert.deepEqual(
			parts(
				{ kind: "text", text: "a", metadata: { m: 1 } },
				{ kind: "file", file: { bytes: "aGk=", name: "a.png", mimeType: "image/png" } },
				{ kind: "file", file: { fileWithUri: "https://x.example/a" } },
				{ kind: "data", data: { a: 1 } },
			),
			[
				{ text: "a", metadata: { m: 1 } },
				{ raw: "aGk=", filename: "a.png", mediaType: "image/png" },
				{ url: "https://x.example/a" },
				{ data: { a: 1 } },
			],
		);
	});

	it("takes any JSON value as data, null as well", () => {
		for (const value of [{ a: 1 }, [1, "two", null], "plain", 0, false, null])
			assert.deepEqual(parts({ data: value }), [{ data: value }]);
	});

	it("takes unused contents that are null for absent", () => {
		assert.deepEqual(parts({ text: "a", raw: null, url: null, data: null }), [{ text: "a" }]);
	});

	it("takes base64 of either alphabet, padded or not", () => {
		for (const raw of ["", "aGk=", "aGk", "a_-9", "a+/9", "aGkK"]) assert.deepEqual(parts({ raw }), [{ raw }]);
	});

	const wrong: readonly [string, unknown, string, RegExp?][] = [
		["no params", undefined, "message"],
		["no message", {}, "message"],
		["a null message", { message: null }, "message"],
		["a message that is a string", { message: "hello" }, "message", /object, got a string/],
		["a message that is an array", { message: [] }, "message", /got an array/],
		["params that are an array", [{ message: message() }], ""],
		["params that are a string", "hello", ""],
		["no messageId", { message: message({ messageId: undefined }) }, "message.messageId"],
		["an empty messageId", { message: message({ messageId: "" }) }, "message.messageId"],
		[
			"a messageId that is a number",
			{ message: message({ messageId: 7 }) },
			"message.messageId",
			/string, got a number/,
		],
		["no role", { message: message({ role: undefined }) }, "message.role"],
		["an unknown role", { message: message({ role: "ROLE_BOSS" }) }, "message.role", /ROLE_USER/],
		["ROLE_UNSPECIFIED", { message: message({ role: "ROLE_UNSPECIFIED" }) }, "message.role"],
		["the agent's role", { message: message({ role: "ROLE_AGENT" }) }, "message.role"],
		["a role that is a member of every object", { message: message({ role: "constructor" }) }, "message.role"],
		["no parts", { message: message({ parts: undefined }) }, "message.parts"],
		["empty parts", { message: message({ parts: [] }) }, "message.parts", /at least one/],
		["parts that are an object", { message: message({ parts: { text: "x" } }) }, "message.parts", /array/],
		[
			"too many parts",
			{ message: message({ parts: Array(100_000).fill({ text: "a" }) }) },
			"message.parts",
			/more than/,
		],
		["a part that is a string", { message: message({ parts: ["text"] }) }, "message.parts[0]"],
		["a part that is null", { message: message({ parts: [{ text: "a" }, null] }) }, "message.parts[1]"],
		["a part that is an array", { message: message({ parts: [["x"]] }) }, "message.parts[0]"],
		[
			"a part without content",
			{ message: message({ parts: [{ mediaType: "x/y" }] }) },
			"message.parts[0]",
			/one of text, raw, url and data/,
		],
		[
			"a part with two contents",
			{ message: message({ parts: [{ text: "a", url: "https://x" }] }) },
			"message.parts[0]",
			/only one/,
		],
		["a part with a text and data", { message: message({ parts: [{ text: "a", data: 1 }] }) }, "message.parts[0]"],
		["a text that is a number", { message: message({ parts: [{ text: 5 }] }) }, "message.parts[0].text"],
		["a text that is an array", { message: message({ parts: [{ text: ["a"] }] }) }, "message.parts[0].text"],
		["raw that is no base64", { message: message({ parts: [{ raw: "***" }] }) }, "message.parts[0].raw", /base64/],
		["raw of an impossible length", { message: message({ parts: [{ raw: "aGkKa" }] }) }, "message.parts[0].raw"],
		["raw with wrong padding", { message: message({ parts: [{ raw: "aGkK=" }] }) }, "message.parts[0].raw"],
		["an empty url", { message: message({ parts: [{ url: "" }] }) }, "message.parts[0].url"],
		["a 0.3 file without content", { message: message({ parts: [{ kind: "file", file: {} }] }) }, "message.parts[0]"],
		[
			"a mediaType that is a number",
			{ message: message({ parts: [{ text: "a", mediaType: 1 }] }) },
			"message.parts[0].mediaType",
		],
		[
			"metadata of a part that is an array",
			{ message: message({ parts: [{ text: "a", metadata: [] }] }) },
			"message.parts[0].metadata",
		],
		["a contextId that is a number", { message: message({ contextId: 12 }) }, "message.contextId"],
		[
			"a contextId that is an object",
			{ message: message({ contextId: { toString: 0, valueOf: 0 } }) },
			"message.contextId",
		],
		[
			"a contextId of absurd length",
			{ message: message({ contextId: "c".repeat(100_000) }) },
			"message.contextId",
			/longer/,
		],
		[
			"a contextId of absurd length beside the message",
			{ message: message(), contextId: "c".repeat(100_000) },
			"contextId",
		],
		["a taskId that is an object", { message: message({ taskId: { a: 1 } }) }, "message.taskId"],
		["extensions that are a string", { message: message({ extensions: "x" }) }, "message.extensions"],
		["an extension that is a number", { message: message({ extensions: ["a", 1] }) }, "message.extensions[1]"],
		["referenceTaskIds that are a string", { message: message({ referenceTaskIds: "x" }) }, "message.referenceTaskIds"],
		["a configuration that is a string", { message: message(), configuration: "fast" }, "configuration"],
		[
			"a flag that is a string",
			{ message: message(), configuration: { returnImmediately: "yes" } },
			"configuration.returnImmediately",
		],
		[
			"modes that are a string",
			{ message: message(), configuration: { acceptedOutputModes: "x/y" } },
			"configuration.acceptedOutputModes",
		],
		[
			"a negative historyLength",
			{ message: message(), configuration: { historyLength: -1 } },
			"configuration.historyLength",
			/at least 0/,
		],
		[
			"a historyLength that is a word",
			{ message: message(), configuration: { historyLength: "many" } },
			"configuration.historyLength",
		],
		[
			"a historyLength that is a fraction",
			{ message: message(), configuration: { historyLength: 1.5 } },
			"configuration.historyLength",
		],
		[
			"a historyLength that is an object",
			{ message: message(), configuration: { historyLength: {} } },
			"configuration.historyLength",
		],
		["metadata that is a string", { message: message(), metadata: "x" }, "metadata"],
		["metadata that is an array", { message: message(), metadata: [] }, "metadata"],
		[
			"a webhook that is no URL",
			{ message: message(), configuration: { taskPushNotificationConfig: { url: "not a url" } } },
			"configuration.taskPushNotificationConfig.url",
		],
		[
			"a webhook without a URL",
			{ message: message(), configuration: { taskPushNotificationConfig: {} } },
			"configuration.taskPushNotificationConfig.url",
		],
	];
	for (const [what, params, field, why] of wrong)
		it(`refuses ${what} and names ${field || "the parameters"}`, () => {
			refused(() => decodeParams.SendMessage(params), field, why);
			refused(() => decodeParams.SendStreamingMessage(params), field, why);
		});

	it("keeps a key __proto__ of metadata and data a key, and lets it change nothing", () => {
		const evil = '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"a":1}';
		const params = parseJson(
			`{"__proto__":{"tenant":"evil"},"message":{"__proto__":{"taskId":"evil"},"messageId":"m","role":"ROLE_USER","parts":[{"data":${evil}}],"metadata":${evil}}}`,
		);
		const got = decodeParams.SendMessage(params);
		assert.equal(({} as Loose).polluted, undefined);
		assert.equal(got.tenant, undefined);
		assert.equal(got.message.taskId, undefined);
		assert.equal(JSON.stringify(got.message.metadata), evil);
		assert.equal((got.message.metadata as Loose).polluted, undefined);
		assert.equal(JSON.stringify(got.message.parts[0]), `{"data":${evil}}`);
		assert.equal(Object.getPrototypeOf(got.message), Object.prototype);
	});

	it("refuses what is nested too deeply, whichever way it came", () => {
		let deep: unknown = 1;
		for (let i = 0; i < 50_000; i += 1) deep = [deep];
		refused(() => send({ parts: [{ data: deep }] }), "", /100 levels/);
		refused(() => decodeParams.GetTask({ id: "t", unknown: deep }), "", /100 levels/);
	});

	it("reads 1000 parts and 5 MB of base64 without ado", () => {
		const began = performance.now();
		assert.equal(parts(...Array(1000).fill({ text: "a" })).length, 1000);
		assert.equal(parts({ raw: "a".repeat(5_000_000) }).length, 1);
		assert.ok(performance.now() - began < 2000);
	});
});

describe("decodeParams of the other operations", () => {
	it("reads a task's id, and a history length as number or decimal string", () => {
		assert.deepEqual(decodeParams.GetTask({ id: "t", historyLength: 0, tenant: "x", metadata: {} }), {
			id: "t",
			historyLength: 0,
			tenant: "x",
		});
		assert.deepEqual(decodeParams.GetTask({ id: "constructor", historyLength: "12" }), {
			id: "constructor",
			historyLength: 12,
		});
		assert.deepEqual(decodeParams.CancelTask({ id: "t", metadata: { a: 1 } }), { id: "t", metadata: { a: 1 } });
		assert.deepEqual(decodeParams.SubscribeToTask({ id: "t" }), { id: "t" });
	});

	it("refuses a task's id that is missing, empty, absurdly long or no string", () => {
		for (const operation of ["GetTask", "CancelTask", "SubscribeToTask"] as const)
			for (const id of [undefined, null, "", 5, true, {}, ["x"], "x".repeat(5000)])
				refused(() => decodeParams[operation]({ id }), "id");
		refused(() => decodeParams.GetTask(parseJson('{"__proto__":{"id":"x"}}')), "id");
	});

	it("refuses a history length that is negative or none", () => {
		// R080
		for (const historyLength of [-5, "-5", "many", 1.5, "1.5", {}, true, 1e12])
			refused(() => decodeParams.GetTask({ id: "t", historyLength }), "historyLength");
	});

	it("lists without parameters", () => {
		assert.deepEqual(decodeParams.ListTasks(undefined), {});
		assert.deepEqual(decodeParams.ListTasks(null), {});
		assert.deepEqual(decodeParams.ListTasks({ contextId: "", pageToken: "", status: "TASK_STATE_UNSPECIFIED" }), {});
	});

	it("reads every filter of a list", () => {
		const request = {
			contextId: "c",
			status: "TASK_STATE_WORKING",
			pageSize: 100,
			pageToken: "p",
			historyLength: 1,
			statusTimestampAfter: "2025-01-31T12:00:00.500Z",
			includeArtifacts: true,
		};
		assert.deepEqual(decodeParams.ListTasks(request), request);
	});

	it("gives timestamps in UTC with milliseconds, however they were written", () => {
		for (const [given, wanted] of [
			["2025-01-31T12:00:00Z", "2025-01-31T12:00:00.000Z"],
			["2025-01-31T14:00:00+02:00", "2025-01-31T12:00:00.000Z"],
			["2025-01-31T12:00:00.123456789Z", "2025-01-31T12:00:00.123Z"],
		])
			assert.equal(decodeParams.ListTasks({ statusTimestampAfter: given }).statusTimestampAfter, wanted);
	});

	it("refuses filters that cannot be", () => {
		for (const pageSize of [0, -1, 101, "abc", 1.5, "0", {}])
			refused(() => decodeParams.ListTasks({ pageSize }), "pageSize");
		for (const status of ["TASK_STATE_RUNNING", "completed", "DONE", 3, ""])
			refused(() => decodeParams.ListTasks({ status }), "status");
		for (const time of ["yesterday", "2025-01-31", 5, "2025-13-40T99:00:00Z", ""])
			refused(() => decodeParams.ListTasks({ statusTimestampAfter: time }), "statusTimestampAfter");
		refused(() => decodeParams.ListTasks({ includeArtifacts: "maybe" }), "includeArtifacts");
		refused(() => decodeParams.ListTasks({ pageToken: 5 }), "pageToken");
		refused(() => decodeParams.ListTasks({ historyLength: -5 }), "historyLength");
	});

	it("reads push notification configurations and references to them", () => {
		const config = { url: "https://h.example/x", taskId: "t", id: "p", authentication: { scheme: "Bearer" } };
		assert.deepEqual(decodeParams.CreateTaskPushNotificationConfig(config), config);
		assert.deepEqual(decodeParams.CreateTaskPushNotificationConfig({ ...config, id: "" }).id, undefined);
		assert.deepEqual(decodeParams.GetTaskPushNotificationConfig({ taskId: "t", id: "p" }), { taskId: "t", id: "p" });
		assert.deepEqual(decodeParams.DeleteTaskPushNotificationConfig({ task_id: "t", id: "p" }), {
			taskId: "t",
			id: "p",
		});
		assert.deepEqual(decodeParams.ListTaskPushNotificationConfigs({ taskId: "t", pageSize: 10 }), {
			taskId: "t",
			pageSize: 10,
		});
	});

	it("refuses webhooks that are no http URL, and authentication without a scheme", () => {
		for (const url of [
			undefined,
			"",
			"not a url",
			"/relative",
			"ftp://x.example/",
			"file:///etc/passwd",
			"javascript:alert(1)",
			5,
		])
			refused(() => decodeParams.CreateTaskPushNotificationConfig({ taskId: "t", url }), "url");
		refused(() => decodeParams.CreateTaskPushNotificationConfig({ url: "https://h.example" }), "taskId");
		refused(
			() =>
				decodeParams.CreateTaskPushNotificationConfig({
					taskId: "t",
					url: "https://h.example",
					authentication: { credentials: "c" },
				}),
			"authentication.scheme",
		);
		refused(() => decodeParams.GetTaskPushNotificationConfig({ taskId: "t" }), "id");
		refused(() => decodeParams.DeleteTaskPushNotificationConfig({ id: "t" }), "taskId");
	});

	it("needs no parameters for the extended card", () => {
		for (const params of [undefined, null, {}]) assert.deepEqual(decodeParams.GetExtendedAgentCard(params), {});
	});

	it("answers anything at all with a value or an InvalidParamsError", () => {
		const values = [
			undefined,
			null,
			0,
			"x",
			true,
			[],
			{},
			[[]],
			{ id: 1 },
			{ message: {} },
			{ message: { parts: [{}] } },
			{ taskId: {} },
			{ url: [] },
		];
		for (const operation of Object.keys(decodeParams) as OperationName[])
			for (const value of values) {
				try {
					decodeParams[operation](value);
				} catch (error) {
					assert.ok(
						error instanceof A2AError && error.name === "InvalidParamsError",
						`${operation} ${JSON.stringify(value)}`,
					);
				}
			}
	});
});
