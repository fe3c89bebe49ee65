/** The latest events of a task, for readers who were away. */
import type { TaskEvent } from "../protocol/task.ts";

/** How much of the past of one task is remembered. */
const MOST = { events: 2_048, characters: 512 * 1024 } as const;
/** What an event takes beside its texts, as a guess. */
const AROUND = 200;

/** An event and its number within the task. */
export interface Happened {
	readonly n: number;
	readonly event: TaskEvent;
}

function weight(event: TaskEvent): number {
	if (event.kind !== "artifact") return 2 * AROUND;
	let characters = AROUND;
	for (const part of event.artifact.parts) {
		if ("text" in part) characters += part.text.length;
		else characters += "raw" in part ? part.raw.length : 5 * AROUND;
	}
	return characters;
}

export class Past {
	/** The number of the event before the first that is remembered. */
	#before: number;
	#events: Happened[] = [];
	#characters = 0;

	/** `before`: the number of the last event that is not going to be remembered. */
	constructor(before: number) {
		this.#before = before;
	}

	/** Adds the next event; the oldest are forgotten when there are too many. */
	push(happened: Happened): void {
		this.#events.push(happened);
		this.#characters += weight(happened.event);
		if (this.#events.length <= MOST.events && this.#characters <= MOST.characters) return;
		// A quarter at once: taking from the front costs as much as what stays.
		const kept = Math.floor(Math.min(MOST.events, this.#events.length) * 0.75);
		const gone = this.#events.splice(0, this.#events.length - kept);
		for (const { n, event } of gone) {
			this.#before = n;
			this.#characters -= weight(event);
		}
	}

	/** What came after the last event that is so, oldest first; all when none is. */
	since(isSo: (event: TaskEvent) => boolean): readonly Happened[] {
		return this.#events.slice(this.#events.findLastIndex(({ event }) => isSo(event)) + 1);
	}

	/**
	 * What came after event `n`, oldest first. Undefined when that is not known: it is too long ago, has not happened, or
	 * is in the middle of what was written down as one.
	 */
	after(n: number): readonly Happened[] | undefined {
		if (n === this.#before) return [...this.#events];
		let low = 0;
		let high = this.#events.length - 1;
		while (low <= high) {
			const middle = (low + high) >>> 1;
			const at = this.#events[middle]?.n ?? 0;
			if (at === n) return this.#events.slice(middle + 1);
			if (at < n) low = middle + 1;
			else high = middle - 1;
		}
		return undefined;
	}
}
