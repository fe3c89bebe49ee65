/** The parameters of each operation, as a caller sends them (§3.1, §3.2): strict, since all input is validated (§3.3.2). */
import { at, boolean, type Decoder, filled, integer, Mismatch, oneOf, record, struct, text } from "./decode-base.ts";
import { contextIdText, emptyIsAbsent, id, message, names, taskIdText } from "./decode-part.ts";
import { A2AError } from "./errors.ts";
import { isDeeperThan, isObject, MAX_DEPTH } from "./json.ts";
import type { OperationName, Params } from "./operations.ts";
import {
	type AuthenticationInfo,
	type GetTaskRequest,
	type ListTaskPushNotificationConfigsRequest,
	type ListTasksRequest,
	type SendMessageConfiguration,
	type SendMessageRequest,
	TASK_STATES,
	type TaskPushNotificationConfig,
} from "./types.ts";

const tenant = text(1024);
const historyLength = integer(0);
const pageToken = text(4096);
const TIMESTAMP = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/i;

/** To our one spelling of a time: UTC, milliseconds (§5.6.1). */
const timestamp: Decoder<string> = (value) => {
	if (typeof value !== "string" || !TIMESTAMP.test(value) || Number.isNaN(Date.parse(value)))
		throw new Mismatch("expected an ISO 8601 timestamp such as 2025-01-31T12:00:00.000Z");
	return new Date(value).toISOString();
};

/** An absolute http(s) URL (§4.3.1, §13.2); whether it may be called is not decided here. */
const webhook: Decoder<string> = (value) => {
	const url = filled(4096)(value);
	// Parsed by the platform; what it cannot parse is none.
	if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol))
		throw new Mismatch("expected an http or https URL");
	return url;
};

const authentication = record<AuthenticationInfo>({ scheme: filled(256) }, { credentials: text(16_384) });

const pushConfigFields = {
	tenant,
	id,
	token: text(4096),
	authentication,
};
/** The configuration inside a message's: the task it belongs to is the one that the message makes or continues. */
const inlinePushConfig = record<TaskPushNotificationConfig>(
	{ url: webhook },
	{ ...pushConfigFields, taskId: taskIdText },
);
type OfTask = TaskPushNotificationConfig & Required<Pick<TaskPushNotificationConfig, "taskId">>;
const pushConfig = record<OfTask>({ url: webhook, taskId: taskIdText }, pushConfigFields);

const configuration = record<SendMessageConfiguration>(
	{},
	{
		acceptedOutputModes: names,
		taskPushNotificationConfig: withoutEmpty(inlinePushConfig, "id", "taskId"),
		historyLength,
		returnImmediately: boolean,
	},
);

/** `decode`, with those members dropped first whose value is the empty string: for proto3 that is "not set". */
function withoutEmpty<T>(decode: Decoder<T>, ...keys: readonly string[]): Decoder<T> {
	return (value) => decode(isObject(value) ? emptyIsAbsent(value, ...keys) : value);
}

const sendFields = record<SendMessageRequest>({ message }, { tenant, configuration, metadata: struct });

const send: Decoder<SendMessageRequest> = (value) => {
	const request = sendFields(value);
	if (request.message.role !== "ROLE_USER")
		throw new Mismatch("a caller's message has the role ROLE_USER").under("role").under("message");
	// Older Hermes peers name the conversation beside the message.
	const contextId = isObject(value) ? value.contextId : undefined;
	if (request.message.contextId !== undefined || typeof contextId !== "string" || contextId === "") return request;
	return { ...request, message: { ...request.message, contextId: at("contextId", contextIdText, contextId) } };
};

const task = record<{ readonly tenant?: string; readonly id: GetTaskRequest["id"] }>({ id: taskIdText }, { tenant });
const configRef = record<Params["GetTaskPushNotificationConfig"]>({ taskId: taskIdText, id }, { tenant });

const listFields = record<ListTasksRequest>(
	{},
	{
		tenant,
		contextId: contextIdText,
		status: oneOf(TASK_STATES),
		pageSize: integer(1, 100),
		pageToken,
		historyLength,
		statusTimestampAfter: timestamp,
		includeArtifacts: boolean,
	},
);
const listTasks: Decoder<ListTasksRequest> = (value) => {
	const { status, ...rest } = withoutEmpty(listFields, "contextId", "pageToken")(value);
	// The zero of a proto enum is the same as no filter.
	return status === undefined || status === "TASK_STATE_UNSPECIFIED" ? rest : { ...rest, status };
};

const DECODERS: { readonly [K in OperationName]: Decoder<Params[K]> } = {
	SendMessage: send,
	SendStreamingMessage: send,
	GetTask: record<GetTaskRequest>({ id: taskIdText }, { tenant, historyLength }),
	ListTasks: listTasks,
	CancelTask: record<Params["CancelTask"]>({ id: taskIdText }, { tenant, metadata: struct }),
	SubscribeToTask: task,
	CreateTaskPushNotificationConfig: withoutEmpty(pushConfig, "id"),
	GetTaskPushNotificationConfig: configRef,
	ListTaskPushNotificationConfigs: record<ListTaskPushNotificationConfigsRequest>(
		{ taskId: taskIdText },
		{ tenant, pageSize: integer(0), pageToken },
	),
	DeleteTaskPushNotificationConfig: configRef,
	GetExtendedAgentCard: record<Params["GetExtendedAgentCard"]>({}, { tenant }),
};

/** An `InvalidParamsError` whose text begins with the field (§9.5: `google.rpc.BadRequest` names it). */
export function invalidParams(field: string, description: string): A2AError {
	return new A2AError(
		"InvalidParamsError",
		field === "" ? `Invalid parameters: ${description}` : `${field}: ${description}`,
		{
			violations: [{ field, description }],
		},
	);
}

/** Runs `decode` over a caller's value; a mismatch becomes an `InvalidParamsError`. */
export function strictly<T>(decode: Decoder<T>, value: unknown): T {
	if (isDeeperThan(value, MAX_DEPTH)) throw invalidParams("", `nested more than ${MAX_DEPTH} levels deep`);
	try {
		return decode(value);
	} catch (error) {
		throw error instanceof Mismatch ? invalidParams(error.path, error.problem) : error;
	}
}

function door<K extends OperationName>(operation: K): (value: unknown) => Params[K] {
	// Every parameter of some operations is optional, and then so are the parameters (§9.4.8).
	return (value) => strictly(DECODERS[operation], value ?? {});
}

/**
 * The parameters of an operation from whatever a caller sent (absent counts as empty). Throws `InvalidParamsError`
 * with the path of the first wrong field in its text and its violations. Unknown members are ignored (§5.7).
 */
export const decodeParams: { readonly [K in OperationName]: (value: unknown) => Params[K] } = {
	SendMessage: door("SendMessage"),
	SendStreamingMessage: door("SendStreamingMessage"),
	GetTask: door("GetTask"),
	ListTasks: door("ListTasks"),
	CancelTask: door("CancelTask"),
	SubscribeToTask: door("SubscribeToTask"),
	CreateTaskPushNotificationConfig: door("CreateTaskPushNotificationConfig"),
	GetTaskPushNotificationConfig: door("GetTaskPushNotificationConfig"),
	ListTaskPushNotificationConfigs: door("ListTaskPushNotificationConfigs"),
	DeleteTaskPushNotificationConfig: door("DeleteTaskPushNotificationConfig"),
	GetExtendedAgentCard: door("GetExtendedAgentCard"),
};
