import { connectMailbox } from "../../src/bindings/mailbox/client.ts";
import { describeBinding } from "./contract.ts";
import { callerOf, mailboxStage } from "./mailbox-support.ts";

describeBinding("mailbox", async (agent) => {
	const stage = mailboxStage();
	await stage.serve(agent, { identify: (from) => ({ ...callerOf(from), id: `peer:${from}` }) });
	stage.orchestrate();
	return {
		as: async (name) => connectMailbox(stage.target(await stage.post(name), "worker")),
		close: () => stage.close(),
	};
});
