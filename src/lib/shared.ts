/** Work that several callers want at the same time and that is done once. */

export interface Shared<T> {
	/**
	 * What `work` gives, or what the same work that runs already under `key` gives. Rejects with the reason of `signal`
	 * when this caller leaves; the work is stopped when the last one has left.
	 */
	join(key: string, work: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T>;
}

interface Run<T> {
	readonly result: Promise<T>;
	readonly controller: AbortController;
	callers: number;
	done: boolean;
}

export function createShared<T>(): Shared<T> {
	const running = new Map<string, Run<T>>();

	function begin(key: string, work: (signal: AbortSignal) => Promise<T>): Run<T> {
		const controller = new AbortController();
		const run: Run<T> = { result: work(controller.signal), controller, callers: 0, done: false };
		const end = () => {
			run.done = true;
			if (running.get(key) === run) running.delete(key);
		};
		run.result.then(end, end);
		running.set(key, run);
		return run;
	}

	return {
		async join(key, work, signal) {
			signal.throwIfAborted();
			const run = running.get(key) ?? begin(key, work);
			run.callers++;
			let leave: () => void = () => undefined;
			const left = new Promise<never>((_, reject) => {
				leave = () => reject(signal.reason);
				signal.addEventListener("abort", leave, { once: true });
			});
			try {
				return await Promise.race([run.result, left]);
			} finally {
				signal.removeEventListener("abort", leave);
				run.callers--;
				if (run.callers === 0 && !run.done) {
					if (running.get(key) === run) running.delete(key);
					run.controller.abort(signal.reason);
				}
			}
		},
	};
}
