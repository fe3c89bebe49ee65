/** The conversations of a runner: the turns of one caller in one context share a history. */
import { SessionManager } from "@mariozechner/pi-coding-agent";
import type { Turn } from "../agent/runner.ts";
import type { Clock } from "../lib/clock.ts";
import { type ConversationKey, isIntact, openTranscript, readTranscript } from "./session-files.ts";

/** A conversation of this process. */
export interface Conversation {
	readonly key: ConversationKey;
	/** Its history, once it has one. */
	manager?: SessionManager;
	/** Ends when the last turn has been given back. Never rejects. */
	last: Promise<void>;
	/** Turns that run or wait. */
	turns: number;
}

export interface Conversations {
	/** The conversation that a turn belongs to. */
	of(turn: Pick<Turn, "caller" | "contextId">): Conversation;
	/** The history that a turn goes on from; a new one where there is none. */
	history(
		conversation: Conversation,
		turn: Pick<Turn, "taskId">,
	): Promise<{ readonly manager: SessionManager; readonly resumed: boolean }>;
	/** What the transcript of the turn's conversation has, oldest first; undefined when there is none that could be gone on with. */
	entries(turn: Pick<Turn, "caller" | "contextId">): Promise<readonly unknown[] | undefined>;
	/** Forgets what is in memory. */
	clear(): void;
}

/** Histories held in memory: files can be read again, what has no file is forgotten beyond the limit. */
const HELD = { file: 16, memory: 200 };

/** Conversations that work in `workspaceOf` their caller, with histories in files or, without `transcripts`, in memory. */
export function createConversations(parts: {
	readonly agentDir: string;
	readonly transcripts: boolean;
	readonly workspaceOf: (callerId: string) => string;
	readonly clock: Clock;
}): Conversations {
	const { agentDir, transcripts, workspaceOf, clock } = parts;
	const conversations = new Map<string, Conversation>();
	return {
		of({ caller, contextId }) {
			const name = JSON.stringify([caller.id, contextId]);
			const key = { caller: caller.id, context: contextId, workspace: workspaceOf(caller.id) };
			const conversation = conversations.get(name) ?? { key, last: Promise.resolve(), turns: 0 };
			// The newest last; the oldest that is idle goes when there are too many.
			conversations.delete(name);
			conversations.set(name, conversation);
			const limit = transcripts ? HELD.file : HELD.memory;
			for (const [other, { turns }] of conversations) {
				if (conversations.size <= limit) break;
				if (turns === 0 && other !== name) conversations.delete(other);
			}
			return conversation;
		},
		async history(conversation, { taskId }) {
			const { manager, key } = conversation;
			if (manager && (await isIntact(manager))) return { manager, resumed: true };
			const opened = transcripts
				? await openTranscript(agentDir, key, taskId, clock)
				: { manager: SessionManager.inMemory(key.workspace), resumed: false };
			conversation.manager = opened.manager;
			return opened;
		},
		entries: async ({ caller, contextId }) =>
			transcripts
				? readTranscript(agentDir, { caller: caller.id, context: contextId, workspace: workspaceOf(caller.id) })
				: undefined,
		clear: () => conversations.clear(),
	};
}
