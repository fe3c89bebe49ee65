/** Results that come home: dispatches are kept in the session that made them, and that session is told of their end. */
import type { ExtensionAPI, ExtensionContext } from "@mariozechner/pi-coding-agent";
import { redact } from "../guard/redact.ts";
import { attempt, type Log } from "../lib/log.ts";
import { dispatchLabel, oneLine } from "../lib/text.ts";
import type { Dispatch, Homecoming, Settled } from "../peers/homecoming.ts";
import type { PeerReply } from "../peers/reply.ts";
import { duration, failureText, replyText, stateWord } from "./format.ts";
import { newMark } from "./tool-call.ts";
import type { Row } from "./transcript.ts";
import type { Screen } from "./ui.ts";

/** Entries of a session file: a dispatch, and that it has been told of. No model reads them. */
const SENT = "a2a-dispatch";
const TOLD = "a2a-settled";
/** A result that wakes the model; unlike our rows it is meant to be read by it. */
export const RESULT = "a2a-result";

const PREVIEW = 120;
/** Longest name or id that is taken from a session file. */
const LONGEST = 2_000;

/** What a tool does about dispatches of its session. */
export interface Dispatches {
	/** What is dispatched is followed. */
	readonly followed: boolean;
	/**
	 * What came of a call of `agent`, as it was called. A task that goes on is a dispatch when it was meant as one
	 * (`detached`), or was one before: its question has been answered.
	 */
	sent(agent: string, reply: PeerReply, detached: boolean): void;
	/** The model has read how a task stands. */
	read(reply: PeerReply): void;
	/** The model has read why there is no result. */
	failed(error: unknown): void;
	pending(): readonly Dispatch[];
}

export interface SettledParts {
	readonly pi: Pick<ExtensionAPI, "appendEntry" | "sendMessage">;
	readonly sessions: Pick<ExtensionContext["sessionManager"], "getEntries" | "getSessionId">;
	readonly homecoming: Homecoming;
	readonly screen: Pick<Screen, "mode" | "notify">;
	/** Takes a row for the transcript; true when it is drawn now. */
	readonly add: (row: Row) => boolean;
	/** `notify.onSettled`, read at each use. */
	readonly wanted: () => string;
	readonly clock: { now(): number };
	readonly log: Log;
}

const isText = (value: unknown): value is string =>
	typeof value === "string" && value !== "" && value.length <= LONGEST;

const keyOf = ({ peer, taskId }: Pick<Dispatch, "peer" | "taskId">): string => JSON.stringify([peer, taskId]);

/** The dispatches of session `id` that nobody was told of, from its entries; `known` gets the keys of all that there were. */
export function openDispatches(entries: readonly unknown[], id: string, known = new Set<string>()): Dispatch[] {
	const open = new Map<string, Dispatch>();
	for (const entry of entries) {
		const { type, customType, data } = (entry ?? {}) as Record<string, unknown>;
		if (type !== "custom") continue;
		const { agent, peer, taskId, at, session } = (data ?? {}) as Record<string, unknown>;
		if (!isText(peer) || !isText(taskId)) continue;
		const key = keyOf({ peer, taskId });
		if (customType === TOLD) open.delete(key);
		// A fork has the entries of the session that it was made from, but did not ask.
		if (customType !== SENT || session !== id || !isText(agent) || typeof at !== "number") continue;
		open.set(key, { agent, peer, taskId, at });
		known.add(key);
	}
	return [...open.values()];
}

/** One line about a dispatch that has settled. */
export function settledRow(settled: Settled, now: number): Row {
	const { peer, taskId, at } = settled.dispatch;
	const name = `[A2A → ${oneLine(peer, 60)}] dispatch ${dispatchLabel(taskId)}`;
	const took = `(${duration(now - at)})`;
	if ("error" in settled) {
		const { error } = settled;
		const why = oneLine(error instanceof Error ? error.message : String(error), PREVIEW);
		return { kind: "failed", text: `${name} brought no result ${took}: ${why}` };
	}
	const { state, text, question } = settled.reply;
	if (question !== undefined) return { kind: "question", text: `${name} asks ${took}: ${oneLine(question, PREVIEW)}` };
	const preview = oneLine(text, PREVIEW);
	return { kind: "completed", text: `${name} ${stateWord(state)} ${took}${preview ? ` — ${preview}` : ""}` };
}

