/**
 * The port to whatever thinks: in Pi an isolated session, in `npm run sut` a script. Types only.
 */
import type { Caller, WorkLimits } from "../protocol/agent.ts";
import type { Activity } from "../protocol/task.ts";
import type { Artifact, ContextId, JsonObject, Message, Part, TaskId } from "../protocol/types.ts";
import type { Usage } from "./usage.ts";

/** One turn: a new task, or the next message of a task that waits for input. */
export interface Turn {
	readonly taskId: TaskId;
	/** With `caller.id`, the key of the conversation: the same pair continues the same session. */
	readonly contextId: ContextId;
	readonly caller: Caller;
	/** As it arrived (decoded, not framed): the runner frames it as untrusted before a model reads it. */
	readonly message: Message;
	/** The task asked something and this message answers it. */
	readonly resumed: boolean;
	/** The process of an earlier try at this turn died; its transcript may have the message and some of the work already. */
	readonly afterCrash?: boolean;
	/** Media types that the caller takes (`acceptedOutputModes`); absent or empty: anything. */
	readonly accepts?: readonly string[];
	/** The trace that the turn belongs to, as a W3C `traceparent`: it goes into every call made for the turn. */
	readonly trace?: string;
	/** What the caller allows the work: tools and turns. Time and taking it back reach the turn through `signal`. */
	readonly limits?: WorkLimits;
	/** Cancellation, time limit or shutdown: stop the work within a second, children of it included. */
	readonly signal: AbortSignal;
}

/** What a turn yields. The end of the iteration without an ending event means `completed`. */
export type RunEvent =
	/** A piece of the reply text, as it is written. All pieces make one artifact. */
	| { readonly type: "text"; readonly delta: string }
	/** The text so far is void (the model's call was retried): what was sent is replaced by what follows. */
	| { readonly type: "restart" }
	| { readonly type: "activity"; readonly activity: Activity }
	| { readonly type: "artifact"; readonly artifact: Artifact; readonly append?: boolean; readonly lastChunk?: boolean }
	/** What the turn used; the last thing before the ending. */
	| { readonly type: "usage"; readonly usage: Usage }
	/** Endings. */
	| { readonly type: "completed"; readonly metadata?: JsonObject }
	| { readonly type: "failed"; readonly reason: string }
	| { readonly type: "rejected"; readonly reason: string }
	| { readonly type: "input-required"; readonly question: string }
	| { readonly type: "auth-required"; readonly question: string }
	/** A direct Message instead of a task; only as the first and only event of a new task. */
	| { readonly type: "message"; readonly parts: readonly Part[] };

export interface Runner {
	/** Runs one turn. Never throws for a failure of the agent (that is a `failed` event); a throw is a fault of ours. */
	run(turn: Turn): AsyncIterable<RunEvent>;
	/**
	 * Whether a turn that was cut off by the death of its process can go on from what is left of it, so that nothing is done
	 * twice. Without this method none can. Never throws.
	 */
	resumable?(turn: Pick<Turn, "taskId" | "contextId" | "caller">): Promise<boolean>;
	/** Stops what runs and gives back every session. May be called twice. */
	close(): Promise<void>;
}
