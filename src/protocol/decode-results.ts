/** The result of each operation as peers answer it (§3.1): tolerant of every version's wrapping, exact in what it gives. */
import { at, Mismatch, member } from "./decode-base.ts";
import { decodeCard } from "./decode-card.ts";
import {
	type Loose,
	peerArtifactUpdate,
	peerMessage,
	peerStatusUpdate,
	peerTask,
	some,
	textIn,
} from "./decode-peer.ts";
import { tolerantly } from "./decode-tolerant.ts";
import { isObject } from "./json.ts";
import type { OperationName, Results } from "./operations.ts";
import {
	type AuthenticationInfo,
	type ListTasksResponse,
	type SendMessageResponse,
	type StreamResponse,
	type Task,
	type TaskPushNotificationConfig,
	taskId,
} from "./types.ts";

/** The members of the 1.0 wrapper (§3.2.3), and what 0.3 calls the same in `kind`. */
const PAYLOADS = ["task", "message", "statusUpdate", "artifactUpdate"] as const;
type Payload = (typeof PAYLOADS)[number];
const KINDS: ReadonlyMap<unknown, Payload> = new Map([
	["task", "task"],
	["message", "message"],
	["status-update", "statusUpdate"],
	["artifact-update", "artifactUpdate"],
]);

/** What a bare object is by what it holds, for peers that send neither a wrapper nor a `kind`. */
function payloadByShape(value: Loose): Payload | undefined {
	if (isObject(value.artifact)) return "artifactUpdate";
	if (Array.isArray(value.parts) && (value.role !== undefined || textIn(value, "messageId"))) return "message";
	if (value.status === undefined && value.state === undefined) return undefined;
	return textIn(value, "id") === undefined && textIn(value, "taskId") ? "statusUpdate" : "task";
}

/** Names of the members that came instead: few, short, and letters only, since a person will read them. */
function membersOf(value: Loose): string {
	const names = Object.keys(value)
		.slice(0, 5)
		.map((name) => name.replace(/[^\w.-]+/g, "?").slice(0, 40));
	return names.length === 0 ? "it has no members" : `its members are ${names.join(", ")}`;
}

function unwrap(value: unknown): { readonly payload: Payload; readonly inner: Loose; readonly wrapped: boolean } {
	if (!isObject(value)) throw new Mismatch("it is neither a task nor a message, since it is no object");
	for (const payload of PAYLOADS) {
		// `msg` is the 0.3 proto's name.
		const inner = member(value, payload) ?? (payload === "message" ? value.msg : undefined);
		if (isObject(inner) && value.kind === undefined) return { payload, inner, wrapped: true };
	}
	const payload = KINDS.get(value.kind) ?? payloadByShape(value);
	if (payload === undefined)
		throw new Mismatch(`it is neither a task nor a message: ${membersOf(value)}, and a status or parts are missing`);
	return { payload, inner: value, wrapped: false };
}

const READERS: { readonly [P in Payload]: (inner: Loose) => unknown } = {
	task: peerTask,
	message: peerMessage,
	statusUpdate: peerStatusUpdate,
	artifactUpdate: peerArtifactUpdate,
};

function streamItem(value: unknown): StreamResponse {
	const { payload, inner, wrapped } = unwrap(value);
	const read = wrapped ? at(payload, () => READERS[payload](inner), inner) : READERS[payload](inner);
	return { [payload]: read } as StreamResponse;
}

function sent(value: unknown): SendMessageResponse {
	const item = streamItem(value);
	if ("task" in item || "message" in item) return item;
	throw new Mismatch("it is neither a task nor a message: it is an update event");
}

function task(value: unknown): Task {
	const item = streamItem(value);
	if ("task" in item) return item.task;
	throw new Mismatch("it is not a task");
}

function taskList(value: unknown): ListTasksResponse {
	const found = isObject(value) ? value.tasks : value;
	const items = found ?? [];
	if (!Array.isArray(items)) throw new Mismatch("expected an array").under("tasks");
	const tasks = items.filter(isObject).map((item, index) => at(index, () => peerTask(item), item));
	const count = (name: string) => {
		const number = isObject(value) ? Number(member(value, name)) : Number.NaN;
		return Number.isInteger(number) && number >= 0 ? number : tasks.length;
	};
	const nextPageToken = (isObject(value) && textIn(value, "nextPageToken")) || "";
	return { tasks, nextPageToken, pageSize: count("pageSize"), totalSize: count("totalSize") };
}

function authentication(value: unknown): AuthenticationInfo | undefined {
	if (!isObject(value)) return undefined;
	// 0.3 §6.9 lists schemes, 1.0 has one.
	const listed = Array.isArray(value.schemes) ? value.schemes.find((item) => typeof item === "string") : undefined;
	const scheme = textIn(value, "scheme") ?? (listed as string | undefined);
	return scheme === undefined ? undefined : { scheme, ...some("credentials", textIn(value, "credentials")) };
}

function pushConfig(value: unknown): TaskPushNotificationConfig {
	if (!isObject(value)) throw new Mismatch("it is not a push notification configuration");
	// 0.3 §6.10 nests it.
	const nested = member(value, "pushNotificationConfig");
	const config = isObject(nested) ? nested : value;
	const owner = textIn(value, "taskId") ?? textIn(config, "taskId");
	return {
		url: textIn(config, "url") ?? "",
		...some("tenant", textIn(value, "tenant")),
		...some("id", textIn(config, "id")),
		...some("taskId", owner === undefined ? undefined : taskId(owner)),
		...some("token", textIn(config, "token")),
		...some("authentication", authentication(config.authentication)),
	};
}

function pushConfigs(value: unknown): Results["ListTaskPushNotificationConfigs"] {
	const configs = isObject(value) ? (value.configs ?? []) : value;
	if (!Array.isArray(configs)) throw new Mismatch("expected an array").under("configs");
	const nextPageToken = (isObject(value) && textIn(value, "nextPageToken")) || "";
	return { configs: configs.map(pushConfig), nextPageToken };
}

/**
 * The result of an operation, or one item of its stream, from whatever a peer answered: 1.0 and 0.3 shapes in any
 * mixture, a bare task where the wrapper is due, lists missing. Gives exactly our 1.0 types. Throws
 * `InvalidAgentResponseError` with a reason of one line.
 */
export const decodeResult: { readonly [K in OperationName]: (value: unknown) => Results[K] } = {
	SendMessage: tolerantly("reply", sent),
	SendStreamingMessage: tolerantly("reply", streamItem),
	GetTask: tolerantly("reply", task),
	ListTasks: tolerantly("reply", taskList),
	CancelTask: tolerantly("reply", task),
	SubscribeToTask: tolerantly("reply", streamItem),
	CreateTaskPushNotificationConfig: tolerantly("reply", pushConfig),
	GetTaskPushNotificationConfig: tolerantly("reply", pushConfig),
	ListTaskPushNotificationConfigs: tolerantly("reply", pushConfigs),
	// 0.3 answers null, 1.0 an empty object.
	DeleteTaskPushNotificationConfig: () => ({}),
	GetExtendedAgentCard: decodeCard,
};
