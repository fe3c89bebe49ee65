import assert from "node:assert/strict";
import { connectHttp } from "../../src/bindings/http/client.ts";
import type { Listening } from "../../src/bindings/http/listen.ts";
import { createHttpPool } from "../../src/bindings/http/pool.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { AgentCard } from "../../src/protocol/types.ts";
import { describeBinding, until } from "./contract.ts";
import { raw, remembering, rpc, serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const restOnly = (card: AgentCard): AgentCard => ({
	...card,
	supportedInterfaces: card.supportedInterfaces.filter(({ protocolBinding }) => protocolBinding === "HTTP+JSON"),
});

describeBinding("HTTP+JSON", async (agent) => {
	const server = await serve({
		agent,
		tokens: { alice: "token-of-alice", bob: "token-of-bob" },
		extensions: [{ uri: "https://example.com/ext/v1" }],
		shown: restOnly,
	});
	const pool = createHttpPool();
	return {
		as: (name) =>
			connectHttp(
				{
					url: new URL(server.url),
					token: `token-of-${name}`,
					sendTimeoutMs: 5_000,
					streamTimeoutMs: 5_000,
					retryAttempts: 0,
					verifySsl: true,
					check: async () => undefined,
					pool,
					clock: systemClock,
				},
				new AbortController().signal,
			),
		async close() {
			pool.close();
			await server.close();
		},
	};
});

const TYPE = "application/a2a+json";
const say = (text: string) => ({ message: { messageId: "m1", role: "ROLE_USER", parts: [{ text }] } });

interface Answer {
	readonly status: number;
	readonly headers: Headers;
	readonly text: string;
	// biome-ignore lint/suspicious/noExplicitAny: whatever the server says is looked at member by member
	readonly json: any;
}

describe("HTTP+JSON as it is served", () => {
	let agent: ScriptedAgent;
	let server: Listening;
	const log = remembering();

	beforeEach(async () => {
		agent = new ScriptedAgent();
		log.lines.length = 0;
		const extensions = [{ uri: "https://example.com/known" }];
		server = await serve({ agent, log, extensions, maxBodyBytes: 100_000 });
	});
	afterEach(() => server.close());

	async function ask(method: string, path: string, body?: unknown, more: Record<string, string> = {}): Promise<Answer> {
		const response = await fetch(`${server.url}rest${path}`, {
			method,
			headers: { "a2a-version": "1.0", ...(body === undefined ? {} : { "content-type": TYPE }), ...more },
			...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
		});
		const text = await response.text();
		const isJson = response.headers.get("content-type") === TYPE && text !== "";
		return { status: response.status, headers: response.headers, text, json: isJson ? JSON.parse(text) : undefined };
	}

	it("answers with the plain object, in the media type of the binding", async () => {
		const sent = await ask("POST", "/message:send", say("echo hello"));
		assert.equal(sent.status, 200);
		assert.equal(sent.headers.get("content-type"), TYPE);
		assert.equal(sent.headers.get("cache-control"), "no-store");
		assert.deepEqual(Object.keys(sent.json), ["task"]);
		const { id } = sent.json.task;
		assert.deepEqual((await ask("GET", `/tasks/${id}`)).json, sent.json.task);
		assert.equal((await ask("GET", "/tasks?pageSize=1&includeArtifacts=true")).json.tasks[0].id, id);
	});

	it("takes JSON by either name, with a charset, and no other body", async () => {
		for (const type of ["application/json", TYPE, `${TYPE}; charset=utf-8`, "Application/JSON"])
			assert.equal((await ask("POST", "/message:send", say("echo x"), { "content-type": type })).status, 200, type);
		for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]) {
			const { status, json } = await ask("POST", "/message:send", say("echo x"), { "content-type": type });
			assert.deepEqual([status, json.error.code], [415, 415], type);
		}
		assert.equal((await ask("POST", "/message:send", say("x"), { "content-encoding": "gzip" })).status, 415);
	});

	it("sends the items of a stream as they are", async () => {
		const { headers, text } = await ask("POST", "/message:stream", say("echo hello"));
		assert.equal(headers.get("content-type"), "text/event-stream");
		const items = text.split("\n\n").filter(Boolean);
		assert.deepEqual(
			items.map((item) => Object.keys(JSON.parse(item.replace(/^data: /, ""))).join()),
			["task", "artifactUpdate", "statusUpdate"],
		);
	});

	it("refuses a stream by its status, and tells an error in the middle by an event of its own kind", async () => {
		const refused = await ask("POST", "/message:stream", say("throw BusyError"));
		assert.deepEqual([refused.status, refused.json.error.details[0].reason], [503, "BUSY"]);
		const { text } = await ask("POST", "/message:stream", say("later BusyError"));
		const [, last] = text.split("\n\n");
		const [type, data] = (last ?? "").split("\n");
		assert.equal(type, "event: error");
		assert.equal(JSON.parse((data ?? "").replace(/^data: /, "")).error.details[0].reason, "BUSY");
	});

	it("subscribes by POST, as the text has it, and by GET, as the proto has it", async () => {
		const { json } = await ask("POST", "/message:send", say("echo x"));
		for (const method of ["POST", "GET"]) {
			const left = new AbortController();
			const url = `${server.url}rest/tasks/${json.task.id}:subscribe`;
			const response = await fetch(url, { method, headers: { "a2a-version": "1.0" }, signal: left.signal });
			assert.deepEqual([response.status, response.headers.get("content-type")], [200, "text/event-stream"]);
			assert.equal(agent.seen.at(-1)?.operation, "SubscribeToTask");
			left.abort();
			await until(() => agent.open === 0);
		}
	});

	it("serves 1.0 and nothing else; no version means 0.3", async () => {
		for (const version of ["", "0.3", "2.0", "1.1", "x"]) {
			const { status, json } = await ask("GET", "/tasks", undefined, { "a2a-version": version });
			assert.deepEqual([status, json.error.details[0].reason], [400, "VERSION_NOT_SUPPORTED"], version);
			assert.match(JSON.stringify(json), /1\.0/);
		}
		const byQuery = await ask("GET", "/tasks?A2A-Version=1.0", undefined, { "a2a-version": "" });
		assert.equal(byQuery.status, 200);
		assert.equal((await ask("GET", "/tasks", undefined, { "a2a-version": "1.0.7" })).status, 200);
		assert.equal(agent.seen.length, 2);
	});

	it("takes the version from the query of JSON-RPC as well", async () => {
		const none = { id: "nobody" };
		assert.equal((await rpc(`${server.url}?A2A-Version=9.9`, "GetTask", none)).json.error?.code, -32009);
		assert.equal((await rpc(`${server.url}?a2a-version=1.0`, "GetTask", none)).json.error?.code, -32001);
		const header = { "a2a-version": "1.0" };
		assert.equal((await rpc(`${server.url}?A2A-Version=9.9`, "GetTask", none, header)).json.error?.code, -32001);
	});

	it("tells a path that is none of its own from a verb that a path does not have", async () => {
		for (const path of ["/", "", "/nothing", "/message", "/message:sing", "/tasks/a/b", "/v1/x/tasks"]) {
			const { status, json } = await ask("GET", path);
			assert.equal(status, 404, path);
			if (path !== "" && path !== "/") assert.equal(json.error.details[0].reason, "METHOD_NOT_FOUND");
		}
		for (const [verb, path, allow] of [
			["GET", "/message:send", "POST"],
			["DELETE", "/tasks/x", "GET, HEAD"],
			["PUT", "/tasks", "GET, HEAD"],
			["GET", "/tasks/x:cancel", "POST"],
			["HEAD", "/tasks/x:subscribe", "GET, POST, HEAD"],
			["OPTIONS", "/tasks/x/pushNotificationConfigs", "POST, GET, HEAD"],
		] as const) {
			const { status, headers } = await ask(verb, path);
			assert.deepEqual([status, headers.get("allow")], [405, allow], `${verb} ${path}`);
		}
		assert.equal(agent.seen.length, 0);
	});

	it("answers HEAD like GET, without the body", async () => {
		const { status, text, headers } = await ask("HEAD", "/tasks");
		assert.deepEqual([status, text, headers.get("content-type")], [200, "", TYPE]);
	});

	it("needs no body where there is nothing to say", async () => {
		const { json } = await ask("POST", "/message:send", say("echo x"));
		await ask("POST", `/tasks/${json.task.id}:cancel`);
		assert.deepEqual([agent.seen[1]?.operation, agent.seen[1]?.params], ["CancelTask", { id: json.task.id }]);
		assert.equal((await ask("POST", "/message:send")).status, 400);
	});

	it("says what is wrong with what it was sent, in the form of google.rpc.Status", async () => {
		for (const body of ['{"message": ', "[]", '"x"', "5", "null"]) {
			const { status, json } = await ask("POST", "/message:send", body);
			assert.deepEqual([status, json.error.code, json.error.status], [400, 400, "INVALID_ARGUMENT"], body);
		}
		const { json } = await ask("GET", "/tasks?pageSize=abc");
		assert.deepEqual(json.error.details[1].fieldViolations[0].field, "pageSize");
		assert.equal((await ask("GET", "/tasks/%zz")).status, 400);
		assert.equal((await ask("GET", "/tasks/a%2Fb%20c")).json.error.details[0].reason, "TASK_NOT_FOUND");
		assert.equal((await ask("POST", "/message:send", say("x".repeat(100_000)))).status, 413);
		assert.deepEqual(log.lines, []);
	});

	it("keeps a fault of ours to the log", async () => {
		const { status, json } = await ask("POST", "/message:send", say("crash"));
		assert.deepEqual([status, json.error.message], [500, "Internal error"]);
		assert.equal(log.lines.length, 1);
	});

	it("names the extensions that are active", async () => {
		const asked = { "a2a-extensions": "https://example.com/known, https://example.com/other" };
		const { headers } = await ask("POST", "/message:send", say("echo x"), asked);
		assert.equal(headers.get("a2a-extensions"), "https://example.com/known");
	});

	it("stands behind the same gate: no web page, no foreign name, and a token where one is asked for", async () => {
		assert.equal((await ask("GET", "/tasks", undefined, { origin: "https://page.example" })).status, 403);
		const foreign = await raw(
			server.port,
			"GET /rest/tasks HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n",
		);
		assert.match(foreign, /^HTTP\/1\.1 403 /);
		const closed = await serve({ agent, tokens: { alice: "token-of-alice" } });
		try {
			const get = (headers: Record<string, string>) =>
				fetch(`${closed.url}rest/tasks`, { headers: { "a2a-version": "1.0", ...headers } });
			const refused = await get({});
			assert.equal(refused.status, 401);
			assert.match(refused.headers.get("www-authenticate") ?? "", /^Bearer/);
			assert.equal(refused.headers.get("content-type"), TYPE);
			assert.equal((await get({ authorization: "Bearer token-of-alice" })).status, 200);
		} finally {
			await closed.close();
		}
		assert.equal(agent.seen.length, 1);
	});
});
