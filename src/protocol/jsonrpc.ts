/** The JSON-RPC 2.0 envelopes of the JSON-RPC binding (§9), both ends: requests read, replies written and read. */
import {
	A2AError,
	ERRORS,
	type ErrorDetails,
	type ErrorName,
	errorInfo,
	errorNamed,
	type FieldViolation,
} from "./errors.ts";
import { isDeeperThan, isObject, MAX_DEPTH, parseJson } from "./json.ts";
import { OPERATIONS, type OperationName } from "./operations.ts";

/** The id of a request; a reply carries the same, in type and value. */
export type RpcId = string | number | null;

/** Longer ids are refused, since every event of a stream repeats them. */
const MAX_ID = 4096;

/** A single JSON-RPC request (§9.3), its params not decoded yet. */
export interface RpcRequest {
	/** `undefined`: a notification, which has no id. */
	readonly id: RpcId | undefined;
	readonly method: string;
	/** Whatever stood there; `undefined` when absent or null. */
	readonly params: unknown;
}

const invalid = (why: string) => new A2AError("InvalidRequestError", `Not a valid JSON-RPC request: ${why}`);

function readId(value: unknown): RpcId | undefined {
	if (value === undefined || value === null) return value;
	if (typeof value === "string" && value.length <= MAX_ID) return value;
	// A number too large for a double has become Infinity, which JSON cannot say back.
	if (typeof value === "number" && Number.isFinite(value)) return value;
	throw invalid("id must be a string, a number or null");
}

/**
 * The request in the body of a POST (§9.3). Throws `ParseError` for what is no JSON and `InvalidRequestError` for JSON
 * that is no single request: batches are not served. The reply to either has the id null, as JSON-RPC asks.
 */
export function readRequest(bodyText: string): RpcRequest {
	const body = parseJson(bodyText);
	if (Array.isArray(body)) throw invalid("batches are not supported");
	if (!isObject(body)) throw invalid("the body must be an object");
	const id = readId(body.id);
	if (body.jsonrpc !== "2.0") throw invalid('jsonrpc must be "2.0"');
	if (typeof body.method !== "string") throw invalid("method must be a string");
	return { id, method: body.method, params: body.params ?? undefined };
}

/** The envelope of a success; for a stream, of each item (§9.4). */
export function reply(id: RpcId, result: unknown): object {
	return { jsonrpc: "2.0", id, result };
}

/** The envelope of a failure (§9.5); `id` is null when the request's own could not be read. */
export function failure(id: RpcId, error: A2AError): object {
	return {
		jsonrpc: "2.0",
		id,
		error: { code: ERRORS[error.name].jsonrpc, message: error.message, data: errorInfo(error) },
	};
}

/** The envelope of a request of ours (§9.3). */
export function request(id: RpcId, method: string, params: unknown): object {
	return params === undefined ? { jsonrpc: "2.0", id, method } : { jsonrpc: "2.0", id, method, params };
}

const malformed = (why: string) =>
	new A2AError("InvalidAgentResponseError", `The peer's reply is not valid JSON-RPC: ${why}`);

/** Text of a peer, as it may stand in an error of ours: one line, bounded. */
export function peerText(value: unknown, fallback: string): string {
	const line = typeof value === "string" ? value.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, " ").trim() : "";
	return line === "" ? fallback : line.length > 500 ? `${line.slice(0, 499)}…` : line;
}

function peerViolations(details: unknown): FieldViolation[] {
	const found: FieldViolation[] = [];
	for (const detail of Array.isArray(details) ? details.slice(0, 20) : []) {
		if (!isObject(detail) || !Array.isArray(detail.fieldViolations)) continue;
		for (const violation of detail.fieldViolations.slice(0, 20)) {
			if (!isObject(violation)) continue;
			found.push({ field: peerText(violation.field, "?"), description: peerText(violation.description, "invalid") });
		}
	}
	return found;
}

/** What a peer's error details tell (§9.5, §11.6): its own code, and the fields it found wrong. */
export function peerDetails(code: string, details: unknown): ErrorDetails {
	const violations = peerViolations(details);
	return { metadata: { code }, ...(violations.length > 0 ? { violations } : {}) };
}

/**
 * The name of a peer's error. There are servers that answer every error of theirs as an internal one (the official
 * JavaScript SDK of 0.3 as CommonJS does); that a task is not there must be known all the same.
 */
function nameOf(code: number, message: unknown): ErrorName {
	const name = errorNamed(code) ?? "InternalError";
	return name === "InternalError" && typeof message === "string" && /^task not found\b/i.test(message)
		? "TaskNotFoundError"
		: name;
}

/** An error of a peer's as ours: by its JSON-RPC code where that has a name, else `InternalError`. */
function peerError(error: Readonly<Record<string, unknown>>): A2AError {
	const { code } = error;
	if (typeof code !== "number" || !Number.isInteger(code)) return malformed("its error has no code");
	const name = nameOf(code, error.message);
	return new A2AError(name, peerText(error.message, ERRORS[name].message), peerDetails(String(code), error.data));
}

/**
 * The result in a reply, or in one event of a stream. Throws the peer's error (its code in `details.metadata.code`),
 * or `InvalidAgentResponseError` when the envelope is not the one of a reply to the request `id`. Only an error may
 * come with the id null: a peer that could not read the request has no other. `isVoid`: the operation has no result;
 * 0.3 answers such a one with null, which the official Python SDK leaves out.
 */
export function readReply(value: unknown, id: RpcId, isVoid = false): unknown {
	if (!isObject(value)) throw malformed("it is no object");
	if (value.jsonrpc !== "2.0") throw malformed('it lacks jsonrpc: "2.0"');
	const failed = isObject(value.error);
	if (value.id !== id && !(failed && (value.id === null || value.id === undefined)))
		throw malformed("its id is not that of the request");
	if (isObject(value.error)) throw peerError(value.error);
	// null is a result, absence is none.
	if (value.result === undefined && isVoid) return null;
	if (value.result === undefined) throw malformed("it has neither a result nor an error");
	if (isDeeperThan(value.result, MAX_DEPTH)) throw malformed(`its result is nested more than ${MAX_DEPTH} levels deep`);
	return value.result;
}

/** What a method name means (§5.3). */
export interface Method {
	readonly operation: OperationName;
	/** How the method is spelled: the 1.0 name, or one of the older path-like names. */
	readonly style: "1.0" | "path";
}

const METHODS: ReadonlyMap<string, Method> = new Map(
	(Object.keys(OPERATIONS) as OperationName[]).flatMap((operation): [string, Method][] => [
		[operation, { operation, style: "1.0" }],
		...OPERATIONS[operation].aliases.map((alias): [string, Method] => [alias, { operation, style: "path" }]),
	]),
);

/** The operation a method name means (§5.3; 0.3 §3.5.6), matched with its case; `undefined`: there is no such method. */
export function operationFor(method: string): Method | undefined {
	return METHODS.get(method);
}
