/** The operations of our own agent, as one `Agent`. */
import type { Redactor } from "../guard/redact.ts";
import type { Clock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import type { Agent, Call } from "../protocol/agent.ts";
import { A2AError, asA2AError, type ErrorName } from "../protocol/errors.ts";
import {
	type ManyReply,
	type OneReply,
	OPERATIONS,
	type Operation,
	type Params,
	type Results,
} from "../protocol/operations.ts";
import type { Webhooks } from "../protocol/push.ts";
import type { AgentCard } from "../protocol/types.ts";
import type { TaskStore } from "../tasks/store.ts";
import { cardOperation } from "./card.ts";
import type { FileLimits } from "./content.ts";
import { messageOperations } from "./messages.ts";
import { PushConfigs } from "./push.ts";
import type { Runner } from "./runner.ts";
import { type Readiness, Runs } from "./runs.ts";
import { taskOperations } from "./tasks.ts";

export interface AgentParts {
	readonly tasks: TaskStore;
	readonly runner: Runner;
	readonly clock: Clock;
	readonly limits: {
		/** Turns at the same time: at work, or behind another turn of their conversation. */
		readonly maxConcurrent: number;
		/** How many of these may be turns that nobody waits for; 0, as by default: all. */
		readonly maxDetached?: number;
		/** Turns that may wait for one to end; none by default: they are refused. */
		readonly queueSize?: number;
		/** How long they may wait, in milliseconds; no limit by default. */
		readonly maxWaitMs?: number;
		/** How long a blocking send waits before it is answered with the live task, in milliseconds; 0: to the end. */
		readonly replyTimeoutMs: number;
		/** How long a task may run that nobody waits for any more, in milliseconds; 0: no limit. */
		readonly asyncTimeoutMs: number;
		/** Whether a task that was cut off by the end of its process is resumed when the runner can. */
		readonly resumeTasks?: boolean;
	};
	/** A redactor for one text; everything the agent says passes one. */
	readonly redact: () => Redactor;
	/** The extended card. */
	readonly card: () => AgentCard | undefined;
	/** What the card promises; what it does not is refused (§3.3.4). */
	readonly capabilities: { readonly streaming: boolean; readonly push: boolean; readonly extended: boolean };
	/** The way to webhooks; without it there are no push notifications, whatever the capabilities say. */
	readonly webhooks?: Webhooks;
	/** Media types of files that the agent reads, as on the card; everything by default. */
	readonly inputModes?: readonly string[];
	/** Media types that the agent can make: who takes none of them is refused; everything by default. */
	readonly outputModes?: readonly string[];
	/** How much a message may bring in files; no limit of its own by default. */
	readonly files?: FileLimits;
	readonly log: Log;
}

/** An agent that can be stopped. */
export interface LocalAgent extends Agent {
	/**
	 * Takes up the tasks in the store that have not ended and that nobody works on, those of an earlier process: what waits
	 * for its caller goes on waiting, the others are resumed when the settings and the runner allow it, else FAILED with
	 * "host stopped" and what they had.
	 */
	recover(): Promise<void>;
	/** Whether there is room for work. */
	readiness(): Readiness;
	/**
	 * Takes no new turn from now on (BusyError), also none that continues a task. Resolves when those that were taken have
	 * ended, or `signal` aborts; `close` is what comes next.
	 */
	drain(signal: AbortSignal): Promise<void>;
	/**
	 * Accepts nothing more, stops what runs, closes the runner, and marks what had not ended FAILED with `reason`. Tasks
	 * that wait for their caller stay as they are. May be called twice.
	 */
	close(reason: string): Promise<void>;
}

type Need = NonNullable<Operation["needs"]>;

const REFUSALS: { readonly [K in Need]: readonly [ErrorName, string | undefined] } = {
	streaming: ["UnsupportedOperationError", "This agent does not stream"],
	pushNotifications: ["PushNotificationNotSupportedError", undefined],
	extendedAgentCard: ["UnsupportedOperationError", "This agent has no extended card"],
};

type Requests = { readonly [K in OneReply]: (params: Params[K], call: Call) => Results[K] | Promise<Results[K]> };
type Streams = { readonly [K in ManyReply]: (params: Params[K], call: Call) => AsyncIterable<Results[K]> };

/** A limit of 0 in the settings is no limit. */
const limitOf = (limit: number): number => (limit > 0 ? limit : Number.POSITIVE_INFINITY);

/** Our own agent over a runner. */
export function createAgent(parts: AgentParts): LocalAgent {
	const { tasks, runner, clock, redact, capabilities, log, inputModes = ["*/*"] } = parts;
	const { outputModes = ["*/*"], files } = parts;
	// Read at each use: a changed setting holds for the tasks to come.
	const limits = {
		get maxConcurrent() {
			return parts.limits.maxConcurrent;
		},
		get maxDetached() {
			return limitOf(parts.limits.maxDetached ?? 0);
		},
		get queueSize() {
			return parts.limits.queueSize ?? 0;
		},
		get maxWaitMs() {
			return limitOf(parts.limits.maxWaitMs ?? 0);
		},
		get replyMs() {
			return limitOf(parts.limits.replyTimeoutMs);
		},
		get asyncMs() {
			return limitOf(parts.limits.asyncTimeoutMs);
		},
	};
	const runs = new Runs({ tasks, runner, clock, redact, log }, limits);
	const content = { inputModes, outputModes, files };
	const { webhooks } = parts;
	const configs = webhooks && new PushConfigs({ tasks, webhooks, clock, log });
	// A changed setting holds at once here too.
	const push = (): PushConfigs | undefined => (capabilities.push ? configs : undefined);
	const pushing = (): PushConfigs => {
		const able = push();
		if (!able) throw new A2AError(...REFUSALS.pushNotifications);
		return able;
	};
	const messages = messageOperations({ tasks, runs, clock, limits, push, content });
	const ofTasks = taskOperations({ tasks, runs });
	const requests: Requests = {
		SendMessage: messages.sendMessage,
		GetTask: ofTasks.getTask,
		ListTasks: ofTasks.listTasks,
		CancelTask: ofTasks.cancelTask,
		CreateTaskPushNotificationConfig: (params, call) => pushing().create(params, call),
		GetTaskPushNotificationConfig: (params, call) => pushing().get(params, call),
		ListTaskPushNotificationConfigs: (params, call) => pushing().list(params, call),
		DeleteTaskPushNotificationConfig: (params, call) => pushing().delete(params, call),
		GetExtendedAgentCard: cardOperation(parts.card),
	};
	const streams: Streams = {
		SendStreamingMessage: messages.sendStreamingMessage,
		SubscribeToTask: ofTasks.subscribeToTask,
	};
	const able: { readonly [K in Need]: boolean } = {
		streaming: capabilities.streaming,
		get pushNotifications() {
			return push() !== undefined;
		},
		extendedAgentCard: capabilities.extended,
	};

	function check(operation: OneReply | ManyReply): void {
		const { needs }: Operation = OPERATIONS[operation];
		if (needs && !able[needs]) throw new A2AError(...REFUSALS[needs]);
	}

	/** What may cross the wire; anything else is said here and nowhere else. */
	function told(error: unknown, operation: string): A2AError {
		if (!(error instanceof A2AError)) log.warn(`${operation} failed`, error);
		return asA2AError(error);
	}

	return {
		async request(operation, params, call) {
			try {
				check(operation);
				const result = await requests[operation](params, call);
				// Nobody is told of what is not on disk.
				await tasks.written();
				return result;
			} catch (error) {
				await tasks.written();
				throw told(error, operation);
			}
		},
		async *stream(operation, params, call) {
			try {
				check(operation);
				for await (const item of streams[operation](params, call)) {
					const writing = tasks.written();
					if (writing) await writing;
					yield item;
				}
			} catch (error) {
				throw told(error, operation);
			}
		},
		async recover() {
			for (const log of tasks.all()) {
				// Written by `PushConfigs` of an earlier process.
				const { note } = log;
				if (Array.isArray(note) && push()?.all(log).length === 0) push()?.restore(log, note);
			}
			await runs.recover(parts.limits.resumeTasks ?? false);
		},
		readiness: () => runs.readiness(),
		drain: (signal) => runs.drain(signal),
		async close(reason) {
			await runs.close(reason);
			await configs?.close();
		},
	};
}
