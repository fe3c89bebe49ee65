/** Tells of every exchange with a peer when it has ended, for the audit log and the metrics. */
import type { Clock } from "../lib/clock.ts";
import { clip, oneLine } from "../lib/text.ts";
import type { Agent, Call } from "../protocol/agent.ts";
import type { ManyReply, OneReply, OperationName, Params, Results } from "../protocol/operations.ts";
import { textOf } from "../protocol/parts.ts";
import { traceId } from "../protocol/trace.ts";
import type { StreamResponse, Task } from "../protocol/types.ts";

/** One operation at a peer, from question to answer. */
export interface Exchange {
	/** The peer's name in the directory. */
	readonly peer: string;
	readonly operation: OperationName;
	readonly taskId?: string;
	readonly contextId?: string;
	/** The task's state at the end of it; `MESSAGE` for a direct message. */
	readonly state?: string;
	/** Id of the trace that it belongs to, 32 hexadecimal digits. */
	readonly trace?: string;
	readonly durationMs: number;
	/** The beginning of what we sent. One line. */
	readonly preview?: string;
	/** Why it failed. One line. */
	readonly error?: string;
}

type Known = { -readonly [K in "taskId" | "contextId" | "state"]?: string };

const PREVIEW = 200;

/** `agent`, whose exchanges are told. A poll that brings nothing new is not. */
export function observed(agent: Agent, peer: string, clock: Clock, tell: (exchange: Exchange) => void): Agent {
	const polled = new Map<string, string>();

	function begin(operation: OperationName, params: object, { trace }: Call) {
		const began = clock.now();
		const known: Known = asked(params);
		const preview = previewOf(params);
		return {
			known,
			end(error?: unknown): void {
				if (operation === "GetTask" && known.taskId && known.state && error === undefined) {
					if (polled.get(known.taskId) === known.state) return;
					polled.set(known.taskId, known.state);
				}
				tell({
					peer,
					operation,
					...known,
					...(trace === undefined ? {} : { trace: traceId(trace) }),
					durationMs: clock.now() - began,
					...(preview ? { preview } : {}),
					...(error === undefined ? {} : { error: reason(error) }),
				});
			},
		};
	}

	return {
		async request<K extends OneReply>(operation: K, params: Params[K], call: Call) {
			const { known, end } = begin(operation, params, call);
			let result: Results[K];
			try {
				result = await agent.request(operation, params, call);
			} catch (error) {
				end(error);
				throw error;
			}
			learn(known, result);
			end();
			return result;
		},
		async *stream<K extends ManyReply>(operation: K, params: Params[K], call: Call) {
			const { known, end } = begin(operation, params, call);
			let failure: unknown;
			try {
				for await (const item of agent.stream(operation, params, call)) {
					learn(known, item);
					yield item;
				}
			} catch (error) {
				failure = error;
				throw error;
			} finally {
				end(failure);
			}
		},
	};
}

/** The ids that the parameters hold. */
function asked(params: object): Known {
	const { message, id, contextId } = params as {
		readonly message?: { readonly taskId?: string; readonly contextId?: string };
		readonly id?: string;
		readonly contextId?: string;
	};
	const task = message?.taskId ?? id;
	const context = message?.contextId ?? contextId;
	return { ...(task ? { taskId: task } : {}), ...(context ? { contextId: context } : {}) };
}

function previewOf(params: object): string {
	if (!("message" in params)) return "";
	const { message } = params as Params["SendMessage"];
	return oneLine(clip(textOf(message.parts), PREVIEW * 4), PREVIEW);
}

/** Takes over what a reply says of the task. */
function learn(known: Known, result: object): void {
	const item = result as Partial<Task> & Partial<Record<"task" | "message" | "statusUpdate", unknown>>;
	if (item.task) settle(known, item.task as Task);
	else if (item.statusUpdate) {
		const { taskId, contextId, status } = (result as Extract<StreamResponse, { statusUpdate: unknown }>).statusUpdate;
		settle(known, { id: taskId, contextId, status });
	} else if (item.message) known.state ??= "MESSAGE";
	else if (item.status && item.id) settle(known, item as Task);
}

function settle(known: Known, task: Pick<Task, "id" | "contextId" | "status">): void {
	known.taskId = task.id;
	if (task.contextId) known.contextId = task.contextId;
	known.state = task.status.state;
}

function reason(error: unknown): string {
	return oneLine(error instanceof Error ? error.message : String(error), PREVIEW);
}
