/** What came of a call, in the shape that tools, commands and the conversation log share. */
import { oneLine } from "../lib/text.ts";
import { A2AError, type ErrorName } from "../protocol/errors.ts";
import type { Artifact, ContextId, JsonObject, Part, TaskId, TaskState } from "../protocol/types.ts";
import type { FileFact } from "./files-out.ts";
import type { Content } from "./received.ts";
import type { Used } from "./used.ts";

/** A peer's answer, complete or as far as it got. */
export interface PeerReply {
	/** The peer's name in the directory. */
	readonly peer: string;
	/** State last seen; `MESSAGE` for a direct message without a task; `TASK_STATE_UNSPECIFIED` when none was seen. */
	readonly state: TaskState | "MESSAGE";
	/** The reply, as received: never cleaned, never shortened. */
	readonly text: string;
	readonly contextId?: ContextId;
	readonly taskId?: TaskId;
	/** As received; once files have been put down, without their bytes. */
	readonly artifacts: readonly Artifact[];
	/** The parts of what the peer said beside artifacts, when there is more than text among them. */
	readonly said?: readonly Part[];
	/** Files that were put down, addresses and data; absent when there is nothing but text, or the task still runs. */
	readonly content?: Content;
	/** What the peer says that it used. */
	readonly used?: Used;
	/** The files that we sent. */
	readonly sent?: readonly FileFact[];
	/** The task goes on at the peer: it was dispatched detached, or our own limit passed. */
	readonly running: boolean;
	/** What the peer wants to know before it goes on (input or authorisation required). */
	readonly question?: string;
	/** What the reader should know about how this came about, one sentence each. */
	readonly notes: readonly string[];
	readonly durationMs: number;
	readonly metadata?: JsonObject;
}

/** What is known while a call runs. */
export interface Progress {
	readonly state?: TaskState;
	/** What the peer said it is doing. One clean line. */
	readonly activity?: string;
	/** The reply so far. */
	readonly text: string;
	readonly elapsedMs: number;
	readonly taskId?: TaskId;
	readonly contextId?: ContextId;
}

/** Facts that a `PeerError` keeps beside its message. */
export interface PeerErrorFacts {
	readonly peer: string;
	/** How the task ended at the peer, when it did. */
	readonly state?: TaskState | undefined;
	readonly taskId?: TaskId | undefined;
	readonly contextId?: ContextId | undefined;
	/** What to do next. One sentence. */
	readonly hint?: string | undefined;
	/** The peer's own error, when `cause` is not at hand. */
	readonly refusal?: ErrorName | undefined;
	/** What the task had made before it ended badly, bytes of files included. */
	readonly made?: Pick<PeerReply, "artifacts" | "said"> | undefined;
	readonly cause?: unknown;
}

/** A call that gave no usable answer. `message` is for the model and the user: one line, no stack, no credentials. */
export class PeerError extends Error {
	override readonly name = "PeerError";
	readonly peer: string;
	readonly state: TaskState | undefined;
	readonly taskId: TaskId | undefined;
	readonly contextId: ContextId | undefined;
	readonly hint: string | undefined;
	/** The name of the peer's own error, when it answered with one. */
	readonly refusal: ErrorName | undefined;
	readonly made: PeerErrorFacts["made"];
	constructor(message: string, facts: PeerErrorFacts) {
		super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
		this.peer = facts.peer;
		this.state = facts.state;
		this.taskId = facts.taskId;
		this.contextId = facts.contextId;
		this.hint = facts.hint;
		this.made = facts.made;
		this.refusal = facts.refusal ?? (facts.cause instanceof A2AError ? facts.cause.name : undefined);
	}
}

/** What to do about an error, by its name. */
const HINTS: { readonly [name: string]: string } = {
	UnauthorizedError: "The peer wants a bearer token: set auth.token of this peer under a2a.peers.",
	PeerUnreachableError: "Check that the peer runs and that its URL is right, or ask another one.",
	UntrustedCallerError: "The peer does not trust this caller: its operator must add it to server.trustedPeers.",
	RateLimitedError: "The peer limits requests: wait before calling again.",
	BusyError: "The peer runs as many tasks as it may: call again later, or ask another peer.",
	TurnLimitError: "Stop asking this peer back and forth; finish with what is known, or start a new conversation.",
	TaskNotFoundError: "The peer does not know this task (any more): it may have been restarted. Send the request again.",
	PayloadTooLargeError: "The message is too large for the peer: send a shorter one.",
	VersionNotSupportedError: "The peer speaks another version of A2A.",
};

/** `error` as what the model reads. A `PeerError` passes; a peer's own error keeps its code and text. */
export function asPeerError(error: unknown, facts: PeerErrorFacts): PeerError {
	if (error instanceof PeerError) return error;
	const hint = facts.hint ?? (error instanceof A2AError ? hintFor(error) : undefined);
	const said = oneLine(error instanceof Error ? error.message : String(error), 600);
	// A peer that is called by its URL is named by the text already.
	const text = said.startsWith(facts.peer) ? said : `${facts.peer}: ${said}`;
	return new PeerError(text, { ...facts, hint, cause: error });
}

function hintFor(error: A2AError): string | undefined {
	// What a gateway says is not about the peer, and its text says what to do.
	if (error.details.metadata?.gateway !== undefined) return undefined;
	const wait = error.details.retryAfter;
	return wait === undefined ? HINTS[error.name] : `${HINTS[error.name] ?? "The peer asks to wait."} Wait ${wait} s.`;
}
