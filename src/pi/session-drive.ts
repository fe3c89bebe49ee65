/** Runs one prompt on a session until it has really ended, and stops it when asked. */
import { type Clock, every } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Child, PromptImage } from "./session-child.ts";

/** An abort before the model's loop has begun is lost on both hosts, hence again and again. */
const ABORT_EVERY_MS = 50;
const LOOK_EVERY_MS = 20;
/** 0.73 goes on by itself 100 ms after a compaction that promised a retry. */
const RETRY_GRACE_MS = 1_000;
const STOP_GRACE_MS = 200;
/** A tool that pays no heed to its signal must not hold the host for ever. */
const ABANDON_MS = 5_000;
/** How long what follows a run (compaction, a retry after it) may take. */
const RECOVERY_MS = 600_000;

/** What the end of a run depends on. */
interface Watch {
	/** Until then the session may go on by itself (milliseconds since the epoch). */
	until: number;
}

function watched(clock: Clock, signal: AbortSignal, watch: Watch, event: object): void {
	const { type, willRetry } = event as { type?: unknown; willRetry?: unknown };
	if (type === "agent_start") watch.until = 0;
	if (type === "compaction_end" && willRetry === true) {
		watch.until = clock.now() + (signal.aborted ? STOP_GRACE_MS : RETRY_GRACE_MS);
	}
}

/**
 * Sends `text` and `images`, calls `onEvent` for every event of the session, and resolves once the session works no
 * more: compaction and the retry after it included, which 0.73 starts behind the end of `prompt`. When `signal` aborts
 * the session is stopped; one that does not stop within five seconds is given up. Gives what `prompt` rejected with, if it did; never rejects.
 */
export async function drive(
	child: Child,
	prompt: { readonly text: string; readonly images: readonly PromptImage[] },
	options: {
		readonly onEvent: (event: object) => void;
		readonly signal: AbortSignal;
		readonly clock: Clock;
		readonly log: Log;
	},
): Promise<{ readonly error?: unknown }> {
	const { signal, clock, log } = options;
	const watch: Watch = { until: 0 };
	const ended = new AbortController();
	let deadline = Number.POSITIVE_INFINITY;
	let abandon: () => void = () => undefined;
	const abandoned = new Promise<void>((resolve) => {
		abandon = resolve;
	});
	const stop = () => {
		deadline = clock.now() + ABANDON_MS;
		void clock.sleep(ABANDON_MS, ended.signal).then(abandon);
		child.abort();
		every(
			clock,
			ABORT_EVERY_MS,
			() => child.abort(),
			ended.signal,
			(error) => log.warn("Could not stop a session", error),
		);
	};
	child.subscribe((event) => {
		// A listener that throws makes 1.x lose the answer.
		try {
			watched(clock, signal, watch, event);
			options.onEvent(event);
		} catch (error) {
			log.warn("Could not read an event of a session that serves a peer", error);
		}
	});
	let outcome: { readonly error?: unknown } = {};
	try {
		if (signal.aborted) return outcome;
		signal.addEventListener("abort", stop, { once: true });
		await Promise.race([child.prompt(prompt.text, prompt.images), abandoned]);
		await Promise.race([child.drained(), abandoned]);
		const recovered = clock.now() + RECOVERY_MS;
		while ((child.busy() || clock.now() < watch.until) && clock.now() < Math.min(recovered, deadline)) {
			await clock.sleep(LOOK_EVERY_MS);
			await Promise.race([child.drained(), abandoned]);
		}
	} catch (error) {
		outcome = { error };
	} finally {
		signal.removeEventListener("abort", stop);
		ended.abort();
	}
	return outcome;
}
