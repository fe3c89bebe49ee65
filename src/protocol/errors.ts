/**
 * Every error that may cross the wire, once. The core throws by name; bindings translate by this table. Anything that
 * is not an `A2AError` becomes `InternalError`, its cause goes to the log and never into a reply.
 */

interface ErrorRow {
	/** JSON-RPC error code (§5.4, §9.5). */
	readonly jsonrpc: number;
	/** HTTP status (§5.4, §11.6). */
	readonly http: number;
	/** gRPC status name, the `status` member of an HTTP+JSON error (§11.6). */
	readonly grpc: string;
	/** Text when the thrower gives none. */
	readonly message: string;
}

export const ERRORS = {
	TaskNotFoundError: { jsonrpc: -32001, http: 404, grpc: "NOT_FOUND", message: "Task not found" },
	TaskNotCancelableError: {
		jsonrpc: -32002,
		http: 400,
		grpc: "FAILED_PRECONDITION",
		message: "The task has ended and can no longer be canceled",
	},
	PushNotificationNotSupportedError: {
		jsonrpc: -32003,
		http: 400,
		grpc: "FAILED_PRECONDITION",
		message: "Push notifications are not supported",
	},
	UnsupportedOperationError: {
		jsonrpc: -32004,
		http: 400,
		grpc: "FAILED_PRECONDITION",
		message: "This operation is not supported here",
	},
	ContentTypeNotSupportedError: {
		jsonrpc: -32005,
		http: 400,
		grpc: "INVALID_ARGUMENT",
		message: "None of the accepted content types can be produced",
	},
	InvalidAgentResponseError: {
		jsonrpc: -32006,
		http: 500,
		grpc: "INTERNAL",
		message: "The agent's reply is not valid A2A",
	},
	ExtendedAgentCardNotConfiguredError: {
		jsonrpc: -32007,
		http: 400,
		grpc: "FAILED_PRECONDITION",
		message: "There is no extended agent card",
	},
	ExtensionSupportRequiredError: {
		jsonrpc: -32008,
		http: 400,
		grpc: "FAILED_PRECONDITION",
		message: "An extension that this agent requires was not requested",
	},
	VersionNotSupportedError: {
		jsonrpc: -32009,
		http: 400,
		grpc: "FAILED_PRECONDITION",
		message: "This A2A version is not supported",
	},
	ParseError: { jsonrpc: -32700, http: 400, grpc: "INVALID_ARGUMENT", message: "The body is not JSON" },
	InvalidRequestError: { jsonrpc: -32600, http: 400, grpc: "INVALID_ARGUMENT", message: "Not a valid request" },
	MethodNotFoundError: { jsonrpc: -32601, http: 404, grpc: "NOT_FOUND", message: "No such method" },
	InvalidParamsError: { jsonrpc: -32602, http: 400, grpc: "INVALID_ARGUMENT", message: "Invalid parameters" },
	InternalError: { jsonrpc: -32603, http: 500, grpc: "INTERNAL", message: "Internal error" },
	// The numbers that Hermes gives to these (its own range).
	UnauthorizedError: {
		jsonrpc: -32050,
		http: 401,
		grpc: "UNAUTHENTICATED",
		message: "A valid bearer token is required",
	},
	RateLimitedError: { jsonrpc: -32051, http: 429, grpc: "RESOURCE_EXHAUSTED", message: "Too many requests" },
	UntrustedCallerError: {
		jsonrpc: -32052,
		http: 403,
		grpc: "PERMISSION_DENIED",
		message: "This caller is not on the list of trusted peers",
	},
	BusyError: { jsonrpc: -32053, http: 503, grpc: "RESOURCE_EXHAUSTED", message: "Too many tasks are running" },
	TurnLimitError: {
		jsonrpc: -32054,
		http: 429,
		grpc: "RESOURCE_EXHAUSTED",
		message: "This conversation has reached its turn limit",
	},
	ForbiddenError: { jsonrpc: -32055, http: 403, grpc: "PERMISSION_DENIED", message: "This request is not allowed" },
	PayloadTooLargeError: { jsonrpc: -32600, http: 413, grpc: "INVALID_ARGUMENT", message: "The body is too large" },
	MediaTypeError: {
		jsonrpc: -32600,
		http: 415,
		grpc: "INVALID_ARGUMENT",
		message: "The content type must be application/json",
	},
	RequestTimeoutError: {
		jsonrpc: -32600,
		http: 408,
		grpc: "DEADLINE_EXCEEDED",
		message: "The request did not arrive in time",
	},
	// What our own client says of a peer that gave no answer at all.
	PeerUnreachableError: { jsonrpc: -32603, http: 502, grpc: "UNAVAILABLE", message: "The peer could not be reached" },
	PeerTimeoutError: {
		jsonrpc: -32603,
		http: 504,
		grpc: "DEADLINE_EXCEEDED",
		message: "The peer did not answer in time",
	},
} as const satisfies { readonly [name: string]: ErrorRow };

