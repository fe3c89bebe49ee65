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
	/** The task whose end `error` tells of, for good; undefined when asking again may help. */
	endedBy(error: unknown): Pick<Dispatch, "peer" | "taskId"> | undefined;
	/** Tells of one that has settled without being followed. */
	tell(settled: Settled): void;
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

interface Entry {
	readonly dispatch: Dispatch;
	readonly stop: AbortController;
	hook?: Hook | undefined;
	/** What is known of the webhook: it has brought nothing yet, or it has. */
	hooked?: "silent" | "alive" | undefined;
	/** There is news that the peer has not been asked about. */
	isNudged: boolean;
	/** Ends the pause. */
	wake: () => void;
	running?: Promise<void>;
}

/** Follows dispatches: by a webhook where the peer takes one, else by asking, over a stream where the peer has one. */
export function createHomecoming({ status, hooks, pollMs = () => PAUSE_MS, clock }: HomecomingParts): Homecoming {
	const entries = new Map<string, Entry>();
	const listeners = new Set<(settled: Settled) => void>();
	let closed = false;

	/** From one question to the next, in milliseconds. */
	function pauseOf({ hooked }: Entry, asked: boolean, failures: number): number {
		if (failures > 0) return Math.min(PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
		if (hooked === "alive") return Math.max(SELDOM * pollMs(), LEAST_SELDOM_MS);
		if (asked) return PAUSE_MS;
		return hooked === "silent" ? SILENT_MS : 0;
	}

	/** Waits until it is time to ask, or there is news. Gives whether there was. */
	async function turn(entry: Entry, asked: boolean, failures: number): Promise<boolean> {
		const since = clock.now();
		while (!entry.isNudged && !entry.stop.signal.aborted) {
			// What the webhook brings meanwhile changes how long.
			const left = since + pauseOf(entry, asked, failures) - clock.now();
			if (left <= 0) return false;
			const over = new AbortController();
			entry.wake = () => over.abort();
			await clock.sleep(left, over.signal);
		}
		entry.isNudged = false;
		return true;
	}

	/** The end of a dispatch; `undefined` when it was stopped. Never throws. */
	async function end(entry: Entry): Promise<Settled | undefined> {
		const { dispatch, stop } = entry;
		const { agent, peer, taskId, at } = dispatch;
		const { signal } = stop;
		let failures = 0;
		for (let asked = false; ; asked = true) {
			const nudged = await turn(entry, asked, failures);
			if (signal.aborted) return undefined;
			const left = at + OLDEST_MS - clock.now();
			if (left <= 0) {
				const text = `${peer}: no result of task ${taskId} within 7 days; it is not waited for.`;
				return { dispatch, error: new PeerError(text, { peer }) };
			}
			// One that has brought nothing by now is not waited for.
			if (entry.hooked === "silent") entry.hooked = undefined;
			try {
				const waitMs = entry.hooked === "alive" ? 0 : Math.min(STRETCH_MS, left);
				const reply = await status(agent, taskId, { signal, waitMs });
				if (!reply.running) return { dispatch, reply };
				// A peer that has told us of an end and does not know of it will soon.
				failures = nudged && entry.hooked ? failures + 1 : 0;
			} catch (error) {
				if (!signal.aborted && isEnd(error)) return { dispatch, error };
				failures += 1;
			}
		}
	}

	async function run(key: string, entry: Entry): Promise<void> {
		const settled = await end(entry);
		if (entry.stop.signal.aborted) return;
		entry.hook?.end();
		entries.delete(key);
		if (settled) for (const listener of listeners) listener(settled);
		next();
	}

	function next(): void {
		let running = 0;
		for (const [key, entry] of entries) {
			if (closed) return;
			// One that only waits for its webhook holds nothing.
			if (!entry.hooked && ++running > AT_ONCE) continue;
			entry.running ??= run(key, entry);
		}
	}

	function attach(entry: Entry, hook: Hook): void {
		if (entry.hook === hook) return;
		entry.hook?.end();
		entry.hook = hook;
		entry.hooked = "silent";
		hook.listen((news) => {
			if (entry.hook !== hook) return;
			if (news === "alive") entry.hooked = "alive";
			if (news === "settled") entry.isNudged = true;
			if (news === "lost") entry.hook = entry.hooked = undefined;
			entry.wake();
		});
	}

	function drop(key: string): void {
		const entry = entries.get(key);
		if (!entry) return;
		entries.delete(key);
		entry.hook?.end();
		entry.stop.abort();
		entry.wake();
	}

	return {
		follow(dispatch) {
			const key = keyOf(dispatch);
			if (closed) return;
			const stop = new AbortController();
			const entry = entries.get(key) ?? { dispatch, stop, isNudged: false, wake: () => undefined };
			entries.set(key, entry);
			const hook = hooks?.of(dispatch);
			if (hook) attach(entry, hook);
			for (const oldest of entries.keys()) {
				if (entries.size <= MOST) break;
				drop(oldest);
			}
			next();
		},
		nudge(task) {
			const entry = entries.get(keyOf(task));
			if (!entry) return;
			entry.isNudged = true;
			entry.wake();
		},
		forget(task) {
			drop(keyOf(task));
			next();
		},
		endedBy: (error) =>
			isEnd(error) && error.taskId !== undefined ? { peer: error.peer, taskId: error.taskId } : undefined,
		tell(settled) {
			for (const listener of listeners) listener(settled);
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
