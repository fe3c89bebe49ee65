/**
 * The agent behind inbound tasks: every turn runs in an isolated session of the host's Pi, and the turns of one caller
 * in one context share the session's history.
 *
 * A session lives for one turn, so what its extensions started ends with it; what stays is its history, in a file or,
 * without transcripts, in memory.
 */
import { SessionManager, type ToolDefinition } from "@mariozechner/pi-coding-agent";
import type { RunEvent, Runner, Turn } from "../agent/runner.ts";
import { framePrompt } from "../guard/inbound.ts";
import { Channel } from "../lib/channel.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { Log } from "../lib/log.ts";
import { dispatchLabel } from "../lib/text.ts";
import type { Part } from "../protocol/types.ts";
import { ASK, askTool } from "./child-tools.ts";
import type { PiHost } from "./host.ts";
import { openChild, type PromptImage } from "./session-child.ts";
import { drive } from "./session-drive.ts";
import { type ConversationKey, isIntact, openTranscript } from "./session-files.ts";
import { reasonOf } from "./session-reason.ts";
import { Reply } from "./session-reply.ts";
import { findResources, isFolder, type Resources, sameFolder } from "./session-resources.ts";

export { sweepTranscripts } from "./session-files.ts";

export interface RunnerParts {
	readonly host: PiHost;
	/** Pi's agent directory; transcripts go into a folder of it. */
	readonly agentDir: string;
	/** Folder in which the sessions work. Absolute. */
	readonly workspace: string;
	/** Whether histories are kept in files; in memory otherwise, and forgotten with this runner. */
	readonly transcripts: boolean;
	readonly log: Log;
	readonly clock?: Clock;
	/** Further tools for the session of a turn, such as calling other agents on its behalf. */
	readonly childTools?: (turn: Turn) => readonly ToolDefinition[];
}

/** Histories held in memory: files can be read again, what has no file is forgotten beyond the limit. */
const HELD = { file: 16, memory: 200 };
/** How long a run may take to stop before its task no longer waits for it; it is given back all the same. */
const STOP_MS = 2_000;

/** Without an ending of its own a turn would count as completed. */
const STOPPED: RunEvent = { type: "failed", reason: "host stopped" };

/** Images among the parts, for models that can see. */
function imagesIn(parts: readonly Part[]): PromptImage[] {
	return parts.flatMap((part): PromptImage[] => {
		if (!("raw" in part) || !part.mediaType?.startsWith("image/")) return [];
		// ProtoJSON also allows the URL alphabet; providers do not.
		const data = Buffer.from(part.raw, "base64").toString("base64");
		return [{ type: "image", data, mimeType: part.mediaType }];
	});
}

/** A conversation of this process. */
interface Conversation {
	readonly key: ConversationKey;
	/** Its history, once it has one. */
	manager?: SessionManager;
	/** Ends when the last turn has been given back. Never rejects. */
	last: Promise<void>;
	/** Turns that run or wait. */
	turns: number;
}

