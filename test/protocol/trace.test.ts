import assert from "node:assert/strict";
import { readTrace, traceId } from "../../src/protocol/trace.ts";

const [trace, parent] = ["4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"];

describe("a traceparent", () => {
	it("is taken in its form, and gives the id of its trace", () => {
		const read = readTrace(` 00-${trace}-${parent}-01 `);
		assert.equal(read, `00-${trace}-${parent}-01`);
		assert.equal(traceId(read ?? ""), trace);
	});

	it("of a later version is read as far as it is known", () => {
		assert.equal(readTrace(`cc-${trace}-${parent}-01-what-comes-later`), `00-${trace}-${parent}-01`);
	});

	it("that is none counts as none", () => {
		const zeros = (n: number) => "0".repeat(n);
		for (const text of [
			...["", "x", `00-${trace}-${parent}`, `00-${trace}-${parent}-01-more`, `ff-${trace}-${parent}-01`],
			...[`00-${zeros(32)}-${parent}-01`, `00-${trace}-${zeros(16)}-01`, `00-${trace.toUpperCase()}-${parent}-01`],
			...[`00-${trace}-${parent}-01\r\nx: y`, undefined, 7],
		]) {
			assert.equal(readTrace(text), undefined, String(text));
		}
	});
});
