/** Loops that look at intervals and earlier when a file changes. Events only ever save time: nothing depends on them. */
import { watch } from "node:fs";
import type { Clock } from "../../lib/clock.ts";

/** Calls `changed` with the name of a file in `folder` that may have changed, or null; `failed` once it cannot go on. */
export type WatchFolder = (
	folder: string,
	changed: (file: string | null) => void,
	failed: (error: unknown) => void,
) => () => void;

/** File events of the system. A folder that cannot be watched fails, and is polled all the same. */
export const fileEvents: WatchFolder = (folder, changed, failed) => {
	try {
		const watcher = watch(folder, { persistent: false }, (_event, file) => changed(file));
		watcher.on("error", (error) => {
			watcher.close();
			failed(error);
		});
		return () => watcher.close();
	} catch (error) {
		failed(error);
		return () => undefined;
	}
};

/** No events at all, as on a network file system. */
export const noEvents: WatchFolder = () => () => undefined;

/** Whether a change of that file concerns whoever reads boxes: locks and files in the making do not. */
export const isBoxFile = (file: string | null): boolean => file === null || /^(inbox|outbox|agent)\.json$/.test(file);

export interface Loop {
	/** Looks now, or again when it is looking. */
	wake(): void;
	/** Looks no more; resolves when the last look is over. May be called twice. */
	close(): Promise<void>;
}

/**
 * Calls `tick` at once, then whenever `pauseMs()` milliseconds have passed since the last one, and at every `wake`; never
 * two at a time. What it throws goes to `onError`. `woken`: it was not the pause that ended.
 */
export function startLoop(
	clock: Clock,
	pauseMs: () => number,
	tick: (woken: boolean) => Promise<void>,
	onError: (error: unknown) => void,
): Loop {
	let closed = false;
	let woken = false;
	let wake = new AbortController();
	async function run(): Promise<void> {
		while (!closed) {
			const early = woken;
			woken = false;
			wake = new AbortController();
			try {
				await tick(early);
			} catch (error) {
				onError(error);
			}
			if (!closed) await clock.sleep(pauseMs(), wake.signal);
		}
	}
	const ended = run();
	const rouse = () => {
		woken = true;
		wake.abort();
	};
	return {
		wake: rouse,
		close() {
			closed = true;
			rouse();
			return ended;
		},
	};
}
