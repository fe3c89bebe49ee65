import assert from "node:assert/strict";
import { loopGuard, PATH } from "../../src/guard/loops.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import { send } from "./steps.ts";

const TRACE = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

describe("loopGuard", () => {
	const agent = (name: string) => loopGuard(() => name, `id-${name}`);
	const work = (path: readonly string[], more: object = {}) =>
		send("peer:x", { metadata: { [PATH]: [...path] }, trace: TRACE, ...more });

	it("lets work go on from agent to agent, and names the circle when it comes back", () => {
		const [a, b, c] = [agent("a"), agent("b"), agent("c")];
		const first = a.path(undefined);
		assert.deepEqual(first, ["a#id-a"]);
		assert.equal(b.policy(work(first)), undefined);
		const second = b.path(TRACE);
		assert.deepEqual(second, ["a#id-a", "b#id-b"]);
		assert.equal(c.policy(work(second)), undefined);
		assert.throws(
			() => b.policy(work(c.path(TRACE))),
			(error) => error instanceof A2AError && error.name === "TurnLimitError" && /b → c → b/.test(error.message),
		);
		assert.throws(() => a.policy(work(second)), /would go in a circle: a → b → a\. Do it yourself/);
	});

	it("takes an answer to a question, and work from another of the same name", () => {
		const a = agent("a");
		assert.equal(a.policy(work(["a#id-a", "b#id-b"], { taskId: "t1" })), undefined);
		assert.equal(a.policy(work(["a#somebody-else"])), undefined);
	});

	it("keeps the paths of calls apart, and knows none for work of our own", () => {
		const a = agent("a");
		a.policy(work(["x#1"]));
		assert.deepEqual(a.path(TRACE.replace("b", "c")), ["a#id-a"]);
		assert.deepEqual(a.path(undefined), ["a#id-a"]);
	});

	it("is bounded, and bears with what is no path", () => {
		const a = agent("a");
		for (const said of ["a#id-a", 7, null, { 0: "a#id-a" }, [1, null, ["a#id-a"]]])
			assert.equal(a.policy(send("peer:x", { metadata: { [PATH]: said } })), undefined);
		a.policy(work(Array.from({ length: 500 }, (_, n) => `${"long".repeat(200)}\n#${n}`)));
		const path = a.path(TRACE);
		assert.equal(path.length, 32);
		assert.ok(path.every((each) => each.length <= 120 && !each.includes("\n")));
	});
});
