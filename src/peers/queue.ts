/** Messages to peers that cannot be reached: kept, tried again with growing pauses, in order, and never lost in silence. */
import { type Clock, every } from "../lib/clock.ts";
import { attempt, type Log } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import type { Dispatch, Homecoming, Settled } from "./homecoming.ts";
import type { Queued, QueueStore } from "./queue-store.ts";
import { PeerError, type PeerReply } from "./reply.ts";

/** A message in the queue, for people. */
export interface QueuedFact {
	readonly peer: string;
	/** Its place among those of its peer, from 1; 0 when the peer has it. */
	readonly place: number;
	readonly at: number;
	readonly until: number;
	/** Its first words. */
	readonly text: string;
}

/**
 * What a delivery came to: the peer's answer, or why it is to be tried again and whether the peer may have it already.
 * Throws when it is not. `sending` is awaited before the message leaves.
 */
export type Deliver = (entry: Queued, sending: () => Promise<void>) => Promise<PeerReply | Later>;

export interface Later {
	readonly later: string;
	readonly tried: boolean;
}

export interface Queue {
	/** Whether messages are kept. */
	readonly isOn: boolean;
	/** Keeps a message; gives what its sender is told, once it is on disk. Throws a `PeerError` when there is no room. */
	put(entry: Omit<Queued, "at" | "until">, why: string): Promise<PeerReply>;
	list(): readonly QueuedFact[];
	/** Delivers from now on, what earlier processes of this workspace have left as well. May be called twice. */
	start(): void;
	/** Ends the delivering; what waits stays on disk. May be called twice. */
	close(): Promise<void>;
}

export interface QueueParts {
	readonly store: QueueStore;
	/** Read at each use. */
	readonly limits: () => { readonly on: boolean; readonly maxAgeMs: number; readonly maxCount: number };
	readonly deliver: Deliver;
	/** Brings the answers home. */
	readonly homecoming: Pick<Homecoming, "follow" | "tell" | "onSettled">;
	readonly clock: Clock;
	readonly log: Log;
}

const TICK_MS = 1_000;
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;
/** How often folders of processes that are gone are looked for. */
const ADOPT_MS = 60_000;

const firstWords = ({ message: { parts } }: Queued): string =>
	oneLine(parts.map((part) => ("text" in part ? part.text : "")).join(" "), 80);

