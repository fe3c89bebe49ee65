/** Results of 0.3 (0.3 §7) and 1.0, each from the other. */
import { decodeResult } from "../decode-results.ts";
import type { OperationName, Results } from "../operations.ts";
import { downcastCard } from "./card.ts";
import { eventV03, taskPushConfigV03, taskV03 } from "./data.ts";

const DOWN: { readonly [K in OperationName]: (result: Results[K]) => unknown } = {
	// 0.3 has no wrapper: the object itself, with its `kind`.
	SendMessage: eventV03,
	SendStreamingMessage: eventV03,
	GetTask: taskV03,
	// Not in 0.3's JSON-RPC: the page of 1.0, with 0.3 tasks.
	ListTasks: (page) => ({ ...page, tasks: page.tasks.map(taskV03) }),
	CancelTask: taskV03,
	SubscribeToTask: eventV03,
	CreateTaskPushNotificationConfig: taskPushConfigV03,
	GetTaskPushNotificationConfig: taskPushConfigV03,
	ListTaskPushNotificationConfigs: ({ configs }) => configs.map(taskPushConfigV03),
	DeleteTaskPushNotificationConfig: () => null,
	GetExtendedAgentCard: downcastCard,
};

/** A result of ours, or one item of a stream, for a 0.3 caller. `result` must be one of that operation's. */
export function downcastResult(operation: OperationName, result: unknown): unknown {
	const down = DOWN[operation] as (result: unknown) => unknown;
	return down(result);
}

/** A 0.3 peer's result as ours: the tolerant decoder, which knows both versions. Throws `InvalidAgentResponseError`. */
export function upcastResult<K extends OperationName>(operation: K, result: unknown): Results[K] {
	return decodeResult[operation](result);
}
