/** The two send operations (§3.1.1, §3.1.2). */
import type { Clock } from "../lib/clock.ts";
import type { Call } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";
import type { PushConfig } from "../protocol/push.ts";
import { isInterrupted, isTerminal } from "../protocol/task.ts";
import type { Message, SendMessageRequest, SendMessageResponse, StreamResponse } from "../protocol/types.ts";
import { checkHistoryLength, recent } from "../tasks/list.ts";
import type { TaskLog } from "../tasks/log.ts";
import type { TaskStore } from "../tasks/store.ts";
import { type ContentRules, checkContent } from "./content.ts";
import type { PushConfigs } from "./push.ts";
import type { Run } from "./run.ts";
import type { Beginning, Runs } from "./runs.ts";
import { viewed } from "./tasks.ts";

/** How long a caller who wants a task at once waits to learn whether the answer is a direct message instead. */
const DIRECT_MS = 20;

export interface MessageParts {
	readonly tasks: TaskStore;
	readonly runs: Runs;
	readonly clock: Clock;
	/** Milliseconds; `Infinity` for no limit. */
	readonly limits: { readonly replyMs: number; readonly asyncMs: number };
	/** Push notification configurations; undefined while there can be none. */
	readonly push: () => PushConfigs | undefined;
	readonly content: ContentRules;
}

/** A task that a message belongs to, and its run while there is one. */
interface Accepted {
	readonly log: TaskLog;
	readonly run: Run | undefined;
}

/** A webhook to be told of the task that a message makes or continues. */
interface Pushing {
	readonly configs: PushConfigs;
	readonly config: PushConfig;
}

/** The caller's task that a message may go to now. Throws what §3.1.1 and §3.4.3 ask for. */
function waitingTask(tasks: TaskStore, owner: string, { taskId, contextId }: Message): TaskLog | undefined {
	if (taskId === undefined) return undefined;
	const log = tasks.get(owner, taskId);
	if (contextId !== undefined && contextId !== log.contextId) {
		const description = "the task belongs to another context";
		throw new A2AError("InvalidParamsError", `message.contextId: ${description}`, {
			violations: [{ field: "message.contextId", description }],
			metadata: { taskId },
		});
	}
	if (isInterrupted(log.state)) return log;
	const why = isTerminal(log.state)
		? "The task has ended and takes no more messages; send one with its contextId instead"
		: "The task is still working; it takes a message when it asks for one";
	throw new A2AError("UnsupportedOperationError", why, { metadata: { taskId, state: log.state } });
}

export function messageOperations(parts: MessageParts) {
	const { tasks, runs, clock, limits } = parts;

	/** The webhook that comes with a message (§3.2.2), checked. Throws when it cannot be taken. */
	async function webhookOf({ configuration }: SendMessageRequest, call: Call): Promise<Pushing | undefined> {
		const given = configuration?.taskPushNotificationConfig;
		if (!given) return undefined;
		const configs = parts.push();
		if (!configs) throw new A2AError("PushNotificationNotSupportedError");
		return { configs, config: await configs.checked(given, call, "configuration.taskPushNotificationConfig") };
	}

	/** Accepts a message or throws; all at once, so that two copies of one message cannot both begin a run. */
	function accept(
		request: SendMessageRequest,
		call: Call,
		how: Pick<Beginning, "limitMs" | "detached">,
		push?: Pushing,
	): Accepted {
		const { message, configuration } = request;
		const again = tasks.withMessage(call.caller.id, message);
		if (again) return { log: again, run: runs.of(again) };
		const accepts = configuration?.acceptedOutputModes;
		checkContent(message, accepts, parts.content);
		const resumes = waitingTask(tasks, call.caller.id, message);
		if (resumes && push) push.configs.admit(resumes, push.config);
		const run = runs.begin({ message, call, accepts, ...how, ...(resumes ? { resumes } : {}) });
		if (push) {
			// Its receiver is told of the task, so the answer is one as well.
			run.show();
			push.configs.add(run.log, push.config);
		}
		return { log: run.log, run };
	}

	/** The direct answer, once it is known whether there is one. */
	async function direct(run: Run | undefined): Promise<Message | undefined> {
		if (!run) return undefined;
		await new Promise<void>((resolve) => {
			const cancel = clock.after(DIRECT_MS, resolve);
			void run.begun.then(() => {
				cancel();
				resolve();
			});
		});
		run.show();
		return run.direct;
	}

	/** Waits until the task ends or asks, the caller leaves, or the reply window closes. */
	async function settled(log: TaskLog, call: Call): Promise<void> {
		const over = new AbortController();
		const leave = () => over.abort();
		if (call.signal.aborted) leave();
		call.signal.addEventListener("abort", leave, { once: true });
		const cancel = clock.after(limits.replyMs, leave);
		await log.settled(over.signal);
		cancel();
		call.signal.removeEventListener("abort", leave);
		runs.detach(log);
	}

	return {
		/** Answers when the task ends or asks, at the latest at the end of the reply window with the live task. */
		async sendMessage(params: SendMessageRequest, call: Call): Promise<SendMessageResponse> {
			const { historyLength, returnImmediately = false } = params.configuration ?? {};
			checkHistoryLength(historyLength);
			// The async window follows on the reply window, whether or not the caller is still there when that one closes.
			const limitMs = limits.asyncMs + (returnImmediately ? 0 : limits.replyMs);
			const how = { limitMs, detached: returnImmediately };
			const { log, run } = accept(params, call, how, await webhookOf(params, call));
			if (returnImmediately) await direct(run);
			else await settled(log, call);
			run?.show();
			if (run?.direct) return { message: run.direct };
			return { task: recent(log.task, historyLength) };
		},

		/** The task as it was accepted, then what happens to it until it ends or asks (§11.7); or one direct message. */
		async *sendStreamingMessage(params: SendMessageRequest, call: Call): AsyncGenerator<StreamResponse> {
			const historyLength = params.configuration?.historyLength;
			checkHistoryLength(historyLength);
			const how = { limitMs: limits.asyncMs, detached: false };
			const { log, run } = accept(params, call, how, await webhookOf(params, call));
			const { after } = call;
			try {
				yield* viewed(log, call.signal, { historyLength, after, direct: () => direct(run), untilAsked: true });
			} finally {
				runs.detach(log);
			}
		},
	};
}
