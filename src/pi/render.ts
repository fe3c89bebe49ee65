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
function wrapped(text: string, width: number): string[] {
	return (
		text
			.replaceAll("\t", "    ")
			// The time to wrap a word grows with the square of its length.
			.replace(/\S{1000}/gu, "$&\n")
			.split("\n")
			.flatMap((line) => {
				const start = /^\s*(?:- |\S.*?\S {2,}(?=\S))?/.exec(line)?.[0].length ?? 0;
				const hang = " ".repeat(start <= width / 2 ? start : 0);
				const [first = "", ...rest] = wrapTextWithAnsi(line.slice(hang.length), Math.max(1, width - hang.length));
				return [line.slice(0, hang.length) + first, ...rest.map((each) => hang + each)];
			})
	);
}

/** As `wrapped`, done again only for another width: the host draws all that it shows at every key. */
export function wrapping(text: string): (width: number) => readonly string[] {
	let last: { readonly width: number; readonly lines: readonly string[] } | undefined;
	return (width) => {
		if (last?.width !== width) last = { width, lines: wrapped(text, width) };
		return last.lines;
	};
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
	const { details } = result;
	const plain = context?.isError || typeof details?.title !== "string";
	const text = plain ? result.content.map((part) => (part.type === "text" ? part.text : "")).join("\n") : details.body;
	const whole = wrapping(text.trimEnd());
	return lines((width) => {
		const body = options.expanded && text.trim() !== "" ? whole(width - 2) : folded(text, options.isPartial);
		if (plain) return body.map((line) => theme.fg(context?.isError ? "error" : "toolOutput", line));
		const mark = options.isPartial ? theme.fg("muted", "…") : theme.fg(details.tone, MARK[details.tone]);
		return [
			`${mark} ${theme.fg("toolTitle", details.title)}`,
			...body.map((line) => theme.fg("toolOutput", `  ${line}`)),
		];
	});
}

/** The first lines of `text`, tabs as blanks, or the last ones when `tail`. */
function folded(text: string, tail: boolean): readonly string[] {
	const all = text.trim() === "" ? [] : text.trimEnd().replaceAll("\t", "    ").split("\n");
	if (all.length <= FOLDED) return all;
	if (tail) return all.slice(-FOLDED);
	return [...all.slice(0, FOLDED), `… ${all.length - FOLDED} more lines`];
}
