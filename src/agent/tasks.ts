/** The four task operations (§3.1.3 to §3.1.6). */
import type { Call } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";
import { isInterrupted, isTerminal } from "../protocol/task.ts";
import type {
	CancelTaskRequest,
	GetTaskRequest,
	ListTasksRequest,
	ListTasksResponse,
	Message,
	StreamResponse,
	SubscribeToTaskRequest,
	Task,
} from "../protocol/types.ts";
import { recent } from "../tasks/list.ts";
import type { TaskLog } from "../tasks/log.ts";
import type { TaskStore } from "../tasks/store.ts";
import type { Runs } from "./runs.ts";

/**
 * A task as it is at the first `next`, then everything that happens to it, until it ends or `signal` aborts; nothing
 * is lost between the two. `direct` may turn out a message, which is then the only item. `untilAsked` ends it as well
 * when the task waits for its caller.
 */
export async function* viewed(
	log: TaskLog,
	signal: AbortSignal,
	how: {
		readonly historyLength?: number | undefined;
		readonly direct?: () => Promise<Message | undefined>;
		readonly untilAsked?: boolean;
	} = {},
): AsyncGenerator<StreamResponse> {
	const leaving = new AbortController();
	const leave = () => leaving.abort();
	if (signal.aborted) leave();
	signal.addEventListener("abort", leave, { once: true });
	try {
		const items = log.items(leaving.signal);
		const task = recent(log.task, how.historyLength);
		const message = await how.direct?.();
		yield message ? { message } : { task };
		if (message || (how.untilAsked && isInterrupted(task.status.state))) return;
		for await (const item of items) {
			yield item;
			if (how.untilAsked && "statusUpdate" in item && isInterrupted(item.statusUpdate.status.state)) return;
		}
	} finally {
		signal.removeEventListener("abort", leave);
		leave();
	}
}

export function taskOperations({ tasks, runs }: { readonly tasks: TaskStore; readonly runs: Runs }) {
	return {
		getTask({ id, historyLength }: GetTaskRequest, { caller }: Call): Task {
			return recent(tasks.get(caller.id, id).task, historyLength);
		},

		listTasks(params: ListTasksRequest, { caller }: Call): ListTasksResponse {
			return tasks.list(caller.id, params);
		},

		/** CANCELED at once; the run hears of it through the task. Throws TaskNotCancelableError when it had ended. */
		cancelTask({ id }: CancelTaskRequest, { caller }: Call): Task {
			const log = tasks.get(caller.id, id);
			if (!log.append({ kind: "status", status: { state: "TASK_STATE_CANCELED" } })) {
				throw new A2AError("TaskNotCancelableError", undefined, { metadata: { taskId: id, state: log.state } });
			}
			return log.task;
		},

		async *subscribeToTask({ id }: SubscribeToTaskRequest, { caller, signal }: Call): AsyncGenerator<StreamResponse> {
			const log = tasks.get(caller.id, id);
			if (isTerminal(log.state)) {
				throw new A2AError("UnsupportedOperationError", "The task has ended; ask for it with GetTask", {
					metadata: { taskId: id, state: log.state },
				});
			}
			runs.of(log)?.show();
			yield* viewed(log, signal);
		},
	};
}
