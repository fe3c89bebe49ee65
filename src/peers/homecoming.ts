/** Tasks that were dispatched and not waited for: each is followed until it settles, then its session is told. */
import type { Hook, Hooks } from "../bindings/http/hooks.ts";
import type { Clock } from "../lib/clock.ts";
import { isTerminal } from "../protocol/task.ts";
import type { Outbound } from "./outbound.ts";
import { PeerError, type PeerReply } from "./reply.ts";

/** A task at a peer whose result is still to come. A plain value, so that it can be written down. */
export interface Dispatch {
	/** How the peer was called: a name or a URL. */
	readonly agent: string;
	/** The peer's name in the directory. */
	readonly peer: string;
	readonly taskId: string;
	/** When it was accepted, in milliseconds since the epoch. */
	readonly at: number;
}

/** A dispatch that has ended, or asks something: with `reply`, or with `error` when no usable answer came. */
export type Settled = { readonly dispatch: Dispatch } & ({ readonly reply: PeerReply } | { readonly error: unknown });

export interface Homecoming {
	/** Follows it from now on. One that is followed already stays as it is, but that it may get a webhook. */
	follow(dispatch: Dispatch): void;
	/** The peer has news of the task: it is asked now, and not when its turn comes. Nothing for one that is not followed. */
	nudge(task: Pick<Dispatch, "peer" | "taskId">): void;
	/** The result was read by other means: nobody is told. */
	forget(task: Pick<Dispatch, "peer" | "taskId">): void;
	/** Those that have not settled, oldest first. */
	pending(): readonly Dispatch[];
	/** Calls `listener` for each that settles; the result ends that. */
	onSettled(listener: (settled: Settled) => void): () => void;
	/** Ends the following; nobody is told any more. The tasks go on. May be called twice. */
	close(): Promise<void>;
}

export interface HomecomingParts {
	/** Asks the peer, as the model does. */
	readonly status: Outbound["status"];
	/** Where peers notify us of tasks. */
	readonly hooks?: Pick<Hooks, "of"> | undefined;
	/** Longest pause between two polls, in milliseconds (`timeouts.async`). Read at each use. */
	readonly pollMs?: () => number;
	readonly clock: Clock;
}

/** Followed at the same time; the others wait for their turn. */
const AT_ONCE = 16;
/** Most that are kept at all; the oldest is given up for a newer one. */
const MOST = 200;
/** A task is waited for this long at a stretch (milliseconds). */
const STRETCH_MS = 3_600_000;
/** Pause after a failure, doubled with each in a row. */
const PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 600_000;
/** A webhook that has brought nothing for this long is not relied on: the peer may not reach it, or not know of it. */
const SILENT_MS = 30_000;
/** Where the peer notifies us it is still asked now and then: so many polls' time, and this at least. */
const SELDOM = 10;
const LEAST_SELDOM_MS = 300_000;
/** A dispatch this old is given up. */
const OLDEST_MS = 7 * 24 * 3_600_000;

const keyOf = ({ peer, taskId }: Pick<Dispatch, "peer" | "taskId">): string => JSON.stringify([peer, taskId]);

/** Whether asking again cannot bring a result: the task ended badly, or the peer cannot tell of it. */
function isEnd(error: unknown): error is PeerError {
	if (!(error instanceof PeerError)) return false;
	if (error.state !== undefined && isTerminal(error.state)) return true;
	return error.refusal === "TaskNotFoundError" || error.refusal === "MethodNotFoundError";
}

/** The task whose end `error` tells of, for good; undefined when asking again may help. */
export function endedBy(error: unknown): Pick<Dispatch, "peer" | "taskId"> | undefined {
	return isEnd(error) && error.taskId !== undefined ? { peer: error.peer, taskId: error.taskId } : undefined;
}

interface Entry {
	readonly dispatch: Dispatch;
	readonly stop: AbortController;
	hook?: Hook | undefined;
	/** The webhook has brought something. */
	isAlive: boolean;
	/** News that the peer has not been asked about. */
	isNudged: boolean;
	/** Ends the pause. */
	wake?: () => void;
	running?: Promise<void>;
}

/** Follows dispatches: by a webhook where the peer takes one, else by asking, over a stream where the peer has one. */
export function createHomecoming({ status, hooks, pollMs = () => PAUSE_MS, clock }: HomecomingParts): Homecoming {
	const entries = new Map<string, Entry>();
	const listeners = new Set<(settled: Settled) => void>();
	let closed = false;

	/** Waits `ms`, or until there is news or `stop`. */
	async function rest(entry: Entry, ms: number): Promise<void> {
		const { signal } = entry.stop;
		if (ms > 0 && !entry.isNudged && !signal.aborted) {
			const over = new AbortController();
			entry.wake = () => over.abort();
			signal.addEventListener("abort", entry.wake, { once: true });
			await clock.sleep(ms, over.signal);
			signal.removeEventListener("abort", entry.wake);
			delete entry.wake;
		}
		entry.isNudged = false;
	}

	/** Asks seldom, as long as the webhook does its part. */
	async function await_(entry: Entry): Promise<void> {
		if (!entry.hook) return;
		if (!entry.isAlive) await rest(entry, SILENT_MS);
	}

	/** The end of a dispatch; `undefined` when it was stopped. Never throws. */
	async function end(entry: Entry): Promise<Settled | undefined> {
		const { dispatch, stop } = entry;
		const { agent, peer, taskId, at } = dispatch;
		const { signal } = stop;
	}

	function next(): void {
		let running = 0;
		for (const [key, entry] of entries) {
			if (closed || running >= AT_ONCE) return;
			entry.running ??= run(key, entry);
			running += 1;
		}
	}

	function drop(key: string): void {
		entries.get(key)?.stop.abort();
		entries.delete(key);
	}

	return {
		follow(dispatch) {
			const key = keyOf(dispatch);
			if (closed || entries.has(key)) return;
			entries.set(key, { dispatch, stop: new AbortController() });
			for (const oldest of entries.keys()) {
				if (entries.size <= MOST) break;
				drop(oldest);
			}
			next();
		},
		forget(task) {
			drop(keyOf(task));
			next();
		},
		pending: () => [...entries.values()].map(({ dispatch }) => dispatch),
		onSettled(listener) {
			listeners.add(listener);
			return () => void listeners.delete(listener);
		},
		async close() {
			closed = true;
			const running = [...entries.values()].map((entry) => entry.running);
			for (const key of [...entries.keys()]) drop(key);
			await Promise.all(running);
		},
	};
}