/** `- worker task-1 (4m 5s)`, one line for each; empty when nothing is under way. */
export function pendingText(pending: readonly Dispatch[], now: number): string {
	const lines = pending.map(
		({ peer, taskId, at }) => `- ${oneLine(peer, 60)}  task ${oneLine(taskId, 200)}  (${duration(now - at)})`,
	);
	return lines.length > 0 ? ["Dispatches under way:", ...lines].join("\n") : "";
}

/** Follows what this session has dispatched, now and before; the second member ends the telling. */
export function bringHome(parts: SettledParts): readonly [Dispatches, () => void] {
	const { pi, sessions, homecoming, screen, log, clock } = parts;
	const write = (type: string, data: object) =>
		void attempt("write a dispatch down", () => pi.appendEntry(type, data), log);
	// Where nobody looks the session is over in a moment: what it wrote down is for when it is resumed.
	const followed = screen.mode === "tui" || screen.mode === "rpc";

	function tell(settled: Settled): void {
		const { peer, taskId, agent } = settled.dispatch;
		write(TOLD, { peer, taskId });
		const wanted = parts.wanted();
		if (wanted === "off") return;
		const row = settledRow(settled, clock.now());
		// On a terminal a toast is a line of the conversation as well: one is enough.
		if (!(parts.add(row) && screen.mode === "tui")) {
			screen.notify(row.text, row.kind === "failed" ? "warning" : "info");
		}
		if (wanted !== "wake") return;
		const text =
			"reply" in settled ? replyText(agent, settled.reply, newMark()) : failureText(agent, settled.error, newMark());
		const message = { customType: RESULT, content: `A dispatch of yours has settled.\n${text}`, display: true };
		// Idle, it begins a turn; in mid-turn it waits for its end and never steers it.
		const wake = () => pi.sendMessage(message, { triggerTurn: true, deliverAs: "followUp" });
		void attempt("hand a result to the model", wake, log);
	}

	const stop = homecoming.onSettled((settled) => void attempt("tell of a result", () => tell(settled), log));
	const known = new Set<string>();
	const open = openDispatches(sessions.getEntries(), sessions.getSessionId(), known);
	if (followed) for (const dispatch of open) homecoming.follow(dispatch);

	function wasRead(task: Pick<Dispatch, "peer" | "taskId">): void {
		if (!homecoming.pending().some((each) => keyOf(each) === keyOf(task))) return;
		homecoming.forget(task);
		write(TOLD, { peer: task.peer, taskId: task.taskId });
	}
	const read: Dispatches["read"] = ({ peer, taskId, running }) => {
		if (!running && taskId !== undefined) wasRead({ peer, taskId });
	};
	const dispatches: Dispatches = {
		followed,
		sent(agent, reply, detached) {
			const { peer, taskId, running } = reply;
			if (taskId === undefined || !running) return read(reply);
			const key = keyOf({ peer, taskId });
			if (!detached && !known.has(key)) return;
			known.add(key);
			const dispatch = { agent, peer, taskId, at: clock.now() };
			// A URL with a secret in it is kept in no file; what was sent there is followed as long as this process runs.
			if ([agent, peer].every((text) => redact(text) === text)) {
				write(SENT, { ...dispatch, session: sessions.getSessionId() });
			}
			if (followed) homecoming.follow(dispatch);
		},
		read,
		failed(error) {
			const task = homecoming.endedBy(error);
			if (task) wasRead(task);
		},
		pending: homecoming.pending,
	};
	return [dispatches, stop];
}
