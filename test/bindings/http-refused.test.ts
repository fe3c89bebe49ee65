import assert from "node:assert/strict";
import type { Listening } from "../../src/bindings/http/listen.ts";
import { raw, serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

describe("requests that are turned away at the door", () => {
	let server: Listening;
	const refused: string[] = [];
	before(async () => {
		server = await serve({
			agent: new ScriptedAgent(),
			tokens: { alice: ["alices", "word"].join("-") },
			maxBodyBytes: 100,
			refused: (address, { name }) => void refused.push(`${address} ${name}`),
		});
	});
	after(() => server.close());
	beforeEach(() => {
		refused.length = 0;
	});

	const token = `Authorization: Bearer ${["alices", "word"].join("-")}`;
	const ask = async (path: string, headers: readonly string[], body = "") => {
		const all = [`POST ${path} HTTP/1.1`, "Connection: close", `Content-Length: ${body.length}`, ...headers];
		return raw(server.port, `${all.join("\r\n")}\r\n\r\n${body}`);
	};
	const host = "Host: 127.0.0.1\r\nA2A-Version: 1.0";
	const type = "Content-Type: application/json";

	for (const path of ["/", "/rest/message:send"])
		it(`are told of, each once, at ${path}`, async () => {
			await ask(path, ["Host: evil.example"]);
			await ask(path, [host, "Origin: http://evil.example"]);
			await ask(path, [host, token, "Content-Type: text/plain"], "{}");
			await ask(path, [host, token, type], `{"x":"${"y".repeat(200)}"}`);
			assert.deepEqual(refused, [
				"127.0.0.1 ForbiddenError",
				"127.0.0.1 ForbiddenError",
				"127.0.0.1 MediaTypeError",
				"127.0.0.1 PayloadTooLargeError",
			]);
		});

	it("are not those whose sender is not known, who has a line of its own, nor those that are answered", async () => {
		await ask("/", [host, type], "{}");
		await ask("/", [host, token, type], "{}");
		assert.deepEqual(refused, []);
	});
});
