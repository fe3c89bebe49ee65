/** Writes down what is said in one call, under the right conversation. Writing may fail; the call goes on. */
import { attempt, type Log } from "../lib/log.ts";
import type { ContextId, TaskId } from "../protocol/types.ts";
import { addressKey } from "./address.ts";
import type { Conversations, Turn } from "./conversations.ts";
import type { FileFact } from "./files-out.ts";
import type { Peer } from "./peer.ts";
import { PeerError, type PeerReply, type Progress } from "./reply.ts";

export interface RecordParts {
	readonly conversations: Conversations;
	readonly peer: Peer;
	readonly log: Log;
	readonly redact: (text: string) => string;
	/** The context that we send; absent when only a task is asked about. */
	readonly context?: ContextId;
	/** What we say; absent when only a task is asked about. */
	readonly message?: string;
	/** The files that go with it. */
	readonly files?: readonly FileFact[];
}

export interface Recorder {
	/** The task of this peer in our context that waits for an answer. */
	openQuestion(): Promise<TaskId | undefined>;
	/** Our message is written down as soon as the peer has named the conversation. */
	progress(progress: Progress): void;
	/** Writes the reply; gives it with the context that is ours to go on with. */
	reply(reply: PeerReply): Promise<PeerReply>;
	/** Writes how the task ended. What never reached the peer is not part of the conversation. */
	failure(error: unknown): Promise<void>;
}

export function recorder(parts: RecordParts): Recorder {
	const { conversations, peer, log, redact, context: sent, message, files = [] } = parts;
	const address = addressKey(peer.address);
	let asked: Promise<unknown> | undefined;
	let settled: { readonly context: ContextId | undefined; readonly foreign: boolean } | undefined;

	/** The conversation that the peer's answer belongs to: a peer cannot speak in one that others have. */
	async function conversation(named: ContextId | undefined) {
		if (settled) return settled;
		if (!named || named === sent) return { context: sent, foreign: false };
		const foreign =
			(await attempt("look into a conversation", () => conversations.isOthers(named, address), log)) ?? true;
		settled = { context: foreign ? sent : named, foreign };
		return settled;
	}

	async function write(
		context: ContextId | undefined,
		turn: Pick<Turn, "role" | "text" | "state" | "taskId" | "files">,
	) {
		if (!context) return;
		const entry = { contextId: context, peer: peer.name, address, ...turn };
		await attempt("write down the conversation", () => conversations.append(entry), log);
	}

	function ask(named: ContextId | undefined, task: TaskId | undefined): Promise<unknown> {
		if (message === undefined) return Promise.resolve();
		asked ??= conversation(named).then(({ context }) =>
			write(context, { role: "user", text: redact(message), ...(task ? { taskId: task } : {}), ...filesOf(files) }),
		);
		return asked;
	}

	async function answer(context: ContextId | undefined, turn: Pick<Turn, "text" | "state" | "taskId" | "files">) {
		const last = context && message === undefined ? (await conversations.recall(context, 1))[0] : undefined;
		// Asking twice how a task stands says nothing new the second time.
		if (last?.role === "agent" && last.taskId === turn.taskId && last.state === turn.state) return;
		await write(context, { role: "agent", ...turn });
	}

	return {
		async openQuestion() {
			if (!sent) return undefined;
			return attempt("look for an open question", () => conversations.openQuestion(sent, address), log);
		},
		progress({ contextId, taskId }) {
			if (contextId) void ask(contextId, taskId);
		},
		async reply(reply) {
			const { context, foreign } = await conversation(reply.contextId);
			const { state, taskId } = reply;
			await ask(reply.contextId, taskId);
			await answer(context, {
				text: reply.question ?? reply.text,
				state,
				...(taskId ? { taskId } : {}),
				...filesOf(reply.content?.files ?? []),
			});
			if (!foreign) return reply;
			const { contextId: _theirs, ...rest } = reply;
			const note = "The peer named the context of a conversation with somebody else; that was not taken over.";
			return { ...rest, ...(context ? { contextId: context } : {}), notes: [...reply.notes, note] };
		},
		async failure(error) {
			if (!(error instanceof PeerError) || error.state === undefined) return;
			const { context } = await conversation(error.contextId);
			const { state, taskId } = error;
			await ask(error.contextId, taskId);
			await answer(context, { text: error.message, state, ...(taskId ? { taskId } : {}) });
		},
	};
}

/** The files of a turn by name and size: their bytes are no part of a conversation. */
function filesOf(files: readonly FileFact[]): Pick<Turn, "files"> {
	return files.length > 0 ? { files: files.map(({ name, bytes }) => ({ name, bytes })) } : {};
}
