/**
 * The way in, put together: a request → who calls → policies → the agent → its reply. One instance for the life of
 * the app; what stands between `start` and `stop` is rebuilt from the configuration each time.
 */

import { createAgent, type LocalAgent } from "./agent/agent.ts";
import type { FileLimits } from "./agent/content.ts";
import type { HttpHandler } from "./bindings/gateway/channel.ts";
import { allowedHosts } from "./bindings/http/gate.ts";
import { createHandler, MAX_BODY_BYTES } from "./bindings/http/handler.ts";
import { bindHost, type Listening, listen } from "./bindings/http/listen.ts";
import type { HttpRequest } from "./bindings/http/request.ts";
import { REST_BASE } from "./bindings/http/rest.ts";
import { createWebhooks } from "./bindings/http/webhook.ts";
import type { Config } from "./config/keys.ts";
import type { Durable } from "./durable.ts";
import type { Served } from "./gateways.ts";
import type { AuditLog } from "./guard/audit.ts";
import { type Credential, identifier } from "./guard/identity.ts";
import type { Metrics } from "./guard/metrics.ts";
import { rateLimited, streamsCapped, trusted, turnCapped } from "./guard/policies.ts";
import type { Redaction } from "./guard/redact.ts";
import type { Host } from "./host.ts";
import type { Clock } from "./lib/clock.ts";
import { BYTES, MEDIA_TYPES } from "./lib/media-types.ts";
import type { Mailbox } from "./mailbox.ts";
import { createOwnCards, loadCardSigner } from "./own-card.ts";
import { type Agent, type Caller, guarded } from "./protocol/agent.ts";
import { buildCard } from "./protocol/card.ts";
import { type AgentCard, taskId } from "./protocol/types.ts";
import type { TaskStore } from "./tasks/store.ts";
import { VERSION } from "./version.ts";

/** Identifies what the extended card says of the session (§4.6). */
const SESSION_EXTENSION = "https://github.com/bacnh85/pi-extensions/pi-a2a/session/v1";

const DESCRIPTION =
	"A Pi coding agent: it works on the files of its workspace with tools of its own, and remembers a conversation.";

/** What a session can read: any file that its tools can open. What it answers in, beside the files that it attaches. */
const INPUT_MODES = [...MEDIA_TYPES, BYTES];
const OUTPUT_MODES = ["text/plain", "text/markdown", "application/json"];

/** Readers that one caller may have: many for each turn that may run at the same time. */
const STREAMS_PER_TURN = 20;
const LEAST_STREAMS = 100;
/** Room for what stands beside files in a request. */
const TEXT_BYTES = 1_000_000;

export interface InboundParts {
	/** The configuration in force. */
	readonly config: () => Config;
	/** What takes credentials out of all that is said. */
	readonly redaction: () => Redaction;
	readonly host: Host;
	readonly tasks: TaskStore;
	readonly durable: Durable;
	readonly audit: AuditLog;
	readonly metrics: Metrics;
	readonly clock: Clock;
	/** What each gateway presents when it calls us, by its key. */
	readonly minted: () => ReadonlyMap<string, string>;
	/** The agent with a way on to those of the mailbox, and the card with its address there. */
	readonly mailbox: Pick<Mailbox, "bridge" | "addressed">;
}

/** The agent as callers meet it, whatever way they come. */
export interface Entry {
	/** Behind the policies. */
	readonly agent: Agent;
	readonly identify: (credential: Credential) => Caller;
	readonly card: () => AgentCard;
}

export interface Inbound {
	/** Where it listens; undefined when it does not. */
	listening(): Listening | undefined;
	/** What gateways need of the server that runs; undefined when none does. */
	served(): Served | undefined;
	/** The agent under the configuration in force, for callers who come another way than over HTTP. */
	entry(): Entry;
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
	/** Cards as they go out, the public and the extended one, by the key in force. */
	let publicCards = createOwnCards(undefined);
	let extendedCards = createOwnCards(undefined);

