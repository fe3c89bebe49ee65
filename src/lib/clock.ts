/** Time as an argument: whatever waits or measures is handed a `Clock`, so a test moves time by hand. */

export interface Clock {
	/** Milliseconds since the epoch. */
	now(): number;
	/** Resolves after `ms` milliseconds, or early when `signal` aborts; never rejects. Keeps no process alive. */
	sleep(ms: number, signal?: AbortSignal): Promise<void>;
	/** Calls `fn` once after `ms` milliseconds; the result cancels it. Keeps no process alive. `Infinity`: never. */
	after(ms: number, fn: () => void): () => void;
}

/** Longest delay that `setTimeout` honours; a longer one would fire at once. */
const LONGEST = 2 ** 31 - 1;

function sleeper(after: Clock["after"]): Clock["sleep"] {
	return (ms, signal) =>
		new Promise((resolve) => {
			if (signal?.aborted) return resolve();
			const cancel = after(ms, done);
			function done(): void {
				cancel();
				signal?.removeEventListener("abort", done);
				resolve();
			}
			signal?.addEventListener("abort", done, { once: true });
		});
}

function systemAfter(ms: number, fn: () => void): () => void {
	if (ms === Number.POSITIVE_INFINITY) return () => undefined;
	let left = ms;
	let timer: NodeJS.Timeout;
	function arm(): void {
		const step = Math.min(left, LONGEST);
		left -= step;
		timer = setTimeout(() => (left > 0 ? arm() : fn()), step);
		timer.unref();
	}
	arm();
	return () => clearTimeout(timer);
}

/** The real time of this machine. */
export const systemClock: Clock = { now: Date.now, after: systemAfter, sleep: sleeper(systemAfter) };

/** A clock that stands still until `advance`. */
export interface ManualClock extends Clock {
	/** Moves time on by `ms`, firing what falls due in order; between two of them everything pending may run. */
	advance(ms: number): Promise<void>;
	/** The machine sleeps for `ms`: time goes on with no timer firing, then all that fell due fire at once. */
	leap(ms: number): Promise<void>;
	/** Timers that have not fired: zero when everything that was started has been stopped. */
	readonly pending: number;
}

/** A `ManualClock` that begins at `start` (milliseconds since the epoch). */
export function manualClock(start = Date.UTC(2026, 0, 1)): ManualClock {
	let now = start;
	let order = 0;
	const timers = new Map<number, { readonly at: number; readonly fn: () => void }>();
	const after: Clock["after"] = (ms, fn) => {
		const key = order++;
		if (ms !== Number.POSITIVE_INFINITY) timers.set(key, { at: now + Math.max(0, ms), fn });
		return () => void timers.delete(key);
	};
	// A turn of the event loop runs every microtask there is, however long the chain.
	const settle = () => new Promise<void>((resolve) => setImmediate(resolve));
	const clock: ManualClock = {
		now: () => now,
		after,
		sleep: sleeper(after),
		leap(ms) {
			now += ms;
			return clock.advance(0);
		},
		get pending() {
			return timers.size;
		},
		async advance(ms) {
			const end = now + ms;
			await settle();
			for (;;) {
				let next: [number, { readonly at: number; readonly fn: () => void }] | undefined;
				for (const entry of timers) if (entry[1].at <= end && (!next || entry[1].at < next[1].at)) next = entry;
				if (!next) break;
				timers.delete(next[0]);
				now = Math.max(now, next[1].at);
				next[1].fn();
				await settle();
			}
			now = end;
		},
	};
	return clock;
}

/**
 * Calls `tick` every `ms` milliseconds until `signal` aborts; the next wait begins when the tick has finished. What a
 * tick throws goes to `onError` and the loop goes on.
 */
export function every(
	clock: Clock,
	ms: number,
	tick: () => void | Promise<void>,
	signal: AbortSignal,
	onError: (error: unknown) => void,
): void {
	async function loop(): Promise<void> {
		for (;;) {
			await clock.sleep(ms, signal);
			if (signal.aborted) return;
			try {
				await tick();
			} catch (error) {
				onError(error);
			}
		}
	}
	void loop();
}
