/**
 * The gateways, put together: for each one that is switched on a registration, a channel and a directory, none of
 * which knows of the others. One instance for the life of the app; what the configuration says is read at each use.
 */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { createGatewayApi, type GatewayApi } from "./bindings/gateway/api.ts";
import { type HttpHandler, openChannel } from "./bindings/gateway/channel.ts";
import { cardThatFits, nameFor } from "./bindings/gateway/names.ts";
import { addressTowards } from "./bindings/gateway/own-address.ts";
import { callerToken } from "./bindings/gateway/token.ts";
import { startUpstream, type Upstream, type UpstreamStatus } from "./bindings/gateway/upstream.ts";
import { createHttpPool } from "./bindings/http/pool.ts";
import type { GatewayConfig } from "./config/entries.ts";
import type { Config } from "./config/keys.ts";
import { urlCheck } from "./guard/urls.ts";
import type { Clock } from "./lib/clock.ts";
import type { Log } from "./lib/log.ts";
import { isLoopback } from "./peers/address.ts";
import type { Source } from "./peers/peer.ts";
import { fromGateways } from "./peers/sources/gateway.ts";
import type { AgentCard } from "./protocol/types.ts";

export interface GatewaysParts {
	/** The configuration in force. */
	readonly config: () => Pick<Config, "gateways" | "agentName" | "verifySsl"> & Partial<Pick<Config, "tlsCert">>;
	readonly agentDir: string;
	readonly clock: Clock;
	readonly log: Log;
}

/** What a server that runs gives to its gateways. */
export interface Served {
	/** Where others call it. Bound to every address, it has none of its own: `port` at whatever address leads there. */
	readonly url: () => string | undefined;
	readonly port: number;
	/** The public card, as one that is called at `url` shows it. */
	readonly card: (url: string) => AgentCard;
	/** Answers what comes down a channel. */
	readonly handler: HttpHandler;
}

/** How we stand at a gateway. */
export interface GatewayStatus extends Partial<Omit<UpstreamStatus, "state">> {
	readonly key: string;
	readonly url: string;
	/** `off`: not switched on. `stopped`: the server does not run; peers can be called all the same. */
	readonly state: UpstreamStatus["state"] | "off";
}

/** Nothing here throws, and nothing but `stop` and `close` waits. */
export interface Gateways {
	/** The server runs, or runs differently: registers where it is not registered, and tells the others what is new. */
	start(served: Served): void;
	/** Leaves every gateway, within two seconds. May be called when there is none. */
	stop(): Promise<void>;
	/** The peers of every gateway. Its `close` does nothing. */
	readonly source: Source;
	/** What each gateway presents when it calls us, by its key. */
	minted(): ReadonlyMap<string, string>;
	status(): readonly GatewayStatus[];
	/** `stop`, and no directory afterwards. May be called twice. */
	close(): Promise<void>;
}

/** One gateway, as long as its settings stay the same. */
interface Gateway {
	readonly config: GatewayConfig;
	readonly verifySsl: boolean;
	/** Keeps the process alive while it asks; `quiet` does not. */
	readonly api: GatewayApi;
	readonly quiet: GatewayApi;
	/** What it presents to us. */
	readonly inbound: string;
}

interface Place {
	readonly gateway: Gateway;
	readonly name: string;
	readonly upstream: Upstream;
}

/** For looking up our own address. */
const ADDRESS_MS = 2_000;

