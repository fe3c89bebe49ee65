import assert from "node:assert/strict";
import type { Listening } from "../../src/bindings/http/listen.ts";
import { CARD_PATHS } from "../../src/bindings/http/serve-card.ts";
import { pickInterfaces } from "../../src/protocol/card.ts";
import { decodeCard } from "../../src/protocol/decode.ts";
import { type Reply, raw, rpc, serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

describe("the served agent card", () => {
	let server: Listening;
	beforeEach(async () => {
		server = await serve({ agent: new ScriptedAgent(), tokens: { a: "token-a" } });
	});
	afterEach(() => server.close());

	const get = (path: string, headers: Record<string, string> = {}) => fetch(new URL(path, server.url), { headers });

	const cardOf = async (response: Response) => (await response.json()) as Reply["result"];

	it("is a 1.0 card for whoever asks for that", async () => {
		const response = await get(CARD_PATHS[0], { "a2a-version": "1.0" });
		const card = await cardOf(response);
		assert.equal(response.headers.get("content-type"), "application/json");
		const { url, protocolBinding, protocolVersion } = card.supportedInterfaces[0];
		assert.deepEqual([url, protocolBinding, protocolVersion], [server.url, "JSONRPC", "1.0"]);
		assert.equal(card.url, undefined);
		assert.deepEqual(Object.keys(card.securitySchemes.bearer), ["httpAuthSecurityScheme"]);
	});

	it("is a 0.3 card for whoever asks for that", async () => {
		const card = await cardOf(await get(CARD_PATHS[0], { "a2a-version": "0.3" }));
		assert.deepEqual([card.url, card.protocolVersion, card.preferredTransport], [server.url, "0.3.0", "JSONRPC"]);
		assert.equal(card.supportedInterfaces, undefined);
		assert.deepEqual(card.securitySchemes.bearer, { type: "http", scheme: "Bearer" });
	});

	// R092
	it("can be read by both under both names when nobody says a version", async () => {
		for (const path of CARD_PATHS) {
			const card = await cardOf(await get(path));
			assert.deepEqual([card.url, card.protocolVersion, card.preferredTransport], [server.url, "0.3.0", "JSONRPC"]);
			assert.equal(card.securitySchemes.bearer.type, "http");
			const read = decodeCard(card);
			assert.equal(pickInterfaces(read)[0]?.version, "1.0");
			assert.deepEqual(read.securitySchemes?.bearer, {
				httpAuthSecurityScheme: { scheme: "Bearer" },
				scheme: "Bearer",
				type: "http",
			});
		}
	});

	it("has no 0.3 members where 0.3 is not served", async () => {
		const only = await serve({ agent: new ScriptedAgent(), v03: false });
		const card = await cardOf(await fetch(new URL(CARD_PATHS[0], only.url)));
		assert.deepEqual([card.url, card.protocolVersion], [undefined, undefined]);
		assert.deepEqual(
			[...new Set(card.supportedInterfaces.map((each: { protocolVersion: string }) => each.protocolVersion))],
			["1.0"],
		);
		await only.close();
	});

	it("is served whatever version is asked for: it says which there are", async () => {
		assert.equal((await get(CARD_PATHS[0], { "a2a-version": "9.9" })).status, 200);
	});

	it("names its version by a tag, and is not sent again to whoever has it", async () => {
		const first = await get(CARD_PATHS[0], { "a2a-version": "1.0" });
		const etag = first.headers.get("etag") ?? "";
		assert.match(etag, /^"[\w-]{22}"$/);
		assert.match(first.headers.get("cache-control") ?? "", /max-age=\d+/);
		assert.match(first.headers.get("vary") ?? "", /A2A-Version/);
		for (const tag of [etag, `"other", ${etag}`, `W/${etag}`, "*"]) {
			const again = await get(CARD_PATHS[0], { "a2a-version": "1.0", "if-none-match": tag });
			assert.deepEqual([again.status, await again.text(), again.headers.get("etag")], [304, "", etag], tag);
		}
		for (const headers of [{ "if-none-match": '"other"', "a2a-version": "1.0" }, { "if-none-match": etag }]) {
			assert.equal((await get(CARD_PATHS[0], headers)).status, 200);
		}
	});

	it("can be asked for without its body", async () => {
		const head = `HEAD ${CARD_PATHS[0]} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`;
		const text = await raw(server.port, head);
		assert.match(text, /^HTTP\/1.1 200/);
		assert.match(text, /content-length: [1-9]\d+\r\n/i);
		assert.match(text, /\r\n\r\n$/);
	});

	it("gives the extensions that were asked for and are declared back in the reply", async () => {
		const uri = "https://example.com/ext/v1";
		const open = await serve({ agent: new ScriptedAgent(), extensions: [{ uri }] });
		const params = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "echo x" }] } };
		const ask = (list: string) => rpc(open.url, "SendMessage", params, { "a2a-extensions": list });
		assert.equal((await ask(`https://example.com/unknown, ${uri}`)).headers.get("a2a-extensions"), uri);
		assert.equal((await ask("https://example.com/unknown")).headers.get("a2a-extensions"), null);
		await open.close();
	});

	it("takes them by the header's name in 0.3 as well, and answers under both", async () => {
		const uri = "https://example.com/ext/v1";
		const open = await serve({ agent: new ScriptedAgent(), extensions: [{ uri, required: true }] });
		const params = { message: { messageId: "m", role: "user", parts: [{ kind: "text", text: "echo x" }] } };
		const { headers, json } = await rpc(open.url, "message/send", params, { "x-a2a-extensions": uri });
		assert.equal(json.error, undefined);
		assert.deepEqual([headers.get("x-a2a-extensions"), headers.get("a2a-extensions")], [uri, uri]);
		await open.close();
	});

	it("refuses a call that does not name an extension which the card requires, on both bindings", async () => {
		const uri = "https://example.com/must";
		const open = await serve({ agent: new ScriptedAgent(), extensions: [{ uri, required: true }] });
		const params = { message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "echo x" }] } };
		const rest = (headers: Record<string, string>) =>
			fetch(new URL("/rest/message:send", open.url), {
				method: "POST",
				headers: { "content-type": "application/json", "a2a-version": "1.0", ...headers },
				body: JSON.stringify(params),
			});
		try {
			const said = await (await rest({})).text();
			assert.match(said, /EXTENSION_SUPPORT_REQUIRED/);
			assert.match(said, /https:\/\/example\.com\/must/);
			assert.equal((await rest({ "a2a-extensions": uri })).status, 200);
			const refused = await rpc(open.url, "SendMessage", params, {});
			assert.match(JSON.stringify(refused), /-32008/);
			assert.equal(
				(await rpc(open.url, "SendMessage", params, { "a2a-extensions": uri })).headers.get("a2a-extensions"),
				uri,
			);
		} finally {
			await open.close();
		}
	});
});
