/** Which ended tasks are in memory, how much they weigh there, and which of a caller's go first. */
import type { Log } from "../lib/log.ts";
import type { Part, Task } from "../protocol/types.ts";
import type { TaskLog } from "./log.ts";

/** What a task takes beside its contents, as a guess. */
const AROUND = 1_000;

function weightOfPart(part: Part): number {
	if ("text" in part) return part.text.length;
	if ("raw" in part) return part.raw.length;
	return "url" in part ? part.url.length : JSON.stringify(part.data).length;
}

/** About how many characters a task holds: files that came with its messages as well. */
export function weightOf({ history = [], artifacts = [], status }: Task): number {
	const bodies = [...history, ...artifacts, ...(status.message ? [status.message] : [])];
	let weight = AROUND;
	for (const { parts } of bodies) for (const part of parts) weight += weightOfPart(part);
	return weight;
}

/** Ended tasks in memory, oldest end first. */
export class Residents {
	readonly #weights = new Map<TaskLog, number>();
	/** Characters of all of them. */
	weight = 0;

	get size(): number {
		return this.#weights.size;
	}

	has(log: TaskLog): boolean {
		return this.#weights.has(log);
	}

	/** Adds a task whose value is in memory. */
	add(log: TaskLog): void {
		this.delete(log);
		const weight = weightOf(log.task);
		this.#weights.set(log, weight);
		this.weight += weight;
	}

	delete(log: TaskLog): void {
		this.weight -= this.weightOf(log);
		this.#weights.delete(log);
	}

	weightOf(log: TaskLog): number {
		return this.#weights.get(log) ?? 0;
	}

	[Symbol.iterator](): IterableIterator<TaskLog> {
		return this.#weights.keys();
	}
}

/** The last of `ended`, in their order: at most `count`, and no more than weigh `weight` together. */
export function newest(
	ended: readonly TaskLog[],
	most: { readonly count: number; readonly weight: number; readonly weigh: (log: TaskLog) => number },
): readonly TaskLog[] {
	let from = ended.length;
	let left = most.weight;
	for (const log of ended.slice(-most.count).reverse()) {
		left -= most.weigh(log);
		if (left < 0) break;
		from -= 1;
	}
	return ended.slice(from);
}

/**
 * Reads an ended task with `read`. Where that throws, the task says in its status that its content is lost, and the log
 * why: no list of tasks fails because of one of them.
 */
export function reading(log: TaskLog, read: () => Task, to: Log): () => Task {
	return () => {
		try {
			return read();
		} catch (error) {
			to.warn(`Task ${log.id} cannot be read from the journal`, error);
			const parts = [{ text: "What this task had produced cannot be read from the disk any more" }];
			const message = { messageId: `lost-${log.id}`, role: "ROLE_AGENT", parts } as const;
			const status = { state: log.state, timestamp: new Date(log.changed).toISOString(), message };
			return { id: log.id, contextId: log.contextId, status };
		}
	};
}

/**
 * Drops ended tasks while `tooMany`: of the owner whose tasks weigh most by `weigh`, those that ended first, so that
 * nobody crowds out the tasks of others, neither by their number nor by their size.
 */
export function forget(
	finished: ReadonlyMap<string, ReadonlySet<TaskLog>>,
	how: {
		readonly tooMany: () => boolean;
		readonly weigh: (log: TaskLog) => number;
		/** Takes the task out of `finished`. */
		readonly drop: (log: TaskLog) => void;
	},
): void {
	const loads = new Map<string, number>();
	if (!how.tooMany()) return;
	for (const [owner, logs] of finished) {
		let load = 0;
		for (const log of logs) load += how.weigh(log);
		loads.set(owner, load);
	}
	while (how.tooMany()) {
		const [first, second] = [...loads].sort(([, a], [, b]) => b - a);
		if (!first) return;
		let [owner, load] = first;
		for (const log of finished.get(owner) ?? []) {
			load -= how.weigh(log);
			how.drop(log);
			if (load < (second?.[1] ?? 0) || !how.tooMany()) break;
		}
		if (finished.has(owner)) loads.set(owner, load);
		else loads.delete(owner);
	}
}
