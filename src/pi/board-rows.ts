/** The panel `/a2a` as data: what there is, made into rows of one tab. Pure. */
import type { App, ServerStatus } from "../app.ts";
import type { GatewayStatus } from "../gateways.ts";
import { dispatchLabel, oneLine } from "../lib/text.ts";
import type { ConversationSummary } from "../peers/conversations.ts";
import type { Dispatch } from "../peers/homecoming.ts";
import type { Peer } from "../peers/peer.ts";
import type { QueuedFact } from "../peers/queue.ts";
import { isInterrupted, isTerminal } from "../protocol/task.ts";
import type { TaskLog } from "../tasks/log.ts";
import { duration, stateWord } from "./format.ts";

export const TABS = ["Peers", "Tasks in", "Tasks out", "Conversations", "Ways", "Audit"] as const;
export type Tab = (typeof TABS)[number];

/** An inbound task as far as a list needs it; its value may be on disk. */
export type TaskFacts = Pick<TaskLog, "id" | "contextId" | "label" | "state" | "opened" | "changed">;

export interface BoardFacts {
	readonly peers: readonly Peer[];
	/** Oldest first. */
	readonly tasks: readonly TaskFacts[];
	/** What an unfinished task does now, by its id. */
	readonly doing: ReadonlyMap<string, string>;
	readonly pending: readonly Dispatch[];
	readonly queued: readonly QueuedFact[];
	readonly conversations: readonly ConversationSummary[];
	readonly server: ServerStatus;
	readonly gateways: readonly GatewayStatus[];
	readonly mailbox: ReturnType<App["mailbox"]["status"]>;
	/** Oldest first. */
	readonly audit: readonly object[];
	/** Milliseconds since the epoch. */
	readonly now: number;
}

/** Whose row it is, for what keys do. */
export type Subject =
	| { readonly kind: "peer"; readonly name: string }
	| { readonly kind: "task"; readonly id: string }
	| { readonly kind: "other" };

export interface BoardRow {
	/** Names the row while others come and go. */
	readonly key: string;
	/** How it stands, in a few letters. */
	readonly mark: "●" | "○" | "✓" | "✗" | "?" | "·";
	/** One clean line. */
	readonly text: string;
	/** The id to copy. */
	readonly id: string;
	readonly subject: Subject;
	/** Everything that is known, one fact a line. */
	readonly details: readonly string[];
}

const OTHER: Subject = { kind: "other" };
const column = (text: string, width: number): string => oneLine(text, width).padEnd(width);
const ago = (then: number, now: number): string => `${duration(Math.max(0, now - then))} ago`;
const fact = (name: string, value: string | undefined): string[] =>
	value === undefined || value === "" ? [] : [`${name}: ${oneLine(value, 400)}`];

function peerRow(peer: Peer, now: number): BoardRow {
	const { name, source, address, model, cwd, skills = peer.capabilities, seen, description } = peer;
	const at = address.via === "http" ? address.url.href : `mailbox ${address.id}`;
	const ready = seen === undefined ? "" : `seen ${ago(seen, now)}`;
	const rest = [model, cwd, skills.join(", ")].filter(Boolean).join(" · ");
	return {
		key: `peer ${name}`,
		mark: seen === undefined ? "○" : "●",
		text: `${column(name, 20)} ${column(source, 7)} ${oneLine(rest || at, 200)}`,
		id: name,
		subject: { kind: "peer", name },
		details: [
			...fact("Name", name),
			...fact("Found by", source),
			...fact("Address", at),
			...fact("Readiness", ready || "not known before a call"),
			...fact("Model", model),
			...fact("Folder", cwd),
			...fact("Skills", skills.join(", ")),
			...fact("About", description),
		],
	};
}

const markOf = (state: TaskFacts["state"]): BoardRow["mark"] =>
	isInterrupted(state) ? "?" : !isTerminal(state) ? "●" : state === "TASK_STATE_COMPLETED" ? "✓" : "✗";

function taskRow(task: TaskFacts, { doing, now }: BoardFacts): BoardRow {
	const { id, contextId, label, state, opened, changed } = task;
	const took = duration(Math.max(0, (isTerminal(state) ? changed : now) - opened));
	const work = oneLine(doing.get(id) ?? "", 200);
	return {
		key: `task ${id}`,
		mark: markOf(state),
		text: `${column(dispatchLabel(id), 14)} ${column(label, 16)} ${column(stateWord(state), 14)} ${took.padStart(7)}  ${work}`,
		id,
		subject: { kind: "task", id },
		details: [
			`Task: ${id}`,
			`Context: ${contextId}`,
			`From: ${oneLine(label, 100)}`,
			`State: ${stateWord(state)} (${took})`,
		],
	};
}

