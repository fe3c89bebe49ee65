/** Bodies that are lawful JSON and odd all the same, and methods of HTTP that nobody needs: each has its defined answer. */
import assert from "node:assert/strict";
import type { Listening } from "../../src/bindings/http/listen.ts";
import { textOf } from "../../src/protocol/parts.ts";
import type { SendMessageRequest } from "../../src/protocol/types.ts";
import { post, type Reply, raw, serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

describe("odd bodies", () => {
	const agent = new ScriptedAgent();
	let server: Listening;
	before(async () => {
		server = await serve({ agent });
	});
	after(() => server.close());

	const headers = { "content-type": "application/json", "a2a-version": "1.0" };

	/** The message that the agent got for this JSON text, or the error, over JSON-RPC and over HTTP+JSON. */
	async function both(params: string): Promise<{ readonly got: unknown[]; readonly codes: unknown[] }> {
		const from = agent.seen.length;
		const body = `{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":${params}}`;
		const rpc = (await (await fetch(server.url, { method: "POST", headers, body })).json()) as Reply;
		const url = new URL("/rest/message:send", server.url);
		const rest = (await (await fetch(url, { method: "POST", headers, body: params })).json()) as Reply;
		return { got: agent.seen.slice(from).map((each) => each.params), codes: [rpc.error?.code, rest.error?.code] };
	}

	const said = (params: unknown) => textOf((params as SendMessageRequest).message.parts);
	const message = (rest: string) => `{"message":{"messageId":"m","role":"ROLE_USER",${rest}}}`;

	it("of two members with one name the last counts, as JSON.parse has it", async () => {
		const { got } = await both(message('"parts":[{"text":"first"}],"parts":[{"text":"echo last"}]'));
		assert.deepEqual(got.map(said), ["echo last", "echo last"]);
	});

	it("half a surrogate pair is a character like any other, and comes back as one", async () => {
		const { got, codes } = await both(message('"parts":[{"text":"echo a\\ud83d-b"}]'));
		assert.deepEqual(codes, [undefined, undefined]);
		assert.deepEqual(got.map(said), ["echo a\ud83d-b", "echo a\ud83d-b"]);
	});

	it("a number too large for a double is refused where a number is meant, and named", async () => {
		const text = message('"parts":[{"text":"x"}]').replace(/\}$/, ',"configuration":{"historyLength":1e999}}');
		assert.deepEqual((await both(text)).codes, [-32602, 400]);
	});

	it("one in metadata does not become null on its way", async () => {
		const { got, codes } = await both(message('"parts":[{"text":"x"}],"metadata":{"n":1e999}'));
		assert.deepEqual([got.length, codes], [0, [-32602, 400]]);
	});

	it("a key __proto__ is a member like any other and changes nothing", async () => {
		const text = message(
			'"parts":[{"text":"x"}],"metadata":{"__proto__":{"polluted":1},"constructor":{"prototype":{}}}',
		);
		const { got } = await both(text);
		assert.equal(got.length, 2);
		assert.equal("polluted" in {}, false);
		for (const params of got) {
			const { metadata = {} } = (params as SendMessageRequest).message;
			assert.deepEqual(
				[Object.hasOwn(metadata, "__proto__"), Object.getPrototypeOf(metadata)],
				[true, Object.prototype],
			);
		}
	});

	it("an empty text is a part", async () => {
		const { got } = await both(message('"parts":[{"text":""}]'));
		assert.deepEqual(got.map(said), ["", ""]);
	});

	it("brackets without an end are refused before they are parsed, soon", async () => {
		const began = performance.now();
		const text = await raw(server.port, post("[".repeat(200_000)));
		assert.match(text, /-32600/);
		assert.ok(performance.now() - began < 2_000);
	});
});

describe("methods of HTTP that an address does not have", () => {
	let server: Listening;
	before(async () => {
		server = await serve({ agent: new ScriptedAgent() });
	});
	after(() => server.close());

	const CARD = "/.well-known/agent-card.json";
	for (const [method, path, allow] of [
		["OPTIONS", "/", "POST"],
		["GET", "/", "POST"],
		["HEAD", "/", "POST"],
		["PUT", "/", "POST"],
		["OPTIONS", CARD, "GET, HEAD"],
		["POST", CARD, "GET, HEAD"],
		["OPTIONS", "/rest/message:send", "POST"],
		["GET", "/rest/message:send", "POST"],
		["HEAD", "/rest/message:send", "POST"],
		["DELETE", "/rest/tasks/t1", "GET, HEAD"],
		["OPTIONS", "/rest/v1/tasks/t1:subscribe", "POST, GET, HEAD"],
		["PUT", "/rest/tasks/t1/pushNotificationConfigs/c1", "GET, DELETE, HEAD"],
	] as const)
		it(`${method} ${path} is 405 and says which there are`, async () => {
			const response = await fetch(new URL(path, server.url), { method });
			assert.deepEqual([response.status, response.headers.get("allow")], [405, allow]);
			assert.equal(response.headers.get("access-control-allow-origin"), null);
			assert.equal((await response.text()) === "", method === "HEAD");
		});

	it("HEAD of a stream is 405, since there is nothing to measure", async () => {
		const response = await fetch(new URL("/rest/tasks/t1:subscribe", server.url), {
			method: "HEAD",
			headers: { "a2a-version": "1.0" },
		});
		assert.equal(response.status, 405);
	});
});
