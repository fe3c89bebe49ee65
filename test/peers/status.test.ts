import assert from "node:assert/strict";
import { manualClock, systemClock } from "../../src/lib/clock.ts";
import { PeerError, type PeerReply } from "../../src/peers/reply.ts";
import { type StatusRequest, taskStatus } from "../../src/peers/status.ts";
import { taskId } from "../../src/protocol/types.ts";
import { made, RpcError, type ScriptedPeer, silence, task } from "../support/scripted-peer.ts";
import { Bench, connectionTo, forever, type Rig, until } from "./rig.ts";

describe("peers/status", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.end());

	async function ask(
		rig: Rig,
		peer: ScriptedPeer,
		more: Partial<StatusRequest> = {},
		clock = systemClock,
	): Promise<PeerReply> {
		const request = { taskId: taskId("t1"), waitMs: 0, signal: forever(), ...more };
		return taskStatus(await connectionTo(rig, peer), request, { peer: "worker", clock, pollMs: 5 });
	}
	const gives = (...states: object[]) => ({ GetTask: (_: unknown, nth: number) => states[nth] });

	it("asks once and gives what it finds, running or done", async () => {
		const peer = await bench.peer({ answers: gives(task("WORKING", made("so far")), task("COMPLETED", made("done"))) });
		const rig = await bench.rig();
		const first = await ask(rig, peer);
		assert.equal(first.running, true);
		assert.equal(first.state, "TASK_STATE_WORKING");
		assert.equal(first.text, "so far");
		const second = await ask(rig, peer);
		assert.equal(second.running, false);
		assert.equal(second.text, "done");
		assert.equal(peer.received.length, 2);
	});

	it("polls until the task ends", async () => {
		const peer = await bench.peer({
			answers: gives(task("SUBMITTED"), task("WORKING"), task("COMPLETED", made("done"))),
		});
		assert.equal((await ask(await bench.rig(), peer, { waitMs: 60_000 })).text, "done");
	});

	it("stops waiting when the peer asks something", async () => {
		const peer = await bench.peer({ answers: gives(task("WORKING"), task("INPUT_REQUIRED", {}, "which?")) });
		assert.equal((await ask(await bench.rig(), peer, { waitMs: 60_000 })).question, "which?");
	});

	it("gives the state last seen when the time to wait is over", async () => {
		const clock = manualClock();
		const GetTask = (_: unknown, nth: number) => (nth === 0 ? task("WORKING") : silence());
		const peer = await bench.peer({ answers: { GetTask } });
		const ending = ask(await bench.rig({ clock }), peer, { waitMs: 3000 }, clock);
		await until(() => peer.received.length > 1, "the second poll");
		await clock.advance(3000);
		const reply = await ending;
		assert.equal(reply.running, true);
		assert.equal(reply.taskId, "t1");
		assert.match(reply.notes.join(), /Still running after 3 s/);
		assert.equal(clock.pending, 0);
	});

	it("throws for a task that failed, with the reason", async () => {
		const peer = await bench.peer({ answers: gives(task("FAILED", {}, "quota used up")) });
		await assert.rejects(ask(await bench.rig(), peer), /the task failed: quota used up/);
	});

	it("says clearly that the peer has forgotten the task", async () => {
		const peer = await bench.peer({
			answers: {
				GetTask: () => {
					throw new RpcError(-32001, "Task not found");
				},
			},
		});
		await assert.rejects(ask(await bench.rig(), peer, { waitMs: 60_000 }), (error: unknown) => {
			assert.ok(error instanceof PeerError);
			assert.match(error.message, /Task not found/);
			assert.match(error.hint ?? "", /does not know this task \(any more\)/);
			assert.equal(error.taskId, "t1");
			return true;
		});
		assert.equal(peer.received.length, 1);
	});

	it("bears with a poll that fails, and gives up after three in a row", async () => {
		const GetTask = (_: unknown, nth: number) => {
			if (nth === 1 || nth > 2) throw new RpcError(-32603, "hiccup");
			return task("WORKING");
		};
		const peer = await bench.peer({ answers: { GetTask } });
		await assert.rejects(ask(await bench.rig(), peer, { waitMs: 60_000 }), /hiccup/);
		assert.equal(peer.received.length, 6);
	});

	it("leaves the task alone when the waiting is stopped", async () => {
		const controller = new AbortController();
		const peer = await bench.peer({ answers: { GetTask: () => task("WORKING") } });
		const ending = ask(await bench.rig(), peer, { waitMs: 60_000, signal: controller.signal });
		const refused = assert.rejects(ending, /waiting was stopped; task t1 goes on at the peer/);
		await until(() => peer.received.length > 2, "it polls");
		controller.abort();
		await refused;
		assert.deepEqual(peer.of("CancelTask"), []);
	});
});
