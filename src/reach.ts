/** The way out, put together: who can be called, and calling them. One instance for each configuration. */
import { join } from "node:path";
import type { Hooks } from "./bindings/http/hooks.ts";
import type { Listening } from "./bindings/http/listen.ts";
import { createHttpPool } from "./bindings/http/pool.ts";
import { createTrusts } from "./bindings/http/tls.ts";
import type { Config } from "./config/keys.ts";
import type { AuditLog } from "./guard/audit.ts";
import type { Metrics } from "./guard/metrics.ts";
import type { Redaction } from "./guard/redact.ts";
import { urlCheck } from "./guard/urls.ts";
import type { Host } from "./host.ts";
import type { Clock } from "./lib/clock.ts";
import { attempt } from "./lib/log.ts";
import type { Mailbox } from "./mailbox.ts";
import type { Adopt, UnknownOrigins } from "./peers/adopt.ts";
import type { CallsParts } from "./peers/calls.ts";
import { createConnect, openHttp } from "./peers/connect.ts";
import { createConversations } from "./peers/conversations.ts";
import { createDirectory } from "./peers/directory.ts";
import { createOutbound, type Outbound } from "./peers/outbound.ts";
import { ownAddressFor } from "./peers/own-address.ts";
import type { Source } from "./peers/peer.ts";
import type { Queue } from "./peers/queue.ts";
import { createReceiver } from "./peers/received.ts";
import { fromConfig } from "./peers/sources/config.ts";
import { fromMdns } from "./peers/sources/mdns.ts";
import { type Announcement, fromRegistry } from "./peers/sources/registry.ts";

export interface ReachParts {
	readonly config: Config;
	/** What takes credentials out of all that is said. */
	readonly redaction: Redaction;
	readonly host: Host;
	/** Whether a peer found on the network may be called. */
	readonly adopt: Adopt;
	/** Where our own server answers; it is not among the peers. */
	readonly self: () => Pick<Listening, "host" | "url"> | undefined;
	/** Webhooks at that server. */
	readonly hooks: Pick<Hooks, "open">;
	/** Peers of the gateways. */
	readonly gateways: Source;
	/** As in `CallsParts`. */
	readonly path: CallsParts["path"];
	/** Asked at each use. */
	readonly queue: () => Queue;
	/** The agents of the mailbox. */
	readonly mailbox: Pick<Mailbox, "source" | "open">;
	readonly audit: AuditLog;
	readonly metrics: Metrics;
	readonly clock: Clock;
}

/** The address and port that the server listens on. */
export type Bound = Pick<Listening, "host" | "port">;

export interface Reach {
	readonly outbound: Outbound;
	/**
	 * Tells the other sessions of this machine, and those of the network where that is wanted, that we can be called at
	 * the bound address, or what changed.
	 */
	announce(facts: Announcement, bound: Bound): Promise<void>;
	withdraw(): Promise<void>;
	/** Ends calls that run. May be called twice. */
	close(): Promise<void>;
}

export function createReach(parts: ReachParts): Reach {
	const { config, host, audit, metrics, clock } = parts;
	const { agentDir, log } = host;
	const { redact, withoutKnown } = parts.redaction;
	const pool = createHttpPool();
	const identity = config.selfIdentity || config.agentName;
	const registry = config.localEnabled
		? fromRegistry({
				dir: join(agentDir, "a2a_registry"),
				pid: process.pid,
				clock,
				heartbeatMs: config.heartbeatSec * 1000,
				ttlMs: config.ttlSec * 1000,
				log,
			})
		: undefined;
	const mdns = config.mdnsEnabled
		? fromMdns({ type: config.mdnsServiceType, clock, log, pid: process.pid })
		: undefined;
	const found = [registry, mdns].filter((source) => source !== undefined);
	const directory = createDirectory([fromConfig(config.peers, log), ...found, parts.gateways, parts.mailbox.source], {
		self: () => {
			const own = parts.self();
			return own ? [new URL(own.url)] : [];
		},
		log,
	});
	const connect = createConnect({
		open: {
			http: openHttp({
				identity,
				sendTimeoutMs: config.sendTimeoutMs,
				streamTimeoutMs: config.streamTimeoutMs,
				retryAttempts: config.retryAttempts,
				verifySsl: config.verifySsl,
				// A URL that the model chose, or a page made it choose, may be anything; what the operator wrote down is meant.
				check: (source) => urlCheck({ context: source === "url" ? "direct" : "configured" }),
				trusts: createTrusts(config.tlsCaFile, { cert: config.tlsCert, key: config.tlsKey }),
				pool,
				clock,
			}),
			mailbox: parts.mailbox.open,
		},
		directory,
		own: config,
		adopt: parts.adopt,
		unknownOrigins: config.unknownOrigins as UnknownOrigins,
		redact,
		clock,
		exchange: (exchange) => {
			metrics.outbound(exchange.operation, exchange.error !== undefined, exchange.durationMs);
			audit.outbound(exchange);
		},
	});
	const receiver = createReceiver({
		dir: join(agentDir, "a2a_received"),
		limits: {
			maxBytes: config.receiveFileMaxBytes,
			maxTotalBytes: config.receiveFilesMaxBytes,
			maxCount: config.receiveFilesMaxCount,
		},
		keepDays: config.receivedKeepDays,
		withoutKnown,
		clock,
		log,
	});
	void receiver.sweep();
	const outbound = createOutbound({
		directory,
		connect,
		redact,
		withoutKnown,
		receiver,
		sending: {
			cwd: host.cwd,
			agentDir,
			limits: {
				maxBytes: config.sendFileMaxBytes,
				maxTotalBytes: config.sendFilesMaxBytes,
				maxCount: config.sendFilesMaxCount,
			},
		},
		conversations: createConversations(join(agentDir, "a2a_conversations"), clock),
		clock,
		log,
		identity,
		path: parts.path,
		get queue() {
			return parts.queue();
		},
		timeoutMs: config.sendTimeoutMs,
		pollMs: config.asyncPollMs,
		webhook(peer, card) {
			const { publicUrl } = config;
			const own = card?.capabilities.pushNotifications ? parts.self() : undefined;
			const base = own && ownAddressFor(peer, { ...own, publicUrl });
			return base === undefined ? undefined : parts.hooks.open(peer.name, base);
		},
		judge: host.judge,
		metrics: () => metrics.snapshot(),
	});
	return {
		outbound,
		async announce(facts, { host: bound, port }) {
			// Its first second goes into looking whether the name is free; nothing waits for it.
			const shown = config.skills.length > 0 ? config.skills : facts.skills;
			const skills = config.enrichCard ? shown.map(({ id }) => id) : [];
			// Who finds us there calls http.
			const told = facts.url.startsWith("https:")
				? undefined
				: mdns?.announce({ name: facts.name, host: bound, port, skills });
			void attempt("announce this session on the network", () => told, log);
			await registry?.announce(facts);
		},
		async withdraw() {
			await Promise.all([registry?.withdraw(), mdns?.withdraw()]);
		},
		async close() {
			await outbound.close();
			pool.close();
		},
	};
}
