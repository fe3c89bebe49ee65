/** Clients of all implementations behind one face: what they send and get is put into the words of 1.0 by themselves. */
import {
	AgentCard,
	CancelTaskRequest,
	DeleteTaskPushNotificationConfigRequest,
	GetTaskPushNotificationConfigRequest,
	GetTaskRequest,
	ListTaskPushNotificationConfigsRequest,
	ListTaskPushNotificationConfigsResponse,
	ListTasksRequest,
	ListTasksResponse,
	Message,
	SendMessageRequest,
	StreamResponse,
	SubscribeToTaskRequest,
	Task,
	TaskPushNotificationConfig,
} from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { type Client as Client03, RestTransport } from "a2a-js-sdk-03/client";
import type { Connection } from "../../src/bindings/binding.ts";
import { decodeResult } from "../../src/protocol/decode.ts";
import type { ManyReply, OneReply, OperationName } from "../../src/protocol/operations.ts";
import { downcastParams } from "../../src/protocol/v03/index.ts";
import type { Driver } from "../interop/trials.ts";

type Ones = { readonly [K in OneReply]: (params: unknown) => Promise<unknown> };
type Manys = { readonly [K in ManyReply]: (params: unknown) => AsyncIterable<unknown> };

/** The table as a driver: what comes out is read by our own decoder, so it is valid 1.0. */
function driverOf(ones: Ones, manys: Manys): Driver {
	return {
		request: async (operation, params) => decodeResult[operation](await ones[operation](params)),
		async *stream(operation, params) {
			for await (const item of manys[operation](params)) yield decodeResult[operation](item);
		},
	};
}

const sdkAnswer = (answer: Message | Task) =>
	"status" in answer ? { task: Task.toJSON(answer) } : { message: Message.toJSON(answer) };

async function* sdkItems(items: AsyncIterable<StreamResponse>): AsyncGenerator<unknown> {
	for await (const item of items) yield StreamResponse.toJSON(item);
}

/** The SDK's client of 1.0. */
export function sdkDriver(client: Client): Driver {
	return driverOf(
		{
			SendMessage: async (params) => sdkAnswer(await client.sendMessage(SendMessageRequest.fromJSON(params))),
			GetTask: async (params) => Task.toJSON(await client.getTask(GetTaskRequest.fromJSON(params))),
			ListTasks: async (params) => ListTasksResponse.toJSON(await client.listTasks(ListTasksRequest.fromJSON(params))),
			CancelTask: async (params) => Task.toJSON(await client.cancelTask(CancelTaskRequest.fromJSON(params))),
			CreateTaskPushNotificationConfig: async (params) =>
				TaskPushNotificationConfig.toJSON(
					await client.createTaskPushNotificationConfig(TaskPushNotificationConfig.fromJSON(params)),
				),
			GetTaskPushNotificationConfig: async (params) =>
				TaskPushNotificationConfig.toJSON(
					await client.getTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest.fromJSON(params)),
				),
			ListTaskPushNotificationConfigs: async (params) =>
				ListTaskPushNotificationConfigsResponse.toJSON(
					await client.listTaskPushNotificationConfig(ListTaskPushNotificationConfigsRequest.fromJSON(params)),
				),
			async DeleteTaskPushNotificationConfig(params) {
				await client.deleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest.fromJSON(params));
				return {};
			},
			GetExtendedAgentCard: async () => AgentCard.toJSON(await client.getAgentCard()),
		},
		{
			SendStreamingMessage: (params) => sdkItems(client.sendMessageStream(SendMessageRequest.fromJSON(params))),
			SubscribeToTask: (params) => sdkItems(client.resubscribeTask(SubscribeToTaskRequest.fromJSON(params))),
		},
	);
}

/**
 * Over HTTP+JSON this client leaves out `append` as it reads an update of an artifact. A program that uses it has to take
 * every piece after an artifact's first for an addition, which with our server they are.
 */
async function* whole03<T>(items: AsyncIterable<T>): AsyncGenerator<unknown> {
	const begun = new Set<unknown>();
	for await (const item of items) {
		const update = item as { readonly kind?: string; readonly artifact?: { readonly artifactId: string } };
		const append = update.kind === "artifact-update" && begun.has(update.artifact?.artifactId);
		if (update.kind === "artifact-update") begun.add(update.artifact?.artifactId);
		yield append ? { ...update, append } : item;
	}
}

/** The SDK's client of 0.3. */
export function sdkDriver03(client: Client03): Driver {
	// The parameters in the form that 0.3 has for them; the SDK's types are checked by the SDK's own server.
	const old = (operation: OperationName, params: unknown) => downcastParams(operation, params as never) as never;
	const items = client.transport instanceof RestTransport ? whole03 : <T>(all: AsyncIterable<T>) => all;
	return driverOf(
		{
			SendMessage: (params) => client.sendMessage(old("SendMessage", params)),
			GetTask: (params) => client.getTask(old("GetTask", params)),
			ListTasks: async () => {
				throw new Error("0.3 has no list of tasks");
			},
			CancelTask: (params) => client.cancelTask(old("CancelTask", params)),
			CreateTaskPushNotificationConfig: (params) =>
				client.setTaskPushNotificationConfig(old("CreateTaskPushNotificationConfig", params)),
			GetTaskPushNotificationConfig: (params) =>
				client.getTaskPushNotificationConfig(old("GetTaskPushNotificationConfig", params)),
			ListTaskPushNotificationConfigs: (params) =>
				client.listTaskPushNotificationConfig(old("ListTaskPushNotificationConfigs", params)),
			async DeleteTaskPushNotificationConfig(params) {
				await client.deleteTaskPushNotificationConfig(old("DeleteTaskPushNotificationConfig", params));
				return {};
			},
			GetExtendedAgentCard: () => client.getAgentCard(),
		},
		{
			SendStreamingMessage: (params) => items(client.sendMessageStream(old("SendStreamingMessage", params))),
			SubscribeToTask: (params) => items(client.resubscribeTask(old("SubscribeToTask", params))),
		},
	);
}

/** Our own client, connected to a peer. */
export function ourDriver({ agent, call }: Connection): Driver {
	const calling = () => call(new AbortController().signal);
	return {
		request: (operation, params) => agent.request(operation, params, calling()),
		stream: (operation, params) => agent.stream(operation, params, calling()),
	};
}
