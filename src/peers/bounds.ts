/** How long a call may take: until the caller stops it, or until our own limit. */
import type { Clock } from "../lib/clock.ts";

export interface Bounds {
	/** Aborts when either happens. */
	readonly signal: AbortSignal;
	/** Which of the two it was. */
	readonly ended: "stopped" | "limit" | undefined;
	/** Gives timer and listener back. */
	release(): void;
}

/** Bounds of `ms` milliseconds (0 or `Infinity`: none) under the caller's `signal`. */
export function bounds(clock: Clock, ms: number, signal: AbortSignal): Bounds {
	const controller = new AbortController();
	let ended: Bounds["ended"];
	function end(how: "stopped" | "limit"): void {
		ended ??= how;
		controller.abort();
	}
	const stop = () => end("stopped");
	const cancel = clock.after(ms > 0 ? ms : Number.POSITIVE_INFINITY, () => end("limit"));
	if (signal.aborted) stop();
	else signal.addEventListener("abort", stop, { once: true });
	return {
		signal: controller.signal,
		get ended() {
			return ended;
		},
		release() {
			cancel();
			signal.removeEventListener("abort", stop);
		},
	};
}
