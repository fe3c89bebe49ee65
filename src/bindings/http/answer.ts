/** What the answer of a peer means: the value in it, or the error that it stands for. */
import { oneLine } from "../../lib/text.ts";
import { A2AError, ERRORS, type ErrorName, errorNamed } from "../../protocol/errors.ts";
import { isObject, parseJson } from "../../protocol/json.ts";
import { type RpcId, readReply } from "../../protocol/jsonrpc.ts";
import { readRestError } from "../../protocol/rest.ts";
import { isProtoError, readProtoError } from "../../protocol/v03/index.ts";
import { type Answer, place } from "./exchange.ts";
import { retryAfter } from "./fetch.ts";
import { essence } from "./gate.ts";

/** JSON of any kind is taken (`application/a2a+json`, `application/problem+json`, none said at all). */
export function isJson(answer: Answer): boolean {
	const type = essence(answer.headers["content-type"]);
	return type === "" || type === "application/json" || type.endsWith("+json");
}

/**
 * The result in the JSON-RPC reply to the request `id`; `isVoid` as `readReply` has it. Throws the peer's error, the
 * error that the HTTP status stands for, or `InvalidAgentResponseError` with one line of reason.
 */
export function resultIn(
	answer: Answer,
	bytes: Buffer,
	{ id, isVoid, now }: { readonly id: RpcId; readonly isVoid: boolean; readonly now: number },
): unknown {
	const good = answer.status >= 200 && answer.status < 300;
	const value = valueIn(answer, bytes);
	// Gateways answer these with JSON-RPC errors whose codes are their own, so here the status is what counts.
	if (answer.status === 401 || answer.status === 403 || answer.status === 429) {
		throw refusal(answer, bytes, "the call", now);
	}
	if (value !== undefined && (good || (isObject(value) && value.jsonrpc !== undefined))) {
		return readReply(value, id, isVoid);
	}
	throw good ? notJson(answer) : refusal(answer, bytes, "the call", now);
}

/**
 * The result in an answer of the HTTP+JSON binding (§11.4, §11.6). An answer of success without a body is an empty
 * result. Throws as `resultIn` does.
 */
export function restResultIn(answer: Answer, bytes: Buffer, now: number): unknown {
	const value = valueIn(answer, bytes);
	if (answer.status >= 200 && answer.status < 300) {
		if (value !== undefined) return value;
		if (bytes.length === 0) return {};
		throw notJson(answer);
	}
	// Only what has the form of the binding is the peer's own word; anything else may come from what is in between.
	const said = restErrorIn(value, answer.status);
	if (!said) throw refusal(answer, bytes, "the call", now);
	const { name, message, details } = said;
	const wait = retryAfter(answer, now);
	throw new A2AError(name, message, {
		...details,
		metadata: { ...details.metadata, status: String(answer.status) },
		...(wait > 0 ? { retryAfter: wait / 1000 } : {}),
	});
}

/** The error that a value is, in the form of 1.0 (§11.6) or of 0.3; `undefined` when it is none. `status`: the HTTP one, if any. */
export function restErrorIn(value: unknown, status?: number): A2AError | undefined {
	if (isProtoError(value)) return readProtoError(value);
	if (!isObject(value) || !isObject(value.error)) return undefined;
	const { code } = value.error;
	return typeof code === "number" && code >= 400 ? readRestError(status ?? code, value) : undefined;
}

function notJson(answer: Answer): A2AError {
	const type = oneLine(essence(answer.headers["content-type"]) || "no content type", 60);
	const what = isJson(answer) ? `${type}, but not one JSON value` : `${type} instead of JSON`;
	return new A2AError(
		"InvalidAgentResponseError",
		`${place(answer.url)} answered with ${what} (HTTP ${answer.status})`,
	);
}

function valueIn(answer: Answer, bytes: Buffer): unknown {
	if (!isJson(answer)) return undefined;
	try {
		return parseJson(bytes.toString("utf8"));
	} catch (error) {
		// What is no JSON is judged by the status; only JSON that is nested too deeply has an error of its own.
		if (error instanceof A2AError && error.name !== "ParseError") {
			throw new A2AError("InvalidAgentResponseError", `The reply of ${place(answer.url)}: ${error.message}`);
		}
		return undefined;
	}
}

/** The statuses that mean something of their own; of the others, 5xx are about the peer's health. */
const BY_STATUS: Readonly<Record<number, ErrorName>> = {
	401: "UnauthorizedError",
	403: "ForbiddenError",
	408: "PeerTimeoutError",
	413: "PayloadTooLargeError",
	429: "RateLimitedError",
	504: "PeerTimeoutError",
};
const SAYS: Readonly<Record<number, string>> = {
	401: "asks for other credentials than it was given",
	403: "does not allow",
	404: "has nothing at this address for",
	405: "has nothing at this address for",
	413: "takes no message of this size in",
	429: "is asked too often for",
};

/** The error that an answer of no success stands for. `what` was asked for. */
export function refusal(answer: Answer, bytes: Buffer, what: string, now: number): A2AError {
	const { status } = answer;
	const told = toldIn(answer, bytes);
	const named = told.code === undefined ? undefined : errorNamed(told.code);
	// An error of our own range says more than the status, as long as it is the same kind of refusal.
	const same = named !== undefined && ERRORS[named].http === status ? named : undefined;
	const name = same ?? BY_STATUS[status] ?? (status >= 500 ? "PeerUnreachableError" : "InvalidAgentResponseError");
	const wait = retryAfter(answer, now);
	const rest = [told.text, wait > 0 ? `it asks to wait ${Math.ceil(wait / 1000)} s` : ""].filter(Boolean).join("; ");
	const says = SAYS[status] ?? "failed on";
	const text = `${place(answer.url)} ${says} ${what} (HTTP ${status}${rest ? `: ${rest}` : ""})`;
	return new A2AError(name, text, {
		metadata: { status: String(status), ...(told.code === undefined ? {} : { code: String(told.code) }) },
		...(wait > 0 ? { retryAfter: wait / 1000 } : {}),
	});
}

/** The error code and the words in the body of a refusal, whatever its form. */
function toldIn(answer: Answer, bytes: Buffer): { readonly code?: number; readonly text: string } {
	const value = valueIn(answer, bytes.subarray(0, 64 * 1024));
	const error = isObject(value) ? (isObject(value.error) ? value.error : value) : undefined;
	const text = [error?.message, error?.detail, error?.error].find((each) => typeof each === "string");
	const code = typeof error?.code === "number" && error.code < 0 ? { code: error.code } : {};
	return { ...code, text: typeof text === "string" ? oneLine(text, 200) : "" };
}
