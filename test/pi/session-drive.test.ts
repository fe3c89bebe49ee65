import assert from "node:assert/strict";
import { manualClock } from "../../src/lib/clock.ts";
import { nullLog } from "../../src/lib/log.ts";
import type { Child } from "../../src/pi/session-child.ts";
import { drive } from "../../src/pi/session-drive.ts";

/** A session by hand. */
function scripted() {
	let tell: (event: object) => void = () => undefined;
	let finish: (error?: Error) => void = () => undefined;
	const state = { busy: false, aborts: 0, prompts: 0 };
	const child: Child = {
		subscribe: (listener) => {
			tell = listener;
		},
		prompt: () => {
			state.prompts++;
			return new Promise((resolve, reject) => {
				finish = (error) => (error ? reject(error) : resolve());
			});
		},
		busy: () => state.busy,
		drained: async () => undefined,
		abort: () => void state.aborts++,
		close: async () => undefined,
	};
	return { child, state, tell: (event: object) => tell(event), finish: (error?: Error) => finish(error) };
}

const prompt = { text: "do", images: [] };

describe("driving a session to its end", () => {
	function begin(options: { signal?: AbortSignal; onEvent?: (event: object) => void } = {}) {
		const clock = manualClock();
		const session = scripted();
		const stop = new AbortController();
		const parts = {
			signal: options.signal ?? stop.signal,
			onEvent: options.onEvent ?? (() => undefined),
			clock,
			log: nullLog,
		};
		let ended: { error?: unknown } | undefined;
		const driven = drive(session.child, prompt, parts).then((outcome) => {
			ended = outcome;
		});
		return { clock, session, stop, driven, ended: () => ended };
	}

	it("ends with the prompt when nothing follows", async () => {
		const { session, driven, ended, clock } = begin();
		session.finish();
		await driven;
		assert.deepEqual(ended(), {});
		assert.equal(clock.pending, 0);
	});

	it("gives what the prompt was refused with", async () => {
		const { session, driven, ended } = begin();
		const error = new Error("no model");
		session.finish(error);
		await driven;
		assert.equal(ended()?.error, error);
	});

	it("waits for a compaction behind the end, and for the retry that it promised", async () => {
		const { session, clock, ended } = begin();
		session.state.busy = true;
		session.finish();
		await clock.advance(100);
		assert.equal(ended(), undefined);
		session.tell({ type: "compaction_end", willRetry: true });
		session.state.busy = false;
		await clock.advance(100);
		assert.equal(ended(), undefined, "the retry begins 100 ms later");
		session.tell({ type: "agent_start" });
		session.state.busy = true;
		await clock.advance(5000);
		assert.equal(ended(), undefined);
		session.state.busy = false;
		await clock.advance(40);
		assert.deepEqual(ended(), {});
		assert.equal(clock.pending, 0);
	});

	it("does not wait for ever for a retry that never comes", async () => {
		const { session, clock, ended } = begin();
		session.tell({ type: "compaction_end", willRetry: true });
		session.finish();
		await clock.advance(2000);
		assert.deepEqual(ended(), {});
	});

	it("aborts again and again until the run has ended, since an early abort is lost", async () => {
		const { session, clock, stop, driven } = begin();
		stop.abort();
		assert.equal(session.state.aborts, 1);
		await clock.advance(200);
		assert.ok(session.state.aborts >= 4);
		session.finish();
		await driven;
		const { aborts } = session.state;
		await clock.advance(1000);
		assert.equal(session.state.aborts, aborts);
		assert.equal(clock.pending, 0);
	});

	it("gives up a session that does not stop", async () => {
		const { session, clock, stop, ended } = begin();
		session.state.busy = true;
		stop.abort();
		await clock.advance(4000);
		assert.equal(ended(), undefined);
		await clock.advance(2000);
		assert.deepEqual(ended(), {});
		session.finish(new Error("much later, heard by nobody"));
		assert.equal(clock.pending, 0);
	});

	it("prompts nothing when it was stopped before", async () => {
		const { session, driven } = begin({ signal: AbortSignal.abort() });
		await driven;
		assert.equal(session.state.prompts, 0);
	});

	it("never lets a fault of a listener reach the host", async () => {
		const { session, driven, ended } = begin({
			onEvent: () => {
				throw new Error("ours");
			},
		});
		assert.doesNotThrow(() => session.tell({ type: "agent_end" }));
		session.finish();
		await driven;
		assert.deepEqual(ended(), {});
	});
});
