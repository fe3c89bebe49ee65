/**
 * The A2A 1.0 data model, as JSON travels (ProtoJSON of `a2a.proto`, spec §4). Absent members are absent, never
 * `undefined` or `null`. Everything here is a value: no module of ours changes one after handing it out.
 */

declare const brand: unique symbol;

/** Id of a task, minted by the server that owns the task. Cast only in `taskId`. */
export type TaskId = string & { readonly [brand]: "TaskId" };
/** Id of a conversation; a caller may choose it (§3.4.1). Cast only in `contextId`. */
export type ContextId = string & { readonly [brand]: "ContextId" };

/** The one cast from wire text to a task id. */
export const taskId = (text: string): TaskId => text as TaskId;
/** The one cast from wire text to a context id. */
export const contextId = (text: string): ContextId => text as ContextId;

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };
/** google.protobuf.Struct */
export type JsonObject = { readonly [key: string]: Json };

export const TASK_STATES = [
	"TASK_STATE_UNSPECIFIED",
	"TASK_STATE_SUBMITTED",
	"TASK_STATE_WORKING",
	"TASK_STATE_COMPLETED",
	"TASK_STATE_FAILED",
	"TASK_STATE_CANCELED",
	"TASK_STATE_INPUT_REQUIRED",
	"TASK_STATE_REJECTED",
	"TASK_STATE_AUTH_REQUIRED",
] as const;
/** §4.1.3 */
export type TaskState = (typeof TASK_STATES)[number];

/** §4.1.5 */
export type Role = "ROLE_USER" | "ROLE_AGENT";

interface PartCommon {
	readonly metadata?: JsonObject;
	readonly filename?: string;
	readonly mediaType?: string;
}
/** §4.1.6: exactly one of text, raw (base64), url, data. */
export type Part =
	| (PartCommon & { readonly text: string })
	| (PartCommon & { readonly raw: string })
	| (PartCommon & { readonly url: string })
	| (PartCommon & { readonly data: Json });

/** §4.1.4 */
export interface Message {
	readonly messageId: string;
	readonly role: Role;
	readonly parts: readonly Part[];
	readonly contextId?: ContextId;
	readonly taskId?: TaskId;
	readonly metadata?: JsonObject;
	readonly extensions?: readonly string[];
	readonly referenceTaskIds?: readonly TaskId[];
}

/** §4.1.7 */
export interface Artifact {
	readonly artifactId: string;
	readonly parts: readonly Part[];
	readonly name?: string;
	readonly description?: string;
	readonly metadata?: JsonObject;
	readonly extensions?: readonly string[];
}

/** §4.1.2; `timestamp` is ISO 8601 in UTC with milliseconds (§5.6.1). */
export interface TaskStatus {
	readonly state: TaskState;
	readonly message?: Message;
	readonly timestamp?: string;
}

/** §4.1.1 */
export interface Task {
	readonly id: TaskId;
	readonly contextId: ContextId;
	readonly status: TaskStatus;
	readonly artifacts?: readonly Artifact[];
	readonly history?: readonly Message[];
	readonly metadata?: JsonObject;
}

/** §4.2.1 */
export interface TaskStatusUpdateEvent {
	readonly taskId: TaskId;
	readonly contextId: ContextId;
	readonly status: TaskStatus;
	readonly metadata?: JsonObject;
}

/** §4.2.2 */
export interface TaskArtifactUpdateEvent {
	readonly taskId: TaskId;
	readonly contextId: ContextId;
	readonly artifact: Artifact;
	readonly append?: boolean;
	readonly lastChunk?: boolean;
	readonly metadata?: JsonObject;
}

/**
 * Under this key an item of a stream carries the id of its event, `<task id>:<number>`. It is a symbol, so the id is not
 * part of the JSON: bindings send it beside the item (the `id:` line of an event stream).
 */
export const eventId: unique symbol = Symbol("event id");

/** §3.2.3: exactly one member. */
export type StreamResponse = { readonly [eventId]?: string } & (
	| { readonly task: Task }
	| { readonly message: Message }
	| { readonly statusUpdate: TaskStatusUpdateEvent }
	| { readonly artifactUpdate: TaskArtifactUpdateEvent }
);

/** §3.1.1: exactly one member. */
export type SendMessageResponse = { readonly task: Task } | { readonly message: Message };

/** §4.3.2 */
export interface AuthenticationInfo {
	readonly scheme: string;
	readonly credentials?: string;
}

