/** The way out, put together: who can be called, and calling them. One instance for each configuration. */
import { join } from "node:path";
import type { Host } from "./app.ts";
import { createHttpPool } from "./bindings/http/pool.ts";
import type { Config } from "./config/keys.ts";
import type { AuditLog } from "./guard/audit.ts";
import type { Metrics } from "./guard/metrics.ts";
import type { Redaction } from "./guard/redact.ts";
import { urlCheck } from "./guard/urls.ts";
import type { Clock } from "./lib/clock.ts";
import { createConnect, openHttp } from "./peers/connect.ts";
import { createConversations } from "./peers/conversations.ts";
import { createDirectory } from "./peers/directory.ts";
import { createOutbound, type Outbound } from "./peers/outbound.ts";
import type { Source } from "./peers/peer.ts";
import { fromConfig } from "./peers/sources/config.ts";
import { type Announcement, fromRegistry } from "./peers/sources/registry.ts";

export interface ReachParts {
	readonly config: Config;
	/** What takes credentials out of all that is said. */
	readonly redaction: Redaction;
	readonly host: Host;
	/** Where our own server answers; it is not among the peers. */
	readonly self: () => string | undefined;
	/** Peers of the gateways. */
	readonly gateways: Source;
	readonly audit: AuditLog;
	readonly metrics: Metrics;
	readonly clock: Clock;
}

export interface Reach {
	readonly outbound: Outbound;
	/** Tells the other sessions of this machine that we can be called, or what changed. */
	announce(facts: Announcement): Promise<void>;
	withdraw(): Promise<void>;
	/** Ends calls that run. May be called twice. */
	close(): Promise<void>;
}

export function createReach(parts: ReachParts): Reach {
	const { config, host, audit, metrics, clock } = parts;
	const { agentDir, log } = host;
	const { redact } = parts.redaction;
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
	const directory = createDirectory([fromConfig(config.peers, log), ...(registry ? [registry] : []), parts.gateways], {
		self: () => {
			const url = parts.self();
			return url === undefined ? [] : [new URL(url)];
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
				pool,
				clock,
			}),
		},
		directory,
		own: config,
		redact,
		clock,
		exchange: (exchange) => {
			metrics.outbound(exchange.operation, exchange.error !== undefined, exchange.durationMs);
			audit.outbound(exchange);
		},
	});
	const outbound = createOutbound({
		directory,
		connect,
		redact,
		conversations: createConversations(join(agentDir, "a2a_conversations"), clock),
		clock,
		log,
		identity,
		timeoutMs: config.sendTimeoutMs,
		pollMs: config.asyncPollMs,
		judge: host.judge,
		metrics: () => metrics.snapshot(),
	});
	return {
		outbound,
		announce: async (facts) => registry?.announce(facts),
		withdraw: async () => registry?.withdraw(),
		async close() {
			await outbound.close();
			pool.close();
		},
	};
}
