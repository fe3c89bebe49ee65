/**
 * What can happen to a task, and what it means. A task is the fold of its events; a reader that applies the same
 * events gets the same task. Our client folds a peer's stream with the same `apply` that our server uses.
 */
import { isBare } from "./parts.ts";
import type { Artifact, JsonObject, Message, Part, StreamResponse, Task, TaskState, TaskStatus } from "./types.ts";

/** What the agent behind a task is doing, for people on the host; peers see it as a status update. */
export interface Activity {
	readonly type: "tool" | "tool-end" | "refused" | "allowed" | "changed" | "note" | "retry" | "compaction" | "queued";
	/** Tool name, or what happened in a word. */
	readonly name: string;
	/** One clean line: the command, the path, the reason. */
	readonly detail?: string;
	readonly failed?: boolean;
}

export type TaskEvent =
	/** A message of the caller joined the task's history. */
	| { readonly kind: "message"; readonly message: Message }
	/** `metadata` joins the task's own (the later key wins). */
	| { readonly kind: "status"; readonly status: TaskStatus; readonly metadata?: JsonObject }
	/** `append: false` opens or replaces the artifact, `true` adds parts (and merges metadata). */
	| {
			readonly kind: "artifact";
			readonly artifact: Artifact;
			readonly append: boolean;
			readonly lastChunk: boolean;
	  }
	/** Host only: `forPeer` drops it. */
	| { readonly kind: "activity"; readonly activity: Activity };

const TERMINAL: ReadonlySet<TaskState> = new Set([
	"TASK_STATE_COMPLETED",
	"TASK_STATE_FAILED",
	"TASK_STATE_CANCELED",
	"TASK_STATE_REJECTED",
]);

/** The task has ended; nothing can happen to it any more (§4.1.3). */
export const isTerminal = (state: TaskState): boolean => TERMINAL.has(state);

/** The task waits for its caller (§4.1.3). */
export const isInterrupted = (state: TaskState): boolean =>
	state === "TASK_STATE_INPUT_REQUIRED" || state === "TASK_STATE_AUTH_REQUIRED";

/** Whether a task of ours may go from one state to the other: an ended one to none, none back to SUBMITTED. */
export function mayFollow(from: TaskState, to: TaskState): boolean {
	if (isTerminal(from) || to === "TASK_STATE_UNSPECIFIED") return false;
	return to !== "TASK_STATE_SUBMITTED" || from === "TASK_STATE_SUBMITTED" || from === "TASK_STATE_UNSPECIFIED";
}

/** `more` behind `parts`: a text goes on where it stopped, and an empty piece of text adds nothing. */
function joined(parts: readonly Part[], more: readonly Part[]): readonly Part[] {
	const all = [...parts];
	for (const part of more) {
		const last = all.at(-1);
		if (isBare(last) && isBare(part)) all[all.length - 1] = { text: last.text + part.text };
		else if (isBare(part) && part.text === "" && last) continue;
		else if (isBare(last) && last.text === "") all[all.length - 1] = part;
		else all.push(part);
	}
	return all;
}

/** The artifact after an append: parts added, metadata merged (the later key wins), names replaced where given. */
function extended(artifact: Artifact, more: Artifact): Artifact {
	const extensions = [...new Set([...(artifact.extensions ?? []), ...(more.extensions ?? [])])];
	return {
		...artifact,
		...more,
		parts: joined(artifact.parts, more.parts),
		...(artifact.metadata || more.metadata ? { metadata: { ...artifact.metadata, ...more.metadata } } : {}),
		...(extensions.length > 0 ? { extensions } : {}),
	};
}

function withArtifact(artifacts: readonly Artifact[], artifact: Artifact, append: boolean): readonly Artifact[] {
	const at = artifacts.findIndex((each) => each.artifactId === artifact.artifactId);
	const before = artifacts[at];
	// Peers differ on appending to an artifact that was never opened; what was sent is not thrown away.
	if (!before) return [...artifacts, artifact];
	return artifacts.with(at, append ? extended(before, artifact) : artifact);
}

/**
 * The task after the event; the task given stays as it is. Whether the event may happen at all is not asked here
 * (`mayFollow`): a reader follows what its peer says. Appending a piece of text costs the same however long the text is.
 */
export function apply(task: Task, event: TaskEvent): Task {
	switch (event.kind) {
		case "message":
			return { ...task, history: [...(task.history ?? []), event.message] };
		case "status":
			return {
				...task,
				status: event.status,
				...(event.metadata ? { metadata: { ...task.metadata, ...event.metadata } } : {}),
			};
		case "artifact":
			return { ...task, artifacts: withArtifact(task.artifacts ?? [], event.artifact, event.append) };
		case "activity":
			return task;
	}
}

/** What a peer is told of an event (§3.2.3); `undefined` for what is not for peers. */
export function forPeer(task: Pick<Task, "id" | "contextId">, event: TaskEvent): StreamResponse | undefined {
	const ids = { taskId: task.id, contextId: task.contextId };
	if (event.kind === "status") {
		return { statusUpdate: { ...ids, status: event.status, ...(event.metadata ? { metadata: event.metadata } : {}) } };
	}
	if (event.kind === "artifact") {
		const { artifact, append, lastChunk } = event;
		return { artifactUpdate: { ...ids, artifact, append, lastChunk } };
	}
	return undefined;
}

/** The event that an item of a peer's stream tells of; `undefined` for a whole Task or Message. */
export function toEvent(item: StreamResponse): TaskEvent | undefined {
	if ("statusUpdate" in item) {
		const { status, metadata } = item.statusUpdate;
		return { kind: "status", status, ...(metadata ? { metadata } : {}) };
	}
	if ("artifactUpdate" in item) {
		const { artifact, append = false, lastChunk = false } = item.artifactUpdate;
		return { kind: "artifact", artifact, append, lastChunk };
	}
	return undefined;
}
