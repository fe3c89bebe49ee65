/** Requests of 0.3 (0.3 §7) and 1.0, each from the other. */
import { boolean, type Decoder, Mismatch } from "../decode-base.ts";
import { invalidParams } from "../decode-params.ts";
import { peerState } from "../decode-peer.ts";
import { isObject } from "../json.ts";
import { OPERATIONS, type OperationName, type Params } from "../operations.ts";
import type { SendMessageConfiguration, SendMessageRequest } from "../types.ts";
import { messageV03, pushConfigV03, stateV03, taskPushConfigV03 } from "./data.ts";

type Loose = Readonly<Record<string, unknown>>;

/**
 * Is this message of a request in the 0.3 form? Its role tells (`user`, not `ROLE_USER`), else the `kind` of the
 * message or of a part.
 */
export function isV03Message(message: unknown): boolean {
	if (!isObject(message)) return false;
	if (typeof message.role === "string" && message.role.startsWith("ROLE_")) return false;
	if (message.role === "user" || message.role === "agent" || message.kind === "message") return true;
	return Array.isArray(message.parts) && message.parts.some((part) => isObject(part) && typeof part.kind === "string");
}

/** The 0.3 name of an operation (0.3 §3.5.6). */
export function v03Method(operation: OperationName): string {
	return OPERATIONS[operation].aliases[0];
}

/** What is wrong with a member that only 0.3 has is said with its 0.3 name. */
function check<T>(field: string, decode: Decoder<T>, value: unknown): T {
	try {
		return decode(value);
	} catch (error) {
		throw error instanceof Mismatch ? invalidParams(field, error.problem) : error;
	}
}

function upcastPushConfig(value: unknown): unknown {
	if (!isObject(value) || !isObject(value.authentication)) return value;
	const { schemes, ...authentication } = value.authentication;
	const scheme = authentication.scheme ?? (Array.isArray(schemes) ? schemes[0] : undefined);
	return { ...value, authentication: { ...authentication, scheme } };
}

function upcastConfiguration(value: unknown): unknown {
	if (!isObject(value)) return value;
	const { blocking, pushNotificationConfig, ...rest } = value;
	return {
		taskPushNotificationConfig: upcastPushConfig(pushNotificationConfig),
		...(blocking === undefined || blocking === null
			? {}
			: { returnImmediately: !check("configuration.blocking", boolean, blocking) }),
		...rest,
	};
}

const upcastSend = (params: Loose) => ({ ...params, configuration: upcastConfiguration(params.configuration) });

/** A reference to a configuration: 0.3 has the task in `id`, and a configuration without an id is named after its task. */
function upcastRef(params: Loose): Loose {
	if (params.taskId !== undefined) return params;
	return { taskId: params.id, id: params.pushNotificationConfigId ?? params.id };
}

function upcastCreate(params: Loose): Loose {
	if (!isObject(params.pushNotificationConfig)) return params;
	const { taskId } = params;
	return { id: taskId, ...(upcastPushConfig(params.pushNotificationConfig) as Loose), taskId };
}

const same = (params: Loose) => params;

const UP: { readonly [K in OperationName]: (params: Loose) => Loose } = {
	SendMessage: upcastSend,
	SendStreamingMessage: upcastSend,
	GetTask: same,
	// Not in 0.3's JSON-RPC; where it is called all the same, it is with 0.3's names of the states.
	ListTasks: (params) => {
		const state = peerState(params.status);
		return state === "TASK_STATE_UNSPECIFIED" ? params : { ...params, status: state };
	},
	CancelTask: same,
	SubscribeToTask: same,
	CreateTaskPushNotificationConfig: upcastCreate,
	GetTaskPushNotificationConfig: upcastRef,
	ListTaskPushNotificationConfigs: (params) =>
		params.taskId === undefined ? { ...params, taskId: params.id } : params,
	DeleteTaskPushNotificationConfig: upcastRef,
	GetExtendedAgentCard: same,
};

/**
 * The parameters of a 0.3 request where 1.0 has them, still to be decoded by `decodeParams`, which reads the message
 * and its parts in either form. What is no object is given back as it is. Throws `InvalidParamsError`.
 */
export function upcastParams(operation: OperationName, params: unknown): unknown {
	return isObject(params) ? UP[operation](params) : params;
}

function downcastConfiguration(configuration: SendMessageConfiguration | undefined, waits: boolean): object {
	const { taskPushNotificationConfig, returnImmediately, ...rest } = configuration ?? {};
	return {
		...rest,
		// 0.3 leaves the default to the server, 1.0 waits (§3.2.2): so it is said.
		...(waits ? { blocking: returnImmediately !== true } : {}),
		...(taskPushNotificationConfig ? { pushNotificationConfig: pushConfigV03(taskPushNotificationConfig) } : {}),
	};
}

function downcastSend({ message, configuration, metadata }: SendMessageRequest, waits: boolean): object {
	const down = downcastConfiguration(configuration, waits);
	return {
		message: messageV03(message),
		...(Object.keys(down).length > 0 ? { configuration: down } : {}),
		...(metadata ? { metadata } : {}),
	};
}

function downcastRef({ taskId, id }: Params["GetTaskPushNotificationConfig"]): object {
	return { id: taskId, pushNotificationConfigId: id };
}

/** 0.3 has no tenants. */
function withoutTenant<T extends { readonly tenant?: string }>({ tenant: _, ...rest }: T): Omit<T, "tenant"> {
	return rest;
}

const DOWN: { readonly [K in OperationName]: (params: Params[K]) => object | undefined } = {
	SendMessage: (params) => downcastSend(params, true),
	SendStreamingMessage: (params) => downcastSend(params, false),
	GetTask: withoutTenant,
	ListTasks: (params) => {
		const { status, ...rest } = withoutTenant(params);
		return status === undefined ? rest : { ...rest, status: stateV03(status) };
	},
	CancelTask: withoutTenant,
	SubscribeToTask: withoutTenant,
	CreateTaskPushNotificationConfig: taskPushConfigV03,
	GetTaskPushNotificationConfig: downcastRef,
	ListTaskPushNotificationConfigs: ({ taskId }) => ({ id: taskId }),
	DeleteTaskPushNotificationConfig: downcastRef,
	GetExtendedAgentCard: () => undefined,
};

/** Our parameters as a 0.3 peer reads them; `undefined` where 0.3 sends none. */
export function downcastParams<K extends OperationName>(operation: K, params: Params[K]): object | undefined {
	return DOWN[operation](params);
}
