/** The runs of all tasks: how many at once, in which order, for how long. */
import { newContextId, newMessageId, newTaskId } from "../lib/ids.ts";
import { attempt } from "../lib/log.ts";
import type { Call, WorkLimits } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";
import { isInterrupted, isTerminal } from "../protocol/task.ts";
import type { Message } from "../protocol/types.ts";
import type { TaskLog } from "../tasks/log.ts";
import { Run, type RunParts } from "./run.ts";

/**
 * Tasks that wait for an answer hold no slot; this many may. Then, of the caller that has most of them, the one that has
 * waited longest is given up.
 */
const WAITING = 1000;
/** Why a task ended that a process did not live to finish. */
const HOST_STOPPED = "host stopped";
/** How long `close` waits for the runner. */
const CLOSE_MS = 5_000;

export interface Beginning {
	/** The task that the message answers; without it the message makes a new task. */
	readonly resumes?: TaskLog;
	readonly message: Message;
	readonly call: Call;
	/** Media types that the caller takes; absent: anything. */
	readonly accepts?: readonly string[] | undefined;
	/** Milliseconds until the run is stopped and the task FAILED; `Infinity`: never. */
	readonly limitMs: number;
}

export class Runs {
	readonly #parts: RunParts;
	readonly #limits: { readonly maxConcurrent: number; readonly asyncMs: number };
	/** Those that hold a slot. */
	readonly #active = new Map<TaskLog, Run>();
	/** The last turn of each conversation that has not ended. */
	readonly #last = new Map<string, Promise<void>>();
	/** Tasks that wait for their caller, longest first, and how to stop their timers. */
	readonly #waiting = new Map<TaskLog, () => void>();
	#closing: Promise<void> | undefined;

	/** `asyncMs`: the async window, also for the answer to a question. `Infinity`: no limit. */
	constructor(parts: RunParts, limits: { readonly maxConcurrent: number; readonly asyncMs: number }) {
		this.#parts = parts;
		this.#limits = limits;
	}

