/** The runs of all tasks: when they begin, in which order, for how long. */
import { newContextId, newMessageId, newTaskId } from "../lib/ids.ts";
import { attempt } from "../lib/log.ts";
import type { Call, WorkLimits } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";
import { isInterrupted, isTerminal } from "../protocol/task.ts";
import type { ContextId, Message } from "../protocol/types.ts";
import type { TaskLog } from "../tasks/log.ts";
import { Run, type RunParts } from "./run.ts";
import { type Place, type SlotLimits, Slots, type Ticket } from "./slots.ts";
import { Waiting } from "./waiting.ts";

/** Why a task ended that a process did not live to finish. */
const HOST_STOPPED = "host stopped";
/** How long whoever waits for a task waits for a runner that does not stop, and how long `close` does. */
const PATIENCE_MS = 700;
const CLOSE_MS = 5_000;
/** When to ask an agent again that is stopping: somebody may start it again. In seconds. */
const STOPPING_SEC = 30;
/** Where the status message of a task that waits for a slot says its place. */
const QUEUE = "pi/queue";

export interface Beginning {
	/** The task that the message answers; without it the message makes a new task. */
	readonly resumes?: TaskLog;
	readonly message: Message;
	readonly call: Call;
	/** Media types that the caller takes; absent: anything. */
	readonly accepts?: readonly string[] | undefined;
	/** Milliseconds that the run may take before it is stopped and the task FAILED; `Infinity`: no limit. */
	readonly limitMs: number;
	/** Nobody waits for its end. */
	readonly detached: boolean;
}

/** Read at each use; times in milliseconds, `Infinity` for no limit. */
export interface RunLimits extends SlotLimits {
	/** The async window, also for the answer to a question. */
	readonly asyncMs: number;
	/** How long a turn may wait for a slot. */
	readonly maxWaitMs: number;
}

/** Whether there is room for work. */
export interface Readiness {
	/** `busy`: a request would have to wait, or be refused. `draining`: nothing new is taken. */
	readonly readiness: "ready" | "busy" | "draining";
	/** Turns that hold a slot. */
	readonly running: number;
	/** Turns that wait for one. */
	readonly queued: number;
	readonly slots: number;
}

/** A run that has a slot or waits for one. */
interface Working {
	readonly run: Run;
	readonly ticket: Ticket;
}

export class Runs {
	readonly #parts: RunParts;
	readonly #limits: RunLimits;
	readonly #slots: Slots;
	/** Those that have not ended. */
	readonly #active = new Map<TaskLog, Working>();
	/** The last turn of each conversation that has not ended. */
	readonly #last = new Map<string, Promise<void>>();
	readonly #waiting: Waiting;
	#draining = false;
	/** Told when no run is left. */
	#idle: () => void = () => undefined;
	#closing: Promise<void> | undefined;

	constructor(parts: RunParts, limits: RunLimits) {
		this.#parts = parts;
		this.#limits = limits;
		this.#slots = new Slots(limits, parts.clock);
		this.#waiting = new Waiting(parts.clock, (log, reason) => this.#fail(log, reason));
	}

