/** Peers, cards, conversations and fan-outs as text, for the model and for people. */
import { clip, oneLine, plain } from "../lib/text.ts";
import type { Turn } from "../peers/conversations.ts";
import type { FanOutcome } from "../peers/fanout.ts";
import type { Overview } from "../peers/outbound.ts";
import type { Address, Peer } from "../peers/peer.ts";
import type { QueuedFact } from "../peers/queue.ts";
import type { CardSummary } from "../peers/summary.ts";
import { duration, failureText, framed, replyText, stateWord } from "./format.ts";

/** Names of a list that stand in a line. */
const SHOWN = 12;

function few(names: readonly string[] | undefined): string {
	if (!names?.length) return "";
	const rest = names.length > SHOWN ? `, … (${names.length})` : "";
	return `${names.slice(0, SHOWN).join(", ")}${rest}`;
}

const addressText = (address: Address): string => (address.via === "http" ? address.url.href : `mailbox ${address.id}`);

/** Name, address and source; then what is known of it, one fact a line. */
function peerText(peer: Peer): string {
	const facts: readonly (readonly [string, string | undefined])[] = [
		["what", peer.description],
		["cwd", peer.cwd],
		["model", peer.model],
		["capabilities", few(peer.capabilities)],
		["skills", few(peer.skills)],
		["tools", few(peer.tools)],
	];
	return [
		`- ${peer.name}  ${addressText(peer.address)}  (${peer.source})`,
		...facts.flatMap(([name, value]) => (value ? [`    ${name}: ${oneLine(value, 400)}`] : [])),
	].join("\n");
}

/** Everybody who can be called. What peers say of themselves is quoted, not believed. */
export function peersText(peers: readonly Peer[]): string {
	if (peers.length === 0) {
		return "No peers. Write one down under a2a.peers in settings.json (or /a2a-config), start another Pi with a server, or call a URL.";
	}
	return `${peers.length === 1 ? "1 peer" : `${peers.length} peers`} (as they describe themselves):\n${peers.map(peerText).join("\n")}`;
}

/** The peers that the operator wrote down, one line each. */
export function agentsText(peers: readonly Peer[]): string {
	if (peers.length === 0)
		return "No peers are configured. Add them under a2a.peers in settings.json or with /a2a-config.";
	return peers
		.map((peer) => `- ${peer.name}  ${addressText(peer.address)}  ${few(peer.capabilities)}`.trimEnd())
		.join("\n");
}

/** A card: what the agent says of itself, in few lines. */
export function cardText(card: CardSummary): string {
	const able = [card.streaming ? "streaming" : "no streaming", card.push ? "push notifications" : ""];
	const skills = card.skills.map((skill) => {
		const tags = skill.tags.length > 0 ? ` [${skill.tags.join(", ")}]` : "";
		return `  - ${skill.name}${skill.description === skill.name ? "" : `: ${skill.description}`}${tags}`;
	});
	return [
		`${card.name} ${card.version}`.trim(),
		card.description,
		`url: ${card.url}`,
		`card: ${card.source}`,
		`signature: ${card.signature}`,
		...card.interfaces.map((each) => `interface: ${each}`),
		`can: ${able.filter(Boolean).join(", ")}`,
		`authentication: ${card.auth.length > 0 ? card.auth.join(", ") : "none asked for"}`,
		...card.extensions.map((each) => `extension: ${each}`),
		skills.length > 0 ? "skills:" : "skills: none named",
		...skills,
		card.moreSkills > 0 ? `  - and ${card.moreSkills} more` : "",
		...Object.entries(card.metadata).map(([key, value]) => `${key}: ${value}`),
	]
		.filter((line) => line !== "")
		.join("\n");
}

/** Conversations, newest first, one line each. */
function conversationsText({ conversations }: Overview): string {
	if (conversations.length === 0) return "No conversations yet.";
	return conversations
		.map((each) => {
			const state = each.open ? "waits for your answer" : each.state ? stateWord(each.state) : "";
			const facts = [each.contextId, few(each.peers), each.time, state].filter(Boolean).join(" · ");
			return `- ${facts}\n    ${oneLine(each.text, 120)}`;
		})
		.join("\n");
}

