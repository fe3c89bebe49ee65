/** What a peer has said about one piece of work so far, and what that amounts to. */
import { oneLine } from "../lib/text.ts";
import { A2AError } from "../protocol/errors.ts";
import { replyText, textOf } from "../protocol/parts.ts";
import { apply, isInterrupted, isTerminal, toEvent } from "../protocol/task.ts";
import {
	type ContextId,
	contextId,
	type JsonObject,
	type Message,
	type Part,
	type StreamResponse,
	type Task,
	type TaskState,
	taskId,
} from "../protocol/types.ts";
import { PeerError, type PeerReply, type Progress } from "./reply.ts";
import { usedIn } from "./used.ts";

/** The task as far as its events arrived, and a direct message. Both: the peer answered a task with a message. */
export interface Seen {
	readonly task?: Task;
	readonly message?: Message;
}

/** `seen` and one more item of a stream, or a reply that has the same shape. */
export function fold(seen: Seen, item: StreamResponse): Seen {
	if ("message" in item) return { ...seen, message: item.message };
	if ("task" in item) return { ...seen, task: keepArtifacts(item.task, seen.task) };
	const event = toEvent(item);
	if (!event) return seen;
	const { taskId, contextId } = "statusUpdate" in item ? item.statusUpdate : item.artifactUpdate;
	// A peer may begin with an update; the task is known by it all the same.
	const task = seen.task ?? { id: taskId, contextId, status: { state: "TASK_STATE_SUBMITTED" } };
	return { ...seen, task: bounded(apply(task, event)) };
}

/** No honest task has more. Adding to them one by one costs what is there each time. */
const MAX_ARTIFACTS = 1_000;
const MAX_PARTS = 10_000;

function bounded(task: Task): Task {
	const { artifacts = [] } = task;
	const last = artifacts.at(-1);
	if (artifacts.length <= MAX_ARTIFACTS && !(last && last.parts.length > MAX_PARTS)) return task;
	const text = `The peer's task has more than ${MAX_ARTIFACTS} artifacts or ${MAX_PARTS} parts in one`;
	throw new A2AError("InvalidAgentResponseError", text);
}

/** A snapshot without artifacts does not take back what the stream has brought. */
function keepArtifacts(next: Task, last: Task | undefined): Task {
	if (next.artifacts?.length || !last?.artifacts?.length || last.id !== next.id) return next;
	return { ...next, artifacts: last.artifacts };
}

/** Nothing more is to be waited for: the task ended or asks something, or the answer is a message without a task. */
export function isSettled(seen: Seen): boolean {
	if (!seen.task) return seen.message !== undefined;
	return isTerminal(seen.task.status.state) || isInterrupted(seen.task.status.state);
}

function said(message: Message | undefined): string {
	return message ? textOf(message.parts) : "";
}

/** What the peer said beside artifacts, when text is not all of it. */
function saidParts({ task, message }: Seen): { readonly said?: readonly Part[] } {
	const last = task?.history?.at(-1);
	const spoken = task?.status.message ?? (last?.role === "ROLE_AGENT" ? last : undefined);
	const parts = [message, spoken].flatMap((each) => each?.parts ?? []);
	return parts.some((part) => !("text" in part)) ? { said: parts } : {};
}

/** The last thing the agent said after the caller's last message, for peers that answer in the history alone. */
function fromHistory(task: Task): string {
	const last = task.history?.at(-1);
	return last?.role === "ROLE_AGENT" ? textOf(last.parts) : "";
}

/** The reply text so far: the artifacts, else what was said. */
export function textSoFar(seen: Seen): string {
	return replyText(seen.task?.artifacts ?? []) || said(seen.message);
}

function replyOf(seen: Seen, state: TaskState): string {
	const { task, message } = seen;
	const made = replyText(task?.artifacts ?? []);
	const extra = said(message);
	if (made) return extra && !made.includes(extra) ? `${made}\n\n${extra}` : made;
	if (extra) return extra;
	if (state !== "TASK_STATE_COMPLETED" || !task) return "";
	return said(task.status.message) || fromHistory(task);
}

