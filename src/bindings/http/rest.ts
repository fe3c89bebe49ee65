/** The server half of the HTTP+JSON binding (§11): a verb, a path and a body in, a reply or a stream out. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Agent, Call, Caller } from "../../protocol/agent.ts";
import { A2AError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json.ts";
import { type Match, restParams } from "../../protocol/rest.ts";
import { checkVersion, type Dialect, dialectOf, REST_1_0 } from "./dialects.ts";
import { checkRequired, type Negotiated } from "./extensions.ts";
import { checkMediaType, utf8 } from "./gate.ts";
import { ask, isStreaming, open, told, traced } from "./operate.ts";
import {
	type EventText,
	errorHeaders,
	eventStream,
	type HttpReply,
	json,
	lastSeen,
	leave,
	problem,
	withId,
} from "./reply.ts";
import type { HttpRequest } from "./request.ts";

/** Where the binding is served: every path of §11.3 follows it, and those of 0.3, which begin with `/v1`. */
export const REST_BASE = "/rest";

export interface RestParts {
	readonly agent: Agent;
	readonly maxBodyBytes: number;
	/** Told of requests that failed. */
	readonly failed?: (error: unknown) => void;
	readonly clock: Clock;
	readonly log: Log;
}

export interface RestCall {
	readonly request: HttpRequest;
	/** Below the base, without query. */
	readonly path: string;
	/** Who calls; throws `UnauthorizedError`. Asked once it is known that there is something to call. */
	readonly caller: () => Caller;
	/** The version as it was sent (§3.2.6). */
	readonly version: string | undefined;
	readonly extensions: Negotiated;
}

type Found = Extract<Match, { readonly operation: unknown }>;

/** Answers one request. Never rejects: whatever goes wrong is an error of §11.6. */
export async function serveRest(parts: RestParts, incoming: RestCall): Promise<HttpReply> {
	const { request, path } = incoming;
	const dialect = dialectOf(path, incoming.version);
	const headers = { "content-type": dialect.type, ...incoming.extensions.headers };
	try {
		const found = dialect.match(request.method === "HEAD" ? "GET" : request.method, path);
		if (!found) throw new A2AError("MethodNotFoundError", "There is nothing at this path");
		if ("allow" in found) return wrongVerb(found.allow, dialect);
		if (request.method === "HEAD" && isStreaming(found.operation)) return wrongVerb(["GET", "POST"], dialect);
		const caller = incoming.caller();
		checkVersion(dialect, incoming.version);
		checkRequired(incoming.extensions);
		const call: Call = {
			caller,
			get signal() {
				return request.signal;
			},
			service: { version: dialect.version, extensions: incoming.extensions.active },
			...lastSeen(request.headers),
			...traced(request.headers),
		};
		const body = request.method === "POST" ? await bodyOf(request, parts.maxBodyBytes) : undefined;
		const params = dialect.params(found.operation, restParams(found, queryOf(request), body));
		return await perform(parts, { ...found, dialect, params, call }, headers);
	} catch (error) {
		parts.failed?.(error);
		return restFailure(error, parts.log, dialect, headers);
	}
}

/** The reply to a request that failed, or was not let in, in the form of the request. */
export function restFailure(
	error: unknown,
	log: Log,
	dialect: Dialect = REST_1_0,
	headers: Readonly<Record<string, string>> = {},
): HttpReply {
	const known = told(error, log);
	const { status, body } = dialect.error(known);
	return json(status, body, { "content-type": dialect.type, ...headers, ...errorHeaders(known) });
}

function wrongVerb(allow: readonly string[], { type }: Dialect): HttpReply {
	const verbs = (allow.includes("GET") ? [...allow, "HEAD"] : allow).join(", ");
	return problem(405, "UNIMPLEMENTED", `Use ${verbs} here`, { "content-type": type, allow: verbs });
}

function queryOf({ path }: HttpRequest): URLSearchParams {
	const at = path.indexOf("?");
	return new URLSearchParams(at === -1 ? "" : path.slice(at + 1));
}

/** The parsed body; `undefined` for none, which some operations do not need. */
async function bodyOf(request: HttpRequest, maxBytes: number): Promise<unknown> {
	const { headers } = request;
	// A body of the wrong kind is refused unread where it is announced; a gateway's channel does not announce it.
	if (headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0) checkMediaType(headers);
	const bytes = await request.body(maxBytes);
	if (bytes.length === 0) return undefined;
	checkMediaType(headers);
	return parseJson(utf8(bytes));
}

/** A request that was understood. */
interface Order {
	readonly operation: Found["operation"];
	readonly dialect: Dialect;
	/** In the form of 1.0, not decoded. */
	readonly params: unknown;
	readonly call: Call;
}

async function perform(parts: RestParts, order: Order, headers: Readonly<Record<string, string>>): Promise<HttpReply> {
	const { operation, dialect, params, call } = order;
	if (!isStreaming(operation)) {
		return json(200, dialect.result(operation, await ask(parts.agent, operation, params, call)), headers);
	}
	const items = open(parts.agent, operation, params, call);
	// A refusal comes before the first item and has its own status; later errors travel in the stream.
	const first = await items.next();
	const stream = { [Symbol.asyncIterator]: () => events(parts.log, order, first, items) };
	return eventStream(stream, parts.clock, { ...headers, "content-type": "text/event-stream" });
}

/** The JSON texts of a stream (§11.7). */
async function* events(
	log: Log,
	{ operation, dialect }: Order,
	first: IteratorResult<unknown>,
	items: AsyncIterator<unknown>,
): AsyncGenerator<EventText, void, undefined> {
	try {
		for (let next = first; !next.done; next = await items.next()) {
			const item = dialect.result(operation, next.value);
			yield withId(next.value, JSON.stringify(item));
			if (dialect.isLast(item)) return;
		}
	} catch (error) {
		yield { error: JSON.stringify(dialect.error(told(error, log)).body) };
	} finally {
		leave(items);
	}
}
