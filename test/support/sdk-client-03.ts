/** The official SDK's client of 0.3, pointed at our server, and words for what it sends and gets. */
import { randomUUID } from "node:crypto";
import type {
	Message,
	MessageSendParams,
	Part,
	Task,
	TaskArtifactUpdateEvent,
	TaskStatusUpdateEvent,
} from "a2a-js-sdk-03";
import {
	type Client,
	ClientFactory,
	ClientFactoryOptions,
	createAuthenticatingFetchWithRetry,
	DefaultAgentCardResolver,
	JsonRpcTransportFactory,
	RestTransportFactory,
} from "a2a-js-sdk-03/client";

/** `fetch` that says which version it speaks, as 0.3 §14 has it; the SDK itself says nothing. */
const versioned: typeof fetch = (input, init) => {
	const headers = new Headers(init?.headers);
	headers.set("a2a-version", "0.3");
	return fetch(input, { ...init, headers });
};

export interface ClientOptions {
	/** Bearer token of every call. */
	readonly token?: string;
	/** Sends `A2A-Version: 0.3`, with the request for the card as well. */
	readonly version?: boolean;
	/** Taken where the card has it; without one, the card's own choice. */
	readonly binding?: "JSONRPC" | "HTTP+JSON";
}

/** A client made from the card of `url`, as the SDK's README shows it. */
export async function sdkClient03(url: string, how: ClientOptions = {}): Promise<Client> {
	const { token, version = false, binding } = how;
	const base = version ? versioned : fetch;
	const fetchImpl = token
		? createAuthenticatingFetchWithRetry(base, {
				headers: async () => ({ Authorization: `Bearer ${token}` }),
				shouldRetryWithHeaders: async () => undefined,
			})
		: base;
	const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
		transports: [new JsonRpcTransportFactory({ fetchImpl }), new RestTransportFactory({ fetchImpl })],
		...(binding ? { preferredTransports: [binding] } : {}),
		cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
	});
	return new ClientFactory(options).createFromUrl(url);
}

/** Parameters that send `text`. */
export function asking03(text: string, more: Partial<Message> = {}, blocking = true): MessageSendParams {
	return {
		message: { kind: "message", messageId: randomUUID(), role: "user", parts: [{ kind: "text", text }], ...more },
		configuration: { blocking },
	};
}

/** The answer as a task; throws when it is a message. */
export function asTask03(answer: Message | Task): Task {
	if (answer.kind !== "task") throw new Error(`not a task: ${JSON.stringify(answer)}`);
	return answer;
}

/** Texts of parts, joined. */
export const textIn03 = (parts: readonly Part[] | undefined): string =>
	(parts ?? []).map((part) => (part.kind === "text" ? part.text : "")).join("");

/** Text of all artifacts of a task. */
export const resultOf03 = (task: Task): string => (task.artifacts ?? []).map(({ parts }) => textIn03(parts)).join("");

type Item03 = Message | Task | TaskStatusUpdateEvent | TaskArtifactUpdateEvent;

/** A stream's items, each in a word: `task submitted`, `status working`, `artifact reply+`; `.` behind the final one. */
export function words03(item: Item03): string {
	switch (item.kind) {
		case "task":
			return `task ${item.status.state}`;
		case "message":
			return `message ${textIn03(item.parts)}`;
		case "status-update":
			return `status ${item.status.state}${item.final ? "." : ""}`;
		case "artifact-update":
			return `artifact ${item.artifact.artifactId}${item.append ? "+" : ""}`;
	}
}

/** The text that a stream's artifact updates bring. */
export const streamed03 = (items: readonly Item03[]): string =>
	items.map((item) => (item.kind === "artifact-update" ? textIn03(item.artifact.parts) : "")).join("");