/** What the peer says it is doing, from its last status. */
function activityOf(task: Task | undefined): string | undefined {
	if (task?.status.state !== "TASK_STATE_WORKING" && task?.status.state !== "TASK_STATE_SUBMITTED") return undefined;
	return oneLine(said(task.status.message), 120) || undefined;
}

/** `seen` as progress, `elapsedMs` after the call began. The peer's words pass `clean`. */
export function progressOf(seen: Seen, elapsedMs: number, clean = (said: string) => said): Progress {
	const { task } = seen;
	const activity = clean(activityOf(task) ?? "");
	return {
		...(task
			? { state: task.status.state, taskId: taskId(clean(task.id)), contextId: contextId(clean(task.contextId)) }
			: {}),
		...(activity ? { activity } : {}),
		// Put together when it is looked at: a peer may send thousands of pieces, and few of them are drawn.
		get text() {
			return clean(textSoFar(seen));
		},
		elapsedMs,
	};
}

/** The circumstances of a call that its reply tells about. */
export interface Circumstances {
	readonly peer: string;
	/** The context that was sent; the peer's own answer overrules it. */
	readonly contextId?: ContextId | undefined;
	readonly durationMs: number;
	readonly notes: readonly string[];
}

/** The peer named this context; a peer that names none goes on in ours. */
function contextOf(seen: Seen, sent: ContextId | undefined): { readonly contextId?: ContextId } {
	const named = seen.task?.contextId || seen.message?.contextId || sent;
	return named ? { contextId: named } : {};
}

/** The reply that `seen` amounts to. Throws a `PeerError` when the task failed, was rejected or was canceled. */
export function conclude(seen: Seen, about: Circumstances): PeerReply {
	const { task, message } = seen;
	const { peer, durationMs } = about;
	const context = contextOf(seen, about.contextId);
	if (!task) {
		const id = message?.taskId;
		return {
			peer,
			state: message ? "MESSAGE" : "TASK_STATE_UNSPECIFIED",
			text: said(message),
			...context,
			...(id ? { taskId: id } : {}),
			artifacts: [],
			...saidParts(seen),
			running: message === undefined,
			notes: about.notes,
			durationMs,
			...withMetadata(message?.metadata),
		};
	}
	const { state } = task.status;
	if (state === "TASK_STATE_FAILED" || state === "TASK_STATE_REJECTED" || state === "TASK_STATE_CANCELED") {
		throw ended(seen, state, { peer, ...context });
	}
	const text = replyOf(seen, state);
	const empty = state === "TASK_STATE_COMPLETED" && text === "" && !task.artifacts?.length;
	return {
		peer,
		state,
		text,
		taskId: task.id,
		...context,
		artifacts: task.artifacts ?? [],
		...saidParts(seen),
		running: !isSettled(seen),
		...(isInterrupted(state) ? { question: said(task.status.message) || text || "(the peer asked nothing)" } : {}),
		notes: empty ? [...about.notes, "The peer completed the task without any output."] : about.notes,
		durationMs,
		...withMetadata(task.metadata),
	};
}

/** The metadata, and what it says was used. */
function withMetadata(metadata: JsonObject | undefined): Pick<PeerReply, "metadata" | "used"> {
	const used = usedIn(metadata);
	return { ...(metadata ? { metadata } : {}), ...(used ? { used } : {}) };
}

function ended(seen: Seen, state: TaskState, at: { readonly peer: string; readonly contextId?: ContextId }): PeerError {
	const reason = oneLine(said(seen.task?.status.message) || textSoFar(seen), 1000);
	return new PeerError(`${at.peer}: the task ${ENDED[state]}${reason ? `: ${reason}` : ", without a reason"}`, {
		...at,
		state,
		taskId: seen.task?.id,
		made: { artifacts: seen.task?.artifacts ?? [], ...saidParts(seen) },
	});
}

const ENDED: { readonly [state: string]: string } = {
	TASK_STATE_FAILED: "failed",
	TASK_STATE_REJECTED: "was rejected",
	TASK_STATE_CANCELED: "was canceled",
};