const outRows = ({ pending, queued, now }: BoardFacts): BoardRow[] => [
	...pending.map(
		({ peer, taskId, at }): BoardRow => ({
			key: `out ${taskId}`,
			mark: "●",
			text: `${column(peer, 20)} dispatched ${ago(at, now).padStart(12)}  ${oneLine(taskId, 80)}`,
			id: taskId,
			subject: OTHER,
			details: [...fact("Peer", peer), ...fact("Task", taskId), `Dispatched: ${ago(at, now)}`],
		}),
	),
	...queued.map(
		({ peer, place, at, until, text }): BoardRow => ({
			key: `queued ${peer} ${at} ${place}`,
			mark: "○",
			text: `${column(peer, 20)} queued as ${place}  ${oneLine(text, 120)}`,
			id: peer,
			subject: OTHER,
			details: [
				...fact("Peer", peer),
				`Queued: ${ago(at, now)}, place ${place}`,
				`Given up in: ${duration(Math.max(0, until - now))}`,
				...fact("Message", text),
			],
		}),
	),
];

function talkRow({ contextId, peers, time, text, state, open, taskId }: ConversationSummary): BoardRow {
	const when = time.slice(0, 16).replace("T", " ");
	return {
		key: `talk ${contextId}`,
		mark: open ? "?" : "·",
		text: `${when}  ${column(peers.join(", "), 20)} ${oneLine(text, 200)}`,
		id: contextId,
		subject: OTHER,
		details: [
			`Context: ${contextId}`,
			...fact("Peers", peers.join(", ")),
			`Last turn: ${when}`,
			...fact("State", state && stateWord(state)),
			...fact("Task", taskId),
			...(open ? ["It waits for an answer of ours."] : []),
			...fact("Text", text),
		],
	};
}

function wayRows({ server, gateways, mailbox }: BoardFacts): BoardRow[] {
	const row = (key: string, good: boolean, text: string, id: string, detail?: string): BoardRow => ({
		key,
		mark: good ? "●" : "○",
		text: oneLine(`${column(key, 20)} ${text}`, 300),
		id,
		subject: OTHER,
		details: [...fact(key, text), ...fact("Note", detail)],
	});
	return [
		row("server", server.running, server.url ?? "not running", server.url ?? "", server.problem),
		...gateways.map(({ key, url, state, name, detail }) =>
			row(`gateway ${key}`, state === "registered", `${state} at ${url}${name ? ` as ${name}` : ""}`, url, detail),
		),
		...(mailbox
			? [row("mailbox", mailbox.id !== undefined, `${mailbox.id ?? "not joined"} in ${mailbox.root}`, mailbox.id ?? "")]
			: []),
	];
}

function auditRow(entry: object, index: number): BoardRow {
	const { time, direction, peer, operation, taskId, state, error } = entry as { readonly [name: string]: unknown };
	const say = (value: unknown) => (typeof value === "string" ? value : "");
	const arrow = direction === "in" ? "⇠" : "⇢";
	return {
		key: `audit ${say(time)} ${say(operation)} ${say(taskId)} ${index}`,
		mark: error === undefined ? "·" : "✗",
		text: oneLine(
			`${say(time).slice(11, 19)} ${arrow} ${column(say(peer), 16)} ${say(operation)} ${say(state) && stateWord(say(state))} ${say(error)}`,
			300,
		),
		id: say(taskId),
		subject: OTHER,
		details: Object.entries(entry).map(([name, value]) => `${name}: ${oneLine(String(value), 400)}`),
	};
}

const ROWS: { readonly [T in Tab]: (facts: BoardFacts) => BoardRow[] } = {
	Peers: ({ peers, now }) => peers.map((peer) => peerRow(peer, now)),
	"Tasks in": (facts) => [...facts.tasks].reverse().map((task) => taskRow(task, facts)),
	"Tasks out": outRows,
	Conversations: ({ conversations }) => conversations.map(talkRow),
	Ways: wayRows,
	Audit: ({ audit }) => audit.map(auditRow).reverse(),
};

/** The rows of a tab, newest or nearest first, that hold every word of `filter`; case does not matter. */
export function boardRows(tab: Tab, facts: BoardFacts, filter = ""): BoardRow[] {
	const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
	return ROWS[tab](facts).filter(({ text, id }) => {
		const all = `${text} ${id}`.toLowerCase();
		return words.every((word) => all.includes(word));
	});
}

/** All tabs as plain text, where there is no terminal to draw on. */
export function boardText(facts: BoardFacts, most = 10): string {
	return TABS.flatMap((tab) => {
		const rows = boardRows(tab, facts);
		const more = rows.length > most ? [`  and ${rows.length - most} more`] : [];
		const shown = rows.slice(0, most).map(({ mark, text }) => `  ${mark} ${oneLine(text, 200)}`);
		return [`${tab} (${rows.length})`, ...shown, ...more];
	}).join("\n");
}
