/**
 * The eleven operations of A2A 1.0 (§3.1, §5.3): one row each. Method names, paths, decoders, handlers and clients
 * all hang on this table, so an operation that lacks one of them does not compile.
 */
import type {
	AgentCard,
	CancelTaskRequest,
	GetExtendedAgentCardRequest,
	GetTaskRequest,
	ListTaskPushNotificationConfigsRequest,
	ListTaskPushNotificationConfigsResponse,
	ListTasksRequest,
	ListTasksResponse,
	SendMessageRequest,
	SendMessageResponse,
	StreamResponse,
	SubscribeToTaskRequest,
	Task,
	TaskPushNotificationConfig,
	TaskPushNotificationConfigRef,
} from "./types.ts";

/** Parameters of each operation. */
export interface Params {
	SendMessage: SendMessageRequest;
	SendStreamingMessage: SendMessageRequest;
	GetTask: GetTaskRequest;
	ListTasks: ListTasksRequest;
	CancelTask: CancelTaskRequest;
	SubscribeToTask: SubscribeToTaskRequest;
	CreateTaskPushNotificationConfig: TaskPushNotificationConfig;
	GetTaskPushNotificationConfig: TaskPushNotificationConfigRef;
	ListTaskPushNotificationConfigs: ListTaskPushNotificationConfigsRequest;
	DeleteTaskPushNotificationConfig: TaskPushNotificationConfigRef;
	GetExtendedAgentCard: GetExtendedAgentCardRequest;
}

/** Result of each operation; for the streaming ones, of each item. */
export interface Results {
	SendMessage: SendMessageResponse;
	SendStreamingMessage: StreamResponse;
	GetTask: Task;
	ListTasks: ListTasksResponse;
	CancelTask: Task;
	SubscribeToTask: StreamResponse;
	CreateTaskPushNotificationConfig: TaskPushNotificationConfig;
	GetTaskPushNotificationConfig: TaskPushNotificationConfig;
	ListTaskPushNotificationConfigs: ListTaskPushNotificationConfigsResponse;
	DeleteTaskPushNotificationConfig: Record<string, never>;
	GetExtendedAgentCard: AgentCard;
}

export type OperationName = keyof Params;

export interface Operation {
	/** One reply, or a stream of items. */
	readonly reply: "one" | "many";
	/** HTTP+JSON verbs that are served; the first is the one our client sends. */
	readonly verbs: readonly ("GET" | "POST" | "DELETE")[];
	/** HTTP+JSON path below the base (§11.3); `{x}` names a parameter. */
	readonly path: string;
	/** Pre-1.0 method names that mean this operation. The first is the 0.3 name our client sends, where 0.3 has it. */
	readonly aliases: readonly string[];
	/** Agent Card capability without which the operation is refused (§3.3.4). */
	readonly needs?: "streaming" | "pushNotifications" | "extendedAgentCard";
}

export const OPERATIONS = {
	SendMessage: { reply: "one", verbs: ["POST"], path: "/message:send", aliases: ["message/send"] },
	SendStreamingMessage: {
		reply: "many",
		verbs: ["POST"],
		path: "/message:stream",
		aliases: ["message/stream"],
		needs: "streaming",
	},
	GetTask: { reply: "one", verbs: ["GET"], path: "/tasks/{id}", aliases: ["tasks/get"] },
	ListTasks: { reply: "one", verbs: ["GET"], path: "/tasks", aliases: ["tasks/list"] },
	CancelTask: { reply: "one", verbs: ["POST"], path: "/tasks/{id}:cancel", aliases: ["tasks/cancel"] },
	SubscribeToTask: {
		reply: "many",
		// §5.3 says POST, a2a.proto says GET.
		verbs: ["POST", "GET"],
		path: "/tasks/{id}:subscribe",
		aliases: ["tasks/resubscribe", "tasks/subscribe"],
		needs: "streaming",
	},
	CreateTaskPushNotificationConfig: {
		reply: "one",
		verbs: ["POST"],
		path: "/tasks/{taskId}/pushNotificationConfigs",
		aliases: ["tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/create"],
		needs: "pushNotifications",
	},
	GetTaskPushNotificationConfig: {
		reply: "one",
		verbs: ["GET"],
		path: "/tasks/{taskId}/pushNotificationConfigs/{id}",
		aliases: ["tasks/pushNotificationConfig/get"],
		needs: "pushNotifications",
	},
	ListTaskPushNotificationConfigs: {
		reply: "one",
		verbs: ["GET"],
		path: "/tasks/{taskId}/pushNotificationConfigs",
		aliases: ["tasks/pushNotificationConfig/list"],
		needs: "pushNotifications",
	},
	DeleteTaskPushNotificationConfig: {
		reply: "one",
		verbs: ["DELETE"],
		path: "/tasks/{taskId}/pushNotificationConfigs/{id}",
		aliases: ["tasks/pushNotificationConfig/delete"],
		needs: "pushNotifications",
	},
	GetExtendedAgentCard: {
		reply: "one",
		verbs: ["GET"],
		path: "/extendedAgentCard",
		aliases: ["agent/getAuthenticatedExtendedCard"],
		needs: "extendedAgentCard",
	},
} as const satisfies { readonly [K in OperationName]: Operation };

type Replying<R> = { [K in OperationName]: (typeof OPERATIONS)[K]["reply"] extends R ? K : never }[OperationName];
/** Operations with one reply. */
export type OneReply = Replying<"one">;
/** Operations that answer with a stream. */
export type ManyReply = Replying<"many">;
