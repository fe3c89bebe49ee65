/** Tells the demo to a person, and reads what happened out of a host's events. */
import type { PiEvent } from "../test/support/pi-host.ts";

export interface ToolRun {
	/** Text of the result that the model got. */
	readonly text: string;
	readonly failed: boolean;
	/** Text of each progress report, in order. */
	readonly updates: readonly string[];
}

const record = (value: unknown): Record<string, unknown> =>
	typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};

function textIn(result: unknown): string {
	const content = record(result).content;
	if (!Array.isArray(content)) return "";
	return content.map((part) => String(record(part).text ?? "")).join("\n");
}

/** The finished runs of one tool among a host's events, oldest first. */
export function toolRuns(events: readonly PiEvent[], tool: string): ToolRun[] {
	const of = events.map(record).filter((event) => event.toolName === tool);
	return of
		.filter((event) => event.type === "tool_execution_end")
		.map((end) => ({
			text: textIn(end.result),
			failed: end.isError === true,
			updates: of
				.filter((event) => event.type === "tool_execution_update" && event.toolCallId === end.toolCallId)
				.map((event) => textIn(event.partialResult)),
		}));
}

export const contextIdIn = (text: string): string | undefined => /\bctx-[0-9a-f]+\b/.exec(text)?.[0];
export const taskIdIn = (text: string): string | undefined => /\btask-[0-9a-f]+\b/.exec(text)?.[0];

const indent = (text: string) => text.replace(/^/gm, "    ");

/** Prints the story through `print`, one line a call. */
export function teller(print: (line: string) => void) {
	let shown = "";
	return {
		host: (text: string) => print(`* ${text}`),
		title: (text: string) => print(`\n== ${text} ==`),
		card(card: Record<string, unknown>) {
			const skills = (Array.isArray(card.skills) ? card.skills : []).map((skill) => String(record(skill).name));
			print(`* B's Agent Card: ${card.name} ${card.version}: ${card.description}`);
			print(`    interface: ${JSON.stringify(record((card.supportedInterfaces as unknown[])?.[0]))}`);
			print(`    skills: ${skills.join(", ") || "none"}`);
		},
		progress(who: string, event: PiEvent) {
			const { type, toolName, args, partialResult } = record(event);
			if (type === "tool_execution_start") print(`${who} → ${toolName} ${JSON.stringify(args).slice(0, 160)}`);
			const line = type === "tool_execution_update" ? (textIn(partialResult).trim().split("\n").at(-1) ?? "") : "";
			if (line && line !== shown) print(`    … ${line.slice(-120)}`);
			shown = line || shown;
		},
		reply: (who: string, text: string) => print(`${who} answers:\n${indent(text)}`),
		audit: (who: string, lines: readonly string[]) => {
			for (const line of lines) print(`  ${who}: ${line}`);
		},
		end(claims: readonly string[], missing: readonly string[], failure: unknown, stderr: string) {
			print("\n== What was observed ==");
			for (const claim of claims) print(`  ${missing.includes(claim) ? "MISSING" : "ok     "}  ${claim}`);
			if (failure)
				print(`\nThe demo broke off: ${failure instanceof Error ? (failure.stack ?? failure.message) : failure}`);
			if ((failure || missing.length) && stderr.trim())
				print(`\nWhat the hosts wrote to stderr:\n${indent(stderr.trim().slice(-4000))}`);
		},
	};
}
