import assert from "node:assert/strict";
import { type FanRequest, fanOut } from "../../src/peers/fanout.ts";
import { PeerError, type PeerReply } from "../../src/peers/reply.ts";

const reply = (peer: string, text: string, more: Partial<PeerReply> = {}): PeerReply => ({
	peer,
	state: "TASK_STATE_COMPLETED",
	text,
	artifacts: [],
	running: false,
	notes: [],
	durationMs: 1,
	...more,
});

/** A peer that works until it is stopped, and says when it was. */
function endless(peer: string, signal: AbortSignal, stopped: string[]): Promise<PeerReply> {
	return new Promise((_, reject) => {
		signal.addEventListener("abort", () => {
			stopped.push(peer);
			reject(new PeerError(`${peer}: stopped`, { peer }));
		});
	});
}

const request = (more: Partial<FanRequest> & Pick<FanRequest, "mode" | "run">): FanRequest => ({
	peers: ["a", "b", "c"],
	message: "do it",
	signal: new AbortController().signal,
	...more,
});

const fails = (peer: string): Promise<PeerReply> => Promise.reject(new PeerError(`${peer}: no`, { peer }));

describe("peers/fanout", () => {
	it("all: gives every reply and names every failure", async () => {
		const run = (peer: string) => (peer === "b" ? fails(peer) : Promise.resolve(reply(peer, `by ${peer}`)));
		const outcome = await fanOut(request({ mode: "all", run }));
		assert.deepEqual(
			outcome.replies.map((each) => each.text),
			["by a", "by c"],
		);
		assert.deepEqual(
			outcome.failures.map((each) => [each.peer, each.error.message]),
			[["b", "b: no"]],
		);
		assert.equal(outcome.chosen, undefined);
	});

	it("first: takes the first success, past failures, and has stopped the others when it returns", async () => {
		const stopped: string[] = [];
		const run = (peer: string, signal: AbortSignal) => {
			if (peer === "a") return fails(peer);
			return peer === "b" ? Promise.resolve(reply("b", "won")) : endless(peer, signal, stopped);
		};
		const outcome = await fanOut(request({ mode: "first", run }));
		assert.equal(outcome.chosen?.text, "won");
		assert.deepEqual(stopped, ["c"]);
		assert.deepEqual(
			outcome.failures.map((each) => each.peer),
			["a"],
		);
		assert.deepEqual(outcome.notes, ["b was first. Stopped: c."]);
	});

	it("first: neither a question nor a task that still runs is a success", async () => {
		const run = async (peer: string) => {
			if (peer === "a") return reply(peer, "", { state: "TASK_STATE_INPUT_REQUIRED", question: "which?" });
			return peer === "b" ? reply(peer, "", { running: true }) : fails(peer);
		};
		const outcome = await fanOut(request({ mode: "first", run }));
		assert.equal(outcome.chosen, undefined);
		assert.equal(outcome.replies.length, 2);
		assert.deepEqual(outcome.notes, ["No peer completed the task."]);
	});

	it("best: lets the judge choose among the completed replies", async () => {
		const run = async (peer: string) => (peer === "a" ? reply(peer, "", { running: true }) : reply(peer, `by ${peer}`));
		const judge = async (question: string, replies: readonly { peer: string }[]) => {
			assert.equal(question, "do it");
			assert.deepEqual(
				replies.map((each) => each.peer),
				["b", "c"],
			);
			return 1;
		};
		const outcome = await fanOut(request({ mode: "best", run, judge }));
		assert.equal(outcome.chosen?.peer, "c");
		assert.match(outcome.notes[0] ?? "", /Chosen by this session's model among 2 replies/);
	});

	it("best: falls back to the longest reply, and says so and why", async () => {
		const run = async (peer: string) => reply(peer, peer === "b" ? "the longest" : "short");
		const judges = [
			{ judge: undefined, why: /no model/ },
			{ judge: async () => undefined, why: /made no choice/ },
			{ judge: async () => 9, why: /made no choice/ },
			{ judge: () => Promise.reject(new Error("no key")), why: /could not choose.*no key/ },
		];
		for (const { judge, why } of judges) {
			const outcome = await fanOut(request({ mode: "best", run, judge }));
			assert.equal(outcome.chosen?.peer, "b");
			assert.match(outcome.notes[0] ?? "", /longest of 3 replies/);
			assert.match(outcome.notes[0] ?? "", why);
		}
	});

	it("best: with one completed reply there is nothing to judge", async () => {
		const run = (peer: string) => (peer === "b" ? Promise.resolve(reply(peer, "x")) : fails(peer));
		const judge = () => assert.fail("asked");
		const outcome = await fanOut(request({ mode: "best", run, judge }));
		assert.equal(outcome.chosen?.peer, "b");
		assert.deepEqual(outcome.notes, ["Only b completed the task."]);
	});

	it("calls many peers at once without a word on the screen", async () => {
		const warnings: Error[] = [];
		const hear = (warning: Error) => void warnings.push(warning);
		process.on("warning", hear);
		try {
			const peers = Array.from({ length: 30 }, (_, n) => `peer-${n}`);
			const run = (peer: string, signal: AbortSignal) =>
				peer === "peer-29" ? Promise.resolve(reply(peer, "x")) : endless(peer, signal, []);
			await fanOut(request({ peers, mode: "first", run }));
			await new Promise((resolve) => setImmediate(resolve));
			assert.deepEqual(warnings, []);
		} finally {
			process.off("warning", hear);
		}
	});

	it("stops every call when it is stopped, and throws when all have ended", async () => {
		const stopped: string[] = [];
		const controller = new AbortController();
		const run = (peer: string, signal: AbortSignal) => endless(peer, signal, stopped);
		const ending = fanOut(request({ mode: "all", run, signal: controller.signal }));
		controller.abort();
		await assert.rejects(ending, PeerError);
		assert.deepEqual(stopped, ["a", "b", "c"]);
	});
});
