import assert from "node:assert/strict";
import { describePolicy, type Policies, policyFor, policyText, toolsOf } from "../../src/guard/peer-policy.ts";

const POLICIES: Policies = {
	default: { tools: "read-only", maxTurns: 5 },
	alice: { tools: "full" },
	"peer:alice": { maxSeconds: 60 },
	bob: { tools: ["read", "bash"], mayCall: true },
	"ip:127.0.0.1": { tools: "no-config-writes", maxTurns: 9 },
	"gateway:work": { ask: true },
	carol: { confined: false },
};

describe("policies for peers", () => {
	it("without a word of the operator, a caller has the host's tools but for what loads later", () => {
		const policy = policyFor("peer:alice", {});
		assert.deepEqual(policy, { tools: "no-config-writes", confined: false, mayCall: true, ask: false });
		assert.equal(toolsOf(policy), undefined);
	});

	it("finds the entry by the whole identity, of a peer by its name alone as well", () => {
		assert.equal(policyFor("peer:alice", POLICIES).maxSeconds, 60);
		assert.deepEqual(toolsOf(policyFor("peer:bob", POLICIES)), ["read", "bash"]);
		assert.equal(policyFor("ip:127.0.0.1", POLICIES).maxTurns, 9);
		assert.equal(policyFor("gateway:work", POLICIES).ask, true);
	});

	it("gives no other kind of caller the entry of a name", () => {
		for (const caller of ["gateway:bob", "mailbox:bob", "ip:bob", "bob:", "peer:peer:bob", "peer:default:bob"])
			assert.equal(policyFor(caller, POLICIES).tools, "read-only", caller);
	});

	it("takes from `default` what an entry leaves out", () => {
		const { tools, maxTurns } = policyFor("gateway:work", POLICIES);
		assert.deepEqual([tools, maxTurns], ["read-only", 5]);
		assert.equal(policyFor("peer:nobody", POLICIES).tools, "read-only");
	});

	it("does not take what every object has for an entry", () => {
		for (const name of ["constructor", "__proto__", "toString"])
			assert.equal(policyFor(`peer:${name}`, {}).tools, "no-config-writes");
	});

	it("lets those with fewer tools neither call others nor leave the workspace, unless it is said", () => {
		const reader = policyFor("peer:x", { x: { tools: "read-only" } });
		assert.deepEqual([reader.mayCall, reader.confined], [false, true]);
		const few = policyFor("peer:x", { x: { tools: ["bash"] } });
		assert.deepEqual([few.mayCall, few.confined], [false, false]);
		assert.equal(policyFor("peer:bob", POLICIES).mayCall, true);
		assert.equal(policyFor("peer:carol", POLICIES).confined, false);
	});

	it("is told in a line, and not at all where nothing was written about the caller", () => {
		assert.equal(policyText("peer:alice", {}), undefined);
		assert.equal(policyText("peer:alice", { bob: { tools: "full" } }), undefined);
		assert.equal(policyText("peer:bob", POLICIES), "tools: read, bash, 5 turns");
		const all = { tools: [], workspace: "/srv", confined: true, maxTurns: 1, maxSeconds: 2, maxTokens: 3, ask: true };
		assert.equal(
			describePolicy(policyFor("peer:x", { x: all })),
			"tools: none, in /srv, confined, 1 turns, 2 s, 3 tokens, no calls, asks",
		);
	});
});
