/** Keys of the file mailbox: agents that share a folder instead of a network. */
import { flag, line, whole } from "./key-kinds.ts";
import { type KeyTable, rows } from "./row.ts";

const mailbox = rows(
	"Mailbox",
	"discovery",
	"it lets others give work to this session, and decides where files are written",
);

export const MAILBOX_KEYS = {
	mailboxEnabled: mailbox("mailbox.enabled", flag(), false, {
		env: "A2A_MAILBOX",
		help: "Makes every session an agent of the file mailbox, and lists the others of it",
	}),
	mailboxRoot: mailbox("mailbox.root", line(4096, "a folder"), "", {
		env: "A2A_MAILBOX_ROOT",
		help: "Folder that the agents share; `~/` is your home",
		fallbackText: "<agentDir>/a2a_mailbox",
	}),
	mailboxId: mailbox("mailbox.id", line(80), "", {
		env: "A2A_MAILBOX_ID",
		help: "Id of this session in the mailbox; one that a living agent has gets a number behind it",
		fallbackText: "server.agentName",
	}),
	mailboxBridge: mailbox("mailbox.bridge", flag(), false, {
		help: "Lets callers of the inbound server reach agents of the mailbox, by the tenant `mailbox/<id>`",
	}),
	mailboxPollMs: mailbox("mailbox.pollMs", whole(20, 60_000), 500, {
		help: "Milliseconds between two looks at all boxes; a fifth of it while something happens",
	}),
	mailboxEvents: mailbox("mailbox.fileEvents", flag(), true, {
		help: "Looks earlier when the system tells that a file has changed",
	}),
	mailboxHeartbeatSec: mailbox("mailbox.heartbeatSec", whole(1, 3600), 5, {
		help: "Seconds between two heartbeats",
	}),
	mailboxMissed: mailbox("mailbox.missedHeartbeats", whole(1, 100), 3, {
		help: "Heartbeats missed in a row after which an agent is presumed dead",
	}),
	mailboxLeaseSec: mailbox("mailbox.leaseSec", whole(2, 3600), 30, {
		help: "Seconds that a lease lasts unless it is renewed",
	}),
	mailboxRedeliveries: mailbox("mailbox.redeliveries", whole(0, 100), 2, {
		help: "How often the work of a dead agent is given out again",
	}),
	mailboxTtlSec: mailbox("mailbox.ttlSec", whole(1, 86_400), 30, {
		help: "Seconds until a request of this session expires when nobody has begun it",
	}),
	mailboxMaxToolTurns: mailbox("mailbox.maxToolTurns", whole(1, 10_000), 100, {
		help: "Turns with tools that the contract of this session's requests allows",
	}),
	mailboxMaxDurationSec: mailbox("mailbox.maxDurationSec", whole(1, 2_000_000), 3600, {
		help: "Seconds of work that the contract of this session's requests allows",
	}),
	mailboxKeepSec: mailbox("mailbox.keepSec", whole(0, 2_000_000), 3600, {
		help: "Seconds that routed messages stay in a box after their time to live",
	}),
	mailboxKeepMessages: mailbox("mailbox.keepMessages", whole(1, 10_000), 100, {
		help: "Routed messages that stay in a box at most",
	}),
	mailboxMaxBytes: mailbox("mailbox.maxBytes", whole(100_000, 1_000_000_000), 16_777_216, {
		help: "Size of a box in bytes beyond which it is set aside as a whole",
	}),
} as const satisfies KeyTable;