export function createQueue({ store, limits, deliver, homecoming, clock, log }: QueueParts): Queue {
	const over = new AbortController();
	/** Peers that did not answer, and when they are tried again. */
	const silent = new Map<string, { readonly failures: number; readonly next: number }>();
	const busy = new Map<string, Promise<unknown>>();
	let unfollow: (() => void) | undefined;
	let adopted = Number.NEGATIVE_INFINITY;

	const dispatchOf = ({ agent, peer, at, message, task }: Queued): Dispatch => ({
		...{ agent, peer, at },
		taskId: task ?? message.messageId,
	});
	const waiting = () => store.list().filter(({ task }) => task === undefined);

	/** The end of one: its session is told before it is forgotten. */
	async function settle(
		entry: Queued,
		end: { readonly reply: PeerReply } | { readonly error: unknown },
	): Promise<void> {
		homecoming.tell({ dispatch: dispatchOf(entry), ...end });
		await store.remove(entry);
	}

	/** Stopping neither waits for a peer nor takes back what it was sent: the next process goes on with it. */
	const stopped = new Promise<"stopped">((resolve) => {
		over.signal.addEventListener("abort", () => resolve("stopped"), { once: true });
	});

	/** Delivers to one peer, in order, until it fails or there is nothing left. */
	async function serve(peer: string): Promise<void> {
		for (;;) {
			const entry = waiting().find((each) => each.peer === peer);
			if (!entry || over.signal.aborted) return;
			try {
				const sending = () => (entry.tried ? Promise.resolve() : store.put({ ...entry, tried: true }));
				const reply = await Promise.race([deliver(entry, sending), stopped]);
				if (reply === "stopped") return;
				if ("later" in reply) {
					await store.put({ ...entry, tried: reply.tried });
					const failures = (silent.get(peer)?.failures ?? 0) + 1;
					const pause = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
					silent.set(peer, { failures, next: clock.now() + pause * (0.75 + Math.random() / 4) });
					return;
				}
				silent.delete(peer);
				if (!reply.running || !reply.taskId) await settle(entry, { reply });
				else {
					const sent = { ...entry, task: reply.taskId };
					await store.put(sent);
					homecoming.follow(dispatchOf(sent));
				}
			} catch (error) {
				await settle(entry, { error });
			}
		}
	}

	async function adopt(): Promise<void> {
		adopted = clock.now();
		for (const entry of await store.adopt()) if (entry.task !== undefined) homecoming.follow(dispatchOf(entry));
	}

	async function tick(): Promise<void> {
		const now = clock.now();
		if (now - adopted >= ADOPT_MS) await adopt();
		for (const entry of waiting()) {
			const { peer } = entry;
			if (entry.until <= now && !busy.has(peer)) {
				const text = `${peer}: a message could not be delivered in time and was given up: ${firstWords(entry)}`;
				await settle(entry, { error: new PeerError(text, { peer }) });
			} else if (!busy.has(peer) && (silent.get(peer)?.next ?? 0) <= now) {
				const serving = attempt("deliver queued messages", () => serve(peer), log);
				busy.set(peer, serving);
				void serving.then(() => busy.delete(peer));
			}
		}
	}

	function hasSettled({ dispatch }: Settled): void {
		const entry = store.list().find((each) => each.peer === dispatch.peer && each.task === dispatch.taskId);
		if (entry) void attempt("forget a queued message", () => store.remove(entry), log);
	}

	return {
		get isOn() {
			return limits().on && !over.signal.aborted;
		},
		async put(given, why) {
			const { maxAgeMs, maxCount } = limits();
			const { peer } = given;
			const reason = oneLine(why, 300);
			if (store.list().length >= maxCount) {
				const text = `${reason} The queue is full (queue.maxCount, ${maxCount}), so the message was not kept.`;
				throw new PeerError(text, { peer });
			}
			// No two have the same, so that their order is known from it.
			const at = Math.max(clock.now(), (store.list().at(-1)?.at ?? 0) + 1);
			const entry = { ...given, at, until: at + maxAgeMs };
			await store.put(entry);
			silent.set(peer, { failures: 1, next: clock.now() + FIRST_PAUSE_MS });
			const place = waiting().filter((each) => each.peer === peer).length;
			const until = new Date(entry.until).toISOString();
			return {
				peer,
				state: "TASK_STATE_UNSPECIFIED",
				text: "",
				...(given.message.contextId ? { contextId: given.message.contextId } : {}),
				artifacts: [],
				running: true,
				notes: [
					`Queued, not delivered yet: ${reason}`,
					`It is number ${place} for ${peer}, is sent when the peer is back, at the latest by ${until}, and its result is reported then. Do not send it again.`,
				],
				durationMs: 0,
			};
		},
		list() {
			const places = new Map<string, number>();
			return store.list().map((entry) => {
				const { peer, at, until, task } = entry;
				const place = task === undefined ? (places.get(peer) ?? 0) + 1 : 0;
				if (place > 0) places.set(peer, place);
				return { peer, place, at, until, text: firstWords(entry) };
			});
		},
		start() {
			if (unfollow || over.signal.aborted) return;
			unfollow = homecoming.onSettled(hasSettled);
			every(clock, TICK_MS, tick, over.signal, (error) => log.warn("The queue of messages failed", error));
		},
		async close() {
			over.abort();
			unfollow?.();
			await Promise.all(busy.values());
			store.close();
		},
	};
}