	/**
	 * Begins a turn; it runs when its conversation has no other turn before it. Throws BusyError. Everything up to the
	 * return happens at once, and nothing of the turn itself before that.
	 */
	begin({ resumes, message, call, limitMs, accepts }: Beginning): Run {
		if (this.#closing) throw new A2AError("BusyError", "This agent is stopping");
		if (this.#active.size >= this.#limits.maxConcurrent) throw new A2AError("BusyError");
		const log = resumes ?? this.#open(message, call);
		const joined = { ...message, taskId: log.id, contextId: log.contextId };
		const parts = this.#parts;
		const { caller, trace, limits } = call;
		const said = {
			...(accepts ? { accepts } : {}),
			...(trace === undefined ? {} : { trace }),
			...(limits ? { limits } : {}),
		};
		const run = new Run({ log, message: joined, resumed: resumes !== undefined, caller, ...said }, parts);
		this.#active.set(log, run);
		if (resumes) this.#resume(resumes);
		log.append({ kind: "message", message: joined });
		if (limits) this.#bind(log, limits);
		return this.#follow(run, limitMs);
	}

	/** The work ends when its caller's time for it is over, or the right to do it is taken back. */
	#bind(log: TaskLog, { maxMs = Number.POSITIVE_INFINITY, revoked }: WorkLimits): void {
		const cancel = this.#parts.clock.after(maxMs, () => {
			this.#fail(log, `The task did not end within the ${maxMs / 1000} s that its caller allows and was stopped`);
		});
		const stop = () => void log.append({ kind: "status", status: { state: "TASK_STATE_CANCELED" } });
		revoked?.addEventListener("abort", stop, { once: true });
		const leave = log.on(() => {
			if (!isTerminal(log.state) && !isInterrupted(log.state)) return;
			leave();
			cancel();
			revoked?.removeEventListener("abort", stop);
		});
	}

	/** Lets a run begin in its turn, and gives its slot back at its end. */
	#follow(run: Run, limitMs: number): Run {
		const { log } = run;
		const cancel = this.#parts.clock.after(limitMs, () => {
			this.#fail(log, `The task did not end within the ${this.#window()} and was stopped`);
		});
		const leave = log.on(() => {
			if (!isTerminal(log.state) && !isInterrupted(log.state)) return;
			leave();
			cancel();
			this.#active.delete(log);
			if (isInterrupted(log.state)) this.#wait(log);
		});
		this.#queue(run);
		return run;
	}

	/** See `LocalAgent.recover`. `resume`: the settings allow it. */
	async recover(resume: boolean): Promise<void> {
		const { clock, tasks } = this.#parts;
		for (const log of tasks.unfinished()) {
			if (isTerminal(log.state) || this.#active.has(log) || this.#waiting.has(log)) continue;
			const passed = Math.max(0, clock.now() - log.changed);
			if (isInterrupted(log.state)) this.#wait(log, Math.max(0, this.#limits.asyncMs - passed));
			else if (!resume || !(await this.#goOn(log))) this.#fail(log, HOST_STOPPED);
		}
	}

	/** Resumes a task that was cut off. False: there is nothing to go on from. */
	async #goOn(log: TaskLog): Promise<boolean> {
		const sent = (log.task.history ?? []).filter(({ role }) => role === "ROLE_USER");
		const message = sent.at(-1);
		// What never left the queue has done nothing yet.
		const fresh = log.state === "TASK_STATE_SUBMITTED";
		const { id: taskId, contextId, owner, label } = log;
		// Who the caller was is known; how it came is not, so the least is assumed.
		const caller = { id: owner, label, authenticated: !owner.startsWith("ip:"), loopback: false };
		const can = message && (fresh || (await this.#parts.runner.resumable?.({ taskId, contextId, caller })));
		if (!can || this.#closing || this.#active.size >= this.#limits.maxConcurrent) return false;
		if (isTerminal(log.state) || this.#active.has(log)) return true;
		const run = new Run({ log, message, resumed: sent.length > 1, afterCrash: !fresh, caller }, this.#parts);
		// Whoever asks has been given the task before.
		run.show();
		this.#active.set(log, run);
		this.#follow(run, this.#limits.asyncMs);
		return true;
	}

	/** The run that is at work on a task, if any. */
	of(log: TaskLog): Run | undefined {
		return this.#active.get(log);
	}

	/** Stops every run, closes the runner, and then fails what had not ended. Waiting tasks stay as they are. */
	close(reason: string): Promise<void> {
		this.#closing ??= this.#close(reason);
		return this.#closing;
	}

	async #close(reason: string): Promise<void> {
		const { clock, log, runner } = this.#parts;
		for (const cancel of this.#waiting.values()) cancel();
		const runs = [...this.#active.values()];
		for (const run of runs) run.stop();
		const over = new AbortController();
		const stopped = Promise.all([attempt("close the runner", () => runner.close(), log), ...this.#last.values()]);
		await Promise.race([stopped, clock.sleep(CLOSE_MS, over.signal)]);
		over.abort();
		for (const run of runs) this.#fail(run.log, reason);
	}

	#window(): string {
		return `async window of ${this.#limits.asyncMs / 1000} s`;
	}

	#open(message: Message, call: Call): TaskLog {
		return this.#parts.tasks.open({
			id: newTaskId(),
			contextId: message.contextId ?? newContextId(),
			owner: call.caller.id,
			label: call.caller.label,
			v03: call.service.legacy !== true,
		});
	}

	/** The question joins the history ahead of its answer, and the task is at work again. */
	#resume(log: TaskLog): void {
		const question = log.task.status.message;
		if (question) log.append({ kind: "message", message: question });
		log.append({ kind: "status", status: { state: "TASK_STATE_WORKING" } });
	}

	#queue(run: Run): void {
		const key = JSON.stringify([run.log.owner, run.log.contextId]);
		const before = this.#last.get(key);
		if (before) run.log.append({ kind: "activity", activity: { type: "queued", name: "queued" } });
		const served = (before ?? Promise.resolve()).then(() => run.serve());
		const ended = served.finally(() => {
			if (this.#last.get(key) === ended) this.#last.delete(key);
		});
		this.#last.set(key, ended);
	}

	/** `ms`: how long the task waits for its caller. */
	#wait(log: TaskLog, ms: number = this.#limits.asyncMs): void {
		const reason = `No answer arrived within the ${this.#window()}`;
		const cancel = this.#parts.clock.after(ms, () => this.#fail(log, reason));
		this.#waiting.set(log, cancel);
		const leave = log.on((event) => {
			if (event.kind !== "status") return;
			leave();
			cancel();
			this.#waiting.delete(log);
		});
		const crowding = this.#waiting.size > WAITING ? this.#crowding() : undefined;
		if (crowding) this.#fail(crowding, "Too many tasks wait for an answer");
	}

	#crowding(): TaskLog | undefined {
		const logs = [...this.#waiting.keys()];
		const counts = new Map<string, number>();
		for (const { owner } of logs) counts.set(owner, (counts.get(owner) ?? 0) + 1);
		const most = Math.max(...counts.values());
		return logs.find(({ owner }) => counts.get(owner) === most);
	}

	#fail(log: TaskLog, reason: string): void {
		const { id: taskId, contextId } = log;
		const parts = [{ text: reason }];
		const message = { messageId: newMessageId(), role: "ROLE_AGENT", taskId, contextId, parts } as const;
		log.append({ kind: "status", status: { state: "TASK_STATE_FAILED", message } });
	}
}
