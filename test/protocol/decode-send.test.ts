import assert from "node:assert/strict";
import { decodeParams } from "../../src/protocol/decode.ts";
import { parseJson } from "../../src/protocol/json.ts";
import { refusedParams as refused } from "./refused.ts";

type Loose = { [key: string]: unknown };
const message = (over: Loose = {}): Loose => ({ messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }], ...over });
const send = (over: Loose = {}, more: Loose = {}) => decodeParams.SendMessage({ message: message(over), ...more });
const parts = (...list: unknown[]) => send({ parts: list }).message.parts;

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
