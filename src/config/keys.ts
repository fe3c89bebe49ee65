/**
 * The table of keys: reading, defaults, ranges, trust, variables, documentation, settings panel and restart behaviour
 * all come from these rows.
 */
import { GATEWAY, gateway, LONGEST_SEC, peer, skill } from "./entries.ts";
import { flag, httpUrl, type Kind, line, list, token, type ValueOf, whole, word } from "./key-kinds.ts";
import { map, name } from "./map-kinds.ts";
import { type KeyTable, type Row, rows } from "./row.ts";

const LONGEST_MS = LONGEST_SEC * 1000;
/** For keys that a repository may lower. */
const LESS = { scope: "lower", why: "it may ask for less than you allow, never for more" } as const;
const host = word(
	// An IPv6 address has two colons at least; with one it is a host and a port.
	/^(\[[0-9a-f:.]*:[0-9a-f.]*:[0-9a-f:.]*\]|[0-9a-f:.]*:[0-9a-f.]*:[0-9a-f:.]*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)$/i,
	"an IP address or a host name, without port",
	"address",
);
const caller = word(/^[\p{L}\p{N}_][\p{L}\p{N}._:@-]{0,99}$/u, "a caller such as alice, peer:alice or ip:127.0.0.1");
const optional = <T>(kind: Kind<T>): Kind<T | undefined> => ({
	...kind,
	show: (value) => (value === undefined ? "(not set)" : kind.show(value)),
});

const server = rows("Server", "server", "it opens this machine, or decides what stands open");
const access = rows("Access", "server", "it decides who is let in");
const limit = rows("Limits", "server", "it decides how much of your model others may use");
const identity = rows("Identity", "server", "it decides who this session says it is");
const peers = rows("Peers", "none", "it decides where your words and tokens go");
const timeout = rows("Timeouts", "none", "it decides how much is asked of your peers");
const discovery = rows("Discovery", "discovery", "it decides what is told to others, and who is listed");
const gateways = rows("Gateways", "discovery", "it hands your work and tokens to a third party");
const single = rows("Gateway", "discovery", "it hands your work and tokens to a third party");
const ui = rows("UI", "none", "it decides what you see, and what peers' text your model reads");