	const card = (now: Config, request?: HttpRequest) =>
		parts.mailbox.addressed(cardOf(now, host, addressFor(now, listening, request)));

	function own(config: Config): LocalAgent {
		agent ??= createAgent({
			tasks,
			runner: host.runner(config),
			clock,
			limits: limitsOf(parts.config),
			redact: () => parts.redaction().createRedactor(),
			card: () => extendedCards(extendedCard(parts, card(parts.config()))),
			capabilities: {
				streaming: true,
				get push() {
					return parts.config().pushEnabled;
				},
				extended: isEnriched(config),
			},
			webhooks: createWebhooks({
				secret: () => parts.config().pushSecret,
				private: () => parts.config().pushPrivate,
				clock,
			}),
			// Kinds of text and pictures that have no usual file name are read as well.
			inputModes: [...INPUT_MODES, "text/*", "image/*", "audio/*", "video/*"],
			outputModes: [...OUTPUT_MODES, ...INPUT_MODES],
			files: filesOf(parts.config),
			log: host.log,
		});
		return agent;
	}

	function entry(config: Config): Entry {
		return {
			agent: guarded(
				parts.mailbox.bridge(own(config)),
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
			card: () => card(config),
		};
	}

	async function open(config: Config): Promise<Listening> {
		const hasToken = needsToken(config);
		const signer = await loadCardSigner(config);
		publicCards = createOwnCards(signer);
		extendedCards = createOwnCards(signer);
		const { agent: entered, identify } = entry(config);
		handler = createHandler({
			agent: entered,
			identify,
			card: (request) => publicCards(card(config, request)),
			gate: {
				hosts: () => allowedHosts(listening?.host ?? "127.0.0.1", config.publicUrl, hasToken),
				authRequired: hasToken,
			},
			isV03: (caller, id) => tasks.isV03(caller.id, taskId(id)),
			maxBodyBytes: Math.max(MAX_BODY_BYTES, Math.ceil(config.fileMaxTotalBytes * 1.4) + TEXT_BYTES),
			metrics: () => parts.metrics.snapshot(),
			log: host.log,
		});
		const { serverHost, serverPort, portFallback } = config;
		const serve = handler;
		let ready: Promise<void> | undefined;
		const bound = await listen((request) => (ready ? ready.then(() => serve(request)) : serve(request)), {
			host: bindHost(serverHost, hasToken),
			port: serverPort,
			portFallback,
			log: host.log,
			clock,
		});
		// The address says whose tasks these are; nobody is answered before they are here.
		const ours = own(config);
		ready = parts.durable
			.open(config, bound)
			.then(() => ours.recover())
			.finally(() => {
				ready = undefined;
			});
		await ready;
		return bound;
	}

	return {
		listening: () => listening,
		entry: () => entry(parts.config()),
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
			parts.durable.close();
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
		get resumeTasks() {
			return config().resumeTasks;
		},
		get asyncTimeoutMs() {
			return config().asyncTimeoutSec * 1000;
		},
	};
}

/** How much a message may bring in files; read at each use as well. */
function filesOf(config: () => Config): FileLimits {
	return {
		get maxBytes() {
			return config().fileMaxBytes;
		},
		get maxTotalBytes() {
			return config().fileMaxTotalBytes;
		},
		get maxCount() {
			return config().fileMaxCount;
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
		push: config.pushEnabled,
		extended: isEnriched(config),
		v03: true,
		inputModes: INPUT_MODES,
		outputModes: OUTPUT_MODES,
	});
}

/** The card with what the requirements call enriched: the folder, model and tools of the live session. */
function extendedCard(parts: InboundParts, card: AgentCard): AgentCard {
	const { pid, cwd, model, tools } = parts.host.describe();
	const metadata = { pid, cwd, tools: [...tools], ...(model === undefined ? {} : { model }) };
	const extensions = [...(card.capabilities.extensions ?? []), { uri: SESSION_EXTENSION, params: metadata }];
	return { ...card, capabilities: { ...card.capabilities, extensions }, metadata };
}
