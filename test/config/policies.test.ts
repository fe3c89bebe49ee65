import assert from "node:assert/strict";
import type { Fault } from "../../src/config/key-kinds.ts";
import { KEYS, keyAt } from "../../src/config/keys.ts";

const { kind } = KEYS.peerPolicies;

function read(value: unknown): { faults: Fault[]; value: ReturnType<typeof kind.read> } {
	const faults: Fault[] = [];
	return { value: kind.read(value, (fault) => faults.push(fault)), faults };
}

describe("config: policies for peers", () => {
	it("are written for identities of every kind", () => {
		const names = ["default", "alice", "peer:alice", "ip:127.0.0.1", "ip:fe80::1", "gateway:work", "mailbox:dev-1"];
		const { value, faults } = read(Object.fromEntries(names.map((name) => [name, { tools: "full" }])));
		assert.deepEqual(faults, []);
		assert.deepEqual(Object.keys(value ?? {}), names);
	});

	it("have every field of the documentation", () => {
		const policy = {
			tools: ["read", "bash"],
			workspace: "~/public",
			confined: true,
			maxTurns: 20,
			maxSeconds: 600,
			maxTokens: 200_000,
			mayCall: false,
			ask: true,
		};
		assert.deepEqual({ ...read({ bob: policy }).value }, { bob: policy });
	});

	it("tell a misspelled field, rule or number: it was meant to narrow something", () => {
		for (const [policy, at] of [
			[{ tool: "read-only" }, "a.tool"],
			[{ tools: "readonly" }, "a.tools"],
			[{ tools: ["read", 7] }, "a.tools.1"],
			[{ maxTurns: 0 }, "a.maxTurns"],
			[{ ask: "maybe" }, "a.ask"],
			["read-only", "a"],
		] as const) {
			const { faults } = read({ a: policy });
			assert.deepEqual(
				faults.map((fault) => [fault.at, fault.hint ?? false]),
				[[at, false]],
			);
		}
		assert.equal(read({ "two words": {} }).faults.length, 1);
		assert.equal(KEYS.peerPolicies.guards, true);
	});

	it("are set field by field, whatever stands in the caller's name", () => {
		const place = keyAt("server.peerPolicies.ip:127.0.0.1.tools");
		assert.deepEqual(place?.path, ["server", "peerPolicies", "ip:127.0.0.1", "tools"]);
		assert.equal(place?.kind.parse("read-only"), "read-only");
		assert.deepEqual(place?.kind.parse("read, ls"), ["read", "ls"]);
	});
});
