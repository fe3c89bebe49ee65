import assert from "node:assert/strict";
import { manualClock } from "../../src/lib/clock.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { eventId, taskId } from "../../src/protocol/types.ts";
import { Bench, drain, NEVER, send, states, stream, task, update } from "./client-support.ts";
import { until } from "./contract.ts";

const WORKING = "TASK_STATE_WORKING";
const COMPLETED = "TASK_STATE_COMPLETED";
const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

function brokenStream(error: unknown): error is A2AError {
	assert.ok(error instanceof A2AError, String(error));
	assert.equal(error.details.metadata?.broken, "stream", error.message);
	return true;
}

describe("a stream read by the HTTP client", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.close());

	// R001
	it("is put together however the network cuts it", async () => {
		const cut = await bench.peer(async (request, wire) => {
			const event = `data: ${JSON.stringify({ jsonrpc: "2.0", id: request.rpc.id, result: update("WORKING") })}\n\n`;
			await wire.events();
			await wire.write(event.slice(0, event.indexOf("TASK_STA") + 8));
			await pause();
			await wire.write(event.slice(event.indexOf("TASK_STA") + 8));
			const done = `data: ${JSON.stringify({ jsonrpc: "2.0", id: request.rpc.id, result: update("COMPLETED") })}\n\n`;
			await wire.write(event + done);
			wire.end();
		});
		const { items, error } = await drain(stream(await bench.connect(cut.url)));
		assert.deepEqual([states(items), error], [[WORKING, WORKING, COMPLETED], undefined]);
	});

	it("gives each event the id that stands beside it, and tells the last one seen when it is asked to go on", async () => {
		const peer = await bench.peer(async ({ rpc }, wire) => {
			const data = (item: object) => `data: ${JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result: item })}\n\n`;
			await wire.events();
			await wire.write(
				`id: t1:1\n${data(update("WORKING"))}${data(update("WORKING"))}id: t1:3\n${data(update("COMPLETED"))}`,
			);
			wire.end();
		});
		const connection = await bench.connect(peer.url);
		const { items } = await drain(stream(connection));
		assert.deepEqual(
			items.map((item) => item[eventId]),
			["t1:1", undefined, "t1:3"],
		);
		const call = { ...connection.call(NEVER), after: "t1:1" };
		await drain(connection.agent.stream("SubscribeToTask", { id: taskId("t1") }, call));
		assert.deepEqual(
			peer.requests.slice(1).map(({ headers }) => headers["last-event-id"]),
			[undefined, "t1:1"],
		);
	});

	// R002
	it("may spread an event over several data lines", async () => {
		const peer = await bench.peer(async ({ rpc }, wire) => {
			await wire.events();
			await wire.write(
				`data: {"jsonrpc":"2.0","id":${rpc.id},\ndata: "result":${JSON.stringify(task("COMPLETED"))}}\n\n`,
			);
			wire.end();
		});
		assert.deepEqual(states((await drain(stream(await bench.connect(peer.url)))).items), [COMPLETED]);
	});

	// R004
	it("keeps every character, byte by byte or in one reply", async () => {
		const text = "état 🧪 北京 ok";
		const whole = task("COMPLETED", { artifacts: [{ artifactId: "a", parts: [{ text }] }] });
		const peer = await bench.peer(async ({ rpc }, wire) => {
			const reply = Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result: whole }));
			const streaming = rpc.method === "SendStreamingMessage";
			if (streaming) await wire.events();
			else await wire.head(200, { "content-type": "application/json", "content-length": String(reply.length) });
			const bytes = streaming ? Buffer.concat([Buffer.from("data: "), reply, Buffer.from("\n\n")]) : reply;
			for (const byte of bytes) {
				await wire.write(Buffer.from([byte]));
				await new Promise((resolve) => setImmediate(resolve));
			}
			if (streaming) wire.end();
		});
		const connection = await bench.connect(peer.url);
		const [item] = (await drain(stream(connection))).items;
		const reply = await send(connection);
		for (const got of [item, reply]) {
			assert.ok(got && "task" in got);
			assert.deepEqual(got.task.artifacts?.[0]?.parts, [{ text }]);
		}
	});

	// R005
	it("passes over comments, unknown fields and empty events, and comments count as signs of life", async () => {
		const clock = manualClock();
		let wake: () => void = () => undefined;
		const next = () =>
			new Promise<void>((resolve) => {
				wake = resolve;
			});
		const peer = await bench.peer(async (_request, wire) => {
			await wire.events();
			await wire.event(task("WORKING"));
			await next();
			await wire.write(": ping\n\nevent: message\nid: 7\nretry: 500\n\ndata:\n\nfoo: bar\n\n");
			await next();
			await wire.event(update("COMPLETED"));
			wire.end();
		});
		const connection = await bench.connect(peer.url, { clock, streamTimeoutMs: 1_000 });
		const iterator = stream(connection)[Symbol.asyncIterator]();
		assert.deepEqual(states([(await iterator.next()).value]), [WORKING]);
		const second = iterator.next();
		await until(() => clock.pending === 1);
		await clock.advance(900);
		wake();
		await pause();
		await clock.advance(900);
		wake();
		assert.deepEqual(states([(await second).value]), [COMPLETED]);
		assert.equal((await iterator.next()).done, true);
		assert.equal(clock.pending, 0);
	});

	// R007
	it("that is refused with a plain error is that error", async () => {
		const peer = await bench.peer((_request, wire) => wire.error(-32004, "no streaming here"));
		const { items, error } = await drain(stream(await bench.connect(peer.url)));
		assert.equal(items.length, 0);
		assert.ok(error instanceof A2AError && error.name === "UnsupportedOperationError");
		assert.equal(error.message, "no streaming here");
		assert.equal(error.details.metadata?.code, "-32004");
	});

	it("may be one plain reply, of a peer that does not stream", async () => {
		const peer = await bench.peer((_request, wire) => wire.result(task("COMPLETED")));
		const { items, error } = await drain(stream(await bench.connect(peer.url)));
		assert.deepEqual([states(items), error], [[COMPLETED], undefined]);
	});

	// R009
	it("uses what arrived whole when the connection ends without a blank line, and says so when nothing whole came", async () => {
		for (const cut of [false, true]) {
			const peer = await bench.peer(async ({ rpc }, wire, call) => {
				await wire.events();
				await wire.event(task("WORKING"));
				const last = `data: ${JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result: update("COMPLETED") })}`;
				if (call === 0) await wire.write(last);
				if (call === 1) await wire.write(last.slice(0, -9));
				await pause();
				if (cut) wire.cut();
				else wire.end();
			});
			const connection = await bench.connect(peer.url);
			assert.deepEqual(states((await drain(stream(connection))).items), [WORKING, COMPLETED]);
			const half = await drain(stream(connection));
			assert.deepEqual(states(half.items), [WORKING]);
			assert.ok(brokenStream(half.error));
			const nothing = await drain(stream(connection));
			assert.deepEqual(states(nothing.items), [WORKING]);
			// A regular end without an ending is for whoever follows the task to judge.
			if (cut) assert.ok(brokenStream(nothing.error));
			else assert.equal(nothing.error, undefined);
		}
	});

	// R010
	it("that is several JSON values in a row is one line of error, and the peer stays usable", async () => {
		for (const separator of ["\n", "\x1e"]) {
			const peer = await bench.peer(({ rpc }, wire) => {
				if (rpc.method === "SendMessage") return wire.result(task("COMPLETED"));
				const one = JSON.stringify({ jsonrpc: "2.0", id: rpc.id, result: task("WORKING") });
				return wire.send(200, one + separator + one, { "content-type": "application/json" });
			});
			const connection = await bench.connect(peer.url);
			const { error } = await drain(stream(connection));
			assert.ok(error instanceof A2AError && error.name === "InvalidAgentResponseError");
			assert.match(error.message, /^[^\n]*application\/json[^\n]*$/);
			assert.ok("task" in (await send(connection)));
		}
	});

	it("ends with the end of its task, whether the peer closes it or not", async () => {
		const peer = await bench.peer(async (_request, wire) => {
			await wire.events();
			await wire.event(task("WORKING"));
			await wire.event(update("COMPLETED"));
		});
		const { items } = await drain(stream(await bench.connect(peer.url)));
		assert.deepEqual(states(items), [WORKING, COMPLETED]);
		await until(() => peer.open <= 1);
	});

	// R013, R015
	it("goes on after a first snapshot, and after a message that came behind a task", async () => {
		const peer = await bench.peer(async (_request, wire) => {
			await wire.events();
			await wire.event(task("SUBMITTED"));
			await wire.event(task("WORKING"));
			await wire.event({
				message: { messageId: "m", role: "ROLE_AGENT", taskId: "t1", contextId: "c1", parts: [{ text: "done" }] },
			});
			wire.end();
		});
		const { items, error } = await drain(stream(await bench.connect(peer.url)));
		assert.deepEqual([states(items), error], [["TASK_STATE_SUBMITTED", WORKING, "message"], undefined]);
	});

	// R085, R067
	it("may mix the shapes of versions", async () => {
		const peer = await bench.peer(async (_request, wire) => {
			await wire.events();
			await wire.event({ kind: "task", id: "t1", contextId: "c1", status: { state: "submitted" } });
			await wire.event(update("WORKING"));
			await wire.event({
				kind: "status-update",
				taskId: "t1",
				contextId: "c1",
				status: { state: "completed" },
				final: true,
			});
		});
		const { items } = await drain(stream(await bench.connect(peer.url)));
		assert.deepEqual(states(items), ["TASK_STATE_SUBMITTED", WORKING, COMPLETED]);
	});

	// R097
	it("that falls silent is given up by our own limit, which the error names", async () => {
		const clock = manualClock();
		const peer = await bench.peer(async (_request, wire, call) => {
			if (call === 1) return;
			await wire.events();
			await wire.event(task("WORKING"));
		});
		const connection = await bench.connect(peer.url, { clock, streamTimeoutMs: 310_000 });
		const iterator = stream(connection)[Symbol.asyncIterator]();
		await iterator.next();
		const next = drain({ [Symbol.asyncIterator]: () => iterator });
		await until(() => clock.pending === 1);
		await clock.advance(309_000);
		assert.equal(clock.pending, 1);
		await clock.advance(1_000);
		const { error } = await next;
		assert.ok(brokenStream(error));
		assert.match(error.message, /310 s.*timeouts\.stream/);
		const unanswered = drain(stream(connection));
		await until(() => clock.pending === 1);
		await clock.advance(310_000);
		assert.match(String((await unanswered).error), /310 s.*timeouts\.stream/);
		assert.equal(clock.pending, 0);
	});

	it("does not count the time that its reader takes", async () => {
		const clock = manualClock();
		const peer = await bench.peer(async (_request, wire) => {
			await wire.events();
			await wire.event(task("WORKING"));
			await wire.event(update("COMPLETED"));
		});
		const iterator = stream(await bench.connect(peer.url, { clock, streamTimeoutMs: 1_000 }))[Symbol.asyncIterator]();
		await iterator.next();
		await clock.advance(60_000);
		assert.deepEqual(states([(await iterator.next()).value]), [COMPLETED]);
		await iterator.return?.(undefined);
	});

	it("closes its connection when its reader leaves or gives up", async () => {
		const controller = new AbortController();
		const peer = await bench.peer(async (_request, wire) => {
			await wire.events();
			await wire.event(task("WORKING"));
		});
		const connection = await bench.connect(peer.url);
		for await (const _item of stream(connection)) break;
		const aborted = drain(stream(connection, "hi", controller.signal));
		await until(() => peer.requests.length === 3);
		await pause();
		controller.abort(new Error("enough"));
		assert.match(String((await aborted).error), /enough/);
		// The one that is left is idle, kept from reading the card.
		await until(() => peer.open <= 1);
	});

	it("that never ends an event, or never ends at all, is stopped", async () => {
		const peer = await bench.peer(async (_request, wire) => {
			await wire.events();
			const megabyte = `${"x".repeat(1024 * 1024)}`;
			await wire.write("data: ");
			for (let i = 0; i < 40; i++) await wire.write(megabyte);
		});
		const { error } = await drain(stream(await bench.connect(peer.url)));
		assert.ok(error instanceof A2AError && error.name === "InvalidAgentResponseError");
		assert.match(error.message, /larger/);
	});

	// R077
	it("takes no event that is no reply to its request", async () => {
		for (const bad of [
			'{"id":1,"result":{}}',
			'{"jsonrpc":"2.0","id":999,"result":{"message":{"messageId":"m","role":"ROLE_AGENT","parts":[]}}}',
			"[]",
			"nonsense",
		]) {
			const peer = await bench.peer(async (_request, wire) => {
				await wire.events();
				await wire.write(`data: ${bad}\n\n`);
			});
			const { items, error } = await drain(stream(await bench.connect(peer.url)));
			assert.equal(items.length, 0);
			assert.ok(error instanceof A2AError && error.name === "InvalidAgentResponseError", bad);
		}
	});
});
