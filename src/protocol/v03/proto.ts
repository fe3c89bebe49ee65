/**
 * The HTTP+JSON form of 0.3 (0.3 §3.2.3, §3.5.6): the objects of its proto as JSON, which is neither the JSON-RPC form
 * of 0.3 nor that of 1.0: parts of a message are its `content`, enums have long names, a configuration is named by path.
 */
import { type A2AError, ERRORS, type ErrorDetail, errorInfo } from "../errors.ts";
import { isObject } from "../json.ts";
import type { OperationName, Results } from "../operations.ts";
import { isInterrupted, isTerminal } from "../task.ts";
import type {
	AgentCard,
	Artifact,
	Message,
	Part,
	StreamResponse,
	Task,
	TaskPushNotificationConfig,
	TaskStatus,
} from "../types.ts";
import { downcastCard } from "./card.ts";
import { dataV03, pushConfigV03 } from "./data.ts";
import { upcastParams } from "./requests.ts";

type Loose = Readonly<Record<string, unknown>>;

function partProto(part: Part): object {
	const metadata = part.metadata ? { metadata: part.metadata } : {};
	if ("text" in part) return { text: part.text, ...metadata };
	if ("data" in part) return { data: { data: dataV03(part.data) }, ...metadata };
	const content = "raw" in part ? { fileWithBytes: part.raw } : { fileWithUri: part.url };
	const mimeType = part.mediaType ? { mimeType: part.mediaType } : {};
	const name = part.filename ? { name: part.filename } : {};
	return { file: { ...content, ...mimeType, ...name }, ...metadata };
}

/** A message; the proto has no references to other tasks. */
export function messageProto({ parts, referenceTaskIds: _, ...message }: Message): object {
	return { ...message, content: parts.map(partProto) };
}

function statusProto({ state, message, ...status }: TaskStatus): object {
	return {
		...status,
		state: state === "TASK_STATE_CANCELED" ? "TASK_STATE_CANCELLED" : state,
		...(message ? { message: messageProto(message) } : {}),
	};
}

const artifactProto = (artifact: Artifact) => ({ ...artifact, parts: artifact.parts.map(partProto) });

function taskProto(task: Task): object {
	return {
		...task,
		status: statusProto(task.status),
		...(task.artifacts ? { artifacts: task.artifacts.map(artifactProto) } : {}),
		...(task.history ? { history: task.history.map(messageProto) } : {}),
	};
}

function eventProto(item: StreamResponse): object {
	if ("task" in item) return { task: taskProto(item.task) };
	if ("message" in item) return { message: messageProto(item.message) };
	if ("artifactUpdate" in item) {
		return { artifactUpdate: { ...item.artifactUpdate, artifact: artifactProto(item.artifactUpdate.artifact) } };
	}
	const { status } = item.statusUpdate;
	const final = isTerminal(status.state) || isInterrupted(status.state);
	return { statusUpdate: { ...item.statusUpdate, status: statusProto(status), final } };
}

function configProto(config: TaskPushNotificationConfig): object {
	const name = `tasks/${config.taskId ?? ""}/pushNotificationConfigs/${config.id ?? ""}`;
	return { name, pushNotificationConfig: pushConfigV03(config) };
}

/** The proto's security members are those that 1.0 took over. */
function cardProto(card: AgentCard): object {
	const { securitySchemes, securityRequirements: security } = card;
	return { ...downcastCard(card), ...(securitySchemes ? { securitySchemes } : {}), ...(security ? { security } : {}) };
}

const RESULT: { readonly [K in OperationName]: (result: Results[K]) => object } = {
	SendMessage: eventProto,
	SendStreamingMessage: eventProto,
	GetTask: taskProto,
	ListTasks: (page) => ({ ...page, tasks: page.tasks.map(taskProto) }),
	CancelTask: taskProto,
	SubscribeToTask: eventProto,
	CreateTaskPushNotificationConfig: configProto,
	GetTaskPushNotificationConfig: configProto,
	ListTaskPushNotificationConfigs: ({ configs }) => ({ configs: configs.map(configProto), nextPageToken: "" }),
	DeleteTaskPushNotificationConfig: () => ({}),
	GetExtendedAgentCard: cardProto,
};

/** A result of ours, or one item of a stream, in the HTTP+JSON form of 0.3. It must be one of that operation's. */
export function protoResult(operation: OperationName, result: unknown): object {
	const down = RESULT[operation] as (result: unknown) => object;
	return down(result);
}

/** Whether an item of a stream in this form is its last (0.3 §7.2.2). */
export function endsProtoStream(item: object): boolean {
	return "statusUpdate" in item && isObject(item.statusUpdate) && item.statusUpdate.final === true;
}

/** A part as 1.0 has it: a data part holds its object one level further down. */
export function fromProtoPart(part: unknown): unknown {
	if (!isObject(part) || !isObject(part.data) || !isObject(part.data.data)) return part;
	return { ...part, data: part.data.data };
}

function upcastMessage(message: unknown): unknown {
	if (!isObject(message)) return message;
	const { content, parts = content, ...rest } = message;
	return { ...rest, parts: Array.isArray(parts) ? parts.map(fromProtoPart) : parts };
}

/** A boolean of a proto that is not there is false: whoever sends a configuration without it does not want to wait. */
function upcastConfiguration(value: unknown): unknown {
	if (!isObject(value)) return value;
	const { pushNotification, push_notification: snake, blocking = false, ...rest } = value;
	const pushNotificationConfig = pushNotification ?? snake;
	return { ...rest, blocking, ...(pushNotificationConfig ? { pushNotificationConfig } : {}) };
}

function upcastSend({ message, request = message, configuration, ...rest }: Loose): Loose {
	return {
		...rest,
		message: upcastMessage(request),
		...(configuration === undefined ? {} : { configuration: upcastConfiguration(configuration) }),
	};
}

/** The body is the configuration with its name, or that inside a request to make one. */
function upcastCreate({ taskId, tenant: _, ...body }: Loose): Loose {
	const inner = isObject(body.config) ? body.config : body;
	const config = inner.pushNotificationConfig ?? inner.push_notification_config;
	const id = body.configId ?? body.config_id;
	const named = isObject(config) && !config.id && typeof id === "string" && id !== "" ? { ...config, id } : config;
	return { taskId, pushNotificationConfig: named ?? {} };
}

/** Parameters of such a request where 1.0 has them, still to be decoded by `decodeParams`. Throws `InvalidParamsError`. */
export function protoParams(operation: OperationName, params: unknown): unknown {
	if (!isObject(params)) return params;
	if (operation === "SendMessage" || operation === "SendStreamingMessage") {
		return upcastParams(operation, upcastSend(params));
	}
	if (operation === "CreateTaskPushNotificationConfig") return upcastParams(operation, upcastCreate(params));
	return upcastParams(operation, params);
}

/** An error as clients of this form read it: code and message of JSON-RPC at the top, with the status it goes with. */
export function protoError(error: A2AError): {
	readonly status: number;
	readonly body: {
		readonly code: number;
		/** Its name, by which the official Python SDK tells errors of this form. */
		readonly type: string;
		readonly message: string;
		readonly data: readonly ErrorDetail[];
	};
} {
	const { http, jsonrpc: code } = ERRORS[error.name];
	return { status: http, body: { code, type: error.name, message: error.message, data: errorInfo(error) } };
}
