/**
 * An agent without a model: the first word of the message says what happens. It stands in for Pi behind the real
 * server, so that black-box suites and benchmarks meet the operations, guards and bindings that users have.
 */
import { Buffer } from "node:buffer";
import type { RunEvent, Runner, Turn } from "../src/agent/runner.ts";
import type { Clock } from "../src/lib/clock.ts";
import { text, textOf } from "../src/protocol/parts.ts";

type Script = (rest: string, turn: Turn, clock: Clock) => AsyncIterable<RunEvent>;

const DIRECTIVES: { readonly [word: string]: Script } = {
	/** `echo X`: completes with the text X. */
	async *echo(rest) {
		yield { type: "text", delta: rest };
	},
	/** `slow N`: works for N milliseconds, with an update half way. */
	async *slow(rest, turn, clock) {
		const ms = Number(rest) || 0;
		await clock.sleep(ms / 2, turn.signal);
		yield { type: "activity", activity: { type: "note", name: "working", detail: `half of ${ms} ms` } };
		await clock.sleep(ms / 2, turn.signal);
		yield { type: "text", delta: `slept ${ms} ms` };
	},
	/** `ask`: waits for input; the next message of the task completes it. */
	async *ask() {
		yield { type: "input-required", question: "What is the answer?" };
	},
	/** `auth`: waits for an authorisation; the next message of the task completes it. */
	async *auth() {
		yield { type: "auth-required", question: "Please authorise this task." };
	},
	async *fail() {
		yield { type: "failed", reason: "failed as asked" };
	},
	async *reject() {
		yield { type: "rejected", reason: "rejected as asked" };
	},
	/** `file`: an artifact with a raw part. */
	async *file() {
		const raw = Buffer.from("a small file\n").toString("base64");
		const parts = [{ raw, filename: "small.txt", mediaType: "text/plain" }];
		yield { type: "artifact", artifact: { artifactId: "file", name: "small.txt", parts } };
	},
	/** `chunks N`: one artifact in N appended updates. */
	async *chunks(rest) {
		const count = Math.max(1, Math.min(Number(rest) || 1, 10_000));
		for (let n = 0; n < count; n++) {
			const artifact = { artifactId: "chunks", parts: [text(`chunk-${n};`)] };
			yield { type: "artifact", artifact, append: n > 0, lastChunk: n === count - 1 };
		}
	},
	/** `message X`: a direct Message instead of a task. */
	async *message(rest) {
		yield { type: "message", parts: [text(rest)] };
	},
};

/** A `Runner` that follows the directives above; any other text is echoed. */
export function scriptedAgent(clock: Clock): Runner {
	return {
		async *run(turn) {
			const said = textOf(turn.message.parts);
			if (turn.resumed) {
				yield { type: "text", delta: `thank you for: ${said}` };
				return;
			}
			const [, word = "", rest = ""] = /^(\S+)\s?([\s\S]*)$/.exec(said) ?? [];
			const script = DIRECTIVES[word.toLowerCase()];
			if (script && Object.hasOwn(DIRECTIVES, word.toLowerCase())) yield* script(rest, turn, clock);
			else yield { type: "text", delta: said || "(nothing was said)" };
		},
		async close() {
			// Nothing is held: every turn ends with its signal.
		},
	};
}
