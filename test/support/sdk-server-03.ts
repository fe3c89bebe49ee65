/** A server of the official SDK of 0.3, whose agent does what `sdk-script.ts` says. */
import { randomUUID } from "node:crypto";
import { AGENT_CARD_PATH, type AgentCard, type Message, type TaskStatus } from "a2a-js-sdk-03";
import {
	type AgentExecutor,
	DefaultExecutionEventBusManager,
	DefaultPushNotificationSender,
	DefaultRequestHandler,
	type ExecutionEventBus,
	InMemoryPushNotificationStore,
	InMemoryTaskStore,
	type RequestContext,
} from "a2a-js-sdk-03/server";
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from "a2a-js-sdk-03/server/express";
import { Players, type State, type Step } from "./sdk-script.ts";
import { AGENT, listenWith, REST_PATH, RPC_PATH, type SdkServer, type SdkServerOptions } from "./sdk-web.ts";

function agentMessage(text: string, ids: { readonly taskId?: string; readonly contextId: string }): Message {
	return { kind: "message", messageId: randomUUID(), role: "agent", parts: [{ kind: "text", text }], ...ids };
}

const statusOf = (state: State, message?: Message): TaskStatus => ({
	state,
	timestamp: new Date().toISOString(),
	...(message ? { message } : {}),
});

/** After these the SDK expects nothing more, so they are marked as final (0.3 §7.2.2). */
const FINAL: ReadonlySet<State> = new Set<State>([
	...(["completed", "failed", "rejected", "canceled"] as const),
	...(["input-required", "auth-required"] as const),
]);

class Executor implements AgentExecutor {
	readonly players = new Players();
	readonly #contexts = new Map<string, string>();

	cancelTask = async (taskId: string, bus: ExecutionEventBus): Promise<void> => {
		this.players.stop(taskId);
		const contextId = this.#contexts.get(taskId) ?? "";
		bus.publish({ kind: "status-update", taskId, contextId, status: statusOf("canceled"), final: true });
		bus.finished();
	};

	execute = async ({ taskId, contextId, userMessage, task }: RequestContext, bus: ExecutionEventBus): Promise<void> => {
		this.#contexts.set(taskId, contextId);
		const ids = { taskId, contextId };
		const [part] = userMessage.parts;
		const words = part?.kind === "text" ? part.text : "";
		let begun = task !== undefined;
		const say = (step: Step): void => {
			if ("message" in step) {
				bus.publish(agentMessage(step.message, { contextId }));
				return;
			}
			if (!begun) {
				bus.publish({ kind: "task", id: taskId, contextId, status: statusOf("submitted"), history: [userMessage] });
				begun = true;
			}
			if ("state" in step) {
				const message = step.text === undefined ? undefined : agentMessage(step.text, ids);
				const status = statusOf(step.state, message);
				bus.publish({ kind: "status-update", ...ids, status, final: FINAL.has(step.state) });
				return;
			}
			const { artifact: artifactId, text, append = false, last = false } = step;
			const artifact = { artifactId, name: artifactId, parts: [{ kind: "text" as const, text }] };
			bus.publish({ kind: "artifact-update", ...ids, artifact, append, lastChunk: last });
		};
		await this.players.run(taskId, words, task !== undefined, say);
		bus.finished();
	};
}

/** Starts the server on a free port. */
export function sdkServer03(options: SdkServerOptions = {}): Promise<SdkServer> {
	const executor = new Executor();
	return listenWith(options, executor.players, (app, url) => {
		const card = cardOf(url, options);
		const configs = new InMemoryPushNotificationStore();
		const sender = new DefaultPushNotificationSender(configs);
		const store = new InMemoryTaskStore();
		const requestHandler = options.whole
			? new DefaultRequestHandler(card, store, executor, new DefaultExecutionEventBusManager(), configs, sender, card)
			: new DefaultRequestHandler(card, store, executor);
		app.use(`/${AGENT_CARD_PATH}`, agentCardHandler({ agentCardProvider: requestHandler }));
		app.use(RPC_PATH, jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
		app.use(REST_PATH, restHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }));
	});
}

function cardOf(url: string, options: SdkServerOptions): AgentCard {
	const { streaming = true, binding = "JSONRPC", whole = false, token } = options;
	const { skill, ...about } = AGENT;
	return {
		...about,
		protocolVersion: "0.3.0",
		url: new URL(binding === "JSONRPC" ? RPC_PATH : REST_PATH, url).href,
		preferredTransport: binding,
		supportsAuthenticatedExtendedCard: whole,
		capabilities: { streaming, pushNotifications: whole },
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [skill],
		...(token === undefined
			? {}
			: { securitySchemes: { bearer: { type: "http", scheme: "Bearer" } }, security: [{ bearer: [] }] }),
	};
}
