/** `a2a_call` and `a2a_status`: one peer, one task. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import { oneLine } from "../lib/text.ts";
import type { Outbound } from "../peers/outbound.ts";
import type { PeerReply, Progress } from "../peers/reply.ts";
import type { Json } from "../protocol/types.ts";
import { duration, failureText, progressText, replyText, stateWord } from "./format.ts";
import { contentFacts, contentLines } from "./format-content.ts";
import type { Dispatches } from "./settled.ts";
import type { ToolArgs, ToolDetails, ToolResult, ToolUpdate } from "./tools.ts";

/** What a tool works with. */
export interface ToolSetting {
	readonly outbound: Outbound;
	readonly clock: Pick<Clock, "now">;
	readonly signal: AbortSignal;
	readonly onUpdate: ToolUpdate;
	/** Where the session works: relative paths start here. */
	readonly cwd: string;
	/** The only folders that files may be sent from; absent: the user's own session, which may send what it may read. */
	readonly within?: readonly string[] | undefined;
	/** How many agents have passed on the work that this call is part of. */
	readonly hops: number;
	/** The trace that the work belongs to, as a W3C `traceparent`. */
	readonly trace?: string | undefined;
	/** Absent: nobody is told later of what is dispatched. */
	readonly dispatches?: Dispatches | undefined;
}

/** A random mark for the frame around a peer's words. */
export const newMark = (): string => randomBytes(4).toString("hex");

/** Text for the model, and what the screen draws instead of it. */
export const result = (text: string, details: ToolDetails): ToolResult => ({
	content: [{ type: "text", text }],
	details,
});

/** More updates than one in this many milliseconds are not seen, only paid for. */
const UPDATE_EVERY_MS = 100;

/**
 * Passes progress on to the host, not more often than the eye can follow; a new state or activity at once. `peer` is
 * the name to show.
 */
export function progressTo(
	onUpdate: ToolUpdate,
	clock: Pick<Clock, "now">,
): (peer: string, progress: Progress) => void {
	const shown = new Map<string, { readonly at: number; readonly what: string }>();
	return (peer, progress) => {
		if (!onUpdate) return;
		const what = `${progress.state} ${progress.activity}`;
		const last = shown.get(peer);
		if (last?.what === what && clock.now() - last.at < UPDATE_EVERY_MS) return;
		shown.set(peer, { at: clock.now(), what });
		const [title = "", ...body] = progressText(peer, progress).split("\n");
		onUpdate(result([title, ...body].join("\n"), { title, body: body.join("\n"), tone: "muted" }));
	};
}

/** The value that the JSON in `data` stands for. Throws an error that says what was wrong. */
function jsonIn(data: string): Json {
	try {
		return JSON.parse(data) as Json;
	} catch (error) {
		throw new Error(`data: it is not valid JSON (${error instanceof Error ? error.message : String(error)})`);
	}
}

/** How a reply is drawn: a title in a line and what the peer wrote. */
export function replyDetails(reply: PeerReply): ToolDetails {
	const open = reply.running || reply.question !== undefined;
	return {
		title: `${oneLine(reply.peer, 60)} · ${stateWord(reply.state)} · ${duration(reply.durationMs)}`,
		body: [reply.question ?? reply.text, ...contentLines(reply)].filter((text) => text !== "").join("\n"),
		tone: reply.running ? "muted" : open ? "warning" : "success",
		facts: {
			peer: reply.peer,
			state: reply.state,
			...(reply.contextId === undefined ? {} : { contextId: reply.contextId }),
			...(reply.taskId === undefined ? {} : { taskId: reply.taskId }),
			running: reply.running,
			durationMs: reply.durationMs,
			...contentFacts(reply),
		},
	};
}

/** The only way a tool fails: an error whose message is all that the model needs. */
export async function orFail<T>(agent: string, run: () => Promise<T>): Promise<T> {
	try {
		return await run();
	} catch (error) {
		throw new Error(failureText(agent, error), { cause: error });
	}
}

/** Sends a task and waits for its end, or only for the acknowledgement when `async_dispatch` is set. */
export async function call(args: ToolArgs<"a2a_call">, setting: ToolSetting): Promise<ToolResult> {
	const { outbound, signal, hops, trace } = setting;
	const progress = progressTo(setting.onUpdate, setting.clock);
	const detached = args.async_dispatch === true;
	const contextId = args.context_id?.trim() || undefined;
	const { cwd: from, within } = setting;
	const paths = args.files ?? [];
	const reply = await orFail(args.agent, async () =>
		outbound.call(args.agent.trim(), args.message, {
			signal,
			hops,
			detached,
			contextId,
			trace,
			...(args.timeout_seconds === undefined ? {} : { timeoutMs: args.timeout_seconds * 1000 }),
			webhook: setting.dispatches?.followed === true,
			...(paths.length > 0 ? { files: { paths, from, within } } : {}),
			...(args.data === undefined ? {} : { data: jsonIn(args.data) }),
			onProgress: (now) => progress(args.agent, now),
		}),
	);
	setting.dispatches?.sent(args.agent.trim(), reply, detached);
	return result(replyText(args.agent, reply, newMark(), detached), replyDetails(reply));
}

/** Asks how a task stands, or waits for it. */
export async function status(args: ToolArgs<"a2a_status">, setting: ToolSetting): Promise<ToolResult> {
	const progress = progressTo(setting.onUpdate, setting.clock);
	const reply = await orFail(args.agent, async () => {
		try {
			return await setting.outbound.status(args.agent.trim(), args.task_id.trim(), {
				signal: setting.signal,
				trace: setting.trace,
				waitMs: Math.max(0, args.wait_seconds ?? 0) * 1000,
				onProgress: (now) => progress(args.agent, now),
			});
		} catch (error) {
			setting.dispatches?.failed(error);
			throw error;
		}
	});
	setting.dispatches?.read(reply);
	return result(replyText(args.agent, reply, newMark()), replyDetails(reply));
}