export function createGateways({ config, agentDir, clock, log }: GatewaysParts): Gateways {
	const pool = createHttpPool();
	const background = createHttpPool({ background: true });
	const known = new Map<string, Gateway>();
	const places = new Map<string, Place>();
	/** Leaving a name comes before taking it again. */
	const leaving = new Map<string, Promise<void>>();
	let served: Served | undefined;

	/** The gateway of that key under the settings in force; undefined when it is not switched on. */
	function gatewayOf(key: string): Gateway | undefined {
		const { gateways, verifySsl } = config();
		const wanted = Object.hasOwn(gateways, key) ? gateways[key] : undefined;
		if (!wanted?.enabled) {
			known.delete(key);
			return undefined;
		}
		const before = known.get(key);
		if (before && before.verifySsl === verifySsl && isDeepStrictEqual(before.config, wanted)) return before;
		const common = { url: new URL(wanted.url), check: urlCheck({ context: "configured" }), verifySsl, clock };
		const gateway = {
			config: wanted,
			verifySsl,
			api: createGatewayApi({ ...common, pool }),
			quiet: createGatewayApi({ ...common, pool: background }),
			// New for each session, so that a call of the gateway is known as one and nobody else has its token.
			inbound: wanted.upstreamToken || randomBytes(24).toString("base64url"),
		};
		known.set(key, gateway);
		return gateway;
	}

	function inUse(): readonly (readonly [string, Gateway])[] {
		const keys = Object.keys(config().gateways);
		for (const key of known.keys()) if (!keys.includes(key)) known.delete(key);
		return keys.flatMap((key) => {
			const gateway = gatewayOf(key);
			return gateway ? [[key, gateway] as const] : [];
		});
	}

	const source = fromGateways({
		gateways: () =>
			inUse().map(
				([
					key,
					{
						config: { url, token },
						api,
					},
				]) => ({
					key,
					url: new URL(url),
					directory: (signal) => api.directory(token, signal),
					token: () => places.get(key)?.upstream.caller() ?? token,
					self: () => places.get(key)?.upstream.status().name,
				}),
			),
		clock,
		log,
	});

	/** Where the gateway can call us: the address that leads to it, if the server has none of its own. */
	async function urlFor(at: Served, gateway: Gateway): Promise<string> {
		const url = at.url();
		if (url !== undefined) return url;
		const limit = new AbortController();
		const cancel = clock.after(ADDRESS_MS, () => limit.abort());
		const address = (await addressTowards(new URL(gateway.config.url), limit.signal)) ?? "127.0.0.1";
		cancel();
		const scheme = config().tlsCert ? "https" : "http";
		return `${scheme}://${address.includes(":") ? `[${address}]` : address}:${at.port}/`;
	}

	function enter(key: string, gateway: Gateway, name: string): Place {
		const { token: shared, heartbeatSec, channel } = gateway.config;
		const upstream = startUpstream({
			key,
			api: gateway.quiet,
			farewell: gateway.api,
			name,
			shared,
			heartbeatMs: heartbeatSec * 1000,
			after: leaving.get(key),
			async what() {
				if (!served) throw new Error("the server does not run");
				const url = await urlFor(served, gateway);
				const card = cardThatFits(served.card(url));
				return { url, ...(card ? { card } : {}), upstream_token: gateway.inbound };
			},
			tokenFor: (own) => callerToken({ dir: join(agentDir, "a2a_gateways"), key, name: own, clock, log }),
			channel: channel
				? (own, token) => {
						const handler = () => served?.handler ?? gone;
						return openChannel({ key, api: gateway.quiet, name: own, token, handler, clock, log });
					}
				: undefined,
			onBeat: () => source.retry(key),
			clock,
			log,
		});
		return { gateway, name, upstream };
	}

	function leave(key: string, { upstream }: Place): void {
		places.delete(key);
		leaving.set(key, upstream.stop());
	}

	async function stop(): Promise<void> {
		const now = served;
		for (const [key, place] of [...places]) leave(key, place);
		// Those that were left for other reasons are still at it, perhaps.
		await Promise.all(leaving.values());
		if (served === now) served = undefined;
	}

	return {
		start(now) {
			served = now;
			const wanted = new Map(inUse());
			for (const [key, place] of [...places]) if (!wanted.has(key)) leave(key, place);
			for (const [key, gateway] of wanted) {
				const name = nameFor(gateway.config.name, config().agentName, now.port);
				const place = places.get(key);
				if (place && place.gateway === gateway && place.name === name) {
					place.upstream.refresh();
					continue;
				}
				if (place) leave(key, place);
				places.set(key, enter(key, gateway, name));
			}
		},
		stop,
		source: { name: source.name, list: () => source.list(), close: async () => undefined },
		minted: () => new Map(inUse().map(([key, { inbound }]) => [key, inbound])),
		status() {
			return Object.entries(config().gateways).map(([key, { url: written, enabled, channel }]): GatewayStatus => {
				const { origin, pathname, hostname } = new URL(written);
				const url = `${origin}${pathname}`;
				const place = places.get(key);
				if (!place) return { key, url, state: enabled ? "stopped" : "off" };
				const own = served?.url();
				const far = !channel && own !== undefined && isLoopback(new URL(own).hostname) && !isLoopback(hostname);
				const detail = `it cannot call ${own}: set its channel, server.host or server.publicUrl`;
				return { key, url, ...(far ? { detail } : {}), ...place.upstream.status() };
			});
		},
		async close() {
			await source.close();
			await stop();
			pool.close();
			background.close();
		},
	};
}

/** What a channel hears from a server that has just stopped. */
const gone: HttpHandler = async () => ({ status: 503, headers: { "content-type": "text/plain" }, body: "stopped" });
