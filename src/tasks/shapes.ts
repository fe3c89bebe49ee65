/**
 * Whether what was read back is what was written. A file can be edited or damaged and still be JSON; what does not have
 * the shape that all code counts on is found here, where it is one line, and not later, where it would be a whole task
 * list. Only what is counted on is looked at.
 */
import { isObject } from "../protocol/json.ts";
import type { TaskEvent } from "../protocol/task.ts";
import { TASK_STATES, type Task, type TaskStatus } from "../protocol/types.ts";

type Is = (value: unknown) => boolean;

const isText: Is = (value) => typeof value === "string";
const listOf =
	(is: Is): Is =>
	(value) =>
		Array.isArray(value) && value.every(is);
const maybe =
	(is: Is): Is =>
	(value) =>
		value === undefined || is(value);

const isPart: Is = (value) =>
	isObject(value) && (isText(value.text) || isText(value.raw) || isText(value.url) || value.data !== undefined);
const isMessage: Is = (value) =>
	isObject(value) && isText(value.messageId) && isText(value.role) && listOf(isPart)(value.parts);
const isArtifact: Is = (value) => isObject(value) && isText(value.artifactId) && listOf(isPart)(value.parts);
const isTime: Is = (value) => isText(value) && !Number.isNaN(Date.parse(String(value)));
const isStatus: Is = (value) =>
	isObject(value) &&
	TASK_STATES.some((state) => state === value.state) &&
	maybe(isTime)(value.timestamp) &&
	maybe(isMessage)(value.message);

/** Whether `value` is the task that the rest of its line, `whole`, speaks of. */
export const isTask = (value: unknown, whole: Readonly<Record<string, unknown>>): value is Task =>
	isObject(value) &&
	value.id === whole.whole &&
	value.contextId === whole.context &&
	isText(value.contextId) &&
	isStatus(value.status) &&
	(value.status as TaskStatus).state === whole.state &&
	maybe(isObject)(value.metadata) &&
	maybe(listOf(isMessage))(value.history) &&
	maybe(listOf(isArtifact))(value.artifacts);

/** Whether `value` is an event that is written down. */
export function isEvent(value: unknown): value is TaskEvent {
	if (!isObject(value)) return false;
	if (value.kind === "message") return isMessage(value.message);
	if (value.kind === "artifact") return isArtifact(value.artifact);
	return value.kind === "status" && isStatus(value.status) && maybe(isObject)(value.metadata);
}