/** §4.3.1 */
export interface TaskPushNotificationConfig {
	readonly url: string;
	readonly tenant?: string;
	readonly id?: string;
	readonly taskId?: TaskId;
	readonly token?: string;
	readonly authentication?: AuthenticationInfo;
}

/** §3.2.2 */
export interface SendMessageConfiguration {
	readonly acceptedOutputModes?: readonly string[];
	readonly taskPushNotificationConfig?: TaskPushNotificationConfig;
	readonly historyLength?: number;
	readonly returnImmediately?: boolean;
}

/** §3.2.1 */
export interface SendMessageRequest {
	readonly tenant?: string;
	readonly message: Message;
	readonly configuration?: SendMessageConfiguration;
	readonly metadata?: JsonObject;
}
export interface GetTaskRequest {
	readonly tenant?: string;
	readonly id: TaskId;
	readonly historyLength?: number;
}
/** §3.1.4 */
export interface ListTasksRequest {
	readonly tenant?: string;
	readonly contextId?: ContextId;
	readonly status?: TaskState;
	readonly pageSize?: number;
	readonly pageToken?: string;
	readonly historyLength?: number;
	readonly statusTimestampAfter?: string;
	readonly includeArtifacts?: boolean;
}
export interface ListTasksResponse {
	readonly tasks: readonly Task[];
	readonly nextPageToken: string;
	readonly pageSize: number;
	readonly totalSize: number;
}
export interface CancelTaskRequest {
	readonly tenant?: string;
	readonly id: TaskId;
	readonly metadata?: JsonObject;
}
export interface SubscribeToTaskRequest {
	readonly tenant?: string;
	readonly id: TaskId;
}
export interface TaskPushNotificationConfigRef {
	readonly tenant?: string;
	readonly taskId: TaskId;
	readonly id: string;
}
export interface ListTaskPushNotificationConfigsRequest {
	readonly tenant?: string;
	readonly taskId: TaskId;
	readonly pageSize?: number;
	readonly pageToken?: string;
}
export interface ListTaskPushNotificationConfigsResponse {
	readonly configs: readonly TaskPushNotificationConfig[];
	readonly nextPageToken: string;
}
export interface GetExtendedAgentCardRequest {
	readonly tenant?: string;
}

/** §4.4.6 */
export interface AgentInterface {
	readonly url: string;
	readonly protocolBinding: string;
	readonly protocolVersion: string;
	readonly tenant?: string;
}
/** §4.4.3 */
export interface AgentCapabilities {
	readonly streaming?: boolean;
	readonly pushNotifications?: boolean;
	readonly extendedAgentCard?: boolean;
	readonly extensions?: readonly AgentExtension[];
}
/** §4.4.4 */
export interface AgentExtension {
	readonly uri: string;
	readonly description?: string;
	readonly required?: boolean;
	readonly params?: JsonObject;
}
/** §4.4.5 */
export interface AgentSkill {
	readonly id: string;
	readonly name: string;
	readonly description: string;
	readonly tags: readonly string[];
	readonly examples?: readonly string[];
	readonly inputModes?: readonly string[];
	readonly outputModes?: readonly string[];
	readonly securityRequirements?: readonly SecurityRequirement[];
}
export interface SecurityRequirement {
	readonly schemes: { readonly [name: string]: { readonly list?: readonly string[] } };
}
/** §4.5.1; only the bearer form is ours, a peer's other forms pass through. */
export type SecurityScheme =
	| {
			readonly httpAuthSecurityScheme: {
				readonly scheme: string;
				readonly description?: string;
				readonly bearerFormat?: string;
			};
	  }
	| JsonObject;

/** §4.4.1 */
export interface AgentCard {
	readonly name: string;
	readonly description: string;
	readonly version: string;
	readonly supportedInterfaces: readonly AgentInterface[];
	readonly capabilities: AgentCapabilities;
	readonly defaultInputModes: readonly string[];
	readonly defaultOutputModes: readonly string[];
	readonly skills: readonly AgentSkill[];
	readonly provider?: { readonly url: string; readonly organization: string };
	readonly documentationUrl?: string;
	readonly iconUrl?: string;
	readonly securitySchemes?: { readonly [name: string]: SecurityScheme };
	readonly securityRequirements?: readonly SecurityRequirement[];
	readonly signatures?: readonly JsonObject[];
	/** Not in the proto: the requirements' "metadata map" with pid, cwd, model and tools, for authenticated callers. */
	readonly metadata?: JsonObject;
}
