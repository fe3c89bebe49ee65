/** The server half of the HTTP+JSON binding (§11): a verb, a path and a body in, a reply or a stream out. */
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Agent, Call, Caller } from "../../protocol/agent.ts";
import { A2AError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json.ts";
import { type Match, match, REST_MEDIA_TYPE, restError, restParams } from "../../protocol/rest.ts";
import { readExtensions, readVersion } from "../../protocol/version.ts";
import { checkMediaType, utf8 } from "./gate.ts";
import { ask, isStreaming, open, told } from "./operate.ts";
import { type EventText, errorReply, eventStream, type HttpReply, json, leave, problem } from "./reply.ts";
import type { HttpRequest } from "./request.ts";

/** Where the binding is served: every path of §11.3 follows it. */
export const REST_BASE = "/rest";

export interface RestParts {
	readonly agent: Agent;
	readonly maxBodyBytes: number;
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
	/** Headers for the reply. */
	readonly headers: Readonly<Record<string, string>>;
}

type Found = Extract<Match, { readonly operation: unknown }>;

const TYPE = { "content-type": REST_MEDIA_TYPE };

/** Answers one request. Never rejects: whatever goes wrong is an error of §11.6. */
export async function serveRest(parts: RestParts, incoming: RestCall): Promise<HttpReply> {
	const { request, path } = incoming;
	const headers = { ...TYPE, ...incoming.headers };
	try {
		const found = match(request.method === "HEAD" ? "GET" : request.method, path);
		if (!found) throw new A2AError("MethodNotFoundError", "There is nothing at this path");
		if ("allow" in found) return wrongVerb(found.allow);
		if (request.method === "HEAD" && isStreaming(found.operation)) return wrongVerb(["GET", "POST"]);
		const caller = incoming.caller();
		checkVersion(incoming.version);
		const call: Call = {
			caller,
			get signal() {
				return request.signal;
			},
			service: { version: "1.0", extensions: readExtensions(request.headers["a2a-extensions"]) },
		};
		const body = request.method === "POST" ? await bodyOf(request, parts.maxBodyBytes) : undefined;
		return await perform(parts, found, restParams(found, queryOf(request), body), call, headers);
	} catch (error) {
		return restFailure(error, parts.log, headers);
	}
}

/** The reply to a request that failed, or was not let in. */
export function restFailure(error: unknown, log: Log, headers: Readonly<Record<string, string>> = TYPE): HttpReply {
	return errorReply(told(error, log), headers);
}

function wrongVerb(allow: readonly string[]): HttpReply {
	const verbs = (allow.includes("GET") ? [...allow, "HEAD"] : allow).join(", ");
	return problem(405, "UNIMPLEMENTED", `Use ${verbs} here`, { ...TYPE, allow: verbs });
}

/** §3.6.2: no version means 0.3, and this interface has never been one of 0.3. */
function checkVersion(version: string | undefined): void {
	if (readVersion(version) === "1.0") return;
	const text = "This interface speaks A2A 1.0 only, and a request without A2A-Version means 0.3";
	throw new A2AError("VersionNotSupportedError", text, { metadata: { supported: "1.0" } });
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

async function perform(
	parts: RestParts,
	{ operation }: Found,
	params: unknown,
	call: Call,
	headers: Readonly<Record<string, string>>,
): Promise<HttpReply> {
	if (!isStreaming(operation)) return json(200, await ask(parts.agent, operation, params, call), headers);
	const items = open(parts.agent, operation, params, call);
	// A refusal comes before the first item and has its own status; later errors travel in the stream.
	const first = await items.next();
	const stream = { [Symbol.asyncIterator]: () => events(parts.log, first, items) };
	return eventStream(stream, parts.clock, { ...headers, "content-type": "text/event-stream" });
}

/** The JSON texts of a stream: the items as they are (§11.7). */
async function* events(
	log: Log,
	first: IteratorResult<unknown>,
	items: AsyncIterator<unknown>,
): AsyncGenerator<EventText, void, undefined> {
	try {
		for (let next = first; !next.done; next = await items.next()) yield JSON.stringify(next.value);
	} catch (error) {
		yield { error: JSON.stringify(restError(told(error, log)).body) };
	} finally {
		leave(items);
	}
}
