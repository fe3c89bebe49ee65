/** The official SDK's client of 1.0, pointed at our server, and words for what it sends and gets. */
import { randomUUID } from "node:crypto";
import {
	type AgentCard,
	type Message,
	Role,
	type SendMessageConfiguration,
	type SendMessageRequest,
	type StreamResponse,
	type Task,
	TaskState,
} from "@a2a-js/sdk";
import {
	type Client,
	ClientFactory,
	ClientFactoryOptions,
	createAuthenticatingFetchWithRetry,
	JsonRpcTransportFactory,
	RestTransportFactory,
} from "@a2a-js/sdk/client";

/** `fetch` with a bearer token in every request. */
function fetchWith(token: string): typeof fetch {
	return createAuthenticatingFetchWithRetry(fetch, {
		headers: async () => ({ authorization: `Bearer ${token}` }),
		shouldRetryWithHeaders: async () => undefined,
	});
}

export type Binding = "JSONRPC" | "HTTP+JSON";

/** A client made from the card of `url`, as the SDK's README shows it. Without a binding it takes the card's first. */
export async function sdkClient(url: string, token?: string, binding?: Binding): Promise<Client> {
	const how = token === undefined ? {} : { fetchImpl: fetchWith(token) };
	const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
		transports: [new JsonRpcTransportFactory(how), new RestTransportFactory(how)],
		...(binding ? { preferredTransports: [binding] } : {}),
	});
	return new ClientFactory(options).createFromUrl(url);
}

/** A message of the user's. */
export function said(text: string, more: Partial<Message> = {}): Message {
	return {
		messageId: randomUUID(),
		role: Role.ROLE_USER,
		parts: [{ content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "text/plain" }],
		contextId: "",
		taskId: "",
		metadata: undefined,
		extensions: [],
		referenceTaskIds: [],
		...more,
	};
}

/** A request to send `text`. */
export function asking(
	text: string,
	more: Partial<Message> = {},
	configuration: Partial<SendMessageConfiguration> = {},
): SendMessageRequest {
	return {
		tenant: "",
		message: said(text, more),
		configuration: {
			acceptedOutputModes: [],
			taskPushNotificationConfig: undefined,
			returnImmediately: false,
			...configuration,
		},
		metadata: undefined,
	};
}

/** The answer as a task; throws when it is a message. */
export function asTask(answer: Message | Task): Task {
	if (!("status" in answer)) throw new Error(`not a task: ${JSON.stringify(answer)}`);
	return answer;
}

/** Name of the state that a task has. */
export const stateOf = (task: Pick<Task, "status">): string => TaskState[task.status?.state ?? -1] ?? "none";

/** Texts of parts, joined. */
export const textIn = (parts: Message["parts"] | undefined): string =>
	(parts ?? []).map(({ content }) => (content?.$case === "text" ? content.value : "")).join("");

/** Text of all artifacts of a task. */
export const resultOf = (task: Task): string => task.artifacts.map(({ parts }) => textIn(parts)).join("");

/** A stream's items, each in a word: `task SUBMITTED`, `status WORKING`, `artifact reply+`, `message hello`. */
export function words(item: StreamResponse): string {
	const { payload } = item;
	switch (payload?.$case) {
		case "task":
			return `task ${short(stateOf(payload.value))}`;
		case "message":
			return `message ${textIn(payload.value.parts)}`;
		case "statusUpdate":
			return `status ${short(stateOf(payload.value))}`;
		case "artifactUpdate":
			return `artifact ${payload.value.artifact?.artifactId}${payload.value.append ? "+" : ""}`;
		default:
			return "nothing";
	}
}

const short = (state: string) => state.replace("TASK_STATE_", "");

/** The text that a stream's artifact updates bring. */
export const streamed = (items: readonly StreamResponse[]): string =>
	items
		.map(({ payload }) => (payload?.$case === "artifactUpdate" ? textIn(payload.value.artifact?.parts) : ""))
		.join("");

/** URLs of a card, by binding and version. */
export const interfacesOf = (card: AgentCard): readonly string[] =>
	card.supportedInterfaces.map((each) => `${each.protocolBinding} ${each.protocolVersion} ${each.url}`);
