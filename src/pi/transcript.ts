/**
 * Lines of ours in the transcript that people read, never in what a model reads. Pi from 1.0 draws entries, which no
 * request contains. Before, only custom messages are drawn: they are sent while the host is idle, because a message
 * sent in mid-turn steers the turn, and they are taken out of every request.
 */
import type { ExtensionAPI, MessageRenderer, Theme } from "@mariozechner/pi-coding-agent";
import type { Clock } from "../lib/clock.ts";
import { attempt, type Log } from "../lib/log.ts";
import { lines, wrapping } from "./render.ts";
import type { Screen } from "./ui.ts";

/** Type of our entries and messages in a session file. */
export const ENTRY = "a2a";

/** One line or more, and how it is meant. */
export interface Row {
	readonly kind: "arrival" | "step" | "text" | "question" | "completed" | "failed" | "output";
	readonly text: string;
}

const COLORS = {
	arrival: "accent",
	step: "muted",
	text: "dim",
	question: "warning",
	completed: "success",
	failed: "error",
	output: "text",
} as const satisfies { readonly [K in Row["kind"]]: string };

/** Pi from 1.0. */
interface DrawsEntries {
	registerEntryRenderer?(
		type: string,
		draw: (entry: { readonly data?: unknown }, options: unknown, theme: Theme) => ReturnType<MessageRenderer>,
	): void;
}

function drawRow(row: unknown, theme: Pick<Theme, "fg">) {
	const { kind, text } = (row ?? {}) as Partial<Row>;
	if (typeof text !== "string") return undefined;
	const color = COLORS[kind ?? "output"] ?? "text";
	// Steps of a task are many and short lived; the rest is meant to be read to its end.
	const short = kind === "step" || kind === "text" ? text.replaceAll("\t", "    ").split("\n") : undefined;
	const whole = wrapping(text);
	return lines((width) => (short ?? whole(width - 2)).map((line) => theme.fg(color, ` ${line}`)));
}

const isOurs = (item: unknown): boolean => (item as { readonly customType?: unknown } | null)?.customType === ENTRY;

/** Takes our items out of `items`, which the host goes on to use. */
function drop(items: unknown): void {
	if (!Array.isArray(items)) return;
	const kept = items.filter((item) => !isOurs(item));
	if (kept.length < items.length) items.splice(0, items.length, ...kept);
}

/** Registers the drawing of our rows, and keeps them out of requests, summaries of compaction and of branches. */
export function registerTranscript(pi: ExtensionAPI): void {
	pi.registerMessageRenderer<Row>(ENTRY, (message, _options, theme) => drawRow(message.details, theme));
	(pi as ExtensionAPI & DrawsEntries).registerEntryRenderer?.(ENTRY, (entry, _options, theme) =>
		drawRow(entry.data, theme),
	);
	pi.on("context", (event) => {
		if (event.messages.some(isOurs)) return { messages: event.messages.filter((message) => !isOurs(message)) };
	});
	pi.on("session_before_compact", ({ preparation }) => {
		drop(preparation.messagesToSummarize);
		drop(preparation.turnPrefixMessages);
	});
	pi.on("session_before_tree", ({ preparation }) => drop(preparation.entriesToSummarize));
}

export interface Transcript {
	/** Adds a row, at once (then true) or when the host's turn is over. Without a screen nothing is added. */
	add(row: Row): boolean;
	/** Shows text that the user asked for: at once, in the transcript where there is a terminal, else as a notice. */
	show(text: string): void;
	close(): void;
}

/** More waiting rows than this are counted, not kept. */
const WAITING = 200;
/** A run that has ended may go on by itself (retry, compaction); look again after this many milliseconds. */
const LOOK_AGAIN_MS = 250;

export interface TranscriptParts {
	readonly pi: ExtensionAPI;
	readonly screen: Screen;
	readonly clock: Clock;
	readonly log: Log;
}

/** The transcript of the session of `pi`. */
export function createTranscript({ pi, screen, clock, log }: TranscriptParts): Transcript {
	const drawsEntries = (pi as ExtensionAPI & DrawsEntries).registerEntryRenderer !== undefined;
	const waiting: Row[] = [];
	let lost = 0;
	let closed = false;
	let cancel: (() => void) | undefined;

	/** Sends what waits, or looks again later. Never throws: it runs in a timer. */
	function flush(): void {
		cancel = undefined;
		if (closed || waiting.length === 0) return;
		if (!screen.idle) {
			cancel = clock.after(LOOK_AGAIN_MS, flush);
			return;
		}
		if (lost > 0) waiting.push({ kind: "step", text: `[A2A inbound] ${lost} more lines` });
		lost = 0;
		void attempt(
			"add to the transcript",
			() => {
				for (const row of waiting.splice(0)) {
					pi.sendMessage({ customType: ENTRY, content: row.text, display: true, details: row });
				}
			},
			log,
		);
	}

	function add(row: Row): boolean {
		if (closed || (screen.mode !== "tui" && screen.mode !== "rpc")) return false;
		if (drawsEntries) {
			void attempt("add to the transcript", () => pi.appendEntry(ENTRY, row), log);
			return true;
		}
		if (waiting.length < WAITING) waiting.push(row);
		else lost++;
		if (!cancel) flush();
		return waiting.length === 0;
	}

	return {
		add,
		show(text) {
			if (screen.mode === "tui" && (drawsEntries || screen.idle)) add({ kind: "output", text });
			else screen.notify(text);
		},
		close() {
			closed = true;
			cancel?.();
		},
	};
}
