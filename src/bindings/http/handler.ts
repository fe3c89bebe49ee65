/**
 * The whole inbound HTTP surface as a function from request to reply; a port or a gateway's channel calls it.
 * Whatever comes in, a reply comes out: it never rejects.
 */
import type { Credential } from "../../guard/identity.ts";
import type { Clock } from "../../lib/clock.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Agent, Caller } from "../../protocol/agent.ts";
import { A2AError, asA2AError } from "../../protocol/errors.ts";
import type { AgentCard, AgentExtension } from "../../protocol/types.ts";
import { negotiate } from "./extensions.ts";
import { bearerToken, checkMediaType, checkSource, type GateOptions, utf8 } from "./gate.ts";
import type { Hooks } from "./hooks.ts";
import { PUSH_BASE } from "./hooks.ts";
import { rpcFailure, serveJsonRpc } from "./jsonrpc.ts";
import { traced } from "./operate.ts";
import { errorReply, type HttpReply, json, lastSeen, problem } from "./reply.ts";
import type { HttpRequest } from "./request.ts";
import { REST_BASE, restFailure, serveRest } from "./rest.ts";
import { CARD_PATHS, createCardReplies } from "./serve-card.ts";

export type { HttpReply } from "./reply.ts";
export type { HttpRequest } from "./request.ts";

export interface HandlerParts {
	/** Policies included. */
	readonly agent: Agent;
	/** Who calls; throws `UnauthorizedError`. */
	readonly identify: (credential: Credential) => Caller;
	/** The public card, as seen from where the request came in. */
	readonly card: (request: HttpRequest) => AgentCard;
	/** The extensions that it declares, where they can be had without making a card; else the card is asked. */
	readonly extensions?: () => readonly AgentExtension[];
	readonly gate: GateOptions;
	/** Whether a call about this task of the caller's, by an old name and without a version, means 0.3. */
	readonly isV03: (caller: Caller, taskId: string) => boolean;
	/** Largest body taken, in bytes. */
	readonly maxBodyBytes?: number;
	/** Takes what peers notify us of; a token of each webhook's own lets them in. */
	readonly hooks?: Pick<Hooks, "receive">;
	/** Whether there is room for work, served at `/health` to callers that are let in. */
	readonly readiness?: () => { readonly readiness: "ready" | "busy" | "draining" };
	/** Served at `/metrics` to callers that are let in. */
	readonly metrics?: () => object;
	/** Told of requests that were turned away for what they are, whoever sent them. */
	readonly refused?: (address: string, error: A2AError) => void;
	readonly log: Log;
	readonly clock?: Clock;
}

/** A file of ten megabytes fits in, in base64. */
export const MAX_BODY_BYTES = 16 * 1024 * 1024;

/** What a request is turned away with before it is read. Who is not known has an entry of its own (`identify`). */
const AT_THE_GATE: ReadonlySet<string> = new Set(["ForbiddenError", "MediaTypeError", "PayloadTooLargeError"]);

interface Route {
	/** A POST of JSON-RPC: its refusals are JSON-RPC errors. */
	readonly rpc?: boolean;
	/** Nobody has to say who they are. */
	readonly open?: boolean;
	/** May come down a gateway's channel. */
	readonly relayed?: boolean;
	readonly verb: "GET" | "POST";
	readonly answer: (request: HttpRequest, caller: Caller | undefined) => HttpReply | Promise<HttpReply>;
}

/** The handler for `listen`. */
export function createHandler(parts: HandlerParts): (request: HttpRequest) => Promise<HttpReply> {
	const { log } = parts;
	const routes = routesOf(parts);
	return async (request) => {
		const path = pathOf(request.path);
		const rest = path.startsWith(`${REST_BASE}/`);
		const route = rest ? undefined : routes.get(path);
		const hooks = path.startsWith(PUSH_BASE) && request.method === "POST" && !request.via ? parts.hooks : undefined;
		const rpc = route?.rpc === true && request.method === "POST";
		try {
			if (!request.via) checkSource(request.headers, hooks ? { ...parts.gate, authRequired: true } : parts.gate);
			if (hooks) return await hooks.receive(request, path.slice(PUSH_BASE.length));
			if (rest) return await callRest(parts, request, path.slice(REST_BASE.length));
			if (!route || (request.via && !route.relayed)) return problem(404, "NOT_FOUND", "There is nothing at this path");
			if (request.method !== route.verb && !(request.method === "HEAD" && route.verb === "GET")) {
				return wrongVerb(request, route);
			}
			const caller = route.open ? undefined : parts.identify(credentialOf(request));
			return await route.answer(request, caller);
		} catch (error) {
			tell(parts, request, error);
			if (rpc) return rpcFailure(null, error, log);
			if (rest) return restFailure(error, log);
			if (!(error instanceof A2AError)) log.warn("A request failed by a fault of ours", error);
			return errorReply(asA2AError(error));
		}
	};
}

