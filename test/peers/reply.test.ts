import assert from "node:assert/strict";
import { asPeerError } from "../../src/peers/reply.ts";
import { A2AError } from "../../src/protocol/errors.ts";

describe("an error of a call", () => {
	it("names the peer once, by its name or by the URL that it was called by", () => {
		const named = asPeerError(new A2AError("BusyError"), { peer: "worker" });
		assert.equal(named.message, "worker: Too many tasks are running");
		const url = "http://127.0.0.1:1/";
		const error = new A2AError("PeerUnreachableError", `${url} does not answer`);
		assert.equal(asPeerError(error, { peer: url }).message, `${url} does not answer`);
	});

	it("says what to do where that is known", () => {
		assert.match(asPeerError(new A2AError("UnauthorizedError"), { peer: "x" }).hint ?? "", /auth\.token/);
		const wait = new A2AError("RateLimitedError", undefined, { retryAfter: 7 });
		assert.match(asPeerError(wait, { peer: "x" }).hint ?? "", /Wait 7 s/);
		assert.equal(asPeerError(new Error("boom"), { peer: "x" }).hint, undefined);
	});
});