/** A `Runner` over the sessions of the live host. One for each session of the host: it is closed with it. */
export function piRunner(parts: RunnerParts): Runner {
	const { host, agentDir, workspace, log, clock = systemClock } = parts;
	const conversations = new Map<string, Conversation>();
	/** What runs, and how to stop it. */
	const running = new Map<Promise<void>, AbortController>();
	let resources: Promise<Resources> | undefined;
	let closed = false;

	/** What the host has loaded, looked up at the first task; after a failure looked up again. */
	function loaded(): Promise<Resources> {
		// Trust was given to the host's own folder, not to any other.
		const trusted = host.trusted && sameFolder(workspace, host.cwd);
		resources ??= findResources({ agentDir, cwd: workspace, trusted, flags: host.flags });
		return resources.catch((error: unknown) => {
			resources = undefined;
			throw error;
		});
	}

	function conversationOf({ caller, contextId }: Turn): Conversation {
		const name = JSON.stringify([caller.id, contextId]);
		const found = conversations.get(name);
		const key = { caller: caller.id, context: contextId, workspace };
		const conversation = found ?? { key, last: Promise.resolve(), turns: 0 };
		// The newest last; the oldest that is idle goes when there are too many.
		conversations.delete(name);
		conversations.set(name, conversation);
		const limit = parts.transcripts ? HELD.file : HELD.memory;
		for (const [other, { turns }] of conversations) {
			if (conversations.size <= limit) break;
			if (turns === 0 && other !== name) conversations.delete(other);
		}
		return conversation;
	}

	async function historyOf(
		conversation: Conversation,
		turn: Turn,
	): Promise<{ manager: SessionManager; resumed: boolean }> {
		const { manager, key } = conversation;
		if (manager && (await isIntact(manager))) return { manager, resumed: true };
		const opened = parts.transcripts
			? await openTranscript(agentDir, key, turn.taskId, clock)
			: { manager: SessionManager.inMemory(workspace), resumed: false };
		conversation.manager = opened.manager;
		return opened;
	}

	async function serve(
		turn: Turn,
		signal: AbortSignal,
		say: (event: RunEvent) => void,
		settled: () => void,
	): Promise<void> {
		// Pi itself would find out at the first tool call only, and tell the model instead of the caller.
		if (!(await isFolder(workspace))) throw new Error("The workspace of this agent is missing.");
		const conversation = conversationOf(turn);
		let asked: string | undefined;
		const { manager, resumed } = await historyOf(conversation, turn);
		const child = await openChild({
			host,
			resources: await loaded(),
			agentDir,
			cwd: workspace,
			manager,
			resumed,
			tools: [askTool((question) => (asked = question)) as ToolDefinition, ...(parts.childTools?.(turn) ?? [])],
			closedTo: () => {
				if (signal.aborted) return "The task was stopped.";
				return asked === undefined ? undefined : "The caller has been asked; end your turn and wait for the answer.";
			},
			signal,
			clock,
			log,
		});
		try {
			const reply = new Reply([ASK]);
			const text = framePrompt(turn.message, { peer: turn.caller.label, label: dispatchLabel(turn.taskId) });
			const { error } = await drive(
				child,
				{ text, images: imagesIn(turn.message.parts) },
				{ onEvent: (event) => reply.on(event).forEach(say), signal, clock, log },
			);
			if (!signal.aborted) say(reply.end({ error, asked }));
			// The answer is complete; giving the session back must not delay it.
			settled();
		} finally {
			await child.close();
		}
	}

	/** Runs the turn behind the last one of its conversation. Never rejects. */
	async function work(turn: Turn, signal: AbortSignal, channel: Channel<RunEvent>): Promise<void> {
		const conversation = conversationOf(turn);
		conversation.turns += 1;
		const before = conversation.last;
		let done: () => void = () => undefined;
		conversation.last = new Promise((resolve) => {
			done = resolve;
		});
		try {
			await before;
			if (!signal.aborted)
				await serve(
					turn,
					signal,
					(event) => void channel.push(event),
					() => channel.end(),
				);
		} catch (error) {
			log.warn(`Could not run the task ${turn.taskId}`, error);
			channel.push({ type: "failed", reason: reasonOf(error) });
		} finally {
			conversation.turns -= 1;
			done();
			channel.end();
		}
	}

	return {
		async *run(turn) {
			const stop = new AbortController();
			const channel = new Channel<RunEvent>();
			const over = () => {
				stop.abort();
				void clock.sleep(STOP_MS).then(() => channel.end());
			};
			if (turn.signal.aborted) return;
			if (closed) {
				yield STOPPED;
				return;
			}
			turn.signal.addEventListener("abort", over, { once: true });
			const task = work(turn, stop.signal, channel).finally(() => running.delete(task));
			running.set(task, stop);
			try {
				for await (const event of channel) if (!stop.signal.aborted) yield event;
				if (stop.signal.aborted && !turn.signal.aborted) yield STOPPED;
			} finally {
				turn.signal.removeEventListener("abort", over);
				stop.abort(); // the reader has left, or all is said
			}
		},
		async close() {
			closed = true;
			for (const stop of running.values()) stop.abort();
			await Promise.all(running.keys());
			conversations.clear();
		},
	};
}
