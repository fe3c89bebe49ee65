import assert from "node:assert/strict";
import { buckets } from "../../src/guard/buckets.ts";
import { rateLimited, streamsCapped, trusted, turnCapped } from "../../src/guard/policies.ts";
import { manualClock } from "../../src/lib/clock.ts";
import type { Ended, Policy, Step } from "../../src/protocol/agent.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { get, send } from "./steps.ts";

function refusal(policy: Policy, step: Step): A2AError | undefined {
	try {
		policy(step);
		return undefined;
	} catch (error) {
		assert.ok(error instanceof A2AError);
		return error;
	}
}

describe("trusted", () => {
	const refused = (policy: Policy, id: string) => refusal(policy, send(id))?.name;

	it("lets everybody in who got past the door when no names are given", () => {
		assert.equal(refused(trusted({ trustedPeers: [], allowAllUsers: false }), "peer:mallory"), undefined);
	});

	it("lets in only the named, by name or by id", () => {
		const policy = trusted({ trustedPeers: ["alice", "ip:127.0.0.1"], allowAllUsers: false });
		assert.equal(refused(policy, "peer:alice"), undefined);
		assert.equal(refused(policy, "ip:127.0.0.1"), undefined);
		for (const id of ["peer:bob", "peer:Alice", "ip:127.0.0.2", "gateway:alice", "mailbox:alice"])
			assert.equal(refused(policy, id), "UntrustedCallerError", id);
	});

	it("lets everybody in when told so", () => {
		assert.equal(refused(trusted({ trustedPeers: ["alice"], allowAllUsers: true }), "peer:bob"), undefined);
	});
});

describe("rateLimited", () => {
	it("gives each caller so many requests a minute, and says when to come back", async () => {
		const clock = manualClock();
		const policy = rateLimited({ perMinute: 3, clock });
		for (let n = 0; n < 3; n++) assert.equal(refusal(policy, send("peer:a")), undefined);
		const error = refusal(policy, get("peer:a", "task-1"));
		assert.equal(error?.name, "RateLimitedError");
		assert.equal(error?.details.retryAfter, 20);
		assert.match(error?.message ?? "", /20 s/);
		assert.equal(refusal(policy, send("peer:b")), undefined, "another caller has a limit of its own");
		await clock.advance(19_000);
		assert.equal(refusal(policy, send("peer:a"))?.details.retryAfter, 1);
		await clock.advance(1_000);
		assert.equal(refusal(policy, send("peer:a")), undefined);
		assert.equal(refusal(policy, send("peer:a"))?.name, "RateLimitedError");
	});
});

describe("streamsCapped", () => {
	const stream = (id: string) => ({ ...send(id), operation: "SendStreamingMessage" }) as Step;

	it("lets one caller hold so many streams, whatever others hold, and counts them down when they end", () => {
		const policy = streamsCapped({ max: 2 });
		const ends = [policy(stream("peer:a")), policy(stream("peer:a"))] as Ended[];
		assert.equal(refusal(policy, stream("peer:a"))?.name, "BusyError");
		assert.equal(refusal(policy, stream("peer:b")), undefined);
		assert.equal(refusal(policy, send("peer:a")), undefined, "a call with one reply");
		ends[0]?.({});
		assert.equal(refusal(policy, stream("peer:a")), undefined);
		assert.equal(refusal(policy, stream("peer:a"))?.name, "BusyError");
	});
});

