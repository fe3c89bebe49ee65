/** A server of the official SDK of 1.0, whose agent does what `sdk-script.ts` says. */
import { randomUUID } from "node:crypto";
import { AGENT_CARD_PATH, type AgentCard, type Message, Role, type Task, taskStateFromJSON } from "@a2a-js/sdk";
import { duplicateInterfacesForLegacy } from "@a2a-js/sdk/compat/v0_3";
import {
	AgentEvent,
	type AgentExecutor,
	DefaultExecutionEventBusManager,
	DefaultPushNotificationSender,
	DefaultRequestHandler,
	type ExecutionEventBus,
	InMemoryPushNotificationStore,
	InMemoryTaskStore,
	type RequestContext,
} from "@a2a-js/sdk/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "@a2a-js/sdk/server/express";
import { Players, type State, type Step } from "./sdk-script.ts";
import { AGENT, listenWith, REST_PATH, RPC_PATH, type SdkServer, type SdkServerOptions } from "./sdk-web.ts";

export interface SdkServer1Options extends SdkServerOptions {
	/** The card and the endpoint serve 0.3 as well. */
	readonly legacy?: boolean;
}

const textPart = (value: string): Message["parts"][number] => ({
	content: { $case: "text", value },
	metadata: undefined,
	filename: "",
	mediaType: "text/plain",
});

function agentMessage(text: string, ids: { readonly taskId: string; readonly contextId: string }): Message {
	const { taskId, contextId } = ids;
	return {
		messageId: randomUUID(),
		role: Role.ROLE_AGENT,
		parts: [textPart(text)],
		taskId,
		contextId,
		metadata: undefined,
		extensions: [],
		referenceTaskIds: [],
	};
}

const statusOf = (state: State, message?: Message): NonNullable<Task["status"]> => ({
	state: taskStateFromJSON(`TASK_STATE_${state.toUpperCase().replace("-", "_")}`),
	message,
	timestamp: new Date().toISOString(),
});

class Executor implements AgentExecutor {
	readonly players = new Players();
	readonly #contexts = new Map<string, string>();

	cancelTask = async (taskId: string, bus: ExecutionEventBus): Promise<void> => {
		this.players.stop(taskId);
		const contextId = this.#contexts.get(taskId) ?? "";
		bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: statusOf("canceled"), metadata: undefined }));
	};

	execute = async ({ taskId, contextId, userMessage, task }: RequestContext, bus: ExecutionEventBus): Promise<void> => {
		this.#contexts.set(taskId, contextId);
		const ids = { taskId, contextId };
		const [part] = userMessage.parts;
		const words = part?.content?.$case === "text" ? part.content.value : "";
		let begun = false;
		const say = (step: Step): void => {
			if ("message" in step) {
				bus.publish(AgentEvent.message(agentMessage(step.message, { taskId: "", contextId })));
				return;
			}
			if (!begun) {
				const fresh: Task = {
					id: taskId,
					contextId,
					status: statusOf("submitted"),
					artifacts: [],
					history: [userMessage],
					metadata: undefined,
				};
				bus.publish(AgentEvent.task(task ?? fresh));
				begun = true;
			}
			if ("state" in step) {
				const message = step.text === undefined ? undefined : agentMessage(step.text, ids);
				bus.publish(AgentEvent.statusUpdate({ ...ids, status: statusOf(step.state, message), metadata: undefined }));
				return;
			}
			const { artifact: artifactId, text, append = false, last = false } = step;
			const artifact = { artifactId, name: artifactId, description: "", parts: [textPart(text)] };
			bus.publish(
				AgentEvent.artifactUpdate({
					...ids,
					artifact: { ...artifact, metadata: undefined, extensions: [] },
					append,
					lastChunk: last,
					metadata: undefined,
				}),
			);
		};
		await this.players.run(taskId, words, task !== undefined, say);
		if (!begun) bus.finished();
	};
}

/** Starts the server on a free port. */
export function sdkServer(options: SdkServer1Options = {}): Promise<SdkServer> {
	const { legacy = false } = options;
	const executor = new Executor();
	return listenWith(options, executor.players, (app, url) => {
		const card = cardOf(url, options);
		const configs = new InMemoryPushNotificationStore();
		const sender = new DefaultPushNotificationSender(configs);
		const store = new InMemoryTaskStore();
		const handler = options.whole
			? new DefaultRequestHandler(card, store, executor, new DefaultExecutionEventBusManager(), configs, sender, card)
			: new DefaultRequestHandler(card, store, executor);
		const legacyCompat = { enabled: legacy };
		app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: handler, legacyCompat }));
		const userBuilder = UserBuilder.noAuthentication;
		app.use(RPC_PATH, jsonRpcHandler({ requestHandler: handler, userBuilder, legacyCompat }));
		app.use(REST_PATH, restHandler({ requestHandler: handler, userBuilder }));
	});
}

function cardOf(url: string, options: SdkServer1Options): AgentCard {
	const { legacy = false, binding = "JSONRPC", streaming = true, whole = false, token } = options;
	const { skill, ...about } = AGENT;
	const at = new URL(binding === "JSONRPC" ? RPC_PATH : REST_PATH, url).href;
	const interfaces = [{ url: at, protocolBinding: binding, tenant: "", protocolVersion: "1.0" }];
	const value = { description: "", scheme: "Bearer", bearerFormat: "" };
	return {
		...about,
		supportedInterfaces: legacy ? duplicateInterfacesForLegacy(interfaces, ["JSONRPC"]) : interfaces,
		provider: undefined,
		capabilities: { streaming, pushNotifications: whole, extendedAgentCard: whole, extensions: [] },
		securitySchemes: token === undefined ? {} : { bearer: { scheme: { $case: "httpAuthSecurityScheme", value } } },
		securityRequirements: token === undefined ? [] : [{ schemes: { bearer: { list: [] } } }],
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [{ ...skill, examples: [], inputModes: [], outputModes: [], securityRequirements: [] }],
		signatures: [],
	};
}
