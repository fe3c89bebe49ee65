/** One operation asked of the agent, whatever the form in which it was called. */
import type { Log } from "../../lib/log.ts";
import type { Agent, Call } from "../../protocol/agent.ts";
import { decodeParams } from "../../protocol/decode.ts";
import { type A2AError, asA2AError } from "../../protocol/errors.ts";
import {
	type ManyReply,
	type OneReply,
	OPERATIONS,
	type OperationName,
	type Params,
} from "../../protocol/operations.ts";
import { readTrace, TRACE } from "../../protocol/trace.ts";

/** Whether an operation answers with a stream. */
export const isStreaming = (operation: OperationName): operation is ManyReply => OPERATIONS[operation].reply === "many";

/** The result of an operation. `params` are those of 1.0, undecoded. Throws `InvalidParamsError` and what the agent throws. */
export function ask<K extends OneReply>(agent: Agent, operation: K, params: unknown, call: Call): Promise<unknown> {
	return agent.request(operation, decodeParams[operation](params) as Params[K], call);
}

/** The items of a streaming operation; throws as `ask` does, the agent's refusal at the first item. */
export function open<K extends ManyReply>(
	agent: Agent,
	operation: K,
	params: unknown,
	call: Call,
): AsyncIterator<unknown> {
	return agent.stream(operation, decodeParams[operation](params) as Params[K], call)[Symbol.asyncIterator]();
}

/** `trace` of a call whose request has these headers; a `traceparent` that is none is passed over. */
export function traced(headers: Readonly<Record<string, string | undefined>>): { readonly trace?: string } {
	const trace = readTrace(headers[TRACE]);
	return trace === undefined ? {} : { trace };
}

/** What a caller may be told of an error. Faults of our own go to the log only. */
export function told(error: unknown, log: Log): A2AError {
	const known = asA2AError(error);
	if (known.name === "InternalError") log.warn("A request failed by a fault of ours", known.details.cause ?? error);
	return known;
}
