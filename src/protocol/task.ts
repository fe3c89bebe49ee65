/**
 * What can happen to a task, and what it means. A task is the fold of its events; a reader that applies the same
 * events gets the same task. Our client folds a peer's stream with the same `apply` that our server uses.
 */
import type { Artifact, Message, StreamResponse, Task, TaskState, TaskStatus } from "./types.ts";

/** What the agent behind a task is doing, for people on the host; peers see it as a status update. */
export interface Activity {
	readonly type: "tool" | "tool-end" | "note" | "retry" | "compaction" | "queued";
	/** Tool name, or what happened in a word. */
	readonly name: string;
	/** One clean line: the command, the path, the reason. */
	readonly detail?: string;
	readonly failed?: boolean;
}

export type TaskEvent =
	/** A message of the caller joined the task's history. */
	| { readonly kind: "message"; readonly message: Message }
	| { readonly kind: "status"; readonly status: TaskStatus }
	/** `append: false` opens or replaces the artifact, `true` adds parts (and merges metadata). */
	| {
			readonly kind: "artifact";
			readonly artifact: Artifact;
			readonly append: boolean;
			readonly lastChunk: boolean;
	  }
	/** Host only: `forPeer` drops it. */
	| { readonly kind: "activity"; readonly activity: Activity };
