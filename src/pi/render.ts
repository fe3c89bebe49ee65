/**
 * How calls, results and inbound activity are drawn. A line wider than the terminal, or a throw while drawing, ends
 * Pi, so every line is cut to the width here and nothing throws. What people asked to read is wrapped, not cut.
 */
import type { AgentToolResult, Theme } from "@mariozechner/pi-coding-agent";
import { type Component, truncateToWidth, wrapTextWithAnsi } from "@mariozechner/pi-tui";
import { oneLine } from "../lib/text.ts";
import type { ToolDetails, ToolName } from "./tools.ts";

/** The part of Pi's theme that is used. */
export type Paint = Pick<Theme, "fg" | "bold">;

/** Lines of a folded result. */
const FOLDED = 6;

/** A component of ready lines. `draw` gets the width; what it throws becomes one plain line. */
export function lines(draw: (width: number) => readonly string[]): Component {
	return {
		render(width) {
			try {
				return draw(width).map((line) => truncateToWidth(line.replaceAll("\n", " "), Math.max(1, width)));
			} catch (error) {
				return [truncateToWidth(oneLine(`(not drawn: ${String(error)})`), Math.max(1, width))];
			}
		},
		invalidate: () => undefined,
	};
}

/**
 * The lines of plain `text`, tabs as blanks, broken between words to `width` columns. What belongs to a line that was
 * indented, is an item or has a second column goes on below its first word there.
 */
export function wrapped(text: string, width: number): string[] {
	return text
		.replaceAll("\t", "    ")
		.split("\n")
		.flatMap((line) => {
			const start = /^\s*(?:- |\S.*?\S {2,}(?=\S))?/.exec(line)?.[0].length ?? 0;
			const hang = " ".repeat(start <= width / 2 ? start : 0);
			const [first = "", ...rest] = wrapTextWithAnsi(line.slice(hang.length), Math.max(1, width - hang.length));
			return [line.slice(0, hang.length) + first, ...rest.map((each) => hang + each)];
		});
}

const say = (value: unknown, max: number): string => (typeof value === "string" ? oneLine(value, max) : "");

/** What a call's arguments say in a line; arguments may still be arriving. */
const CALLS: { readonly [K in ToolName]: (args: Readonly<Record<string, unknown>>) => readonly [string, string] } = {
	a2a_call: (args) => [
		say(args.agent, 60),
		say(args.message, 200) + (args.async_dispatch === true ? " (detached)" : ""),
	],
	a2a_status: (args) => [say(args.agent, 60), say(args.task_id, 60)],
	a2a_discover: (args) => [say(args.url, 200), ""],
	a2a_list: () => ["", ""],
	a2a_history: (args) => [say(args.context_id, 80), ""],
	a2a_orchestrate: (args) => [`${say(args.capability, 60)} (${say(args.mode, 10) || "all"})`, say(args.message, 200)],
	a2a_peers: () => ["", ""],
};

/** Draws a call of tool `name` in one line. */
export const drawCall =
	(name: ToolName) =>
	(args: unknown, theme: Paint): Component =>
		lines(() => {
			const [target, text] = CALLS[name]((args ?? {}) as Readonly<Record<string, unknown>>);
			const members = [theme.fg("toolTitle", theme.bold(name)), theme.fg("accent", target), theme.fg("muted", text)];
			return [members.filter((_, index) => index === 0 || [target, text][index - 1] !== "").join(" ")];
		});

const MARK = { success: "✓", warning: "!", muted: "·" } as const;

/** Draws a result: its title, and the start of its body (all of it when expanded; the end while it is partial). */
export function drawResult(
	result: AgentToolResult<ToolDetails | undefined>,
	options: { readonly expanded: boolean; readonly isPartial: boolean },
	theme: Paint,
	context?: { readonly isError?: boolean },
): Component {
	return lines((width) => {
		const details = result.details;
		const inner = options.expanded ? width - 2 : undefined;
		if (context?.isError || typeof details?.title !== "string") {
			const text = result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n");
			return folded(text, inner).map((line) => theme.fg(context?.isError ? "error" : "toolOutput", line));
		}
		const mark = options.isPartial ? theme.fg("muted", "…") : theme.fg(details.tone, MARK[details.tone]);
		const body = folded(details.body, inner, options.isPartial);
		return [
			`${mark} ${theme.fg("toolTitle", details.title)}`,
			...body.map((line) => theme.fg("toolOutput", `  ${line}`)),
		];
	});
}

/**
 * All lines of `text`, wrapped to `width` columns; without it each line of the text is one line, and only the first
 * ones are kept, or the last ones when `tail`.
 */
function folded(text: string, width: number | undefined, tail = false): string[] {
	if (text.trim() === "") return [];
	if (width !== undefined) return wrapped(text.trimEnd(), width);
	const all = text.trimEnd().replaceAll("\t", "    ").split("\n");
	if (all.length <= FOLDED) return all;
	if (tail) return all.slice(-FOLDED);
	return [...all.slice(0, FOLDED), `… ${all.length - FOLDED} more lines`];
}
