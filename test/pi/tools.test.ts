import assert from "node:assert/strict";
import { TOOLS } from "../../src/pi/tools.ts";

describe("pi/tools", () => {
	it("has the seven tools with the parameters the model is told of", () => {
		assert.deepEqual(
			Object.values(TOOLS).map((tool) => tool.signature),
			[
				"a2a_call(agent, message, context_id?, async_dispatch?, files?, data?, timeout_seconds?)",
				"a2a_status(agent, task_id, wait_seconds?)",
				"a2a_discover(url)",
				"a2a_list()",
				"a2a_history(context_id, limit?)",
				"a2a_orchestrate(capability, message, mode?)",
				"a2a_peers()",
			],
		);
	});

	it("describes every tool and every parameter", () => {
		for (const [name, tool] of Object.entries(TOOLS)) {
			assert.equal(tool.name, name);
			assert.ok(tool.description.length > 40 && tool.summary.length > 10, name);
		}
		for (const parameter of Object.values(TOOLS.a2a_call.parameters.properties)) assert.ok(parameter.description);
	});
});
