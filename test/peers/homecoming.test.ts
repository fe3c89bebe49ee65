import assert from "node:assert/strict";
import { manualClock } from "../../src/lib/clock.ts";
import { createHomecoming, type Settled } from "../../src/peers/homecoming.ts";
import type { StatusOptions } from "../../src/peers/outbound.ts";
import { PeerError, type PeerReply } from "../../src/peers/reply.ts";
import { A2AError } from "../../src/protocol/errors.ts";

const reply = (running: boolean): PeerReply => ({
	peer: "worker",
	state: running ? "TASK_STATE_WORKING" : "TASK_STATE_COMPLETED",
	text: "done",
	artifacts: [],
	running,
	notes: [],
	durationMs: 1,
});
const MINUTE = 60_000;

/** Dispatches at a peer that answers each question with the next of `answers`, and the last for ever. */
function stage(...answers: readonly (PeerReply | Error | "silence")[]) {
	const clock = manualClock();
	const asked: string[] = [];
	const told: Settled[] = [];
	const status = (_agent: string, id: string, { signal }: StatusOptions): Promise<PeerReply> => {
		const answer = answers[Math.min(asked.length, answers.length - 1)] ?? "silence";
		asked.push(id);
		if (answer === "silence") {
			return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
		}
		return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
	};
	const home = createHomecoming({ status, clock });
	home.onSettled((settled) => told.push(settled));
	const dispatch = (taskId: string) => ({ agent: "worker", peer: "worker", taskId, at: clock.now() });
	return { clock, asked, told, home, dispatch };
}

describe("peers/homecoming", () => {
	it("tells of a result once, having asked once, and follows it no more", async () => {
		const { clock, asked, told, home, dispatch } = stage(reply(false));
		home.follow(dispatch("t1"));
		home.follow(dispatch("t1"));
		assert.equal(home.pending().length, 1);
		await clock.advance(60 * MINUTE);
		assert.deepEqual(asked, ["t1"]);
		assert.equal(told.length, 1);
		assert.ok(told[0] && "reply" in told[0] && told[0].reply.text === "done");
		assert.deepEqual(home.pending(), []);
		assert.equal(clock.pending, 0);
	});

	it("asks on while the peer is away, ever less often, and tells of the result when it is back", async () => {
		const away = new PeerError("worker: not reachable", { peer: "worker" });
		const { clock, asked, told, home, dispatch } = stage(away, away, away, reply(true), reply(false));
		home.follow(dispatch("t1"));
		await clock.advance(29_000);
		assert.equal(asked.length, 1);
		await clock.advance(MINUTE);
		assert.equal(asked.length, 2);
		await clock.advance(10 * MINUTE);
		assert.equal(asked.length, 5);
		assert.equal(told.length, 1);
	});

	it("tells of a task that failed, and of one that the peer does not know any more, without asking again", async () => {
		const failed = new PeerError("worker: it broke", { peer: "worker", state: "TASK_STATE_FAILED" });
		const gone = new PeerError("worker: no such task", { peer: "worker", cause: new A2AError("TaskNotFoundError") });
		for (const error of [failed, gone]) {
			const { clock, asked, told, home, dispatch } = stage(error);
			home.follow(dispatch("t1"));
			await clock.advance(60 * MINUTE);
			assert.equal(asked.length, 1);
			assert.ok(told[0] && "error" in told[0] && told[0].error === error);
		}
	});

	it("gives a task up after seven days, and says so", async () => {
		const { clock, told, home, dispatch } = stage(new PeerError("worker: not reachable", { peer: "worker" }));
		home.follow(dispatch("t1"));
		await clock.advance(8 * 24 * 60 * MINUTE);
		assert.equal(told.length, 1);
		assert.ok(told[0] && "error" in told[0] && /within 7 days/.test(String(told[0].error)));
		assert.equal(clock.pending, 0);
	});

	it("follows 16 at the same time; the next begins when one is forgotten, of which nobody is told", async () => {
		const { clock, asked, told, home, dispatch } = stage("silence");
		for (let n = 0; n < 20; n++) home.follow(dispatch(`t${n}`));
		assert.equal(asked.length, 16);
		home.forget({ peer: "worker", taskId: "t3" });
		await clock.advance(0);
		assert.equal(asked.at(-1), "t16");
		assert.equal(home.pending().length, 19);
		await home.close();
		assert.deepEqual(told, []);
		assert.deepEqual(home.pending(), []);
		assert.equal(clock.pending, 0);
	});

	it("stops at the end of the session, also in a pause, and takes nothing more", async () => {
		const { clock, asked, told, home, dispatch } = stage(new PeerError("worker: not reachable", { peer: "worker" }));
		home.follow(dispatch("t1"));
		await clock.advance(1000);
		await home.close();
		home.follow(dispatch("t2"));
		await clock.advance(60 * MINUTE);
		assert.deepEqual([asked.length, told.length, clock.pending], [1, 0, 0]);
	});
});