describe("buckets", () => {
	it("stay few, however many names there are, and forget those unused for longest", () => {
		const limit = buckets({ perMinute: 1, clock: manualClock() });
		assert.equal(limit.take("old"), 0);
		assert.equal(limit.take("kept"), 0);
		for (let n = 0; n < 9_999; n++) limit.take(`name-${n}`);
		assert.equal(limit.take("kept"), 60);
		assert.equal(limit.take("old"), 0);
	});

	it("take nothing away when the clock is set back, and nothing at all without a limit", () => {
		let now = 1_000_000;
		const limit = buckets({ perMinute: 2, clock: { ...manualClock(), now: () => now } });
		limit.take("a");
		now -= 500_000;
		assert.equal(limit.take("a"), 0);
		assert.ok(limit.take("a") > 0);
		const none = buckets({ perMinute: Number.POSITIVE_INFINITY, clock: manualClock() });
		for (let n = 0; n < 1000; n++) assert.equal(none.take("a"), 0);
	});

	it("can be looked into without taking", () => {
		const limit = buckets({ perMinute: 1, clock: manualClock() });
		assert.deepEqual([limit.peek("a"), limit.peek("a"), limit.take("a"), limit.peek("a")], [0, 0, 0, 60]);
	});
});

describe("turnCapped", () => {
	const turn = (policy: Policy, id: string, contextId: string) => refusal(policy, send(id, { contextId }))?.name;

	it("ends a conversation after so many turns, for this caller in this context", () => {
		const policy = turnCapped({ max: 5, clock: manualClock() });
		for (let n = 0; n < 5; n++) assert.equal(turn(policy, "peer:a", "c1"), undefined);
		const error = refusal(policy, send("peer:a", { contextId: "c1" }));
		assert.equal(error?.name, "TurnLimitError");
		assert.match(error?.message ?? "", /5 turns; finish with what you have/);
		assert.equal(turn(policy, "peer:a", "c2"), undefined);
		assert.equal(turn(policy, "peer:b", "c1"), undefined);
		assert.equal(refusal(policy, get("peer:a", "task-1")), undefined, "asking how a task stands is no turn");
	});

	it("does not count a message that is sent again, but for who does nothing else", () => {
		const policy = turnCapped({ max: 2, clock: manualClock() });
		const again = () => refusal(policy, send("peer:a", { contextId: "c1", messageId: "m1" }))?.name;
		assert.deepEqual([again(), again(), again(), again()], [undefined, undefined, undefined, undefined]);
		assert.deepEqual([again(), again()], [undefined, "TurnLimitError"]);
	});

	it("starts anew after ten quiet minutes; refused turns do not keep it closed", async () => {
		const clock = manualClock();
		const policy = turnCapped({ max: 1, clock });
		assert.equal(turn(policy, "peer:a", "c1"), undefined);
		await clock.advance(599_000);
		assert.equal(turn(policy, "peer:a", "c1"), "TurnLimitError");
		await clock.advance(1_000);
		assert.equal(turn(policy, "peer:a", "c1"), undefined);
	});

	it("counts answers to a task that asked, also without its context", () => {
		const policy = turnCapped({ max: 2, clock: manualClock() });
		const answer = () => refusal(policy, send("peer:a", { taskId: "task-1" }))?.name;
		assert.deepEqual([answer(), answer(), answer()], [undefined, undefined, "TurnLimitError"]);
	});

	it("keeps callers and contexts apart whatever their names are", () => {
		const policy = turnCapped({ max: 1, clock: manualClock() });
		assert.equal(turn(policy, 'a","b', "c"), undefined);
		assert.equal(turn(policy, "a", 'b","c'), undefined);
	});

	it("refuses work that was handed on too often, whatever context it comes in (R066)", () => {
		const policy = turnCapped({ max: 5, clock: manualClock() });
		const hops = (value: number | string) => refusal(policy, send("peer:a", { metadata: { "pi/hops": value } }));
		assert.equal(hops(4), undefined);
		assert.equal(hops(5)?.name, "TurnLimitError");
		assert.match(hops(6)?.message ?? "", /handed on 5 times; do it yourself/);
		for (const value of [-99, Number.NaN, "9"]) assert.equal(hops(value), undefined, "what is no count says nothing");
	});

	it("never ends anything when there is no limit", () => {
		const policy = turnCapped({ max: Number.POSITIVE_INFINITY, clock: manualClock() });
		for (let n = 0; n < 100; n++) assert.equal(turn(policy, "peer:a", "c1"), undefined);
	});
});
