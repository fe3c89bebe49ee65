/** What is going on in a mailbox, for people: agents, and messages with their status. */
import { oneLine } from "../../lib/text.ts";
import { termOf } from "./election.ts";
import { leasesIn } from "./leases.ts";
import type { Mail } from "./messages.ts";
import type { MailRoot } from "./root.ts";
import { type Listed, listAgents } from "./roster.ts";

/** A message and where it lies. */
export interface ListedMessage {
	readonly agent: string;
	readonly box: "inbox" | "outbox";
	readonly id: string;
	readonly type: Mail["type"];
	readonly from: string;
	readonly to: string;
	/** Milliseconds since the epoch. */
	readonly at: number;
	/** `waiting`, `leased`, `answered`, `expired`, `delivered`, `read`, …; of leases `open`, `completed`, … */
	readonly status: string;
	/** Which try a leased request is in. */
	readonly attempt?: number;
}

export interface Overview {
	readonly root: string;
	/** Process and machine of the orchestrator; undefined when there is none. */
	readonly orchestrator?: { readonly pid: number; readonly host: string };
	readonly agents: readonly (Listed & {
		/** Requests that it works on. */
		readonly busy: number;
	})[];
	/** Oldest first. */
	readonly messages: readonly ListedMessage[];
	readonly now: number;
}

function statusOf(mail: Mail, now: number): string {
	if (mail.type === "lease") return mail.state ?? (mail.processed ? "routed" : "open");
	if (mail.state) return mail.state;
	if (mail.processed) return "routed";
	return now > mail.until && mail.type !== "heartbeat" ? "overdue" : "waiting";
}

function listed(agent: string, box: "inbox" | "outbox", mail: Mail, now: number): ListedMessage {
	const { id, type, from, to, at, raw } = mail;
	const attempt = mail.state === "leased" && typeof raw._attempt === "number" ? { attempt: raw._attempt } : {};
	return { agent, box, id, type, from, to, at, status: statusOf(mail, now), ...attempt };
}

/** Reads every box. `deadMs`: silence that means death. */
export async function overview(root: MailRoot, deadMs: number): Promise<Overview> {
	const now = root.parts.clock.now();
	const agents = await listAgents(root, deadMs);
	const term = await termOf(root);
	const messages: ListedMessage[] = [];
	const busy = new Map<string, number>();
	for (const { id } of agents) {
		for (const side of ["inbox", "outbox"] as const) {
			try {
				const { mails } = await root.box(id, side).read();
				messages.push(...mails.map((mail) => listed(id, side, mail, now)));
				if (side === "inbox") busy.set(id, [...leasesIn(mails).values()].filter(({ open }) => open).length);
			} catch (error) {
				root.parts.log.warn(`The ${side} of ${oneLine(id, 80)} cannot be read`, error);
			}
		}
	}
	messages.sort((a, b) => a.at - b.at);
	const orchestrator = term && term.at > 0 ? { orchestrator: { pid: term.pid, host: term.host } } : {};
	const all = agents.map((agent) => ({ ...agent, busy: busy.get(agent.id) ?? 0 }));
	return { root: root.path, ...orchestrator, agents: all, messages, now };
}

/** `3 s`, `5 min`, `2 h`. */
export function ago(ms: number): string {
	const seconds = Math.max(0, Math.round(ms / 1000));
	if (seconds < 120) return `${seconds} s`;
	return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

/** One line for an agent. */
export function agentText(
	{ id, alive, seen, capabilities, busy, registration }: Overview["agents"][number],
	now: number,
): string {
	const life = alive
		? busy > 0
			? `busy (${busy})`
			: "idle"
		: seen > 0
			? `silent for ${ago(now - seen)}`
			: "no sign of life";
	const asks = registration?.slots === 0 && alive ? ", only asks" : "";
	const can = capabilities.length > 0 ? `  ${oneLine(capabilities.join(", "), 100)}` : "";
	return `${oneLine(id, 60)}  ${life}${asks}${can}`;
}

/** One line for a message. */
export function messageText(
	{ agent, box, id, type, from, to, at, status, attempt }: ListedMessage,
	now: number,
): string {
	const trying = attempt !== undefined && attempt > 1 ? ` (try ${attempt})` : "";
	const place = `${oneLine(agent, 60)}/${box}`;
	return `${place}  ${type}  ${oneLine(id, 60)}  ${oneLine(from, 40)} → ${oneLine(to, 40)}  ${ago(now - at)} ago  ${oneLine(status, 30)}${trying}`;
}

/** All of it, as lines. */
export function overviewText({ root, orchestrator, agents, messages, now }: Overview): string {
	if (agents.length === 0) return `There are no agents in the mailbox ${root}.`;
	const router = orchestrator
		? `routed by process ${orchestrator.pid} on ${oneLine(orchestrator.host, 60)}`
		: "routed by nobody";
	return [
		`Mailbox ${root}, ${router}`,
		...agents.map((agent) => `  ${agentText(agent, now)}`),
		"",
		...(messages.length === 0 ? ["No messages."] : messages.map((message) => messageText(message, now))),
	].join("\n");
}
