import assert from "node:assert/strict";
import { createHandler, type HttpRequest } from "../../src/bindings/http/handler.ts";
import { identifier } from "../../src/guard/identity.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { buildCard } from "../../src/protocol/card.ts";
import { type Reply, remembering } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const SEND = {
	jsonrpc: "2.0",
	id: 1,
	method: "SendMessage",
	params: { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text: "echo hi" }] } },
};

describe("the handler, called with what came down a gateway's channel", () => {
	const setUp = (over: Partial<Parameters<typeof createHandler>[0]> = {}) => {
		const agent = new ScriptedAgent();
		const log = remembering();
		const facts = { description: "", version: "1", url: "http://127.0.0.1:1/", skills: [] };
		const card = buildCard({
			name: "n",
			...facts,
			auth: true,
			streaming: true,
			push: false,
			extended: false,
			v03: true,
		});
		const handler = createHandler({
			agent,
			identify: identifier({ shared: "", peers: { alice: "token-of-alice" }, clock: systemClock }),
			card: () => card,
			gate: { hosts: () => [], authRequired: true },
			isV03: () => false,
			log,
			...over,
		});
		const ask = (method: string, path: string, headers: Record<string, string> = {}, body: unknown = SEND) =>
			handler({
				method,
				path,
				headers: { "content-type": "application/json", ...headers },
				remoteAddress: "",
				body: async () => Buffer.from(JSON.stringify(body)),
				signal: new AbortController().signal,
				via: { gateway: "work" },
			} satisfies HttpRequest);
		return { agent, ask, log };
	};

	it("makes no card for a call where the extensions that it declares are known", async () => {
		const uri = "https://example.com/must";
		const card = () => assert.fail("a card was made");
		const { ask } = setUp({ card, extensions: () => [{ uri, required: true }] });
		assert.match(String((await ask("POST", "/")).body), /-32008/);
		const reply = await ask("POST", "/", { "a2a-extensions": uri });
		assert.deepEqual([reply.status, reply.headers["a2a-extensions"]], [200, uri]);
	});

	it("serves it as that gateway's caller, whatever its headers claim", async () => {
		const { agent, ask } = setUp();
		const headers = {
			"x-gateway-caller": "robin",
			"x-a2a-identity": "admin",
			authorization: "Bearer token-of-alice",
			host: "evil.example",
		};
		const reply = await ask("POST", "/", headers);
		assert.equal(reply.status, 200);
		const json: Reply = JSON.parse(String(reply.body));
		assert.equal(json.result.task.status.state, "TASK_STATE_COMPLETED");
		const caller = agent.seen[0]?.call.caller;
		assert.deepEqual([caller?.id, caller?.label, caller?.loopback], ["gateway:work", "robin", false]);
	});

	it("serves the card and calls, and nothing else", async () => {
		const { ask } = setUp({ metrics: () => ({}) });
		assert.equal((await ask("GET", "/.well-known/agent-card.json")).status, 200);
		for (const path of ["/health", "/metrics", "/other", "https://evil.example/", "../../"]) {
			assert.equal((await ask("GET", path)).status, 404, path);
		}
	});

	it("answers even when everything behind it fails", async () => {
		const broken = () => {
			throw new TypeError("no such thing at /home/someone");
		};
		const { ask, log } = setUp({ card: broken, identify: broken });
		for (const [method, path] of [
			["GET", "/.well-known/agent-card.json"],
			["POST", "/"],
		] as const) {
			const reply = await ask(method, path);
			assert.match(String(reply.body), /Internal error/);
			assert.doesNotMatch(String(reply.body), /home/);
		}
		assert.equal(log.lines.length, 2);
	});
});
