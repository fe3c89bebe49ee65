/**
 * The HTTP+JSON binding (§11) as values: the operations' table read as routes, parameters gathered from path, query
 * and body, and the same the other way for the client. No sockets here.
 */
import { A2AError, ERRORS, type ErrorName, errorInfo } from "./errors.ts";
import { isObject } from "./json.ts";
import { peerDetails, peerText } from "./jsonrpc.ts";
import { OPERATIONS, type Operation, type OperationName, type Params } from "./operations.ts";

/** The media type of the binding (§11.1). */
export const REST_MEDIA_TYPE = "application/a2a+json";

interface Route {
	readonly operation: OperationName;
	readonly verbs: readonly string[];
	readonly pattern: RegExp;
	/** Names of the path's parameters, in order. */
	readonly names: readonly string[];
}

const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

function routeOf(operation: OperationName): Route {
	const { path, verbs }: Operation = OPERATIONS[operation];
	const names: string[] = [];
	const pattern = path.split(/(\{\w+\})/).map((piece) => {
		if (!piece.startsWith("{")) return literal(piece);
		names.push(piece.slice(1, -1));
		return "([^/]+?)";
	});
	return { operation, verbs, names, pattern: new RegExp(`^${pattern.join("")}$`) };
}

// The paths with a verb of their own first: `/tasks/{id}:cancel` is also a `/tasks/{id}`.
const ROUTES: readonly Route[] = (Object.keys(OPERATIONS) as OperationName[])
	.map(routeOf)
	.sort((a, b) => Number(b.pattern.source.includes(":")) - Number(a.pattern.source.includes(":")));

/** What a verb and a path mean (§11.3). */
export type Match =
	| { readonly operation: OperationName; readonly params: Readonly<Record<string, string>> }
	/** The path is one of ours, the verb is not: 405 with these in `Allow`. */
	| { readonly allow: readonly string[] };

function decoded(segment: string): string {
	try {
		return decodeURIComponent(segment);
	} catch (cause) {
		throw new A2AError("InvalidRequestError", "The path has a broken percent escape", { cause });
	}
}

function matchBare(verb: string, path: string): Match | undefined {
	const allow = new Set<string>();
	for (const route of ROUTES) {
		const found = route.pattern.exec(path);
		if (!found) continue;
		if (!route.verbs.includes(verb)) {
			for (const each of route.verbs) allow.add(each);
			// A path that names its verb is nothing else.
			if (route.pattern.source.includes(":")) break;
			continue;
		}
		const params = route.names.map((name, index) => [name, decoded(found[index + 1] ?? "")]);
		return { operation: route.operation, params: Object.fromEntries(params) };
	}
	return allow.size > 0 ? { allow: [...allow] } : undefined;
}

/**
 * The operation that a verb and a path (below the base, without query) mean, §11.3; a first segment before one of the
 * paths is the tenant. `undefined`: none of ours (404). Throws `InvalidRequestError` for a broken percent escape.
 */
export function match(verb: string, path: string): Match | undefined {
	const trimmed = path.length > 1 ? path.replace(/\/$/, "") : path;
	const bare = matchBare(verb, trimmed);
	if (bare) return bare;
	const [, tenant, rest] = /^\/([^/]+)(\/.+)$/.exec(trimmed) ?? [];
	const inner = tenant === undefined || rest === undefined ? undefined : matchBare(verb, rest);
	if (!inner || tenant === undefined || "allow" in inner) return inner;
	return { ...inner, params: { tenant: decoded(tenant), ...inner.params } };
}

const BOOLEANS: ReadonlySet<string> = new Set(["includeArtifacts"]);
const asBoolean: ReadonlyMap<string, boolean> = new Map([
	["true", true],
	["false", false],
]);

/** The query as members (§11.5). Numbers stay decimal strings, which decoders read; a boolean that is none stays text. */
function queryParams(query: URLSearchParams): Record<string, unknown> {
	const members = [...query].map(([name, value]) => [
		name,
		BOOLEANS.has(name) ? (asBoolean.get(value) ?? value) : value,
	]);
	return Object.fromEntries(members);
}

