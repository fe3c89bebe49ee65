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
import type { AgentCard } from "../protocol/types.ts";
import type { TaskStore } from "../tasks/store.ts";
import { cardOperation } from "./card.ts";
import { messageOperations } from "./messages.ts";
import { pushOperations } from "./push.ts";
import type { Runner } from "./runner.ts";
import { Runs } from "./runs.ts";
import { taskOperations } from "./tasks.ts";

export interface AgentParts {
	readonly tasks: TaskStore;
	readonly runner: Runner;
	readonly clock: Clock;
	readonly limits: {
		/** Turns at work or queued at the same time. */
		readonly maxConcurrent: number;
		/** How long a blocking send waits before it is answered with the live task, in milliseconds; 0: to the end. */
		readonly replyTimeoutMs: number;
		/** How long a task may run that nobody waits for any more, in milliseconds; 0: no limit. */
		readonly asyncTimeoutMs: number;
	};
	/** A redactor for one text; everything the agent says passes one. */
	readonly redact: () => Redactor;
	/** The extended card. */
	readonly card: () => AgentCard | undefined;
	/** What the card promises; what it does not is refused (§3.3.4). */
	readonly capabilities: { readonly streaming: boolean; readonly push: boolean; readonly extended: boolean };
	/** Media types of files that the agent reads, as on the card; everything by default. */
	readonly inputModes?: readonly string[];
	readonly log: Log;
}

/** An agent that can be stopped. */
export interface LocalAgent extends Agent {
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
const limitOf = (ms: number): number => (ms > 0 ? ms : Number.POSITIVE_INFINITY);

/** Our own agent over a runner. */
export function createAgent(parts: AgentParts): LocalAgent {
	const { tasks, runner, clock, redact, capabilities, log, inputModes = ["*/*"] } = parts;
	// Read at each use: a changed setting holds for the tasks to come.
	const limits = {
		get maxConcurrent() {
			return parts.limits.maxConcurrent;
		},
		get replyMs() {
			return limitOf(parts.limits.replyTimeoutMs);
		},
		get asyncMs() {
			return limitOf(parts.limits.asyncTimeoutMs);
		},
	};
	const runs = new Runs({ tasks, runner, clock, redact, log }, limits);
	const messages = messageOperations({ tasks, runs, clock, limits, push: capabilities.push, inputModes });
	const ofTasks = taskOperations({ tasks, runs });
	const requests: Requests = {
		SendMessage: messages.sendMessage,
		GetTask: ofTasks.getTask,
		ListTasks: ofTasks.listTasks,
		CancelTask: ofTasks.cancelTask,
		CreateTaskPushNotificationConfig: pushOperations.create,
		GetTaskPushNotificationConfig: pushOperations.get,
		ListTaskPushNotificationConfigs: pushOperations.list,
		DeleteTaskPushNotificationConfig: pushOperations.delete,
		GetExtendedAgentCard: cardOperation(parts.card),
	};
	const streams: Streams = {
		SendStreamingMessage: messages.sendStreamingMessage,
		SubscribeToTask: ofTasks.subscribeToTask,
	};
	const able: { readonly [K in Need]: boolean } = {
		streaming: capabilities.streaming,
		pushNotifications: capabilities.push,
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
				return await requests[operation](params, call);
			} catch (error) {
				throw told(error, operation);
			}
		},
		async *stream(operation, params, call) {
			try {
				check(operation);
				yield* streams[operation](params, call);
			} catch (error) {
				throw told(error, operation);
			}
		},
		close: (reason) => runs.close(reason),
	};
}
