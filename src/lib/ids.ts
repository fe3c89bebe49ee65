/** The only place where ids are minted. */
import { randomBytes } from "node:crypto";
import { type ContextId, contextId, type TaskId, taskId } from "../protocol/types.ts";

/** `prefix-` and 16 random hexadecimal digits. */
export const newId = (prefix: string): string => `${prefix}-${randomBytes(8).toString("hex")}`;
/** `task-…` */
export const newTaskId = (): TaskId => taskId(newId("task"));
/** `ctx-…` */
export const newContextId = (): ContextId => contextId(newId("ctx"));
/** `msg-…` */
export const newMessageId = (): string => newId("msg");
