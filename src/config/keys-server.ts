/** Keys of the inbound server: where it listens, who is let in, how much they may use. */
import { LONGEST_SEC, skill } from "./entries.ts";
import { flag, httpUrl, line, list, token, whole, word } from "./key-kinds.ts";
import { map } from "./map-kinds.ts";
import { type KeyTable, LESS, rows } from "./row.ts";

const host = word(
	// An IPv6 address has two colons at least; with one it is a host and a port.
	/^(\[[0-9a-f:.]*:[0-9a-f.]*:[0-9a-f:.]*\]|[0-9a-f:.]*:[0-9a-f.]*:[0-9a-f:.]*|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)$/i,
	"an IP address or a host name, without port",
	"address",
);
const caller = word(/^[\p{L}\p{N}_][\p{L}\p{N}._:@-]{0,99}$/u, "a caller such as alice, peer:alice or ip:127.0.0.1");

const server = rows("Server", "server", "it opens this machine, or decides what stands open");
const access = rows("Access", "server", "it decides who is let in");
const limit = rows("Limits", "server", "it decides how much of your model others may use");

export const SERVER_KEYS = {
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
} as const satisfies KeyTable;
