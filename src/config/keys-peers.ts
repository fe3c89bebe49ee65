/** Keys of the way out: who we are, whom we call, how long we wait, and what is shown. */
import { LONGEST_SEC, peer } from "./entries.ts";
import { flag, line, whole, word } from "./key-kinds.ts";
import { map, name } from "./map-kinds.ts";
import { type KeyTable, LESS, rows } from "./row.ts";

const LONGEST_MS = LONGEST_SEC * 1000;
const identity = rows("Identity", "server", "it decides who this session says it is");
const peers = rows("Peers", "none", "it decides where your words and tokens go");
const timeout = rows("Timeouts", "none", "it decides how much is asked of your peers");
const ui = rows("UI", "none", "it decides what you see, and what peers' text your model reads");

export const PEER_KEYS = {
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
			help: "Agents that can be called by name: `{ url, auth: { type, token }, timeout (seconds), capabilities, description, cardUrl, card, cardKeys, caFile, cert, key }`",
		},
	),
	retryAttempts: peers("retryAttempts", whole(0, 10), 2, {
		help: "How often a call that did not get through is tried again",
		...LESS,
	}),
	unknownOrigins: peers("outbound.unknownOrigins", word(/^(allow|ask|deny)$/, "allow, ask or deny"), "allow", {
		env: "A2A_UNKNOWN_ORIGINS",
		help: "Calls to URLs on other machines that nobody wrote down: `ask` asks you once for each origin, `deny` refuses them",
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
} as const satisfies KeyTable;

export const UI_KEYS = {
	transcript: ui("ui.transcript", flag(), true, {
		env: "A2A_UI_TRANSCRIPT",
		help: "Shows inbound activity in the transcript; `false` leaves notices and the footer",
	}),
} as const satisfies KeyTable;