const isEmpty = (value: unknown): boolean =>
	value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);

/** Numbers as `name: value` lines; objects in objects are indented, empty ones left out. */
export function metricsText(metrics: object, indent = ""): string {
	return Object.entries(metrics)
		.filter(([, value]) => !isEmpty(value))
		.map(([key, value]) =>
			typeof value === "object" && value !== null
				? `${indent}${oneLine(key, 80)}:\n${metricsText(value, `${indent}  `)}`.trimEnd()
				: `${indent}${oneLine(key, 80)}: ${oneLine(String(value), 80)}`,
		)
		.join("\n");
}

/** Messages that wait for their peer, one line each; empty when there are none. */
export function queuedText(queued: readonly QueuedFact[], now: number): string {
	const lines = queued.map(({ peer, place, at, until, text }) => {
		const where =
			place > 0 ? `number ${place}, given up in ${duration(until - now)}` : "delivered, its result is awaited";
		return `- ${oneLine(peer, 60)}  ${where}  (${duration(now - at)})\n    ${oneLine(text, 120)}`;
	});
	return lines.length > 0 ? ["Queued for peers that could not be reached:", ...lines].join("\n") : "";
}

/** What `a2a_list` tells. */
export function overviewText(overview: Overview, now: number): string {
	return [
		"Configured peers:",
		agentsText(overview.peers),
		"",
		"Conversations (newest first):",
		conversationsText(overview),
		"",
		...(overview.queued?.length ? [queuedText(overview.queued, now), ""] : []),
		"Metrics:",
		metricsText(overview.metrics) || "(nothing yet)",
	].join("\n");
}

const fileText = ({ name, bytes }: { readonly name: string; readonly bytes: number }): string =>
	`${oneLine(name, 120)} (${bytes} bytes)`;

/** A conversation, oldest turn first; the peer's words between marks. */
export function historyText(contextId: string, turns: readonly Turn[], nonce: string): string {
	if (turns.length === 0)
		return `Nothing is stored for context ${oneLine(contextId, 120)}. a2a_list shows the stored ones.`;
	const said = turns.map((turn) => {
		const time = turn.time.slice(0, 19).replace("T", " ");
		const files = turn.files?.length ? `\nFiles: ${turn.files.map(fileText).join(", ")}` : "";
		if (turn.role === "user") return `${time} to ${oneLine(turn.peer, 60)}:\n${clip(plain(turn.text), 8000)}${files}`;
		const state = turn.state ? ` · ${stateWord(turn.state)}` : "";
		return `${time}${state}\n${framed(turn.peer, turn.text + files, nonce, 8000)}`;
	});
	return [`[A2A · context ${oneLine(contextId, 120)} · ${turns.length} turns]`, ...said].join("\n\n");
}

/** What came of a fan-out: the chosen reply when there is one, else every reply; then the failures by name. */
export function fanText(outcome: FanOutcome, nonce: string): string {
	const { chosen, replies, failures } = outcome;
	const answered = replies.filter((reply) => !reply.running && reply.question === undefined).length;
	const total = replies.length + failures.length;
	const shown = chosen ? [chosen] : replies;
	const rest = chosen ? replies.filter((reply) => reply !== chosen) : [];
	return [
		`[A2A → ${outcome.mode} · ${answered} of ${total} completed]`,
		...outcome.notes.map((note) => `Note: ${oneLine(note, 400)}`),
		...shown.map((reply) => replyText(reply.peer, reply, nonce)),
		rest.length > 0
			? `Also answered: ${rest.map((reply) => `${reply.peer} (${stateWord(reply.state)})`).join(", ")}`
			: "",
		...failures.map(({ peer, error }) => failureText(peer, error)),
	]
		.filter((line) => line !== "")
		.join("\n\n");
}
