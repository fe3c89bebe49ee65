/**
 * What the transcript of a conversation says of a turn whose process died in the middle of it. Every turn leaves a mark
 * where it begins, and one before each tool that starts, so it is known what may have been done even where the host
 * writes its own entries late.
 */
import type { SessionManager } from "@mariozechner/pi-coding-agent";
import type { Turn } from "../agent/runner.ts";
import { dispatchLabel } from "../lib/text.ts";
import type { TaskId } from "../protocol/types.ts";
import { ASK } from "./child-tools.ts";
import { ATTACH } from "./session-attach.ts";

/** The kind of our entries in a session file; the host keeps them and no model reads them. */
const MARK = "pi-a2a";

type Fields = { readonly [key: string]: unknown };
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const list = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.map(fields) : []);

/** Notes that the turn begins here. */
export function markTurn(manager: SessionManager, turn: Turn): void {
	const { taskId: task, message } = turn;
	// What the caller allowed is not known to a later process, so that one must not go on.
	manager.appendCustomEntry(MARK, { task, message: message.messageId, ...(turn.limits ? { limited: true } : {}) });
}

/** Notes that a tool is about to start; call it before it does. */
export const markTool = (manager: SessionManager, tool: string): void => void manager.appendCustomEntry(MARK, { tool });

/** What is left of a turn. */
export interface Left {
	/** The id of the message that the turn answers. */
	readonly message: unknown;
	/** Tools may have been at work, or the caller had set limits: it must not be gone on with. */
	readonly unsure: boolean;
	/** The session was given the message. */
	readonly begun: boolean;
	/** The whole messages of the model, oldest first. */
	readonly said: readonly Fields[];
	/** The question that the model has put to the caller. */
	readonly asked: string | undefined;
	/** A file was given back. */
	readonly attached: boolean;
	/** The model has said all. */
	readonly done: boolean;
}

/** The last turn in the entries of a transcript, oldest first, if it is one of that task; else nothing was begun. */
export function leftOf(entries: readonly unknown[], taskId: TaskId): Left | undefined {
	const all = entries.map(fields);
	const marks = (entry: Fields, name: string) => entry.customType === MARK && name in fields(entry.data);
	const at = all.findLastIndex((entry) => marks(entry, "task"));
	const mark = fields(all[at]?.data);
	if (mark.task !== taskId) return undefined;
	const since = all.slice(at + 1);
	const messages = since.filter(({ type }) => type === "message").map(({ message }) => fields(message));
	const said = messages.filter(({ role }) => role === "assistant");
	// Of an answer that was cut off no tool is started.
	const whole = said.filter(({ stopReason }) => stopReason !== "error" && stopReason !== "aborted");
	const calls = whole.flatMap(({ content }) => list(content).filter(({ type }) => type === "toolCall"));
	const results = new Map(messages.filter(({ role }) => role === "toolResult").map((each) => [each.toolCallId, each]));
	const started = since.filter((entry) => marks(entry, "tool")).map(({ data }) => fields(data).tool);
	const succeeded = (name: string) =>
		calls.find((call) => call.name === name && results.has(call.id) && results.get(call.id)?.isError !== true);
	const question = fields(succeeded(ASK)?.arguments).question;
	const last = messages.at(-1);
	const ended = last !== undefined && whole.includes(last) && !list(last.content).some((part) => calls.includes(part));
	return {
		message: mark.message,
		unsure: mark.limited === true || [...started, ...calls.map(({ id }) => id)].some((id) => !results.has(id)),
		begun: messages.some(({ role }) => role === "user"),
		said,
		asked: typeof question === "string" ? question : undefined,
		attached: succeeded(ATTACH) !== undefined,
		done: ended || typeof question === "string",
	};
}

/** What a model is told that goes on with a turn. */
export const goOn = (taskId: TaskId): string =>
	[
		`[A2A task ${dispatchLabel(taskId)} · interrupted]`,
		"This host stopped while you were at work on the task above, and has been started again. All that is known to have been",
		"done stands above: do none of it again, go on from there and bring the task to its end. What you have written so far",
		"has reached the sender; an answer that was cut off in the middle has not.",
	].join("\n");
