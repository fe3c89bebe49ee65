import assert from "node:assert/strict";
import { canonicalize, repeatedMember } from "../../src/protocol/canonical.ts";

describe("protocol/canonical", () => {
	it("sorts members by UTF-16 units at every depth and leaves lists in order", () => {
		// The sample of RFC 8785 §3.2.3.
		const names = { "€": 1, "\r": 2, "\ufb33": 3, "1": 4, "😀": 5, "\u0080": 6, ö: 7 };
		const expected = '{"\\r":2,"1":4,"\u0080":6,"ö":7,"€":1,"😀":5,"\ufb33":3}';
		assert.equal(canonicalize(names), expected);
		assert.equal(canonicalize([{ b: [2, 1], a: {} }]), '[{"a":{},"b":[2,1]}]');
	});

	it("writes numbers and texts as RFC 8785 has them", () => {
		const numbers = [333333333.3333333, 1e30, 4.5, 2e-3, 1e-27, -0, 1e21, 1e20, 5e-324];
		const expected = "[333333333.3333333,1e+30,4.5,0.002,1e-27,0,1e+21,100000000000000000000,5e-324]";
		assert.equal(canonicalize(numbers), expected);
		assert.equal(canonicalize("€$\u000f\nA'B\"\\/<\u2028"), '"€$\\u000f\\nA\'B\\"\\\\/<\u2028"');
		assert.equal(canonicalize([null, true, false, ""]), '[null,true,false,""]');
	});

	it("leaves members out that are undefined", () => {
		assert.equal(canonicalize({ b: undefined, a: 1 }), '{"a":1}');
	});

	it("refuses what JSON does not have, and what is too deep", () => {
		for (const value of [Number.NaN, Number.POSITIVE_INFINITY, "\ud800", { "\udc00": 1 }, () => 1, [undefined], 1n])
			assert.throws(() => canonicalize(value), /no canonical form/, String(value));
		let deep: unknown = 1;
		for (let i = 0; i < 101; i++) deep = [deep];
		assert.throws(() => canonicalize(deep), /100 levels/);
	});

	it("finds a name that an object has twice, however it is spelled", () => {
		assert.equal(repeatedMember('{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}],"d":"\\"a\\":1,"}'), undefined);
		assert.equal(repeatedMember('{"a":1,"b":2,"a":3}'), "a");
		assert.equal(repeatedMember('{"x":[{"n":{},"m":[],"n":1}]}'), "n");
		assert.equal(repeatedMember('{"alg":1,"\\u0061lg":2}'), "alg");
		assert.equal(repeatedMember('["a","a",{"v":"v","w":"v"}]'), undefined);
	});
});
