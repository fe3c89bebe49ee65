import assert from "node:assert/strict";
import type { Hook, HookNews } from "../../src/bindings/http/hooks.ts";
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
	const waits: (number | undefined)[] = [];
	let listener: ((news: HookNews) => void) | undefined;
	let ended = 0;
	const hook: Hook = {
		listen(each) {
			listener = each;
		},
		end: () => void ended++,
	};
	let hooked = false;
	const status = (_agent: string, id: string, { signal, waitMs }: StatusOptions): Promise<PeerReply> => {
		waits.push(waitMs);
		const answer = answers[Math.min(asked.length, answers.length - 1)] ?? "silence";
		asked.push(id);
		if (answer === "silence") {
			return new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("stopped"))));
		}
		return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
	};
	const home = createHomecoming({
		status,
		clock,
		pollMs: () => 60_000,
		hooks: { of: () => (hooked ? hook : undefined) },
	});
	home.onSettled((settled) => told.push(settled));
	const dispatch = (taskId: string) => ({ agent: "worker", peer: "worker", taskId, at: clock.now() });
	const withHook = () => {
		hooked = true;
	};
	return {
		...{ clock, asked, waits, told, home, dispatch, withHook },
		news: (news: HookNews) => listener?.(news),
		ended: () => ended,
	};
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
		await clock.advance(0);
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

	it("asks once when the webhook says that the task has settled, and before that seldom and without a stream", async () => {
		const { clock, asked, waits, told, home, dispatch, withHook, news, ended } = stage(reply(true), reply(false));
		withHook();
		home.follow(dispatch("t1"));
		news("alive");
		await clock.advance(9 * MINUTE);
		assert.deepEqual(asked, []);
		await clock.advance(2 * MINUTE);
		assert.equal(asked.length, 1);
		await clock.advance(3 * MINUTE);
		news("settled");
		news("settled");
		await clock.advance(60 * MINUTE);
		assert.deepEqual(waits, [0, 0]);
		assert.deepEqual([told.length, ended(), clock.pending], [1, 1, 0]);
	});

	it("does not rely on a webhook that has brought nothing in half a minute", async () => {
		const { clock, asked, waits, home, dispatch, withHook } = stage("silence");
		withHook();
		home.follow(dispatch("t1"));
		await clock.advance(29_000);
		assert.equal(asked.length, 0);
		await clock.advance(1_000);
		assert.deepEqual(waits, [60 * MINUTE]);
		await home.close();
	});

	it("goes on as it would without when the webhook is lost, or when its news cannot be confirmed", async () => {
		const away = new PeerError("worker: not reachable", { peer: "worker" });
		const lost = stage(away, reply(false));
		lost.withHook();
		lost.home.follow(lost.dispatch("t1"));
		lost.news("alive");
		await lost.clock.advance(MINUTE);
		lost.news("lost");
		await lost.clock.advance(0);
		assert.equal(lost.asked.length, 1);
		const lying = stage(away, reply(true), away, reply(false));
		lying.withHook();
		lying.home.follow(lying.dispatch("t1"));
		lying.news("alive");
		lying.news("settled");
		await lying.clock.advance(0);
		assert.equal(lying.asked.length, 1);
		await lying.clock.advance(30_000);
		assert.equal(lying.asked.length, 2);
		await lying.clock.advance(9 * MINUTE);
		assert.equal(lying.asked.length, 2);
		lying.home.nudge({ peer: "worker", taskId: "other" });
		lying.home.nudge({ peer: "worker", taskId: "t1" });
		await lying.clock.advance(MINUTE);
		assert.deepEqual([lying.asked.length, lying.told.length], [4, 1]);
	});

	it("takes a task up again with a new webhook when its question was answered", async () => {
		const { clock, told, home, dispatch, withHook, news } = stage(
			{ ...reply(false), question: "which?" },
			reply(false),
		);
		home.follow(dispatch("t1"));
		await clock.advance(0);
		withHook();
		home.follow(dispatch("t1"));
		await clock.advance(1000);
		assert.equal(told.length, 1);
		news("settled");
		await clock.advance(0);
		assert.equal(told.length, 2);
	});

	it("knows the end of a task by the peer's own error, also when its words were cleaned", async () => {
		const gone = new PeerError("worker: no such task", { peer: "worker", refusal: "TaskNotFoundError" });
		const { clock, asked, home, dispatch } = stage(gone);
		home.follow(dispatch("t1"));
		await clock.advance(60 * MINUTE);
		assert.equal(asked.length, 1);
		assert.equal(home.endedBy(new PeerError("x", { peer: "worker" })), undefined);
	});
});
