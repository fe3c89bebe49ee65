/** One receiver of one task: told in order, at least once, with patience that has an end. */
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import { notification, type PushConfig, type Webhooks } from "../protocol/push.ts";
import { isTerminal } from "../protocol/task.ts";
import type { StreamResponse } from "../protocol/types.ts";
import type { TaskLog } from "../tasks/log.ts";
import { isLast, PushQueue } from "./push-queue.ts";

/** Pieces of text that come within this time go out together. */
const PAUSE_MS = 300;
/** Tries of one notification, and how long they may take; then the receiver is given up. */
const TRIES = 8;
const OLDEST_MS = 15 * 60_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;

export interface SenderParts {
	readonly webhooks: Webhooks;
	readonly clock: Clock;
	readonly log: Log;
	/** A number from 0 to below 1. */
	readonly random: () => number;
	/** Resolves when all that has happened is with the system. */
	readonly written: () => Promise<void> | undefined;
	/** Counts what became of a notification. */
	readonly count: (outcome: "delivered" | "failed") => void;
}

/** How long to wait after try number `tries`: twice as long each time, half of it left to chance. */
export function backoff(tries: number, random: number): number {
	return Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS) * (0.5 + random / 2);
}

export class PushSender {
	/** Resolves when nothing more is sent: the end was told, the receiver was given up, or `stop`. Never rejects. */
	readonly ended: Promise<void>;
	readonly #task: TaskLog;
	readonly #config: PushConfig;
	readonly #parts: SenderParts;
	readonly #queue: PushQueue;
	readonly #stop = new AbortController();
	readonly #leave: () => void;
	#wake: () => void = () => undefined;
	#busy = false;
	#finishing = false;

	/** Begins with the task as it is, so that what came before is known to the receiver too. */
	constructor(task: TaskLog, config: PushConfig, parts: SenderParts) {
		this.#task = task;
		this.#config = config;
		this.#parts = parts;
		this.#queue = new PushQueue(config.version === "0.3");
		this.#queue.restart(task.task);
		this.#leave = task.on((event) => {
			this.#queue.add(event, task.task);
			this.#wake();
		});
		this.ended = this.#run().finally(() => this.stop());
	}

	/** Whether the receiver has still to be told something. */
	get pending(): boolean {
		return !this.#stop.signal.aborted && (this.#busy || this.#queue.size > 0);
	}

	/** Tells the receiver what it has not been told yet, and nothing that comes later. */
	finish(): void {
		this.#leave();
		this.#finishing = true;
		this.#wake();
	}

	/** Sends nothing more; a request under way is cut. May be called twice. */
	stop(): void {
		this.#leave();
		this.#stop.abort();
		this.#wake();
	}

	async #run(): Promise<void> {
		const { log } = this.#parts;
		try {
			for (;;) {
				const item = await this.#next();
				if (!item || !(await this.#send(item)) || isLast(item)) return;
				this.#busy = false;
			}
		} catch (error) {
			if (!this.#stop.signal.aborted) log.warn(`Notifications of ${this.#task.id} stopped`, error);
		} finally {
			this.#busy = false;
		}
	}

	/** The next notification, once it is ripe and what it tells is on disk; undefined after `stop`. */
	async #next(): Promise<StreamResponse | undefined> {
		const { signal } = this.#stop;
		while (this.#queue.size === 0 && !signal.aborted && !this.#finishing) await this.#woken();
		if (this.#queue.mayGrow) {
			const over = new AbortController();
			const pause = this.#parts.clock.sleep(PAUSE_MS, over.signal);
			let isOver = false;
			void pause.then(() => {
				isOver = true;
				this.#wake();
			});
			while (!isOver && this.#queue.mayGrow && !signal.aborted && !this.#finishing) await this.#woken();
			over.abort();
		}
		await this.#parts.written();
		if (signal.aborted) return undefined;
		this.#busy = true;
		return this.#queue.take();
	}

	#woken(): Promise<void> {
		return new Promise((resolve) => {
			this.#wake = resolve;
		});
	}

	/** False: the receiver is given up. */
	async #send(item: StreamResponse): Promise<boolean> {
		const { webhooks, clock, random, count } = this.#parts;
		const { signal } = this.#stop;
		const said = notification(this.#config, item);
		const since = clock.now();
		for (let tries = 1; ; tries++) {
			const result = await webhooks.deliver(said, signal);
			if (signal.aborted) return false;
			if (result.outcome === "taken") {
				count("delivered");
				return true;
			}
			const wait = result.outcome === "again" ? Math.max(result.afterMs, backoff(tries, random())) : 0;
			const late = clock.now() + wait - since > OLDEST_MS;
			if (result.outcome === "refused" || tries >= TRIES || late) {
				count("failed");
				this.#giveUp(result.why, tries);
				return false;
			}
			await clock.sleep(wait, signal);
			if (signal.aborted) return false;
		}
	}

	#giveUp(why: string, tries: number): void {
		const { host } = new URL(this.#config.url);
		const told = isTerminal(this.#task.state) ? "" : "; it is told nothing more";
		const times = tries === 1 ? "" : ` (${tries} tries)`;
		this.#parts.log.warn(
			`A webhook at ${oneLine(host, 100)} did not take a notification of ${this.#task.id}: ${why}${times}${told}`,
		);
	}
}
