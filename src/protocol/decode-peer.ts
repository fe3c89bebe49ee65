/**
 * The objects of the data model (§4.1, §4.2) as peers send them: 1.0, 0.3 or any mixture, with lists missing, nulls
 * where nothing is, states in whatever spelling. What comes out is 1.0 and ours to rely on. Only what cannot be done
 * without is asked for; unknown and unusable members are left out.
 */
import { Mismatch, member } from "./decode-base.ts";
import { contentsOf, flattenPart } from "./decode-part.ts";
import { isObject } from "./json.ts";
import {
	type Artifact,
	contextId,
	type JsonObject,
	type Message,
	type Part,
	TASK_STATES,
	type Task,
	type TaskArtifactUpdateEvent,
	type TaskState,
	type TaskStatus,
	type TaskStatusUpdateEvent,
	taskId,
} from "./types.ts";

/** Something with members, of a peer's. */
export type Loose = Readonly<Record<string, unknown>>;

/** A member that is a string and not empty. */
export function textIn(value: Loose, name: string): string | undefined {
	const found = member(value, name);
	return typeof found === "string" && found !== "" ? found : undefined;
}

const listIn = (value: Loose, name: string): readonly unknown[] => {
	const found = member(value, name);
	return Array.isArray(found) ? found : [];
};
const textsIn = (value: Loose, name: string) => listIn(value, name).filter((item) => typeof item === "string");
const flagIn = (value: Loose, name: string) => member(value, name) === true;

/** `{ [name]: value }`, or nothing at all for what is absent or empty: absent members stay absent. */
export function some<N extends string, V>(name: N, value: V | undefined): { [K in N]?: V } {
	const empty = value === undefined || (Array.isArray(value) && value.length === 0);
	return empty ? {} : ({ [name]: value } as { [K in N]: V });
}

const metadataIn = (value: Loose) =>
	some("metadata", isObject(value.metadata) ? (value.metadata as JsonObject) : undefined);

/** Any spelling of a state (§4.1.3; 0.3 §6.3): `TASK_STATE_INPUT_REQUIRED`, `input-required`, `cancelled`, 3. */
export function peerState(value: unknown): TaskState {
	if (typeof value === "number") return TASK_STATES[value] ?? "TASK_STATE_UNSPECIFIED";
	const word = String(typeof value === "string" ? value : "")
		.toUpperCase()
		.replace(/[^A-Z]+/g, "_")
		.replace(/^TASK_STATE_/, "")
		.replace("CANCELLED", "CANCELED");
	return TASK_STATES.find((state) => state === `TASK_STATE_${word}`) ?? "TASK_STATE_UNSPECIFIED";
}

/** A part (§4.1.6; 0.3 §6.5), or nothing when it has no content that we know. */
function peerPart(value: unknown): Part | undefined {
	if (typeof value === "string") return { text: value };
	if (!isObject(value)) return undefined;
	const flat = flattenPart(value);
	const content = contentsOf(flat).find((name) => name === "data" || typeof flat[name] === "string");
	if (content === undefined) return undefined;
	const more = { ...metadataIn(flat), ...some("filename", textIn(flat, "filename")) };
	const mediaType = textIn(flat, "mediaType");
	// Of a text alone it says nothing; without it the pieces of one text can be put together.
	const plain = content === "text" && mediaType === "text/plain" && Object.keys(more).length === 0;
	return { [content]: flat[content], ...more, ...(plain ? {} : some("mediaType", mediaType)) } as Part;
}

const partsIn = (value: Loose): Part[] =>
	// `content` is what the 0.3 proto called the parts of a message.
	[...listIn(value, "parts"), ...listIn(value, "content")].map(peerPart).filter((part) => part !== undefined);

/** A message (§4.1.4); one without a role is the agent's, since a peer sent it. */
export function peerMessage(value: Loose): Message {
	return {
		messageId: textIn(value, "messageId") ?? "",
		role: /user/i.test(String(value.role)) ? "ROLE_USER" : "ROLE_AGENT",
		parts: partsIn(value),
		...contextIn(value),
		...some("taskId", taskIn(value)),
		...metadataIn(value),
		...some("extensions", textsIn(value, "extensions")),
		...some("referenceTaskIds", textsIn(value, "referenceTaskIds").map(taskId)),
	};
}

const taskIn = (value: Loose) => {
	const id = textIn(value, "taskId");
	return id === undefined ? undefined : taskId(id);
};
const contextIn = (value: Loose) => {
	const id = textIn(value, "contextId");
	return some("contextId", id === undefined ? undefined : contextId(id));
};

/** A status (§4.1.2), also as the bare name of a state. */
function peerStatus(value: unknown): TaskStatus {
	if (!isObject(value)) return { state: peerState(value) };
	const message = isObject(value.message) ? peerMessage(value.message) : undefined;
	return {
		state: peerState(value.state),
		...some("message", message),
		...some("timestamp", textIn(value, "timestamp")),
	};
}

function peerArtifact(value: Loose, index: number): Artifact {
	return {
		artifactId: textIn(value, "artifactId") ?? `artifact-${index + 1}`,
		parts: partsIn(value),
		...some("name", textIn(value, "name")),
		...some("description", textIn(value, "description")),
		...metadataIn(value),
		...some("extensions", textsIn(value, "extensions")),
	};
}

/** A task (§4.1.1) or the `{ id, state }` stub of one. Throws `Mismatch` when it has no id or no state. */
export function peerTask(value: Loose): Task {
	const id = textIn(value, "id") ?? textIn(value, "taskId");
	if (id === undefined) throw new Mismatch("expected a string that is not empty").under("id");
	const status = value.status ?? value.state;
	if (status === undefined || status === null) throw new Mismatch("expected an object").under("status");
	return {
		id: taskId(id),
		contextId: contextId(textIn(value, "contextId") ?? ""),
		status: peerStatus(status),
		...some("artifacts", listIn(value, "artifacts").filter(isObject).map(peerArtifact)),
		...some("history", listIn(value, "history").filter(isObject).map(peerMessage)),
		...metadataIn(value),
	};
}

const idsOf = (value: Loose) => ({
	taskId: taskId(textIn(value, "taskId") ?? textIn(value, "id") ?? ""),
	contextId: contextId(textIn(value, "contextId") ?? ""),
});

/** §4.2.1. `final` of 0.3 is not looked at: the end of a task is its state. */
export function peerStatusUpdate(value: Loose): TaskStatusUpdateEvent {
	return { ...idsOf(value), status: peerStatus(value.status ?? value.state), ...metadataIn(value) };
}

/** §4.2.2. Throws `Mismatch` without an artifact. */
export function peerArtifactUpdate(value: Loose): TaskArtifactUpdateEvent {
	if (!isObject(value.artifact)) throw new Mismatch("expected an object").under("artifact");
	return {
		...idsOf(value),
		artifact: peerArtifact(value.artifact, 0),
		...(flagIn(value, "append") ? { append: true } : {}),
		...(flagIn(value, "lastChunk") ? { lastChunk: true } : {}),
		...metadataIn(value),
	};
}
