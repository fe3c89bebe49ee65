/** What one receiver has not been told yet. */
import { apply, forPeer, isTerminal, type TaskEvent } from "../protocol/task.ts";
import type { StreamResponse, Task, TaskArtifactUpdateEvent } from "../protocol/types.ts";

/** Notifications that wait for one receiver; one that is further behind is told the task as a whole instead. */
const BEHIND = 64;

const isPiece = (item: StreamResponse | undefined): item is { readonly artifactUpdate: TaskArtifactUpdateEvent } =>
	item !== undefined && "artifactUpdate" in item;

/** `more` behind `piece`, as one update that does to an artifact what both do. */
function folded(task: Task, piece: TaskArtifactUpdateEvent, more: TaskEvent & { readonly kind: "artifact" }) {
	const alone = apply(
		{ id: task.id, contextId: task.contextId, status: task.status, artifacts: [piece.artifact] },
		more,
	);
	const artifact = alone.artifacts?.[0] ?? more.artifact;
	return { ...piece, artifact, append: more.append && (piece.append ?? false), lastChunk: more.lastChunk };
}

export class PushQueue {
	readonly #whole: boolean;
	#items: StreamResponse[] = [];

	/** `whole`: the receiver reads nothing but whole tasks (0.3). */
	constructor(whole: boolean) {
		this.#whole = whole;
	}

	get size(): number {
		return this.#items.length;
	}

	/** Whether nothing waits but text that may go on. */
	get mayGrow(): boolean {
		const [only] = this.#items;
		if (this.#items.length !== 1 || !only) return false;
		if (isPiece(only)) return !only.artifactUpdate.lastChunk;
		// A whole task in the middle of its text may as well wait for more of it.
		return this.#whole && "task" in only && this.#growing;
	}
	#growing = false;

	/** The task as it is now, in place of all that waits. */
	restart(task: Task): void {
		this.#items = [{ task }];
		this.#growing = false;
	}

	/** Adds what has just made `task` what it is. */
	add(event: TaskEvent, task: Task): void {
		if (event.kind !== "status" && event.kind !== "artifact") return;
		if (this.#items.length >= BEHIND) {
			this.restart(task);
			return;
		}
		const last = this.#items.at(-1);
		if (this.#whole) {
			const grows = event.kind === "artifact";
			// Text joins what waits, a change of state is told for itself.
			if (grows && this.#growing) this.#items.pop();
			this.#growing = grows;
			this.#items.push({ task });
			return;
		}
		if (event.kind === "artifact" && isPiece(last)) {
			if (last.artifactUpdate.artifact.artifactId === event.artifact.artifactId && !last.artifactUpdate.lastChunk) {
				this.#items[this.#items.length - 1] = { artifactUpdate: folded(task, last.artifactUpdate, event) };
				return;
			}
		}
		const item = forPeer(task, event);
		if (item) this.#items.push(item);
	}

	/** The next notification, which no later event joins any more. */
	take(): StreamResponse | undefined {
		const item = this.#items.shift();
		if (this.#items.length === 0) this.#growing = false;
		return item;
	}
}

/** Whether a receiver that was told `item` knows how the task ended. */
export function isLast(item: StreamResponse): boolean {
	if ("task" in item) return isTerminal(item.task.status.state);
	return "statusUpdate" in item && isTerminal(item.statusUpdate.status.state);
}
