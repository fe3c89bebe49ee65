/** The data model in its 0.3 form (0.3 §6), from ours. The other direction needs no code of its own: decoders know both. */
import { isInterrupted, isTerminal } from "../task.ts";
import type {
	Artifact,
	Json,
	Message,
	Part,
	StreamResponse,
	Task,
	TaskPushNotificationConfig,
	TaskState,
	TaskStatus,
} from "../types.ts";

/** Absent members stay absent: `undefined` is left out, so that a value equals its JSON. */
function compact(value: { readonly [key: string]: unknown }): object {
	return Object.fromEntries(Object.entries(value).filter(([, inner]) => inner !== undefined));
}

/** 0.3 §6.3: `input-required` for `TASK_STATE_INPUT_REQUIRED`. */
export function stateV03(state: TaskState): string {
	if (state === "TASK_STATE_UNSPECIFIED") return "unknown";
	return state.slice("TASK_STATE_".length).toLowerCase().replace("_", "-");
}

/** 0.3 has only objects as data (0.3 §6.5.3); another value travels as the one member of an object. */
export const dataV03 = (data: Json) =>
	typeof data === "object" && data !== null && !Array.isArray(data) ? data : { value: data };

/** 0.3 §6.5. A text's or data's own media type and name have no place there and are left out. */
export function partV03(part: Part): object {
	const { metadata, filename: name, mediaType: mimeType } = part;
	if ("text" in part) return compact({ kind: "text", text: part.text, metadata });
	if ("data" in part) return compact({ kind: "data", data: dataV03(part.data), metadata });
	const content = "raw" in part ? { bytes: part.raw } : { uri: part.url };
	return compact({ kind: "file", file: compact({ ...content, name, mimeType }), metadata });
}

/** 0.3 §6.4 */
export function messageV03(message: Message): object {
	return {
		...message,
		kind: "message",
		role: message.role === "ROLE_USER" ? "user" : "agent",
		parts: message.parts.map(partV03),
	};
}

function statusV03(status: TaskStatus): object {
	return compact({
		...status,
		state: stateV03(status.state),
		message: status.message && messageV03(status.message),
	});
}

const artifactV03 = (artifact: Artifact) => ({ ...artifact, parts: artifact.parts.map(partV03) });

/** 0.3 §6.1 */
export function taskV03(task: Task): object {
	return compact({
		...task,
		kind: "task",
		status: statusV03(task.status),
		artifacts: task.artifacts?.map(artifactV03),
		history: task.history?.map(messageV03),
	});
}

/**
 * 0.3 §7.2.1. `final` (0.3 §7.2.2) is true in the update that ends or interrupts the task: whoever serves a 0.3 stream
 * closes it after that one.
 */
export function eventV03(item: StreamResponse): object {
	if ("task" in item) return taskV03(item.task);
	if ("message" in item) return messageV03(item.message);
	if ("statusUpdate" in item) {
		const { status } = item.statusUpdate;
		const final = isTerminal(status.state) || isInterrupted(status.state);
		return { ...item.statusUpdate, kind: "status-update", status: statusV03(status), final };
	}
	return { ...item.artifactUpdate, kind: "artifact-update", artifact: artifactV03(item.artifactUpdate.artifact) };
}

/** 0.3 §6.8: the configuration without its task. */
export function pushConfigV03({ url, id, token, authentication }: TaskPushNotificationConfig): object {
	const { scheme, ...credentials } = authentication ?? {};
	return compact({ url, id, token, authentication: scheme ? { schemes: [scheme], ...credentials } : undefined });
}

/** 0.3 §6.10 */
export function taskPushConfigV03(config: TaskPushNotificationConfig): object {
	return compact({ taskId: config.taskId, pushNotificationConfig: pushConfigV03(config) });
}
