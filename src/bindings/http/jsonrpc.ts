/** The server half of the JSON-RPC binding (§9): a body in, a reply or a stream of replies out. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Agent, Call, Caller } from "../../protocol/agent.ts";
import { A2AError, ERRORS, type ErrorName } from "../../protocol/errors.ts";
import { failure, type Method, operationFor, type RpcId, readRequest, reply } from "../../protocol/jsonrpc.ts";
import { readVersion } from "../../protocol/version.ts";
import { checkRequired, type Negotiated } from "./extensions.ts";
import { ask, isStreaming, open, told } from "./operate.ts";
import { type EventText, errorHeaders, eventStream, type HttpReply, json, leave, withId } from "./reply.ts";
import { endsV03Stream, fromCore, type Shape, shapeOf, toCore } from "./shapes.ts";

export interface RpcParts {
	readonly agent: Agent;
	/** Whether a call about this task of the caller's, by an old name and without a version, means 0.3. */
	readonly isV03: (caller: Caller, taskId: string) => boolean;
	readonly clock: Clock;
	readonly log: Log;
}

export interface RpcCall {
	/** The body. */
	readonly text: string;
	readonly caller: Caller;
	/** Its signal is made when somebody asks for it: most calls are answered without one. */
	readonly request: { readonly signal: AbortSignal };
	/** The version as it was sent (§3.2.6). */
	readonly version: string | undefined;
	readonly extensions: Negotiated;
	/** See `Call.after`. */
	readonly after?: string;
	/** See `Call.trace`. */
	readonly trace?: string;
}

/** A request that was understood. */
interface Order {
	readonly id: RpcId;
	readonly method: Method;
	readonly shape: Shape;
	/** In the form of 1.0, not decoded. */
	readonly params: unknown;
	readonly call: Call;
}

/** Answers one request. Never rejects: whatever goes wrong is a JSON-RPC error (§9.5). */
export async function serveJsonRpc(parts: RpcParts, incoming: RpcCall): Promise<HttpReply> {
	let id: RpcId = null;
	try {
		const request = readRequest(incoming.text);
		if (request.id === undefined)
			throw new A2AError("InvalidRequestError", "Not a valid JSON-RPC request: id is missing");
		id = request.id;
		const version = readVersion(incoming.version);
		const method = operationFor(request.method);
		if (!method) throw new A2AError("MethodNotFoundError", "Method not found");
		const { caller, request: origin } = incoming;
		const shape = shapeOf(method, request.params, version, (task) => parts.isV03(caller, task));
		checkRequired(incoming.extensions);
		const extensions = incoming.extensions.active;
		// Who sends 1.0 data and names no version may well go on by an old name (Hermes mixes them).
		const legacy = shape === "legacy" || (shape === "1.0" && version === undefined) ? { legacy: true } : {};
		const service = { version: shape === "0.3" ? "0.3" : "1.0", extensions, ...legacy } as const;
		const call: Call = {
			caller,
			get signal() {
				return origin.signal;
			},
			service,
			...(incoming.after === undefined ? {} : { after: incoming.after }),
			...(incoming.trace === undefined ? {} : { trace: incoming.trace }),
		};
		const params = toCore(method.operation, shape, request.params);
		return await perform(parts, { id, method, shape, params, call }, incoming.extensions.headers);
	} catch (error) {
		return rpcFailure(id, error, parts.log, incoming.extensions.headers);
	}
}

async function perform(parts: RpcParts, order: Order, headers: Readonly<Record<string, string>>): Promise<HttpReply> {
	const { id, shape, params, call } = order;
	const { operation } = order.method;
	if (isStreaming(operation)) {
		try {
			const items = open(parts.agent, operation, params, call);
			// A refusal comes before the first item and is then a plain error; later ones travel in the stream.
			const first = await items.next();
			return eventStream({ [Symbol.asyncIterator]: () => events(parts, order, first, items) }, parts.clock, headers);
		} catch (error) {
			if (shape !== "0.3") throw error;
			return refusedStream(parts, id, error, headers);
		}
	}
	const result = await ask(parts.agent, operation, params, call);
	return json(200, reply(id, fromCore(operation, shape, result) ?? null), headers);
}

/** The JSON texts of a stream. */
async function* events(
	parts: RpcParts,
	order: Order,
	first: IteratorResult<unknown>,
	items: AsyncIterator<unknown>,
): AsyncGenerator<EventText, void, undefined> {
	const { id, shape } = order;
	try {
		for (let next = first; !next.done; next = await items.next()) {
			const item = fromCore(order.method.operation, shape, next.value);
			yield withId(next.value, JSON.stringify(reply(id, item)));
			if (shape === "0.3" && endsV03Stream(item)) return;
		}
	} catch (error) {
		yield JSON.stringify(failure(id, told(error, parts.log)));
	} finally {
		leave(items);
	}
}

/**
 * The reply to a 0.3 caller whose stream does not begin. Clients of 0.3 read nothing but an event stream as the answer
 * to a streaming call and would not see why; where the status says that much, a plain error does.
 */
function refusedStream(
	parts: RpcParts,
	id: RpcId,
	error: unknown,
	headers: Readonly<Record<string, string>>,
): HttpReply {
	const plain = rpcFailure(id, error, parts.log, headers);
	const { status, body } = plain;
	return status === 200 && typeof body === "string" ? eventStream(only(body), parts.clock, headers) : plain;
}

async function* only<T>(item: T): AsyncGenerator<T, void, undefined> {
	yield item;
}

/** The reply to a request that failed, or was not let in (`id` null). Faults of our own go to the log only. */
export function rpcFailure(
	id: RpcId,
	error: unknown,
	log: Log,
	headers: Readonly<Record<string, string>> = {},
): HttpReply {
	const known = told(error, log);
	return json(statusOf(known.name), failure(id, known), { ...headers, ...errorHeaders(known) });
}

/** Errors of the protocol travel in a 200 (§9.5); those of access, size and load have their status, for what is between. */
function statusOf(name: ErrorName): number {
	const { jsonrpc, http } = ERRORS[name];
	const ofHttp = name === "PayloadTooLargeError" || name === "MediaTypeError" || name === "RequestTimeoutError";
	return ofHttp || (jsonrpc <= -32050 && jsonrpc >= -32099) ? http : 200;
}