function routesOf(parts: HandlerParts): ReadonlyMap<string, Route> {
	const { metrics } = parts;
	const cardReply = createCardReplies();
	const card: Route = {
		verb: "GET",
		open: true,
		relayed: true,
		answer: (request) => cardReply(parts.card(request), versionOf(request), request.headers["if-none-match"]),
	};
	return new Map<string, Route>([
		...CARD_PATHS.map((path): [string, Route] => [path, card]),
		["/", { verb: "POST", rpc: true, relayed: true, answer: (request, caller) => call(parts, request, caller) }],
		[
			"/health",
			{
				verb: "GET",
				answer: (request) => {
					const { name, version } = parts.card(request);
					const room = parts.readiness?.();
					// What stands in front of several agents sends its callers elsewhere.
					const status = room?.readiness === "draining" ? 503 : 200;
					return json(status, { status: "ok", name, version, ...room });
				},
			},
		],
		...(metrics ? [["/metrics", { verb: "GET", answer: () => json(200, metrics()) }] as [string, Route]] : []),
	]);
}

async function call(parts: HandlerParts, request: HttpRequest, caller: Caller | undefined): Promise<HttpReply> {
	if (!caller) throw new A2AError("UnauthorizedError");
	checkMediaType(request.headers);
	const bytes = await request.body(parts.maxBodyBytes ?? MAX_BODY_BYTES);
	return serveJsonRpc(
		{ agent: parts.agent, isV03: parts.isV03, clock: parts.clock ?? systemClock, log: parts.log },
		{
			text: utf8(bytes),
			caller,
			request,
			version: versionOf(request),
			extensions: negotiate(declared(parts, request), request.headers),
			...lastSeen(request.headers),
			...traced(request.headers),
		},
	);
}

function declared(parts: HandlerParts, request: HttpRequest): readonly AgentExtension[] {
	return parts.extensions?.() ?? parts.card(request).capabilities.extensions ?? [];
}

function tell({ refused }: HandlerParts, { remoteAddress }: HttpRequest, error: unknown): void {
	if (error instanceof A2AError && AT_THE_GATE.has(error.name)) refused?.(remoteAddress, error);
}

function callRest(parts: HandlerParts, request: HttpRequest, path: string): Promise<HttpReply> {
	const { agent, maxBodyBytes = MAX_BODY_BYTES, clock = systemClock, log } = parts;
	return serveRest(
		{ agent, maxBodyBytes, failed: (error) => tell(parts, request, error), clock, log },
		{
			request,
			path,
			caller: () => parts.identify(credentialOf(request)),
			version: versionOf(request),
			extensions: negotiate(declared(parts, request), request.headers),
		},
	);
}

/** The path without query and without a slash at its end. Not parsed as a URL: `//host/` is a path here. */
function pathOf(target: string): string {
	const path = target.split("?", 1)[0] ?? "";
	return path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
}

function wrongVerb(request: HttpRequest, route: Route): HttpReply {
	// A refused upgrade is no matter of methods.
	if (request.headers.upgrade?.toLowerCase() === "websocket") {
		return problem(400, "INVALID_ARGUMENT", "Web sockets are not served");
	}
	const allow = route.verb === "GET" ? "GET, HEAD" : route.verb;
	return problem(405, "UNIMPLEMENTED", `Use ${allow} here`, { allow });
}

/** §3.6.1: the version is a header, or a query parameter of the same name. */
function versionOf(request: HttpRequest): string | undefined {
	const header = request.headers["a2a-version"];
	if (header !== undefined && header.trim() !== "") return header;
	const at = request.path.indexOf("?");
	if (at === -1) return undefined;
	for (const [name, value] of new URLSearchParams(request.path.slice(at + 1))) {
		if (name.toLowerCase() === "a2a-version") return value;
	}
	return undefined;
}

function credentialOf(request: HttpRequest): Credential {
	const { headers, remoteAddress: address, via } = request;
	// Down a channel the gateway says whom it speaks for; that is a name to show and nothing more, like the other.
	const asserted = headers[via ? "x-gateway-caller" : "x-a2a-identity"];
	const said = asserted === undefined ? {} : { asserted };
	if (via) return { scheme: "gateway", key: via.gateway, address, ...said };
	const token = bearerToken(headers.authorization);
	return token === undefined ? { scheme: "none", address, ...said } : { scheme: "bearer", token, address, ...said };
}
