/**
 * The way in, put together: a request → who calls → policies → the agent → its reply. One instance for the life of
 * the app; what stands between `start` and `stop` is rebuilt from the configuration each time.
 */

import { createAgent, type LocalAgent } from "./agent/agent.ts";
import type { HttpHandler } from "./bindings/gateway/channel.ts";
import { allowedHosts } from "./bindings/http/gate.ts";
import { createHandler } from "./bindings/http/handler.ts";
import { bindHost, type Listening, listen } from "./bindings/http/listen.ts";
import type { HttpRequest } from "./bindings/http/request.ts";
import { REST_BASE } from "./bindings/http/rest.ts";
import type { Config } from "./config/keys.ts";
import type { Served } from "./gateways.ts";
import type { AuditLog } from "./guard/audit.ts";
import { identifier } from "./guard/identity.ts";
import type { Metrics } from "./guard/metrics.ts";
import { rateLimited, streamsCapped, trusted, turnCapped } from "./guard/policies.ts";
import type { Redaction } from "./guard/redact.ts";
import type { Host } from "./host.ts";
import type { Clock } from "./lib/clock.ts";
import { guarded } from "./protocol/agent.ts";
import { buildCard } from "./protocol/card.ts";
import { type AgentCard, taskId } from "./protocol/types.ts";
import type { TaskStore } from "./tasks/store.ts";
import { VERSION } from "./version.ts";

/** Identifies what the extended card says of the session (§4.6). */
const SESSION_EXTENSION = "https://github.com/bacnh85/pi-extensions/pi-a2a/session/v1";

const DESCRIPTION =
	"A Pi coding agent: it works on the files of its workspace with tools of its own, and remembers a conversation.";

/** What a session can read: text, JSON, and pictures for models that see. */
const INPUT_MODES = ["text/plain", "text/*", "application/json", "image/png", "image/jpeg", "image/gif", "image/webp"];

/** Readers that one caller may have: many for each turn that may run at the same time. */
const STREAMS_PER_TURN = 20;
const LEAST_STREAMS = 100;

export interface InboundParts {
	/** The configuration in force. */
	readonly config: () => Config;
	/** What takes credentials out of all that is said. */
	readonly redaction: () => Redaction;
	readonly host: Host;
	readonly tasks: TaskStore;
	readonly audit: AuditLog;
	readonly metrics: Metrics;
	readonly clock: Clock;
	/** What each gateway presents when it calls us, by its key. */
	readonly minted: () => ReadonlyMap<string, string>;
}

export interface Inbound {
	/** Where it listens; undefined when it does not. */
	listening(): Listening | undefined;
	/** What gateways need of the server that runs; undefined when none does. */
	served(): Served | undefined;
	/** Listens under the configuration in force. Listening already, it changes over to it; tasks that run go on. */
	start(): Promise<Listening>;
	/** Ends streams, then tasks (FAILED with `reason`), and gives the port back. May be called when it does not listen. */
	stop(reason: string): Promise<void>;
}