/**
 * The parameters of a request, still to be decoded: those of the body, or of the query when there is no body, and over
 * them those of the path. `body` is the parsed body, `undefined` when there was none or the verb has none. Throws
 * `InvalidParamsError` for a body that is no object.
 */
export function restParams(
	matched: Extract<Match, { operation: unknown }>,
	query: URLSearchParams,
	body: unknown,
): unknown {
	if (body !== undefined && !isObject(body))
		throw new A2AError("InvalidParamsError", "The body must be a JSON object", {
			violations: [{ field: "", description: "expected an object" }],
		});
	return { ...(body ?? queryParams(query)), ...matched.params };
}

/** A request of our client: the path below the interface's URL with its query, and the body where the verb has one. */
export interface RestRequest {
	readonly verb: "GET" | "POST" | "DELETE";
	readonly path: string;
	readonly body?: object;
}

/** One segment of a path. Throws `InvalidParamsError` for what cannot be one: URLs have a meaning of their own for dots. */
function segment(field: string, value: unknown): string {
	const text = String(value);
	if (/^\.{0,2}$/.test(text) || /\p{Surrogate}/u.test(text)) {
		const description = "cannot stand in a path";
		throw new A2AError("InvalidParamsError", `${field}: ${description}`, { violations: [{ field, description }] });
	}
	return encodeURIComponent(text);
}

/**
 * An operation as an HTTP+JSON request (§11.3, §11.5). The tenant becomes the first segment of the path. Throws
 * `InvalidParamsError` for an id that cannot stand in a path.
 */
export function buildRest<K extends OperationName>(operation: K, params: Params[K]): RestRequest {
	const { path, verbs }: Operation = OPERATIONS[operation];
	const { tenant, ...rest }: { readonly tenant?: string; readonly [name: string]: unknown } = { ...params };
	const inPath = new Set<string>();
	const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
		inPath.add(name);
		return segment(name, rest[name]);
	});
	const whole = `${tenant === undefined || tenant === "" ? "" : `/${segment("tenant", tenant)}`}${filled}`;
	const others = Object.entries(rest).filter(([name, value]) => !inPath.has(name) && value !== undefined);
	const verb = verbs[0] ?? "GET";
	if (verb === "POST") return { verb, path: whole, body: Object.fromEntries(others) };
	const query = new URLSearchParams(others.map(([name, value]): [string, string] => [name, String(value)])).toString();
	return { verb, path: query === "" ? whole : `${whole}?${query}` };
}

/** An error as the binding answers it (§11.6): a google.rpc.Status, with the HTTP status it goes with. */
export function restError(error: A2AError): { readonly status: number; readonly body: object } {
	const { http, grpc } = ERRORS[error.name];
	return {
		status: http,
		body: { error: { code: http, status: grpc, message: error.message, details: errorInfo(error) } },
	};
}

const BY_REASON: ReadonlyMap<unknown, ErrorName> = new Map(
	(Object.keys(ERRORS) as ErrorName[]).map((name) => [errorInfo(new A2AError(name))[0]?.reason, name]),
);
const BY_STATUS: ReadonlyMap<number, ErrorName> = new Map([
	[400, "InvalidParamsError"],
	[401, "UnauthorizedError"],
	[403, "ForbiddenError"],
	[404, "TaskNotFoundError"],
	[405, "MethodNotFoundError"],
	[413, "PayloadTooLargeError"],
	[415, "MediaTypeError"],
	[429, "RateLimitedError"],
	[503, "BusyError"],
]);

/**
 * A peer's refusal as our error: by the reason in its ErrorInfo (§11.6), else by the HTTP status, else `InternalError`.
 * `body` is the parsed body, `undefined` when it was no JSON. The status stands in `details.metadata.code`.
 */
export function readRestError(status: number, body: unknown): A2AError {
	const error = isObject(body) && isObject(body.error) ? body.error : {};
	const details = Array.isArray(error.details) ? error.details : [];
	const reason = details.filter(isObject).find((detail) => BY_REASON.has(detail.reason))?.reason;
	const name = BY_REASON.get(reason) ?? BY_STATUS.get(status) ?? "InternalError";
	return new A2AError(name, peerText(error.message, ERRORS[name].message), peerDetails(String(status), details));
}