export type ErrorName = keyof typeof ERRORS;

/** One wrong field: `field` is a JSON path such as `message.parts[0]`. */
export interface FieldViolation {
	readonly field: string;
	readonly description: string;
}

export interface ErrorDetails {
	/** The fields that were wrong; becomes `google.rpc.BadRequest` (§9.5, §11.6). */
	readonly violations?: readonly FieldViolation[];
	/** String facts for `google.rpc.ErrorInfo.metadata`, such as `taskId`. */
	readonly metadata?: { readonly [key: string]: string };
	/** Seconds to wait, sent as `Retry-After`. */
	readonly retryAfter?: number;
	/** Stays on this side of the wire. */
	readonly cause?: unknown;
}

/** The only error that may cross the wire. `message` is for the caller: no paths, no secrets, no stack. */
export class A2AError extends Error {
	override readonly name: ErrorName;
	readonly details: ErrorDetails;
	constructor(name: ErrorName, message: string = ERRORS[name].message, details: ErrorDetails = {}) {
		super(message, details.cause === undefined ? undefined : { cause: details.cause });
		this.name = name;
		this.details = details;
	}
}

/** `error` itself when it may cross the wire, else an `InternalError` that keeps it as cause. */
export function asA2AError(error: unknown): A2AError {
	return error instanceof A2AError ? error : new A2AError("InternalError", undefined, { cause: error });
}

const BY_CODE: ReadonlyMap<number, ErrorName> = new Map(
	(Object.entries(ERRORS) as [ErrorName, ErrorRow][]).reverse().map(([name, row]) => [row.jsonrpc, name]),
);

/** The error a peer's JSON-RPC code stands for; `undefined` for a code of the peer's own. */
export function errorNamed(code: number): ErrorName | undefined {
	return BY_CODE.get(code);
}

/** One object of an error's details on the wire: a `google.protobuf.Any` in ProtoJSON. */
export interface ErrorDetail {
	readonly "@type": string;
	readonly [member: string]: unknown;
}

/** The `google.rpc` details of an error for the wire (§9.5, §11.6): ErrorInfo first, BadRequest when fields are named. */
export function errorInfo(error: A2AError): readonly ErrorDetail[] {
	// The reason is the error's name in SNAKE_CASE without "Error" (§9.5: TASK_NOT_FOUND).
	const reason = error.name
		.replace(/Error$/, "")
		.replace(/([a-z])([A-Z])/g, "$1_$2")
		.toUpperCase();
	const info: ErrorDetail = {
		"@type": "type.googleapis.com/google.rpc.ErrorInfo",
		reason,
		domain: "a2a-protocol.org",
		...(error.details.metadata ? { metadata: error.details.metadata } : {}),
	};
	const { violations } = error.details;
	if (!violations?.length) return [info];
	return [info, { "@type": "type.googleapis.com/google.rpc.BadRequest", fieldViolations: violations }];
}
