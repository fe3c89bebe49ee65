/** Webhooks of our own, over real sockets: who gets in, and what it does. */
import assert from "node:assert/strict";
import { createHooks, type HookNews } from "../../src/bindings/http/hooks.ts";
import type { Listening } from "../../src/bindings/http/listen.ts";
import { signatures } from "../../src/bindings/http/webhook.ts";
import { manualClock } from "../../src/lib/clock.ts";
import type { Agent } from "../../src/protocol/agent.ts";
import { raw, serve } from "./http-support.ts";

const SECRET = ["a", "push", "secret"].join(" ");
const nobody: Agent = {
	request: () => Promise.reject(new Error("nobody calls")),
	stream: () => {
		throw new Error("nobody calls");
	},
};
const DONE = { statusUpdate: { taskId: "t1", contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } } };
const WORKING = { task: { id: "t1", contextId: "c1", status: { state: "TASK_STATE_WORKING" } } };

describe("bindings/http/hooks", () => {
	const servers: Listening[] = [];
	afterEach(async () => {
		await Promise.all(servers.splice(0).map((server) => server.close()));
	});

	async function stage({ secret = "", tokens = {} }: { secret?: string; tokens?: Record<string, string> } = {}) {
		const clock = manualClock();
		const hooks = createHooks({ secret: () => secret, clock });
		const server = await serve({ agent: nobody, hooks, tokens });
		servers.push(server);
		const made = hooks.open("worker", server.url);
		const { url, token = "" } = made.config;
		const news: HookNews[] = [];
		const listen = () => {
			made.bind("t1");
			hooks.of({ peer: "worker", taskId: "t1" })?.listen((each) => void news.push(each));
		};
		async function post(body: unknown, headers: Record<string, string> = {}, at = url): Promise<number> {
			const all = { "content-type": "application/a2a+json", "x-a2a-notification-token": token, ...headers };
			const reply = await fetch(at, {
				method: "POST",
				headers: all,
				body: typeof body === "string" ? body : JSON.stringify(body),
			});
			await reply.arrayBuffer();
			return reply.status;
		}
		return { clock, hooks, server, made, url, token, news, listen, post };
	}

	it("take events of their task from who has the token of just this one, through a proxy as well", async () => {
		const { listen, post, news, token } = await stage();
		listen();
		assert.equal(await post(WORKING, { "x-forwarded-for": "10.0.0.1" }), 200);
		assert.deepEqual(news, ["alive"]);
		const v03 = { kind: "task", id: "t1", contextId: "c1", status: { state: "input-required" } };
		const bearer = {
			"x-a2a-notification-token": "",
			authorization: `Bearer ${token}`,
			"content-type": "application/json",
		};
		assert.equal(await post(v03, bearer), 404, "a wrong token is not made good by a right one");
		const { "x-a2a-notification-token": _, ...alone } = bearer;
		const reply = await fetch((await stage()).url, { method: "POST", headers: alone, body: "{}" });
		assert.equal(reply.status, 404, "the token of another webhook");
		assert.deepEqual(news, ["alive"]);
	});

	it("read the bearer token where there is no other, and both shapes", async () => {
		const { listen, url, token, news } = await stage();
		listen();
		const reply = await fetch(url, {
			method: "POST",
			headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
			body: JSON.stringify({ kind: "task", id: "t1", contextId: "c1", status: { state: "input-required" } }),
		});
		assert.equal(reply.status, 200);
		assert.deepEqual(news, ["alive", "settled"]);
	});

	it("have no effect for a repeated event, and none after their end", async () => {
		const { listen, post, news, made, clock } = await stage();
		listen();
		assert.deepEqual([await post(DONE), await post(DONE)], [200, 200]);
		assert.deepEqual(news, ["alive", "settled"]);
		made.end();
		assert.equal(await post({ ...DONE, more: 1 }), 200);
		await clock.advance(61 * 60_000);
		assert.equal(await post(DONE), 404);
		assert.equal(news.length, 2);
	});

	it("answer a wrong token, none, and an unknown id alike, and refuse what no peer sends; without effect", async () => {
		const { listen, post, news, url, server, token } = await stage();
		listen();
		const outcomes: [string, number, number][] = [
			["wrong token", await post(DONE, { "x-a2a-notification-token": `${token.slice(1)}x` }), 404],
			["no token", await post(DONE, { "x-a2a-notification-token": "" }), 404],
			["unknown id", await post(DONE, {}, `${server.url}push/unknown`), 404],
			["no id", await post(DONE, {}, `${server.url}push/`), 404],
			["other task", await post({ task: { ...WORKING.task, id: "t2" } }), 400],
			["no event", await post({ hello: "there" }), 400],
			["no JSON", await post("{"), 400],
			["too deep", await post(`${'{"a":'.repeat(200)}1${"}".repeat(200)}`), 400],
			["too large", await post({ ...DONE, padding: "x".repeat(1_100_000) }), 413],
			["a web page", await post(DONE, { origin: "https://evil.example" }), 403],
			["a form", await post(DONE, { "content-type": "text/plain" }), 415],
		];
		for (const [what, got, wanted] of outcomes) assert.equal(got, wanted, what);
		const rebound = await raw(
			server.port,
			`POST ${new URL(url).pathname} HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\nConnection: close\r\n\r\n`,
		);
		assert.match(rebound, /^HTTP\/1.1 403/);
		assert.equal((await fetch(url)).status, 404);
		assert.deepEqual(news, []);
	});

	it("with a push secret refuse a wrong signature and an old one, and take a right one and none", async () => {
		const { listen, post, news, clock } = await stage({ secret: SECRET });
		listen();
		const body = JSON.stringify(DONE);
		const right = signatures(SECRET, body, clock.now());
		const wrong = signatures(`${SECRET}s`, body, clock.now());
		const old = signatures(SECRET, body, clock.now() - 301_000);
		assert.equal(await post(body, wrong), 401);
		assert.equal(await post(body, { "x-a2a-signature": wrong["x-a2a-signature"] ?? "" }), 401);
		assert.equal(await post(body, { ...right, "x-a2a-signature-v2": wrong["x-a2a-signature-v2"] ?? "" }), 401);
		assert.equal(await post(body, { "x-a2a-signature-v2": "nonsense" }), 401);
		assert.equal(await post(body, old), 401);
		assert.equal(await post(`${body} `, right), 401);
		assert.deepEqual(news, []);
		assert.equal(await post(body, right), 200);
		assert.equal(await post(WORKING), 200);
		assert.deepEqual(news, ["alive", "settled"]);
	});

	it("hold what comes before the task is known, and drop what is of another", async () => {
		const one = await stage();
		assert.equal(await one.post(DONE), 200);
		one.listen();
		assert.deepEqual(one.news, ["alive", "settled"]);
		const other = await stage();
		await other.post({ task: { ...WORKING.task, id: "t2" } });
		other.listen();
		assert.deepEqual(other.news, []);
	});

	it("are asked so often by one address and no more, but let the right token in", async () => {
		const { listen, post, news, clock } = await stage();
		listen();
		const statuses = new Set<number>();
		for (let n = 0; n < 70; n++) statuses.add(await post(DONE, { "x-a2a-notification-token": `no-${n}` }));
		assert.deepEqual([...statuses], [404, 429]);
		assert.equal(await post(WORKING), 200);
		assert.deepEqual(news, ["alive"]);
		await clock.advance(60_000);
		assert.equal(await post(DONE, { "x-a2a-notification-token": "no" }), 404);
	});

	it("are lost when the server stops or there are too many, and keep no token", async () => {
		const { hooks, listen, news, token, post } = await stage();
		listen();
		assert.ok(Buffer.from(token, "base64url").length >= 32);
		hooks.clear();
		assert.deepEqual(news, ["lost"]);
		assert.equal(await post(DONE), 404);
		const second = await stage();
		second.listen();
		for (let n = 0; n < 400; n++) second.hooks.open("worker", second.server.url);
		assert.deepEqual(second.news, ["lost"]);
	});
});
