/** One value of everything that 0.3 can say, in the 1.0 form. */
import { buildCard } from "../../src/protocol/card.ts";
import type { OperationName, Params, Results } from "../../src/protocol/operations.ts";
import { contextId, type Message, TASK_STATES, type Task, taskId } from "../../src/protocol/types.ts";

export const PARTS: Message["parts"] = [
	{ text: "hi", metadata: { a: 1 } },
	{ raw: "aGk=", filename: "a.txt", mediaType: "text/plain" },
	{ url: "https://x.example/a.png", mediaType: "image/png" },
	{ data: { n: [1, null] } },
];
export const MESSAGE: Message = {
	messageId: "m",
	role: "ROLE_USER",
	parts: PARTS,
	contextId: contextId("c"),
	taskId: taskId("t"),
	metadata: { k: { deep: true } },
	extensions: ["https://e.example/1"],
	referenceTaskIds: [taskId("t0")],
};
export const TASK: Task = {
	id: taskId("t"),
	contextId: contextId("c"),
	status: {
		state: "TASK_STATE_INPUT_REQUIRED",
		message: { messageId: "q", role: "ROLE_AGENT", parts: [{ text: "which?" }] },
		timestamp: "2025-01-31T12:00:00.000Z",
	},
	artifacts: [{ artifactId: "a", name: "reply", parts: PARTS, metadata: { x: 1 } }],
	history: [MESSAGE],
	metadata: { y: 2 },
};
export const PUSH = {
	url: "https://h.example/x",
	id: "p",
	taskId: taskId("t"),
	token: "k",
	authentication: { scheme: "Bearer", credentials: "c" },
};
const { taskId: _, ...INLINE_PUSH } = PUSH;
export const SEND: Params["SendMessage"] = {
	message: MESSAGE,
	configuration: {
		acceptedOutputModes: ["text/plain"],
		historyLength: 0,
		returnImmediately: true,
		taskPushNotificationConfig: INLINE_PUSH,
	},
	metadata: { z: null },
};
export const REF = { taskId: taskId("t"), id: "p" };
export const CARD = buildCard({
	name: "pi",
	description: "d",
	version: "1",
	url: "http://127.0.0.1:9910/",
	skills: [
		{
			id: "s",
			name: "S",
			description: "d",
			tags: ["t"],
			securityRequirements: [{ schemes: { bearer: { list: ["w"] } } }],
		},
	],
	auth: true,
	streaming: true,
	push: false,
	extended: true,
	v03: true,
	metadata: { pid: 1 },
});
/** What survives of our card in 0.3: the 0.3 interface. */
export const OLD_CARD = { ...CARD, supportedInterfaces: CARD.supportedInterfaces.slice(-1) };

export const PARAMS: { readonly [K in OperationName]: readonly Params[K][] } = {
	SendMessage: [
		SEND,
		{ message: MESSAGE, configuration: { returnImmediately: false } },
		{
			message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "" }] },
			configuration: { returnImmediately: false },
		},
	],
	SendStreamingMessage: [{ message: MESSAGE }, { message: MESSAGE, configuration: { historyLength: 3 }, metadata: {} }],
	GetTask: [{ id: taskId("t") }, { id: taskId("t"), historyLength: 0 }],
	ListTasks: [
		{},
		{
			contextId: contextId("c"),
			status: "TASK_STATE_AUTH_REQUIRED",
			pageSize: 5,
			pageToken: "n",
			includeArtifacts: true,
		},
	],
	CancelTask: [{ id: taskId("t"), metadata: { a: 1 } }],
	SubscribeToTask: [{ id: taskId("t") }],
	CreateTaskPushNotificationConfig: [PUSH, { url: PUSH.url, id: "p", taskId: taskId("t") }],
	GetTaskPushNotificationConfig: [REF],
	ListTaskPushNotificationConfigs: [{ taskId: taskId("t") }],
	DeleteTaskPushNotificationConfig: [REF],
	GetExtendedAgentCard: [{}],
};
export const IDS = { taskId: taskId("t"), contextId: contextId("c") };
export const EVENTS: readonly Results["SendStreamingMessage"][] = [
	{ task: TASK },
	{ message: MESSAGE },
	{ statusUpdate: { ...IDS, status: { state: "TASK_STATE_WORKING" }, metadata: { a: 1 } } },
	{ statusUpdate: { ...IDS, status: TASK.status } },
	{ artifactUpdate: { ...IDS, artifact: { artifactId: "a", parts: PARTS }, append: true, lastChunk: true } },
	{ artifactUpdate: { ...IDS, artifact: { artifactId: "a", parts: [{ text: "x" }] }, metadata: { b: 2 } } },
];
export const RESULTS: { readonly [K in OperationName]: readonly Results[K][] } = {
	SendMessage: [{ task: TASK }, { message: MESSAGE }],
	SendStreamingMessage: EVENTS,
	GetTask: [TASK, ...TASK_STATES.map((state) => ({ id: taskId("t"), contextId: contextId("c"), status: { state } }))],
	ListTasks: [
		{ tasks: [TASK], nextPageToken: "n", pageSize: 1, totalSize: 9 },
		{ tasks: [], nextPageToken: "", pageSize: 50, totalSize: 0 },
	],
	CancelTask: [TASK],
	SubscribeToTask: EVENTS,
	CreateTaskPushNotificationConfig: [PUSH],
	GetTaskPushNotificationConfig: [PUSH, { url: PUSH.url, id: "p", taskId: taskId("t") }],
	ListTaskPushNotificationConfigs: [
		{ configs: [PUSH], nextPageToken: "" },
		{ configs: [], nextPageToken: "" },
	],
	DeleteTaskPushNotificationConfig: [{}],
	GetExtendedAgentCard: [OLD_CARD],
};
