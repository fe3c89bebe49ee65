import type { Caller } from "../../src/protocol/agent.ts";
import { describeBinding } from "./contract.ts";

describeBinding(
	"memory",
	async (agent) => ({
		as: async (name) => {
			const caller: Caller = { id: `peer:${name}`, label: name, authenticated: true, loopback: true };
			return { agent, call: (signal) => ({ caller, signal, service: { version: "1.0", extensions: [] } }) };
		},
		close: async () => undefined,
	}),
	{ skip: { "keeps the inside of a fault from the caller": "there is no wire between the two" } },
);
