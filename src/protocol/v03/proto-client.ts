/** The client half of the HTTP+JSON form of 0.3 (0.3 §3.2.3, §3.5.6): requests of ours in it, and what a peer answers. */
import { A2AError, ERRORS, errorNamed } from "../errors.ts";
import { isObject } from "../json.ts";
import { peerDetails, peerText } from "../jsonrpc.ts";
import type { OperationName, Params } from "../operations.ts";
import { buildRest, type RestRequest } from "../rest.ts";
import type { SendMessageRequest, TaskPushNotificationConfig } from "../types.ts";
import { pushConfigV03 } from "./data.ts";
import { fromProtoPart, messageProto } from "./proto.ts";

type Loose = Readonly<Record<string, unknown>>;

/** What stands before the paths of 0.3 (0.3 §3.5.6). */
export const V03_PREFIX = "/v1";

function sendBody({ message, configuration, metadata }: SendMessageRequest): object {
	const { taskPushNotificationConfig: push, returnImmediately, ...rest } = configuration ?? {};
	return {
		message: messageProto(message),
		// In its proto a boolean that is not there is false: who wants to wait says so.
		configuration: {
			...rest,
			blocking: returnImmediately !== true,
			...(push ? { pushNotification: pushConfigV03(push) } : {}),
		},
		...(metadata ? { metadata } : {}),
	};
}

function createBody(config: TaskPushNotificationConfig): object {
	const { taskId = "", id = "" } = config;
	const parent = `tasks/${taskId}`;
	const name = `${parent}/pushNotificationConfigs/${id}`;
	return { parent, configId: id, config: { name, pushNotificationConfig: pushConfigV03(config) } };
}

const BODIES: { readonly [K in OperationName]?: (params: Params[K]) => object } = {
	SendMessage: sendBody,
	SendStreamingMessage: sendBody,
	CreateTaskPushNotificationConfig: createBody,
};

/** An operation as a request of this form. It knows no tenants. Throws `InvalidParamsError` as `buildRest` does. */
export function buildProto<K extends OperationName>(operation: K, params: Params[K]): RestRequest {
	const { verb, path, body } = buildRest(operation, { ...params, tenant: undefined });
	const bodyOf = BODIES[operation] as ((params: Params[K]) => object) | undefined;
	const whole = `${V03_PREFIX}${path.replace(/^\/extendedAgentCard/, "/card")}`;
	return { verb, path: whole, ...(body === undefined ? {} : { body: bodyOf ? bodyOf(params) : {} }) };
}

type Read = (value: unknown) => unknown;

/** A reader that gives an object with some members read by others; of a list, each item. */
const members =
	(readers: { readonly [name: string]: Read }): Read =>
	(value) => {
		if (!isObject(value)) return value;
		const read = Object.entries(readers)
			.filter(([name]) => Object.hasOwn(value, name))
			.map(([name, reader]) => [name, Array.isArray(value[name]) ? value[name].map(reader) : reader(value[name])]);
		return { ...value, ...Object.fromEntries(read) };
	};

const message = members({ content: fromProtoPart, parts: fromProtoPart });
const status = members({ message });
const artifact = members({ parts: fromProtoPart });
const task = members({ status, artifacts: artifact, history: message });
const statusUpdate = members({ status });
const artifactUpdate = members({ artifact });
const event = members({ task, message, msg: message, statusUpdate, artifactUpdate });

/** The task and the configuration are in its name. */
const config: Read = (value) => {
	if (!isObject(value) || typeof value.name !== "string") return value;
	const [, taskId, id] = /^tasks\/([^/]+)\/pushNotificationConfigs\/([^/]*)$/.exec(value.name) ?? [];
	if (taskId === undefined) return value;
	const inner = isObject(value.pushNotificationConfig) ? value.pushNotificationConfig : {};
	return { ...value, taskId, pushNotificationConfig: { ...inner, id: inner.id || id } };
};

const same: Read = (value) => value;
const READERS: { readonly [K in OperationName]: Read } = {
	SendMessage: event,
	SendStreamingMessage: event,
	GetTask: task,
	ListTasks: members({ tasks: task }),
	CancelTask: task,
	SubscribeToTask: event,
	CreateTaskPushNotificationConfig: config,
	GetTaskPushNotificationConfig: config,
	ListTaskPushNotificationConfigs: members({ configs: config }),
	DeleteTaskPushNotificationConfig: same,
	GetExtendedAgentCard: same,
};

/** A peer's result, or one item of its stream, as `decodeResult` reads it. */
export function fromProtoResult(operation: OperationName, value: unknown): unknown {
	return READERS[operation](value);
}

/** Whether a value is an error of this form: code and message of JSON-RPC at its top. */
export function isProtoError(value: unknown): value is Loose & { readonly code: number } {
	return isObject(value) && typeof value.code === "number" && value.code < 0 && typeof value.message === "string";
}

/** A peer's refusal as our error, by its code where that has a name. Its code stands in `details.metadata.code`. */
export function readProtoError({ code, message, data }: Loose & { readonly code: number }): A2AError {
	const name = errorNamed(code) ?? "InternalError";
	return new A2AError(name, peerText(message, ERRORS[name].message), peerDetails(String(code), data));
}
