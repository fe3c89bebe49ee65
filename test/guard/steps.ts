/** Calls as policies see them. */
import { newMessageId } from "../../src/lib/ids.ts";
import type { Call, Caller, Step } from "../../src/protocol/agent.ts";
import { contextId, type JsonObject, type Message, taskId } from "../../src/protocol/types.ts";

export function caller(id: string, label = id): Caller {
	return { id, label, authenticated: true, loopback: false };
}

const call = (by: Caller, trace?: string): Call => ({
	...(trace === undefined ? {} : { trace }),
	caller: by,
	signal: new AbortController().signal,
	service: { version: "1.0", extensions: [] },
});

interface Said {
	readonly messageId?: string;
	readonly trace?: string;
	readonly text?: string;
	readonly contextId?: string;
	readonly taskId?: string;
	readonly metadata?: JsonObject;
}

/** A SendMessage of `by`. */
export function send(by: string | Caller, said: Said = {}): Step {
	const message: Message = {
		messageId: said.messageId ?? newMessageId(),
		role: "ROLE_USER",
		parts: [{ text: said.text ?? "hello" }],
		...(said.contextId === undefined ? {} : { contextId: contextId(said.contextId) }),
		...(said.taskId === undefined ? {} : { taskId: taskId(said.taskId) }),
		...(said.metadata === undefined ? {} : { metadata: said.metadata }),
	};
	return {
		operation: "SendMessage",
		params: { message },
		call: call(typeof by === "string" ? caller(by) : by, said.trace),
	};
}

/** A GetTask of `by`. */
export function get(by: string, id: string): Step {
	return { operation: "GetTask", params: { id: taskId(id) }, call: call(caller(by)) };
}

/** A CancelTask of `by`. */
export function cancel(by: string, id: string): Step {
	return { operation: "CancelTask", params: { id: taskId(id) }, call: call(caller(by)) };
}