	/**
	 * Begins a turn; it runs when it has a slot and its conversation has no other turn before it. Throws BusyError.
	 * Everything up to the return happens at once, and nothing of the turn itself before that.
	 */
	begin({ resumes, message, call, limitMs, accepts, detached }: Beginning): Run {
		if (this.#draining) throw new A2AError("BusyError", "This agent is stopping", { retryAfter: STOPPING_SEC });
		const contextId = resumes?.contextId ?? message.contextId ?? newContextId();
		const ticket = this.#slots.take({ owner: call.caller.id, conversation: contextId, detached });
		const log = resumes ?? this.#open(contextId, call);
		const joined = { ...message, taskId: log.id, contextId: log.contextId };
		const parts = this.#parts;
		const { caller, trace, limits } = call;
		const asked = {
			...(accepts ? { accepts } : {}),
			...(trace === undefined ? {} : { trace }),
			...(limits ? { limits } : {}),
		};
		const run = new Run({ log, message: joined, resumed: resumes !== undefined, caller, ...asked }, parts);
		this.#active.set(log, { run, ticket });
		if (resumes) this.#resume(resumes);
		log.append({ kind: "message", message: joined });
		return this.#follow({ run, ticket }, limitMs, limits);
	}

	/** Lets a run begin when it has its slot, within its limits, and gives the slot back at its end. */
	#follow({ run, ticket }: Working, limitMs: number, allowed: WorkLimits = {}): Run {
		const { log } = run;
		const { maxMs = Number.POSITIVE_INFINITY, revoked } = allowed;
		const timers: (() => void)[] = [];
		const within = (ms: number, reason: () => string) => {
			timers.push(this.#parts.clock.after(ms, () => this.#fail(log, reason())));
		};
		const cancel = () => {
			for (const each of timers.splice(0)) each();
		};
		// The right to do the work was taken back.
		const stop = () => void log.append({ kind: "status", status: { state: "TASK_STATE_CANCELED" } });
		revoked?.addEventListener("abort", stop, { once: true });
		const leave = log.on(() => {
			if (!isTerminal(log.state) && !isInterrupted(log.state)) return;
			leave();
			cancel();
			revoked?.removeEventListener("abort", stop);
			this.#active.delete(log);
			if (isInterrupted(log.state)) this.#wait(log);
			ticket.leave();
			if (this.#active.size === 0) this.#idle();
		});
		const queued = ticket.waits;
		if (queued) {
			const { maxWaitMs } = this.#limits;
			within(
				maxWaitMs,
				() => `No slot became free within ${maxWaitMs / 1000} s; the task has not begun: send its message anew`,
			);
			// Everybody may look at its place, so the answer is a task.
			run.show();
			log.append({ kind: "activity", activity: { type: "queued", name: "queued", detail: "until a slot is free" } });
		}
		const begin = () => {
			cancel();
			within(limitMs, () => `The task did not end within the ${this.#window()} and was stopped`);
			within(maxMs, () => `The task did not end within the ${maxMs / 1000} s that its caller allows and was stopped`);
			// It has no place any more.
			if (queued) log.append({ kind: "status", status: { state: log.state } });
			this.#queue(run);
		};
		ticket.attend(begin, (place) => this.#place(log, place));
		return run;
	}

	/** Says where a task stands that waits for a slot. */
	#place(log: TaskLog, { position, of }: Place): void {
		const message = said(log, `Waiting for a free slot: place ${position} of ${of}`);
		const metadata = { [QUEUE]: { position, of } };
		log.append({ kind: "status", status: { state: log.state, message: { ...message, metadata } } });
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
		if (!can || this.#draining) return false;
		if (isTerminal(log.state) || this.#active.has(log)) return true;
		const run = new Run({ log, message, resumed: sent.length > 1, afterCrash: !fresh, caller }, this.#parts);
		// Whoever asks has been given the task before.
		run.show();
		// It was accepted once: where slots are short it waits.
		const ticket = this.#slots.take({ owner, conversation: contextId, detached: true, known: true });
		this.#active.set(log, { run, ticket });
		this.#follow({ run, ticket }, this.#limits.asyncMs);
		return true;
	}

	/** The run that is at work on a task, if any. */
	of(log: TaskLog): Run | undefined {
		return this.#active.get(log)?.run;
	}

	/** Nobody waits for the end of this task any more, if it has not ended: it counts as detached. */
	detach(log: TaskLog): void {
		this.#active.get(log)?.ticket.detach();
	}

	readiness(): Readiness {
		const { running, queued } = this.#slots;
		const slots = this.#limits.maxConcurrent;
		const readiness = this.#draining ? "draining" : running >= slots ? "busy" : "ready";
		return { readiness, running, queued, slots };
	}

	/** Takes nothing new from now on. Resolves when all that was taken has ended, or `signal` aborts. */
	async drain(signal: AbortSignal): Promise<void> {
		this.#draining = true;
		if (this.#active.size === 0 || signal.aborted) return;
		await new Promise<void>((resolve) => {
			this.#idle = resolve;
			signal.addEventListener("abort", () => resolve(), { once: true });
		});
	}

	/**
	 * Stops every run, closes the runner, and then fails what had not ended; a runner that is slow to stop holds up nobody
	 * who waits for a task. Tasks that wait for their caller stay as they are.
	 */
	close(reason: string): Promise<void> {
		this.#closing ??= this.#close(reason);
		return this.#closing;
	}

	async #close(reason: string): Promise<void> {
		const { clock, log, runner } = this.#parts;
		this.#draining = true;
		this.#slots.close();
		this.#waiting.close();
		const runs = [...this.#active.values()].map(({ run }) => run);
		for (const run of runs) run.stop();
		const over = new AbortController();
		const stopped = Promise.all([attempt("close the runner", () => runner.close(), log), ...this.#last.values()]);
		await Promise.race([stopped, clock.sleep(PATIENCE_MS, over.signal)]);
		for (const run of runs) this.#fail(run.log, reason);
		await Promise.race([stopped, clock.sleep(CLOSE_MS - PATIENCE_MS, over.signal)]);
		over.abort();
	}

	#window(): string {
		return `async window of ${this.#limits.asyncMs / 1000} s`;
	}

	#open(contextId: ContextId, call: Call): TaskLog {
		return this.#parts.tasks.open({
			id: newTaskId(),
			contextId,
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
		this.#waiting.add(log, ms, `No answer arrived within the ${this.#window()}`);
	}

	#fail(log: TaskLog, reason: string): void {
		log.append({ kind: "status", status: { state: "TASK_STATE_FAILED", message: said(log, reason) } });
	}
}

/** A status message of our own. */
function said({ id: taskId, contextId }: TaskLog, text: string): Message {
	return { messageId: newMessageId(), role: "ROLE_AGENT", taskId, contextId, parts: [{ text }] };
}
