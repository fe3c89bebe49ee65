import type { KeyName } from "../../src/config/keys.ts";

/** A key put to the test. */
export interface Sample {
	/** As it would stand in settings.json; not the default. */
	readonly good: unknown;
	/** What `good` becomes, when it is not kept as it is. */
	readonly read?: unknown;
	/** The text of a variable that means `good`. */
	readonly text?: string;
	/** What the key does not take. */
	readonly bad: unknown;
	/** More than `good` allows; only for keys that a repository may lower. */
	readonly more?: unknown;
}

const URL = "http://10.0.0.5:9920";

/** One for every key: a new key does not compile without one. */
export const SAMPLES: { readonly [K in KeyName]: Sample } = {
	serverEnabled: { good: true, text: "on", bad: "perhaps" },
	serverPort: { good: 9911, text: "9911", bad: 70_000 },
	portFallback: { good: 0, text: "0", bad: -1 },
	serverHost: { good: "127.0.0.2", text: "127.0.0.2", bad: "0.0.0.0:9910" },
	publicUrl: { good: "https://pi.example/a2a", text: "https://pi.example/a2a", bad: "pi.example" },
	workspace: { good: "/srv/work", bad: 7 },
	skills: {
		good: [{ name: "Review" }],
		read: [{ id: "Review", name: "Review", description: "Review", tags: [] }],
		bad: "review",
	},
	childTranscripts: { good: false, text: "no", bad: 1 },
	childTranscriptRetentionDays: { good: 7, text: "7", bad: 1.5 },
	sharedToken: { good: "a-token", text: "a-token", bad: "two words" },
	peerTokens: { good: { alice: "tok1", bob: "tok2" }, text: "alice:tok1, bob:tok2", bad: ["alice"] },
	trustedPeers: { good: ["alice", "ip:127.0.0.1"], text: "alice, ip:127.0.0.1", bad: "alice" },
	allowAllUsers: { good: true, text: "yes", bad: "sometimes" },
	peerPolicies: {
		good: { default: { tools: "read-only" }, "ip:127.0.0.1": { tools: ["read", "bash"], maxTurns: 5, ask: true } },
		bad: "read-only",
	},
	maxConcurrent: { good: 2, bad: 0, more: 4 },
	rateLimitPerMin: { good: 30, text: "30", bad: 0, more: 61 },
	maxPingpongTurns: { good: 3, text: "3", bad: 21, more: 6 },
	replyTimeoutSec: { good: 60, text: "60", bad: -1, more: 0 },
	asyncTimeoutSec: { good: 600, text: "600", bad: 3_000_000, more: 0 },
	queueSize: { good: 20, text: "20", bad: 1001, more: 21 },
	queueMaxWaitSec: { good: 60, bad: -1, more: 0 },
	maxDetached: { good: 2, text: "2", bad: 1.5, more: 0 },
	drainSec: { good: 30, text: "30", bad: -1 },
	journalEnabled: { good: false, text: "off", bad: "sometimes" },
	journalMaxAgeDays: { good: 7, bad: -1 },
	journalMaxTasks: { good: 500, bad: 0 },
	journalMaxMegabytes: { good: 64, bad: 0.5 },
	resumeTasks: { good: true, text: "yes", bad: 1 },
	retryWindowSec: { good: 600, bad: -1 },
	retryMessages: { good: 100, bad: 0 },
	pushEnabled: { good: false, text: "no", bad: "perhaps" },
	pushSecret: { good: "a-key", text: "a-key", bad: "two words" },
	pushPrivate: { good: true, bad: "perhaps" },
	fileMaxBytes: { good: 1000, bad: 0, more: 10_000_001 },
	fileMaxTotalBytes: { good: 2000, bad: "much", more: 20_000_001 },
	fileMaxCount: { good: 2, bad: 1.5, more: 21 },
	sendFileMaxBytes: { good: 1000, bad: 0, more: 10_000_001 },
	sendFilesMaxBytes: { good: 2000, bad: "much", more: 12_000_001 },
	sendFilesMaxCount: { good: 2, bad: 1.5, more: 21 },
	receiveFileMaxBytes: { good: 1000, bad: 0, more: 20_000_001 },
	receiveFilesMaxBytes: { good: 2000, bad: -1, more: 50_000_001 },
	receiveFilesMaxCount: { good: 2, bad: 0, more: 101 },
	receivedKeepDays: { good: 7, bad: 1.5 },
	cardKey: { good: "~/card.pem", text: "~/card.pem", bad: "card.pem" },
	cardKeyId: { good: "pi-2026", text: "pi-2026", bad: "two\nlines" },
	cardKeyUrl: { good: "https://pi.example/jwks.json", text: "https://pi.example/jwks.json", bad: "pi.example" },
	selfIdentity: { good: "session-a", text: "session-a", bad: "a b" },
	agentName: { good: "pi", text: "pi", bad: "two\nlines" },
	peers: {
		good: { hermes: { url: URL, auth: { type: "bearer", token: "t" }, timeout: 120, capabilities: ["research"] } },
		read: { hermes: { url: URL, token: "t", timeoutMs: 120_000, capabilities: ["research"] } },
		bad: "hermes",
	},
	retryAttempts: { good: 1, bad: 11, more: 3 },
	verifySsl: { good: false, bad: "no way" },
	sendTimeoutMs: { good: 5000, bad: "soon", more: 360_001 },
	asyncPollMs: { good: 5000, bad: 0 },
	streamTimeoutMs: { good: 5000, bad: 99, more: 120_001 },
	localEnabled: { good: false, text: "off", bad: {} },
	heartbeatSec: { good: 10, text: "10", bad: 0 },
	ttlSec: { good: 45, text: "45", bad: 1 },
	mdnsEnabled: { good: true, text: "1", bad: [] },
	mdnsServiceType: { good: "pi-a2a", text: "pi-a2a", bad: "_a2a._tcp" },
	enrichCard: { good: false, text: "FALSE", bad: "off-ish" },
	gateways: {
		good: { work: { url: URL, token: "g", channel: false } },
		read: { work: { url: URL, token: "g", enabled: true, heartbeatSec: 60, channel: false } },
		bad: [],
	},
	gatewayEnabled: { good: false, text: "false", bad: "half" },
	gatewayUrl: { good: URL, text: URL, bad: "ftp://10.0.0.5" },
	gatewayToken: { good: "g-token", text: "g-token", bad: "g\ttoken" },
	gatewayName: { good: "pi-s2", bad: "pi s2" },
	gatewayUpstreamToken: { good: "u-token", bad: "u".repeat(513) },
	gatewayHeartbeatSec: { good: 30, bad: 1 },
	gatewayChannel: { good: false, bad: "shut" },
	mailboxEnabled: { good: true, text: "on", bad: "maybe" },
	mailboxRoot: { good: "/srv/mail", text: "/srv/mail", bad: 7 },
	mailboxId: { good: "worker-1", text: "worker-1", bad: "two\nlines" },
	mailboxBridge: { good: true, bad: "over" },
	mailboxPollMs: { good: 250, bad: 5 },
	mailboxEvents: { good: false, bad: "some" },
	mailboxHeartbeatSec: { good: 10, bad: 0 },
	mailboxMissed: { good: 5, bad: 0 },
	mailboxLeaseSec: { good: 60, bad: 1 },
	mailboxRedeliveries: { good: 0, bad: -1 },
	mailboxTtlSec: { good: 60, bad: 0 },
	mailboxMaxToolTurns: { good: 8, bad: 0 },
	mailboxMaxDurationSec: { good: 60, bad: 0 },
	mailboxKeepSec: { good: 60, bad: -1 },
	mailboxKeepMessages: { good: 50, bad: 0 },
	mailboxMaxBytes: { good: 1_000_000, bad: 10 },
	notifyOnSettled: { good: "wake", bad: "loud" },
	transcript: { good: false, text: "0", bad: "loud" },
	auditMaxMegabytes: { good: 20, bad: 0 },
	auditMaxAgeDays: { good: 30, bad: -1 },
	auditKeep: { good: 8, bad: 0 },
	tlsCert: { good: "~/tls/cert.pem", text: "~/tls/cert.pem", bad: 7 },
	tlsKey: { good: "~/tls/key.pem", text: "~/tls/key.pem", bad: true },
	tlsClientCa: { good: "/etc/a2a/clients.pem", text: "/etc/a2a/clients.pem", bad: ["a.pem"] },
	tlsCaFile: { good: "/etc/a2a/ca.pem", text: "/etc/a2a/ca.pem", bad: {} },
};
