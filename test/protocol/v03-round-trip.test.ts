import assert from "node:assert/strict";
import { decodeParams } from "../../src/protocol/decode.ts";
import { operationFor } from "../../src/protocol/jsonrpc.ts";
import { OPERATIONS, type OperationName, type Params } from "../../src/protocol/operations.ts";
import { downcastParams, downcastResult, upcastParams, upcastResult, v03Method } from "../../src/protocol/v03/index.ts";
import { PARAMS, RESULTS } from "./v03-samples.ts";

const OPERATION_NAMES = Object.keys(OPERATIONS) as OperationName[];
const wire = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)));
/** A 0.3 request as the core sees it. */
const core = <K extends OperationName>(operation: K, params: unknown): Params[K] =>
	decodeParams[operation](upcastParams(operation, params));

describe("0.3, there and back", () => {
	for (const operation of OPERATION_NAMES) {
		it(`keeps the parameters of ${operation}`, () => {
			for (const params of PARAMS[operation]) {
				const down = wire(downcastParams(operation, params as never));
				assert.ok(!/TASK_STATE_|ROLE_/.test(JSON.stringify(down) ?? ""), "no 1.0 spellings");
				assert.deepEqual(core(operation, down), params);
			}
		});

		it(`keeps the results of ${operation}`, () => {
			for (const result of RESULTS[operation]) {
				const down = wire(downcastResult(operation, result));
				assert.ok(!/TASK_STATE_|ROLE_/.test(JSON.stringify(down)), "no 1.0 spellings");
				assert.deepEqual(upcastResult(operation, down), result);
			}
		});
	}

	it("has a method name for every operation, which means that operation", () => {
		for (const operation of OPERATION_NAMES) {
			assert.match(v03Method(operation), /^(message|tasks|agent)\//);
			assert.equal(operationFor(v03Method(operation))?.operation, operation);
		}
		assert.equal(v03Method("SubscribeToTask"), "tasks/resubscribe");
		assert.equal(v03Method("CreateTaskPushNotificationConfig"), "tasks/pushNotificationConfig/set");
	});
});
