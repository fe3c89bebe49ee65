import assert from "node:assert/strict";
import { createServer } from "node:http";
import { connect, type Socket } from "node:net";
import type { Listening } from "../../src/bindings/http/listen.ts";
import { HEARTBEAT_MS } from "../../src/bindings/http/reply.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { until } from "./contract.ts";
import { post, serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const stream = (text: string, method = "SendStreamingMessage", message: object = {}) =>
	post(
		JSON.stringify({
			jsonrpc: "2.0",
			id: 7,
			method,
			params: { message: { messageId: "m1", role: "ROLE_USER", parts: [{ text }], ...message } },
		}),
		{ connection: "keep-alive" },
	);

describe("an event stream of the HTTP server", () => {
	let agent: ScriptedAgent;
	let server: Listening;
	const clock = manualClock();
	const sockets: Socket[] = [];

	beforeEach(async () => {
		agent = new ScriptedAgent();
		server = await serve({ agent, clock });
	});
	afterEach(async () => {
		for (const socket of sockets.splice(0)) socket.destroy();
		// The grace of open connections is time as well.
		await Promise.all([server.close(), clock.advance(5_000)]);
		assert.equal(agent.open, 0);
	});

	function open(bytes: string): { socket: Socket; text: () => string; closed: () => boolean } {
		let text = "";
		let closed = false;
		const socket = connect(server.port, "127.0.0.1", () => socket.write(bytes));
		socket.setEncoding("utf8").on("data", (chunk: string) => {
			text += chunk;
		});
		socket.on("close", () => {
			closed = true;
		});
		socket.on("error", () => undefined);
		sockets.push(socket);
		return { socket, text: () => text, closed: () => closed };
	}

	// R016
	it("begins at once, with headers that keep proxies from collecting it", async () => {
		for (const method of ["SendStreamingMessage", "message/stream"]) {
			const { text } = open(stream("hold", method));
			await until(() => text().includes("TASK_STATE_WORKING"));
			assert.match(text(), /^HTTP\/1\.1 200/);
			assert.match(text(), /content-type: text\/event-stream\r\n/i);
			assert.match(text(), /cache-control: no-cache/i);
			assert.match(text(), /x-accel-buffering: no\r\n/i);
			assert.doesNotMatch(text(), /content-encoding/i);
			assert.match(text(), /data: \{"jsonrpc":"2\.0","id":7,"result":\{"task"/);
		}
	});

	it("is ended properly after its last event and leaves the connection usable", async () => {
		const { socket, text } = open(stream("echo one"));
		await until(() => text().endsWith("0\r\n\r\n"));
		assert.match(text(), /TASK_STATE_COMPLETED/);
		socket.write(
			post('{"jsonrpc":"2.0","id":8,"method":"GetTask","params":{"id":"none"}}', { connection: "keep-alive" }),
		);
		await until(() => text().includes('"id":8'));
	});

	it("says in a comment that it is alive when nothing happens", async () => {
		const { text } = open(stream("hold"));
		await until(() => text().includes("TASK_STATE_WORKING"));
		await clock.advance(HEARTBEAT_MS);
		await until(() => text().includes(": keep-alive\n\n"));
		await clock.advance(HEARTBEAT_MS);
		await until(() => text().split(": keep-alive").length === 3);
		agent.release();
		await until(() => text().includes("TASK_STATE_COMPLETED"));
	});

	it("that is refused is a plain JSON-RPC error", async () => {
		const { text } = open(stream("throw TaskNotFoundError"));
		await until(() => text().includes("-32001"));
		assert.match(text(), /content-type: application\/json/i);
	});

	it("ends its iteration, and nothing else, when its reader is gone", async () => {
		const { socket, text } = open(stream("hold"));
		const other = open(stream("hold"));
		await until(() => text().includes("TASK_STATE_WORKING") && other.text().includes("TASK_STATE_WORKING"));
		socket.destroy();
		await until(() => agent.left === 1 && agent.open === 1);
		agent.release();
		await until(() => other.text().includes("TASK_STATE_COMPLETED"));
	});

	// R018
	it("can be joined again after a lost connection, and ends with its task", async () => {
		const { socket, text } = open(stream("hold"));
		await until(() => text().includes("TASK_STATE_WORKING"));
		socket.destroy();
		await until(() => agent.left === 1);
		const params = { id: "task-1" };
		const again = open(post(JSON.stringify({ jsonrpc: "2.0", id: 8, method: "SubscribeToTask", params })));
		await until(() => again.text().includes("TASK_STATE_WORKING"));
		assert.match(again.text(), /x-accel-buffering: no/i);
		agent.release();
		await until(() => again.text().endsWith("0\r\n\r\n") && again.closed());
		assert.match(again.text(), /"task":[\s\S]*"artifactUpdate":[\s\S]*TASK_STATE_COMPLETED/);
	});

	it("of 0.3 ends with the event that says so", async () => {
		const { text } = open(
			stream("", "message/stream", { kind: "message", role: "user", parts: [{ kind: "text", text: "echo x" }] }),
		);
		await until(() => text().endsWith("0\r\n\r\n"));
		assert.match(
			text(),
			/"kind":"task"[\s\S]*"kind":"artifact-update"[\s\S]*"kind":"status-update"[\s\S]*"final":true/,
		);
		assert.equal(text().split('"final":true').length, 2);
	});

	// R021
	it("is ended first when the server stops; stopping takes no time and frees the port", async () => {
		const streams = [open(stream("hold")), open(stream("hold"))];
		await until(() => streams.every(({ text }) => text().includes("TASK_STATE_WORKING")));
		const idle = open("");
		const before = performance.now();
		const closing = server.close();
		await until(() => streams.every(({ text, closed }) => text().endsWith("0\r\n\r\n") && closed()));
		assert.equal(agent.open, 0);
		await Promise.all([closing, clock.advance(2_000)]);
		assert.ok(performance.now() - before < 2_000);
		await until(() => idle.closed());
		const { port } = server;
		const again = createServer().listen(port, "127.0.0.1");
		await new Promise((resolve, reject) => again.once("listening", resolve).once("error", reject));
		await new Promise((resolve) => again.close(resolve));
		await server.close();
	});
});