export function createInbound(parts: InboundParts): Inbound {
	const { host, tasks, clock } = parts;
	let agent: LocalAgent | undefined;
	let listening: Listening | undefined;
	let handler: HttpHandler | undefined;

	async function open(config: Config): Promise<Listening> {
		const hasToken = needsToken(config);
		agent ??= createAgent({
			tasks,
			runner: host.runner(config),
			clock,
			limits: limitsOf(parts.config),
			redact: () => parts.redaction().createRedactor(),
			card: () => extendedCard(parts, card(parts.config())),
			capabilities: { streaming: true, push: false, extended: isEnriched(config) },
			inputModes: INPUT_MODES,
			log: host.log,
		});
		const card = (now: Config, request?: HttpRequest) => cardOf(now, host, addressFor(now, listening, request));
		handler = createHandler({
			agent: guarded(
				agent,
				parts.audit.policy,
				parts.metrics.policy,
				trusted(config),
				rateLimited({ perMinute: config.rateLimitPerMin, clock }),
				turnCapped({ max: config.maxPingpongTurns, clock }),
				streamsCapped({ max: Math.max(LEAST_STREAMS, config.maxConcurrent * STREAMS_PER_TURN) }),
			),
			identify: parts.audit.identified(
				identifier({ shared: config.sharedToken, peers: config.peerTokens, clock, minted: parts.minted }),
			),
			card: (request) => card(config, request),
			gate: {
				hosts: () => allowedHosts(listening?.host ?? "127.0.0.1", config.publicUrl, hasToken),
				authRequired: hasToken,
			},
			isV03: (caller, id) => tasks.isV03(caller.id, taskId(id)),
			metrics: () => parts.metrics.snapshot(),
			log: host.log,
		});
		const { serverHost, serverPort, portFallback } = config;
		return listen(handler, {
			host: bindHost(serverHost, hasToken),
			port: serverPort,
			portFallback,
			log: host.log,
			clock,
		});
	}

	return {
		listening: () => listening,
		served() {
			const now = listening;
			if (!now || !handler) return undefined;
			const everywhere = now.host === "0.0.0.0" || now.host === "::";
			return {
				url: () => parts.config().publicUrl || (everywhere ? undefined : now.url),
				port: now.port,
				card: (url) => cardOf(parts.config(), host, url),
				handler,
			};
		},
		async start() {
			await listening?.close();
			listening = undefined;
			listening = await open(parts.config());
			return listening;
		},
		async stop(reason) {
			// Whoever waits for a task is told its end before the connection goes.
			const ended = agent?.close(reason);
			const stopping = [listening?.close(ended), ended];
			listening = undefined;
			agent = undefined;
			await Promise.all(stopping);
		},
	};
}

/** Whether callers must present a token. */
export function needsToken(config: Pick<Config, "sharedToken" | "peerTokens">): boolean {
	return config.sharedToken !== "" || Object.keys(config.peerTokens).length > 0;
}

/** Facts about the session are for callers who said who they are. */
const isEnriched = (config: Config): boolean => config.enrichCard && needsToken(config);

/** Read at each use, so that a changed limit holds for tasks to come. */
function limitsOf(config: () => Config) {
	return {
		get maxConcurrent() {
			return config().maxConcurrent;
		},
		get replyTimeoutMs() {
			return config().replyTimeoutSec * 1000;
		},
		get asyncTimeoutMs() {
			return config().asyncTimeoutSec * 1000;
		},
	};
}

/**
 * The URL on the card: the public one when there is one; bound to every address, the one by which this reader came
 * (nobody can call 0.0.0.0); else the bound one.
 */
function addressFor(config: Config, listening: Listening | undefined, request: HttpRequest | undefined): string {
	if (config.publicUrl !== "") return config.publicUrl;
	const bound = listening?.host;
	const asked = request?.headers.host;
	if ((bound === "0.0.0.0" || bound === "::") && asked !== undefined) return `http://${asked}/`;
	return listening?.url ?? "";
}

function cardOf(config: Config, host: Host, url: string): AgentCard {
	return buildCard({
		name: config.agentName,
		description: DESCRIPTION,
		version: VERSION,
		url,
		...(url === "" ? {} : { restUrl: `${url.replace(/\/$/, "")}${REST_BASE}` }),
		skills: config.skills.length > 0 ? config.skills : host.describe().skills,
		auth: needsToken(config),
		streaming: true,
		push: false,
		extended: isEnriched(config),
		v03: true,
		inputModes: INPUT_MODES,
	});
}

/** The card with what the requirements call enriched: the folder, model and tools of the live session. */
function extendedCard(parts: InboundParts, card: AgentCard): AgentCard {
	const { pid, cwd, model, tools } = parts.host.describe();
	const metadata = { pid, cwd, tools: [...tools], ...(model === undefined ? {} : { model }) };
	const extensions = [...(card.capabilities.extensions ?? []), { uri: SESSION_EXTENSION, params: metadata }];
	return { ...card, capabilities: { ...card.capabilities, extensions }, metadata };
}
