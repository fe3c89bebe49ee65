import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import { all, bench, call, echo, message } from "../support/scripted-runner.ts";

const named = (name: string) => (error: unknown) => error instanceof A2AError && error.name === name;

describe("capabilities", () => {
	it("that are not promised are refused, each with its own error", async () => {
		const { agent } = bench(echo, { capabilities: { streaming: false, push: false, extended: false } });
		const sent = all(agent.stream("SendStreamingMessage", { message: message("x") }, call()));
		await assert.rejects(sent, named("UnsupportedOperationError"));
		const config = agent.request("CreateTaskPushNotificationConfig", { url: "https://hook.example/" }, call());
		await assert.rejects(config, named("PushNotificationNotSupportedError"));
		await assert.rejects(agent.request("GetExtendedAgentCard", {}, call()), named("UnsupportedOperationError"));
	});

	it("without an extended card say that none is configured; with one, give it", async () => {
		const capabilities = { streaming: true, push: false, extended: true };
		const none = bench(echo, { capabilities });
		const asked = none.agent.request("GetExtendedAgentCard", {}, call());
		await assert.rejects(asked, named("ExtendedAgentCardNotConfiguredError"));
		const card = {
			name: "n",
			description: "d",
			version: "1",
			supportedInterfaces: [],
			capabilities: {},
			defaultInputModes: [],
			defaultOutputModes: [],
			skills: [],
		};
		const some = bench(echo, { capabilities, card: () => card });
		assert.equal(await some.agent.request("GetExtendedAgentCard", {}, call()), card);
	});

	it("that break inside answer with an internal error and tell the log alone", async () => {
		const { agent, warnings } = bench(echo, {
			capabilities: { streaming: true, push: false, extended: true },
			card: () => {
				throw new Error("/home/someone/secret");
			},
		});
		const asked = agent.request("GetExtendedAgentCard", {}, call());
		await assert.rejects(asked, (error: Error) => named("InternalError")(error) && error.message === "Internal error");
		assert.deepEqual(warnings, ["GetExtendedAgentCard failed"]);
	});
});
