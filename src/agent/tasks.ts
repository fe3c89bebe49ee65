/** The four task operations (§3.1.3 to §3.1.6). */
import type { Call } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";
import { isInterrupted, isTerminal } from "../protocol/task.ts";
import {
	type CancelTaskRequest,
	eventId,
	type GetTaskRequest,
	type ListTasksRequest,
	type ListTasksResponse,
	type Message,
	type StreamResponse,
	type SubscribeToTaskRequest,
	type Task,
} from "../protocol/types.ts";
import { recent } from "../tasks/list.ts";
import type { TaskLog } from "../tasks/log.ts";
import type { Happened } from "../tasks/past.ts";
import type { TaskStore } from "../tasks/store.ts";
import type { Runs } from "./runs.ts";

/** A question of the task to its caller. */
const isAsked = ({ event }: Happened): boolean => event.kind === "status" && isInterrupted(event.status.state);

/**
 * A task as it is at the first `next`, then everything that happens to it, until it ends or `signal` aborts; nothing
 * is lost between the two. A reader who has seen event `after` gets what came after that instead of the task, as long as
 * it is known. `direct` may turn out a message, which is then the only item. `untilAsked` ends it as well when the task
 * waits for its caller.
 */
export async function* viewed(
	log: TaskLog,
	signal: AbortSignal,
	how: {
		readonly historyLength?: number | undefined;
		readonly after?: string | undefined;
		readonly direct?: () => Promise<Message | undefined>;
		readonly untilAsked?: boolean;
	} = {},
): AsyncGenerator<StreamResponse> {
	const leaving = new AbortController();
	const leave = () => leaving.abort();
	if (signal.aborted) leave();
	signal.addEventListener("abort", leave, { once: true });
	const { untilAsked = false } = how;
	try {
		const past = log.after(how.after);
		const items = log.items(leaving.signal, past);
		const waits = untilAsked && isInterrupted(log.state);
		if (past) {
			if (waits && !past.some(isAsked)) return;
		} else {
			const task = { task: recent(log.task, how.historyLength), [eventId]: log.eventId() };
			const message = await how.direct?.();
			yield message ? { message } : task;
			if (message || waits) return;
		}
		for await (const item of items) {
			yield item;
			if (untilAsked && "statusUpdate" in item && isInterrupted(item.statusUpdate.status.state)) return;
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

		async *subscribeToTask(
			{ id }: SubscribeToTaskRequest,
			{ caller, signal, after }: Call,
		): AsyncGenerator<StreamResponse> {
			const log = tasks.get(caller.id, id);
			if (isTerminal(log.state) && !log.after(after)) {
				throw new A2AError("UnsupportedOperationError", "The task has ended; ask for it with GetTask", {
					metadata: { taskId: id, state: log.state },
				});
			}
			runs.of(log)?.show();
			yield* viewed(log, signal, { after });
		},
	};
}
