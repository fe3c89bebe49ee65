/**
 * The way in, put together: a request → who calls → policies → the agent → its reply. One instance for the life of
 * the app; what stands between `start` and `stop` is rebuilt from the configuration each time.
 */

import { createAgent, type LocalAgent } from "./agent/agent.ts";
import type { FileLimits } from "./agent/content.ts";
import type { HttpHandler } from "./bindings/gateway/channel.ts";
import { allowedHosts, isLoopback } from "./bindings/http/gate.ts";
import { createHandler, MAX_BODY_BYTES } from "./bindings/http/handler.ts";
import type { Hooks } from "./bindings/http/hooks.ts";
import { bindHost, type Listening, listen } from "./bindings/http/listen.ts";
import type { HttpRequest } from "./bindings/http/request.ts";
import { loadServerTls } from "./bindings/http/tls.ts";
import { createWebhooks } from "./bindings/http/webhook.ts";
import {
	addressFor,
	cardOf,
	declaredExtensions,
	extendedCard,
	INPUT_MODES,
	isEnriched,
	needsToken,
	OUTPUT_MODES,
} from "./card-facts.ts";
import type { Config } from "./config/keys.ts";
import type { Durable } from "./durable.ts";
import type { Served } from "./gateways.ts";
import type { AuditLog } from "./guard/audit.ts";
import { identifier } from "./guard/identity.ts";
import type { Metrics } from "./guard/metrics.ts";
import { rateLimited, streamsCapped, trusted, turnCapped } from "./guard/policies.ts";
import type { Redaction } from "./guard/redact.ts";
import type { Host } from "./host.ts";
import type { Clock } from "./lib/clock.ts";
import type { Mailbox, MailServed } from "./mailbox.ts";
import { createOwnCards, loadCardSigner } from "./own-card.ts";
import { guarded, type Policy } from "./protocol/agent.ts";
import { taskId } from "./protocol/types.ts";
import type { TaskStore } from "./tasks/store.ts";

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
	/** Refuses work that comes back in a circle. */
	readonly loops: Policy;
	readonly clock: Clock;
	/** Our webhooks; they are lost when the server stops or moves. */
	readonly hooks: Pick<Hooks, "receive" | "clear">;
	/** What each gateway presents when it calls us, by its key. */
	readonly minted: () => ReadonlyMap<string, string>;
	/** The agent with a way on to those of the mailbox, and the card with its address there. */
	readonly mailbox: Pick<Mailbox, "bridge" | "addressed">;
}

export interface Inbound {
	/** Where it listens; undefined when it does not. */
	listening(): Listening | undefined;
	/** What gateways need of the server that runs; undefined when none does. */
	served(): Served | undefined;
	/** The agent under the configuration in force, for callers who come another way than over HTTP. */
	entry(): MailServed;
	/** Listens under the configuration in force. Listening already, it changes over to it; tasks that run go on. */
	start(): Promise<Listening>;
	/**
	 * Takes no new task any more, and gives those that were taken `server.drainSec` to end, or until `signal` aborts; the
	 * server answers meanwhile. What follows is `stop`.
	 */
	drain(signal: AbortSignal): Promise<void>;
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
			card: () => extendedCards(extendedCard(host, card(parts.config()))),
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

	function entry(config: Config): MailServed {
		return {
			agent: guarded(
				parts.mailbox.bridge(own(config)),
				parts.audit.policy,
				parts.metrics.policy,
				trusted(config),
				rateLimited({ perMinute: config.rateLimitPerMin, clock }),
				turnCapped({ max: config.maxPingpongTurns, clock }),
				parts.loops,
				streamsCapped({ max: Math.max(LEAST_STREAMS, config.maxConcurrent * STREAMS_PER_TURN) }),
			),
			identify: parts.audit.identified(
				identifier({
					shared: config.sharedToken,
					peers: config.peerTokens,
					clock,
					minted: parts.minted,
					closed: () => isLoopback(listening?.host ?? ""),
				}),
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
			extensions: () => declaredExtensions(host.describe()),
			gate: {
				hosts: () => allowedHosts(listening?.host ?? "127.0.0.1", config.publicUrl, hasToken),
				authRequired: hasToken,
			},
			isV03: (caller, id) => tasks.isV03(caller.id, taskId(id)),
			maxBodyBytes: Math.max(MAX_BODY_BYTES, Math.ceil(config.fileMaxTotalBytes * 1.4) + TEXT_BYTES),
			metrics: () => parts.metrics.snapshot(),
			readiness: () => agent?.readiness() ?? { readiness: "draining" },
			hooks: parts.hooks,
			refused: parts.audit.refused,
			log: host.log,
		});
		const { serverHost, serverPort, portFallback } = config;
		const serve = handler;
		let ready: Promise<void> | undefined;
		const bound = await listen((request) => (ready ? ready.then(() => serve(request)) : serve(request)), {
			host: bindHost(serverHost, hasToken),
			port: serverPort,
			portFallback,
			tls: await loadServerTls({ cert: config.tlsCert, key: config.tlsKey, clientCa: config.tlsClientCa }),
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
			parts.hooks.clear();
			await listening?.close();
			listening = undefined;
			listening = await open(parts.config());
			return listening;
		},
		async drain(signal) {
			if (!agent) return;
			const over = new AbortController();
			const either = AbortSignal.any([signal, over.signal]);
			await Promise.race([agent.drain(either), clock.sleep(parts.config().drainSec * 1000, either)]);
			over.abort();
		},
		async stop(reason) {
			parts.hooks.clear();
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

/** Read at each use, so that a changed limit holds for tasks to come. */
function limitsOf(config: () => Config) {
	return {
		get maxConcurrent() {
			return config().maxConcurrent;
		},
		get maxDetached() {
			return config().maxDetached;
		},
		get queueSize() {
			return config().queueSize;
		},
		get maxWaitMs() {
			return config().queueMaxWaitSec * 1000;
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
