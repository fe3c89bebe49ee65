/**
 * Which data shape a JSON-RPC call speaks, and the translation to and from it. The core sees 1.0 only. 1.0 method names
 * speak 1.0. The path-like names of before 1.0 speak 0.3 to callers of that version, and to everyone else the 1.0 data
 * without the wrapper that 1.0 puts around the result of a send (`legacy`).
 */
import { newMessageId } from "../../lib/ids.ts";
import { A2AError } from "../../protocol/errors.ts";
import { isObject } from "../../protocol/json.ts";
import type { Method } from "../../protocol/jsonrpc.ts";
import type { OperationName } from "../../protocol/operations.ts";
import type { ListTasksResponse, SendMessageResponse } from "../../protocol/types.ts";
import { downcastResult, isV03Message, upcastParams } from "../../protocol/v03/index.ts";
import type { ProtocolVersion } from "../../protocol/version.ts";

export type Shape = ProtocolVersion | "legacy";

/**
 * The shape of a call. `version`: what the caller asked for, if anything. Without it a message tells by its form, and
 * a call about a task follows the message that made the task (`isV03Task`). Throws `MethodNotFoundError` for a 1.0 name
 * called as 0.3, which has no such method.
 */
export function shapeOf(
	method: Method,
	params: unknown,
	version: ProtocolVersion | undefined,
	isV03Task: (id: string) => boolean,
): Shape {
	if (method.style === "1.0") {
		if (version === "0.3") throw new A2AError("MethodNotFoundError", "Method not found in A2A 0.3");
		return "1.0";
	}
	if (version !== undefined) return version === "0.3" ? "0.3" : "legacy";
	// Only 0.3 has a path-like name for it.
	if (method.operation === "GetExtendedAgentCard") return "0.3";
	if (!isObject(params)) return "legacy";
	if (isObject(params.message)) return isV03Message(params.message) ? "0.3" : "legacy";
	if (isObject(params.pushNotificationConfig)) return "0.3";
	const id = params.taskId ?? params.id;
	return typeof id === "string" && isV03Task(id) ? "0.3" : "legacy";
}

/** The parameters in the form of 1.0, still undecoded. */
export function toCore(operation: OperationName, shape: Shape, params: unknown): unknown {
	if (shape === "1.0") return params;
	const whole = withContext(params);
	return shape === "0.3" ? upcastParams(operation, whole) : withMessageId(whole);
}

/** Older callers put the context id beside the message. */
function withContext(params: unknown): unknown {
	if (!isObject(params) || typeof params.contextId !== "string" || !isObject(params.message)) return params;
	const { contextId, ...rest } = params;
	return { ...rest, message: { contextId, ...params.message } };
}

/** The old name was served before messages had to have an id; a message without one just cannot be sent again. */
function withMessageId(params: unknown): unknown {
	if (!isObject(params) || !isObject(params.message) || params.message.messageId !== undefined) return params;
	return { ...params, message: { ...params.message, messageId: newMessageId() } };
}

/** A result, or one item of a stream, as the caller expects it. */
export function fromCore(operation: OperationName, shape: Shape, result: unknown): unknown {
	if (shape === "1.0") return result;
	if (shape === "0.3") return downcastResult(operation, result);
	if (operation === "SendMessage") {
		const sent = result as SendMessageResponse;
		return "task" in sent ? sent.task : sent.message;
	}
	if (operation === "ListTasks") {
		const { tasks, ...page } = result as ListTasksResponse;
		return { ...page, tasks: tasks.map(({ id, status }) => ({ id, state: status.state })) };
	}
	return result;
}

/** Whether a 0.3 stream ends with this item: its last event says so itself (0.3 §7.2.2). */
export function endsV03Stream(item: unknown): boolean {
	return isObject(item) && item.final === true;
}
