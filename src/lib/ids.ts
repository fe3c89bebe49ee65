/** The only place where ids are minted. */
import { randomUUID } from "node:crypto";
import { type ContextId, contextId, type TaskId, taskId } from "../protocol/types.ts";

/** `prefix-` and 16 random hexadecimal digits. */
export function newId(prefix: string): string {
	// The first and the last eight digits of a version 4 UUID are all random, and it is the cheapest source there is.
	const uuid = randomUUID();
	return `${prefix}-${uuid.slice(0, 8)}${uuid.slice(-8)}`;
}
/** `task-…` */
export const newTaskId = (): TaskId => taskId(newId("task"));
/** `ctx-…` */
export const newContextId = (): ContextId => contextId(newId("ctx"));
/** `msg-…` */
export const newMessageId = (): string => newId("msg");