export const KEYS = {
	serverEnabled: server("server.enabled", flag(), false, {
		env: "A2A_SERVER_ENABLED",
		help: "Starts the inbound server with every session",
	}),
	serverPort: server("server.port", whole(0, 65_535), 9910, {
		env: "A2A_PORT",
		help: "Inbound port (0: one that is free)",
	}),
	portFallback: server("server.portFallback", whole(0, 100), 10, {
		env: "A2A_PORT_FALLBACK",
		help: "How many following ports to try when the port is taken, before the system chooses one",
	}),
	serverHost: server("server.host", host, "127.0.0.1", {
		env: "A2A_HOST",
		help: "Address to listen on; any other than loopback takes effect only when a token is set",
	}),
	publicUrl: server("server.publicUrl", httpUrl(), "", {
		env: "A2A_PUBLIC_URL",
		help: "URL for the Agent Card when callers come through a proxy or another network",
	}),
	workspace: server("server.workspace", line(4096, "a folder"), (facts) => facts.cwd, {
		help: "Folder in which inbound tasks work; `~/` is your home, a relative path starts at the session's folder",
		fallbackText: "cwd",
	}),
	skills: server("server.skills", list(skill, "list"), [], {
		help: "Skills for the Agent Card instead of those found in the live session",
		why: "it decides what this session promises to others",
	}),
	childTranscripts: server("server.childTranscripts", flag(), true, {
		env: "A2A_CHILD_TRANSCRIPTS",
		help: "Keeps the session of every inbound task as a Pi session file in `a2a_sessions` of the agent folder",
		why: "it decides what is kept for you to look at",
	}),
	childTranscriptRetentionDays: server("server.childTranscriptRetentionDays", whole(0, 36_500, "no limit"), 30, {
		env: "A2A_CHILD_TRANSCRIPT_RETENTION_DAYS",
		help: "Transcripts older than this are deleted when the server starts",
		why: "it decides what is kept for you to look at",
	}),
	sharedToken: access("server.sharedToken", token(), "", {
		env: "A2A_BEARER_TOKEN",
		help: "One bearer token for all callers, who then cannot be told from each other",
		guards: true,
	}),
	peerTokens: access(
		"server.peerTokens",
		map(token(), "name → token"),
		{},
		{
			env: "A2A_PEER_TOKENS",
			help: "A bearer token for each caller: its name drives trust, limits, ownership and audit",
			guards: true,
		},
	),
	trustedPeers: access("server.trustedPeers", list(caller, "list"), [], {
		env: "A2A_TRUSTED_PEERS",
		help: "The only callers that are let in; empty means everyone who has a token",
		guards: true,
	}),
	allowAllUsers: access("server.allowAllUsers", flag(), false, {
		env: "A2A_ALLOW_ALL_USERS",
		help: "Lets every authenticated caller in, whatever `server.trustedPeers` says (for development)",
	}),
	maxConcurrent: limit("server.maxConcurrent", whole(1, 1000), 3, {
		help: "Inbound tasks that may run at the same time, blocking and detached together",
		...LESS,
	}),
	rateLimitPerMin: limit("server.rateLimitPerMin", whole(1, 1_000_000), 60, {
		env: "A2A_RATE_LIMIT",
		help: "Requests a minute for each caller",
		...LESS,
	}),
	maxPingpongTurns: limit("server.maxPingpongTurns", whole(1, 20), 5, {
		env: "A2A_MAX_PINGPONG_TURNS",
		help: "Turns of one conversation before it counts as two agents in a loop",
		...LESS,
	}),
	replyTimeoutSec: limit("server.replyTimeoutSec", whole(0, LONGEST_SEC, "no limit"), 300, {
		env: "A2A_REPLY_TIMEOUT",
		help: "Seconds that a blocking request waits for the reply",
		...LESS,
	}),
	asyncTimeoutSec: limit("server.asyncTimeoutSec", whole(0, LONGEST_SEC, "no limit"), 86_400, {
		env: "A2A_ASYNC_TIMEOUT",
		help: "Seconds that a detached task may run",
		...LESS,
	}),
	selfIdentity: identity("selfIdentity", name(), "", {
		env: "A2A_SELF_IDENTITY",
		help: "Who this session is when it calls: it presents that name's token of `server.peerTokens`",
		restart: "none",
	}),
	agentName: identity("server.agentName", line(100), (facts) => facts.hostname, {
		env: "A2A_AGENT_NAME",
		help: "Name on the Agent Card, and of this session among its peers",
		fallbackText: "hostname",
	}),
	peers: peers(
		"peers",
		map(peer, "name → peer"),
		{},
		{
			help: "Agents that can be called by name: `{ url, auth: { type, token }, timeout (seconds), capabilities, description }`",
		},
	),
	retryAttempts: peers("retryAttempts", whole(0, 10), 2, {
		help: "How often a call that did not get through is tried again",
		...LESS,
	}),
	verifySsl: peers("verifySsl", flag(), true, { help: "Checks the certificates of https peers" }),
	sendTimeoutMs: timeout("timeouts.send", whole(100, LONGEST_MS), 360_000, {
		help: "Milliseconds for a call; longer than the 300 s that servers wait by default",
		...LESS,
	}),
	asyncPollMs: timeout("timeouts.async", whole(100, 3_600_000), 30_000, {
		help: "Milliseconds between two looks at a detached task",
	}),
	streamTimeoutMs: timeout("timeouts.stream", whole(100, LONGEST_MS), 120_000, {
		help: "Milliseconds that a stream may stay silent",
		...LESS,
	}),
	localEnabled: discovery("discovery.local.enabled", flag(), true, {
		env: "A2A_DISCOVERY_LOCAL",
		help: "Announces this session to others on this machine, and lists them",
	}),
	heartbeatSec: discovery("discovery.local.heartbeatSec", whole(1, 3600), 15, {
		env: "A2A_HEARTBEAT_SEC",
		help: "Seconds between two signs of life in the local registry",
	}),
	ttlSec: discovery("discovery.local.ttlSec", whole(2, 86_400), 60, {
		env: "A2A_TTL_SEC",
		help: "Seconds after which a silent entry of the local registry is swept out",
	}),
	mdnsEnabled: discovery("discovery.mdns.enabled", flag(), false, {
		env: "A2A_DISCOVERY_MDNS",
		help: "Announces and finds sessions on the local network (needs the package `bonjour-service`)",
	}),
	mdnsServiceType: discovery(
		"discovery.mdns.serviceType",
		word(/^(?=.*[a-z])[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?$/i, "a service type of 1 to 15 letters, digits and dashes"),
		"a2a",
		{
			env: "A2A_MDNS_TYPE",
			help: "Type of the mDNS service, advertised as `_<type>._tcp`",
		},
	),
	enrichCard: discovery("discovery.enrichCard", flag(), true, {
		env: "A2A_ENRICH_CARD",
		help: "Puts folder, model and tools of the session on the Agent Card",
	}),
	gateways: gateways(
		"discovery.gateways",
		map(gateway, "key → gateway"),
		{},
		{
			help: "a2a-switchboard gateways: `{ enabled, url, token, name, upstreamToken, heartbeatSec, channel }`; their peers are called `gw/<key>/<name>`",
		},
	),
	gatewayEnabled: single("discovery.gateway.enabled", optional(GATEWAY.enabled), undefined, {
		env: "A2A_GATEWAY_ENABLED",
		help: "Registers at the single gateway",
		fallbackText: "true when URL and token are set",
	}),
	gatewayUrl: single("discovery.gateway.url", GATEWAY.url, "", {
		env: "A2A_GATEWAY_URL",
		help: "A single gateway, without a key of its own: host and port become its key",
	}),
	gatewayToken: single("discovery.gateway.token", GATEWAY.token, "", {
		env: "A2A_GATEWAY_TOKEN",
		help: "Token of that gateway",
	}),
	gatewayName: single("discovery.gateway.name", GATEWAY.name, "", {
		help: "Name to register there",
		fallbackText: "<agentName>-<port>",
	}),
	gatewayUpstreamToken: single("discovery.gateway.upstreamToken", GATEWAY.upstreamToken, "", {
		help: "Token that this gateway presents when it calls this session",
	}),
	gatewayHeartbeatSec: single("discovery.gateway.heartbeatSec", GATEWAY.heartbeatSec, 60, {
		help: "Seconds between two registrations there",
	}),
	gatewayChannel: single("discovery.gateway.channel", GATEWAY.channel, true, {
		help: "Keeps a channel open through which its peers can call, whatever firewall is between",
	}),
	transcript: ui("ui.transcript", flag(), true, {
		env: "A2A_UI_TRANSCRIPT",
		help: "Shows inbound activity in the transcript; `false` leaves notices and the footer",
	}),
} as const satisfies KeyTable;

type Keys = typeof KEYS;
export type KeyName = keyof Keys;
/** Rows of the single gateway block: they become an entry of `gateways`. */
type Single = Extract<KeyName, `gateway${Capitalize<string>}`>;

/** Every setting, as the rest of the extension reads it. */
export type Config = { readonly [K in Exclude<KeyName, Single>]: ValueOf<Keys[K]["kind"]> };

/** Every setting before the single gateway has become an entry of `gateways`. */
export type Values = { readonly [K in KeyName]: ValueOf<Keys[K]["kind"]> };

/** The rows, in the order of the table. */
export const ROWS = Object.entries(KEYS) as readonly (readonly [KeyName, Row<unknown>])[];

/** What can be set at a path such as `server.port`, `peers.alice` or `peers.alice.auth.token`. */
export interface Place {
	readonly name: KeyName;
	readonly row: Row<unknown>;
	readonly kind: Kind<unknown>;
	/** The names to go through below `a2a`. */
	readonly path: readonly string[];
}

/** The place that `path` names; `undefined` when there is no such key. Names in maps may have dots. */
export function keyAt(path: string): Place | undefined {
	for (const [key, row] of ROWS) {
		const way = row.path.split(".");
		if (path === row.path) return { name: key, row, kind: row.kind, path: way };
		const below = path.startsWith(`${row.path}.`) ? row.kind.below?.(path.slice(row.path.length + 1)) : undefined;
		if (below) return { name: key, row, kind: below.kind, path: [...way, ...below.path] };
	}
	return undefined;
}
