import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import { formatEvent, HEARTBEAT, type SseEvent, SseParser } from "../../src/protocol/sse.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const parser = () => new SseParser({ maxBytes: 10_000 });
const read = (text: string) => parser().push(text);

/** All events of a stream that arrives in these chunks, and what was left at its end. */
function events(chunks: readonly (Uint8Array | string)[]): { events: SseEvent[]; rest: string; comments: number } {
	const reader = parser();
	const found = chunks.flatMap((chunk) => reader.push(chunk));
	return { events: found, rest: reader.rest(), comments: reader.activity };
}

describe("SseParser", () => {
	it("gives one event for one data line and a blank line", () => {
		assert.deepEqual(read("data: hello\n\n"), [{ event: "message", data: "hello" }]);
	});

	it("gives two events that come in one chunk", () => {
		assert.deepEqual(
			read("data: 1\n\ndata: 2\n\n").map((event) => event.data),
			["1", "2"],
		);
	});

	it("joins several data lines with line feeds", () => {
		// R002
		const [event] = read('data: {"jsonrpc":"2.0","id":1,\ndata: "result":{}}\n\n');
		assert.deepEqual(JSON.parse(event?.data ?? ""), { jsonrpc: "2.0", id: 1, result: {} });
		assert.equal(read("data: a\ndata:\ndata: b\n\n")[0]?.data, "a\n\nb");
	});

	it("takes one space after the colon away, and no more", () => {
		assert.deepEqual(
			read("data:a\n\ndata: b\n\ndata:  c\n\n").map((event) => event.data),
			["a", "b", " c"],
		);
	});

	it("reads event, id and retry of an event", () => {
		assert.deepEqual(read("event: update\nid: 7\nretry: 500\ndata: x\n\n"), [
			{ event: "update", data: "x", id: "7", retry: 500 },
		]);
	});

	it("forgets the fields of one event before the next", () => {
		assert.deepEqual(read("event: update\nid: 7\nretry: 5\ndata: x\n\ndata: y\n\n")[1], {
			event: "message",
			data: "y",
		});
	});

	it("ignores an id with NUL and a retry that is no number", () => {
		assert.deepEqual(read("id: a\0b\nretry: soon\ndata: x\n\n"), [{ event: "message", data: "x" }]);
	});

	it("skips comments, unknown fields, fields without a colon and events without data", () => {
		// R005
		const { events: found, comments } = events([
			": ping\n\ndata: 1\n\nevent: message\nid: 7\nretry: 500\n\ndata:\n\nfoo: bar\nfoo\n: pong\n\ndata\n\ndata: 2\n\n",
		]);
		assert.deepEqual(
			found.map((event) => event.data),
			["1", "2"],
		);
		assert.equal(comments, 2);
	});

	it("counts a comment as soon as its line has ended", () => {
		const reader = parser();
		assert.equal(reader.activity, 0);
		reader.push(": pi");
		assert.equal(reader.activity, 0);
		reader.push("ng\n");
		assert.equal(reader.activity, 1);
	});

	it("ends lines at LF, CR and CRLF alike", () => {
		for (const end of ["\n", "\r", "\r\n"]) {
			const text = ["data: a", "data: b", "", "data: c", "", ""].join(end);
			assert.deepEqual(
				events([text]).events.map((event) => event.data),
				["a\nb", "c"],
				JSON.stringify(end),
			);
		}
		assert.deepEqual(
			read("data: a\rdata: b\n\r\ndata: c\r\r\n").map((event) => event.data),
			["a\nb", "c"],
		);
	});

	it("gives an event at once when its blank line is a CR, whether or not an LF follows", () => {
		const reader = parser();
		assert.equal(reader.push("data: a\r\r").length, 1);
		assert.deepEqual(reader.push("\n"), []);
		assert.deepEqual(reader.push("data: b\r\n\r\n"), [{ event: "message", data: "b" }]);
	});

	it("leaves a byte order mark at the start out, and keeps one inside", () => {
		assert.equal(read("\uFEFFdata: a\n\n")[0]?.data, "a");
		assert.equal(events([bytes("\uFEFFdata: a\uFEFF\n\n")]).events[0]?.data, "a\uFEFF");
		assert.equal(events([new Uint8Array([0xef]), new Uint8Array([0xbb, 0xbf]), "data: a\n\n"]).events[0]?.data, "a");
	});

	it("gives the same events wherever the network cuts the bytes", () => {
		// R001, R004
		const text =
			"\uFEFF: hi\r\ndata: état 🧪\r\ndata: 北京 ok\r\n\r\nevent: x\rid: ü\rdata: 2\r\rretry: 9\ndata: last\n\n: end\n\ndata: left 🧪";
		const all = bytes(text);
		const whole = events([all]);
		assert.equal(whole.events[0]?.data, "état 🧪\n北京 ok");
		assert.equal(whole.events.length, 3);
		assert.equal(whole.rest, "left 🧪");
		for (let a = 0; a <= all.length; a += 1)
			for (let b = a; b <= all.length; b += 7)
				assert.deepEqual(events([all.slice(0, a), all.slice(a, b), all.slice(b)]), whole, `cut at ${a} and ${b}`);
		assert.deepEqual(events([...all].map((byte) => new Uint8Array([byte]))), whole, "byte by byte");
		assert.deepEqual(events([...text].map((character) => character)), whole, "character by character");
	});

	it("has a replacement mark for bytes that are no UTF-8, and goes on", () => {
		assert.deepEqual(
			events([new Uint8Array([...bytes("data: a"), 0xff, ...bytes("b\n\ndata: c\n\n")])]).events.map(
				(event) => event.data,
			),
			["a\uFFFDb", "c"],
		);
	});

	it("keeps what the end of the stream cut off", () => {
		// R009
		assert.equal(events(['data: 1\n\ndata: {"state":"done"}']).rest, '{"state":"done"}');
		assert.equal(events(["data: a\n"]).rest, "a");
		assert.equal(events(["data: a\ndata: b"]).rest, "a\nb");
		assert.equal(events(["data: 1\n\n"]).rest, "");
		assert.equal(events(["data: 1\n\nda"]).rest, "");
		assert.equal(events([": comment"]).rest, "");
		assert.equal(events([]).rest, "");
	});

	it("refuses an event that is larger than allowed, however it comes", () => {
		const tooLarge = (error: unknown) =>
			error instanceof A2AError && error.name === "InvalidAgentResponseError" && /1000 bytes/.test(error.message);
		const big = "x".repeat(1200);
		for (const chunks of [
			[`data: ${big}\n\n`],
			["data: ", big],
			[...`data: ${big}`],
			["data: x\n".repeat(200)],
			[`: ${big}`],
			["data:\n".repeat(1100)],
		]) {
			const reader = new SseParser({ maxBytes: 1000 });
			assert.throws(() => {
				for (const chunk of chunks) reader.push(chunk);
			}, tooLarge);
		}
	});

	it("bounds each event alone: a long stream of small ones is fine", () => {
		const reader = new SseParser({ maxBytes: 100 });
		let count = 0;
		for (let i = 0; i < 1000; i += 1) count += reader.push(": a comment of some length\n\ndata: 123456789\n\n").length;
		assert.equal(count, 1000);
		for (let i = 0; i < 1000; i += 1) reader.push(": comments without a blank line\nid: 5\n");
		assert.deepEqual(reader.push("data: still here\n\n"), [{ event: "message", data: "still here", id: "5" }]);
	});

	it("takes time in proportion to the length, for one long line in many chunks and for many lines in one chunk", () => {
		// The best of three: what other processes take of the machine is not the parser's.
		const time = (run: () => void) =>
			Math.min(
				...[1, 2, 3].map(() => {
					const began = performance.now();
					run();
					return performance.now() - began;
				}),
			);
		const inChunks = (count: number) => () => {
			const reader = new SseParser({ maxBytes: 1e9 });
			const chunk = bytes("x".repeat(64));
			reader.push("data: ");
			for (let i = 0; i < count; i += 1) reader.push(chunk);
			assert.equal(reader.push("\n\n")[0]?.data.length, count * 64);
		};
		const inLines = (count: number) => () => {
			// Not one CR in it: looking for one from each line again would be quadratic.
			assert.equal(new SseParser({ maxBytes: 1e9 }).push("data: xxxxxxxxxx\n\n".repeat(count)).length, count);
		};
		for (const kind of [inChunks, inLines]) {
			kind(2000)();
			const small = time(kind(10_000));
			const large = time(kind(100_000));
			assert.ok(large < Math.max(small, 3) * 60, `10 times the input took ${small} ms, then ${large} ms`);
		}
	});
});

describe("formatEvent", () => {
	it("writes what the parser reads back, line breaks included", () => {
		for (const data of ["x", '{"a":"b\\nc"}', "a\nb", "a\r\nb\rc\n", " leading", "ü 🧪"])
			assert.equal(read(formatEvent(data))[0]?.data, data.replace(/\r\n|\r/g, "\n"));
	});

	it("writes an id, and never lets it end its line", () => {
		assert.equal(formatEvent("x", "7"), "id: 7\ndata: x\n\n");
		assert.deepEqual(read(formatEvent("x", "7\ndata: forged\n\n")), [
			{ event: "message", data: "x", id: "7data: forged" },
		]);
	});

	it("has a heartbeat that is no event", () => {
		assert.deepEqual(read(HEARTBEAT), []);
		assert.equal(events([HEARTBEAT]).comments, 1);
	});
});
