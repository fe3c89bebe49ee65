/** Asserting that something is refused as it should be. */
import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";

/** `run` is refused as invalid parameters, and the refusal names `field` in its text and in its violations. */
export function refusedParams(run: () => unknown, field: string, why: RegExp = /./): void {
	assert.throws(run, (error) => {
		assert.ok(error instanceof A2AError, String(error));
		assert.equal(error.name, "InvalidParamsError");
		assert.deepEqual(
			error.details.violations?.map((violation) => violation.field),
			[field],
		);
		assert.match(error.details.violations?.[0]?.description ?? "", why);
		assert.ok(error.message.startsWith(field === "" ? "Invalid parameters: " : `${field}: `), error.message);
		assert.ok(error.message.length < 300, "the text repeats nothing of what came");
		return true;
	});
}

/** `run` refuses what a peer sent, in one short line that matches `message`. */
export function refusedReply(run: () => unknown, message: RegExp): void {
	assert.throws(run, (error) => {
		assert.ok(error instanceof A2AError, String(error));
		assert.equal(error.name, "InvalidAgentResponseError");
		assert.match(error.message, message);
		assert.ok(error.message.length < 400 && !/[\r\n]/.test(error.message), "one short line");
		return true;
	});
}
