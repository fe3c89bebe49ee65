import assert from "node:assert/strict";
import type { Listening } from "../../src/bindings/http/listen.ts";
import { post, type Reply, raw, remembering, rpc, serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const say = (text: string, more: object = {}) => ({
	message: { messageId: "m1", role: "ROLE_USER", parts: [{ text }], ...more },
});
const sayOld = (text: string) => ({
	message: { kind: "message", messageId: "m1", role: "user", parts: [{ kind: "text", text }] },
});

describe("JSON-RPC over HTTP", () => {
	let agent: ScriptedAgent;
	let server: Listening;
	const old = new Set<string>();
	const log = remembering();

	beforeEach(async () => {
		agent = new ScriptedAgent();
		old.clear();
		log.lines.length = 0;
		server = await serve({ agent, log, isV03: (_caller, id) => old.has(id), maxBodyBytes: 1_000_000 });
	});
	afterEach(() => server.close());

	const body = async (text: string): Promise<Reply> => {
		const answer = await raw(server.port, post(text));
		return JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4));
	};
	const call = (method: string, params: unknown, headers: Record<string, string> = {}) =>
		rpc(server.url, method, params, headers);

	// R074
	it("tells what is no JSON from what is no request and from what is no method", async () => {
		for (const text of ['{"jsonrpc":"2.0",', "", "{,}", "\u0000"]) {
			const { id, error } = await body(text);
			assert.deepEqual([id, error?.code], [null, -32700], text);
		}
		for (const text of ['"just text"', "42", "null", "[]", "{}", '{"jsonrpc":"1.0","id":1,"method":"GetTask"}']) {
			assert.equal((await body(text)).error?.code, -32600, text);
		}
		for (const method of ["SendMesage", "sendmessage", "SENDMESSAGE", "constructor", "toString", "", "rpc.discover"]) {
			assert.equal((await call(method, {})).json.error?.code, -32601, method);
		}
		assert.equal(agent.seen.length, 0);
	});

	it("takes bytes that are no UTF-8 for what they are", async () => {
		const bytes = Buffer.concat([
			Buffer.from('{"jsonrpc":"2.0","id":1,"method":"x'),
			Buffer.from([0xff, 0xfe]),
			Buffer.from('"}'),
		]);
		const head = `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${bytes.length}\r\nconnection: close\r\n\r\n`;
		const answer = await raw(server.port, Buffer.concat([Buffer.from(head), bytes]));
		assert.match(answer, /"code":-32700/);
	});

	// R076
	it("gives an id back in type and value, and refuses a request without one", async () => {
		for (const id of [0, "", "0", -7, Number.MAX_SAFE_INTEGER, "ключ-🔑", null]) {
			const { json } = await rpc(server.url, "GetTask", { id: "none" }, {}, id);
			assert.deepEqual([json.jsonrpc, json.id, json.error?.code], ["2.0", id, -32001]);
		}
		const none = await body('{"jsonrpc":"2.0","method":"SendMessage","params":{}}');
		assert.deepEqual([none.id, none.error?.code], [null, -32600]);
		assert.equal(agent.seen.length, 7);
	});

	// R072
	it("ignores members that it does not know", async () => {
		const { json } = await call("SendMessage", {
			...say("echo x", { futureHint: { x: 1 }, parts: [{ text: "echo x", futureHint: { x: 1 } }] }),
			futureHint: { x: 1 },
		});
		assert.equal(json.result.task.status.state, "TASK_STATE_COMPLETED");
	});

	it("says which field is wrong", async () => {
		const { status, json } = await call("SendMessage", { message: { messageId: "m", role: "ROLE_USER", parts: [] } });
		assert.deepEqual([status, json.error?.code], [200, -32602]);
		assert.match(JSON.stringify(json.error?.data), /google\.rpc\.BadRequest.*message\.parts/);
	});

	it("answers with the status of its own errors, and 200 for those of the protocol", async () => {
		const expected = { TaskNotFoundError: 200, InternalError: 200, BusyError: 503, UntrustedCallerError: 403 };
		for (const [name, status] of Object.entries(expected)) {
			const answer = await call("SendMessage", say(`throw ${name}`));
			assert.equal(answer.status, status, name);
			assert.match(answer.headers.get("content-type") ?? "", /^application\/json/);
			assert.equal(answer.headers.get("cache-control"), "no-store");
		}
	});

	it("writes a fault of its own into the log and not into the reply", async () => {
		const { status, json } = await call("SendMessage", say("crash"));
		assert.deepEqual([status, json.error?.code, json.error?.message], [200, -32603, "Internal error"]);
		assert.doesNotMatch(JSON.stringify(json), /secret|home/);
		assert.equal(log.lines.length, 1);
	});

	describe("versions", () => {
		it("of 1.0 are served, by header or query, with any patch number; others are refused with those there are", async () => {
			for (const version of ["1.0", "1.0.7", " 1.0 "]) {
				assert.equal((await call("GetTask", { id: "x" }, { "a2a-version": version })).json.error?.code, -32001);
			}
			for (const version of ["9.9", "1.99", "2.0", "abc", "-1", "1.0, 9.9"]) {
				const { json } = await call("GetTask", { id: "x" }, { "a2a-version": version });
				assert.equal(json.error?.code, -32009, version);
				assert.match(json.error?.message ?? "", /1\.0/);
			}
			const query = (text: string) => rpc(`${server.url}?${text}`, "GetTask", { id: "x" });
			assert.equal((await query("A2A-Version=1.0")).json.error?.code, -32001);
			assert.equal((await query("a2a-version=9.9")).json.error?.code, -32009);
		});

		it("are told by the method name when nobody says one", async () => {
			const { json } = await call("SendMessage", say("echo new"));
			assert.equal(json.result.task.status.state, "TASK_STATE_COMPLETED");
		});

		it("of 0.3 do not know the 1.0 names", async () => {
			const { json } = await call("SendMessage", say("echo x"), { "a2a-version": "0.3" });
			assert.equal(json.error?.code, -32601);
			assert.equal(agent.seen.length, 0);
		});
	});

	describe("path-like names", () => {
		it("answer a 1.0 message with a bare task of 1.0 data", async () => {
			const { json } = await call("message/send", say("echo hello"));
			assert.equal(json.result.status.state, "TASK_STATE_COMPLETED");
			assert.deepEqual(json.result.artifacts[0].parts, [{ text: "hello" }]);
			const direct = await call("message/send", say("message hi"));
			assert.deepEqual([direct.json.result.role, direct.json.result.parts], ["ROLE_AGENT", [{ text: "hi" }]]);
			assert.equal(agent.seen[0]?.call.service.version, "1.0");
		});

		it("do so without a message id, with a context id beside the message, and with 1.0 in the header", async () => {
			const params = { message: { role: "ROLE_USER", parts: [{ text: "long job" }] }, contextId: "ctx-7" };
			const { json } = await call("message/send", params, { "a2a-version": "1.0" });
			assert.equal(json.result.contextId, "ctx-7");
			assert.match(json.result.history[0].messageId, /^msg-/);
		});

		it("list stubs", async () => {
			await call("message/send", say("echo one"));
			const { json } = await call("tasks/list", {});
			assert.deepEqual(json.result.tasks, [{ id: "task-1", state: "TASK_STATE_COMPLETED" }]);
			assert.equal(json.result.nextPageToken, "");
			const full = await call("ListTasks", {});
			assert.equal(full.json.result.tasks[0].status.state, "TASK_STATE_COMPLETED");
		});

		it("answer a 0.3 message in the 0.3 form, header or not", async () => {
			for (const headers of [{}, { "a2a-version": "0.3" }, { "a2a-version": "0.3.0" }]) {
				const { json } = await call("message/send", sayOld("echo hello"), headers);
				assert.deepEqual([json.result.kind, json.result.status.state], ["task", "completed"]);
				assert.deepEqual(json.result.artifacts[0].parts, [{ kind: "text", text: "hello" }]);
			}
			assert.equal(agent.seen[0]?.call.service.version, "0.3");
		});

		it("follow the message that made the task when nothing else tells", async () => {
			await call("message/send", sayOld("echo old"));
			await call("message/send", say("echo new"));
			old.add("task-1");
			const state = async (id: string, headers = {}) =>
				(await call("tasks/get", { id }, headers)).json.result.status.state;
			assert.equal(await state("task-1"), "completed");
			assert.equal(await state("task-2"), "TASK_STATE_COMPLETED");
			assert.equal(await state("task-2", { "a2a-version": "0.3" }), "completed");
			assert.equal(await state("task-1", { "a2a-version": "1.0" }), "TASK_STATE_COMPLETED");
			assert.equal((await call("tasks/get", { id: "none" })).json.error?.code, -32001);
		});
	});
});
