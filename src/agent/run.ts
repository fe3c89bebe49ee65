/** One turn of a task: what the runner says becomes events of the task, until the first ending. */
import type { Redactor } from "../guard/redact.ts";
import type { Clock } from "../lib/clock.ts";
import { newMessageId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import { accepted } from "../protocol/accepted.ts";
import type { Caller } from "../protocol/agent.ts";
import { type Activity, isTerminal } from "../protocol/task.ts";
import { readTrace, TRACE } from "../protocol/trace.ts";
import type { JsonObject, Message, Part, TaskState } from "../protocol/types.ts";
import type { TaskLog } from "../tasks/log.ts";
import type { TaskStore } from "../tasks/store.ts";
import { Output, safePart, safeText } from "./output.ts";
import type { RunEvent, Runner, Turn } from "./runner.ts";
import { added, USAGE, type Usage } from "./usage.ts";

/** What a run needs of its surroundings. */
export interface RunParts {
	readonly tasks: TaskStore;
	readonly runner: Runner;
	readonly clock: Clock;
	/** A redactor for one text. */
	readonly redact: () => Redactor;
	readonly log: Log;
}

/** How long a runner that was told to stop may hold up the next turn of its context. */
const STOP_MS = 10_000;
/** After so many events in one go, whoever waits for the network gets a turn. */
const BURST = 32;
/** A reason is for people: one line, bounded. */
const REASON = 500;
const UNUSABLE = "no usable reply was produced: the agent ended without text or artifact";

const REPLY = /^reply(-\d+)?$/;
const REFUSALS = {
	failed: ["TASK_STATE_FAILED", "The agent failed"],
	rejected: ["TASK_STATE_REJECTED", "The agent refused the task"],
} as const;
const QUESTIONS = {
	"input-required": "TASK_STATE_INPUT_REQUIRED",
	"auth-required": "TASK_STATE_AUTH_REQUIRED",
} as const;

const nextLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** What peers read of an activity; `undefined` when it is for people on the host only. */
function progress({ type, name, detail }: Activity): string | undefined {
	if (type === "tool-end" || type === "queued") return undefined;
	const text = detail ? `${name} ${detail}` : name;
	return type === "tool" ? `⚙ ${text}` : text;
}

export class Run {
	readonly log: TaskLog;
	readonly message: Message;
	readonly resumed: boolean;
	readonly afterCrash: boolean;
	readonly caller: Caller;
	/** Resolves when it is known whether the answer is a task or a direct message. */
	readonly begun: Promise<void>;
	readonly #parts: RunParts;
	readonly #stop = new AbortController();
	readonly #leave: () => void;
	#begin: () => void = () => undefined;
	#over = false;
	#shown = false;
	#direct: Message | undefined;
	#usage: Usage | undefined;
	/** What the caller said beside the message. */
	readonly #asked: Pick<Turn, "accepts" | "trace" | "limits">;

	/** `log` has the message in its history already. */
	constructor(
		turn: Pick<Run, "log" | "message" | "resumed" | "caller"> &
			Pick<Turn, "accepts" | "trace" | "limits"> & { readonly afterCrash?: boolean },
		parts: RunParts,
	) {
		this.log = turn.log;
		this.message = turn.message;
		this.resumed = turn.resumed;
		this.afterCrash = turn.afterCrash ?? false;
		this.caller = turn.caller;
		const { accepts, limits, trace = readTrace(turn.log.task.metadata?.[TRACE]) } = turn;
		this.#asked = { ...(accepts ? { accepts } : {}), ...(trace ? { trace } : {}), ...(limits ? { limits } : {}) };
		this.#parts = parts;
		this.begun = new Promise((resolve) => {
			this.#begin = resolve;
		});
		// Whoever ends the task (cancel, time limit, shutdown) ends the work by that alone.
		this.#leave = this.log.on(() => {
			if (isTerminal(this.log.state)) this.stop();
		});
	}

	/** The direct message that answered instead of a task; the task is gone then. */
	get direct(): Message | undefined {
		return this.#direct;
	}

	/** Somebody has been given the task: from now on the answer is a task. */
	show(): void {
		this.#shown = true;
	}

	/** Tells the runner to stop. Nothing that it says afterwards counts. */
	stop(): void {
		this.#stop.abort();
		this.#begin();
	}

	/** Runs the turn to its end. Never rejects; resolves when the runner has let go (or does not, after ten seconds). */
	async serve(): Promise<void> {
		const { signal } = this.#stop;
		if (signal.aborted) return;
		if (!this.resumed && this.log.state !== "TASK_STATE_WORKING") {
			const { trace } = this.#asked;
			this.#status("TASK_STATE_WORKING", undefined, trace === undefined ? undefined : { [TRACE]: trace });
		}
		const { clock, log, tasks } = this.#parts;
		// Nothing is done of which a later process would not know that it may have been.
		const written = tasks.written();
		if (written) await written;
		if (signal.aborted) return;
		let cancel: () => void = () => undefined;
		const late = new Promise<boolean>((resolve) => {
			const wait = () => {
				cancel = clock.after(STOP_MS, () => resolve(true));
			};
			signal.addEventListener("abort", wait, { once: true });
		});
		const isLate = await Promise.race([this.#consume().then(() => false), late]);
		cancel();
		this.#begin();
		if (isLate) log.warn(`The run of ${this.log.id} has not stopped ${STOP_MS / 1000} s after it was told to`);
	}

	async #consume(): Promise<void> {
		const { log, message, resumed, caller } = this;
		const { signal } = this.#stop;
		const out = new Output(log, this.#parts.redact, this.#replyId(), accepted(this.#asked.accepts));
		const again = this.afterCrash ? { afterCrash: true } : {};
		const turn = {
			taskId: log.id,
			contextId: log.contextId,
			caller,
			message,
			resumed,
			...again,
			...this.#asked,
			signal,
		};
		try {
			let count = 0;
			for await (const event of this.#parts.runner.run(turn)) {
				if (signal.aborted) return;
				this.#take(event, out, count === 0);
				this.#begin();
				if (this.#over) return;
				count += 1;
				if (count % BURST === 0) await nextLoop();
			}
			if (!signal.aborted) this.#complete(out);
		} catch (error) {
			this.#parts.log.warn(`The run of ${log.id} failed`, error);
			if (signal.aborted || this.#over) return;
			out.end();
			this.#end("TASK_STATE_FAILED", [out.leftOut, "The agent stopped because of an internal error"]);
		}
	}

	/** Each turn's text is an artifact of its own; what an earlier try at this turn has written is replaced. */
	#replyId(): string {
		const { log, afterCrash, resumed } = this;
		const replies = log.task.artifacts?.filter(({ artifactId }) => REPLY.test(artifactId)) ?? [];
		const last = replies.at(-1)?.artifactId;
		if (last !== undefined && afterCrash && (!resumed || log.written(last))) return last;
		return replies.length === 0 ? "reply" : `reply-${replies.length + 1}`;
	}

	#take(event: RunEvent, out: Output, first: boolean): void {
		switch (event.type) {
			case "text":
				out.text(event.delta);
				break;
			case "restart":
				out.restart();
				break;
			case "artifact":
				out.artifact(event);
				break;
			case "activity":
				this.#activity(event.activity);
				break;
			case "message":
				this.#answer(event.parts, out, first);
				break;
			case "usage":
				this.#usage = event.usage;
				break;
			case "completed":
				this.#complete(out, event.metadata);
				break;
			case "failed":
			case "rejected": {
				out.end();
				const [state, usual] = REFUSALS[event.type];
				this.#end(state, [oneLine(event.reason, REASON) || usual, out.leftOut]);
				break;
			}
			case "input-required":
			case "auth-required":
				out.end();
				this.#end(QUESTIONS[event.type], [out.leftOut, event.question]);
				break;
		}
	}

	#activity(activity: Activity): void {
		const { redact } = this.#parts;
		const clean = {
			...activity,
			name: oneLine(safeText(redact, activity.name), 80),
			...(activity.detail === undefined ? {} : { detail: oneLine(safeText(redact, activity.detail)) }),
		};
		this.log.append({ kind: "activity", activity: clean });
		const text = progress(clean);
		if (text === undefined) return;
		const { type, name, detail } = clean;
		const facts = { type, name, ...(detail === undefined ? {} : { detail }) };
		this.#status("TASK_STATE_WORKING", this.#say(text, { "pi/activity": facts }));
	}

	/** The work is done, unless there is nothing to show for it: an empty or stale reply is never a success. */
	#complete(out: Output, metadata?: JsonObject): void {
		if (out.end()) this.#end("TASK_STATE_COMPLETED", [out.leftOut], metadata);
		else this.#end("TASK_STATE_FAILED", [out.leftOut || UNUSABLE], metadata);
	}

	#answer(given: readonly Part[], out: Output, first: boolean): void {
		const { redact, tasks } = this.#parts;
		const parts = given.map((part) => safePart(redact, part));
		if (first && !this.resumed && !this.#shown) {
			this.#direct = { messageId: newMessageId(), role: "ROLE_AGENT", contextId: this.log.contextId, parts };
			// There was never a task for the caller; readers on the host see how it ended.
			tasks.drop(this.log);
		}
		// Too late for a message where somebody has seen the task: then it is the task's reply.
		out.artifact({ type: "artifact", artifact: { artifactId: "reply", name: "reply", parts } });
		this.#complete(out);
	}

	#say(text: string, metadata?: JsonObject): Message {
		const { id: taskId, contextId } = this.log;
		const said = { messageId: newMessageId(), role: "ROLE_AGENT", taskId, contextId, parts: [{ text }] } as const;
		return metadata ? { ...said, metadata } : said;
	}

	#status(state: TaskState, message?: Message, metadata?: JsonObject): void {
		const status = { state, ...(message ? { message } : {}) };
		this.log.append({ kind: "status", status, ...(metadata ? { metadata } : {}) });
	}

	/** `said`: the paragraphs of the status message; empty ones count for nothing. */
	#end(state: TaskState, said: readonly string[], metadata?: JsonObject): void {
		this.#over = true;
		// Its own ending stops nothing: the runner still puts its things in order.
		this.#leave();
		const text = said.filter((paragraph) => paragraph !== "").join("\n\n");
		const used = this.#usage && { [USAGE]: added(this.log.task.metadata?.[USAGE], this.#usage) };
		const message = text === "" ? undefined : this.#say(safeText(this.#parts.redact, text));
		this.#status(state, message, metadata || used ? { ...metadata, ...used } : undefined);
	}
}
