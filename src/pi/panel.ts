/** The settings panel: a list moved through with arrows, one input line at a time, saved when it is left with Esc. */
import type { Theme } from "@mariozechner/pi-coding-agent";
import { type Component, Input, matchesKey } from "@mariozechner/pi-tui";
import { keyAt } from "../config/keys.ts";
import {
	type Edits,
	firstField,
	inputText,
	type PanelRow,
	type PanelState,
	readInput,
	readName,
	rowsFor,
	withoutEntry,
} from "./panel-rows.ts";
import { lines } from "./render.ts";

export interface PanelParts {
	readonly theme: Pick<Theme, "fg" | "bold">;
	readonly value: PanelState["value"];
	readonly origin: PanelState["origin"];
	/** Rows of the screen that the list may take. */
	readonly height: () => number;
	/** Something changed: draw again. */
	readonly redraw: () => void;
	/** The panel is over: what is to be saved, nothing when it was left with Ctrl+C. */
	readonly done: (edits: Edits) => void;
}

interface Asking {
	readonly prompt: string;
	readonly input: Input;
	/** Takes the text; a problem keeps the line open. */
	readonly take: (text: string) => string | undefined;
}

/** A panel for `ui.custom`. Nothing is saved here: `done` hands the edits over. */
export function createPanel(parts: PanelParts): Component & { handleInput(data: string): void } {
	const { theme } = parts;
	const open = new Set<string>();
	let edits = new Map<string, unknown>();
	let selected = 0;
	let asking: Asking | undefined;
	let problem = "";

	const state = (): PanelState => ({ value: parts.value, origin: parts.origin, edits, open });
	const rows = (): PanelRow[] => rowsFor(state());

	function ask(prompt: string, text: string, take: Asking["take"]): void {
		const input = new Input();
		input.focused = true;
		// As if it had been pasted: the cursor then stands behind it, ready to go on or to delete.
		if (text !== "") input.handleInput(`\x1b[200~${text}\x1b[201~`);
		input.onSubmit = (typed) => {
			const before = asking;
			problem = take(typed) ?? "";
			// What was taken may have asked for the next thing.
			if (problem === "" && asking === before) asking = undefined;
		};
		input.onEscape = () => {
			asking = undefined;
			problem = "";
		};
		asking = { prompt, input, take };
	}

	function edit(path: string): void {
		const expected = keyAt(path)?.kind.expected ?? "";
		ask(`${path} — ${expected}; empty: default`, inputText(path, state()), (text) => {
			const read = readInput(path, text);
			if ("problem" in read) return read.problem;
			edits.set(path, read.value);
			return undefined;
		});
	}

	function add(map: string): void {
		ask(`Name of the new entry of ${map}`, "", (text) => {
			const named = readName(map, text);
			if ("problem" in named) return named.problem;
			open.add(named.path);
			edit(firstField(named.path));
			return undefined;
		});
	}

	function enter(row: PanelRow): void {
		problem = "";
		if (row.deed === "toggle") edits.set(row.path, row.value !== "true");
		else if (row.deed === "open") void (open.delete(row.path) || open.add(row.path));
		else if (row.deed === "edit") edit(row.path);
		else if (row.deed === "add") add(row.path);
		else if (row.deed === "remove") edits = withoutEntry(edits, row.path);
		else problem = "Edit this one in settings.json.";
	}

	function move(by: number): void {
		selected = Math.max(0, Math.min(rows().length - 1, selected + by));
		problem = "";
	}

	function listKey(data: string): void {
		if (matchesKey(data, "up")) move(-1);
		else if (matchesKey(data, "down")) move(1);
		else if (matchesKey(data, "pageUp")) move(-10);
		else if (matchesKey(data, "pageDown")) move(10);
		else if (matchesKey(data, "escape")) parts.done(edits);
		else if (matchesKey(data, "ctrl+c")) parts.done(new Map());
		else if (matchesKey(data, "enter") || matchesKey(data, "space")) {
			const row = rows()[selected];
			if (row) enter(row);
			move(0);
		}
	}

	function rowLine(row: PanelRow, isSelected: boolean, width: number): string {
		const indent = "  ".repeat(row.depth);
		const label = `${indent}${row.label}${row.edited ? " *" : ""}`.padEnd(Math.min(44, Math.floor(width / 2)));
		const origin = row.origin ? theme.fg("dim", `  (${row.origin})`) : "";
		const mark = isSelected ? theme.fg("accent", "❯ ") : "  ";
		return `${mark}${isSelected ? theme.bold(label) : label} ${theme.fg(row.edited ? "warning" : "accent", row.value)}${origin}`;
	}

	function draw(width: number): string[] {
		const all = rows();
		selected = Math.max(0, Math.min(all.length - 1, selected));
		const body: string[] = [];
		let at = 0;
		all.forEach((row, index) => {
			if (row.group) body.push(theme.fg("muted", theme.bold(row.group)));
			if (index === selected) at = body.length;
			body.push(rowLine(row, index === selected, width));
		});
		const height = Math.max(3, parts.height());
		const from = Math.max(0, Math.min(at - Math.floor(height / 2), body.length - height));
		const foot = asking
			? [
					theme.fg("accent", asking.prompt),
					...asking.input.render(Math.max(4, width - 2)),
					theme.fg("dim", "Enter keeps it · Esc leaves it as it was"),
				]
			: [
					theme.fg("muted", all[selected]?.help ?? ""),
					theme.fg("dim", "↑↓ move · Enter changes · Esc saves and closes · Ctrl+C closes without saving"),
				];
		return [
			theme.bold("A2A settings"),
			...body.slice(from, from + height),
			"",
			...foot,
			problem ? theme.fg("error", problem) : "",
		];
	}

	return {
		...lines(draw),
		handleInput(data) {
			if (asking) asking.input.handleInput(data);
			else listKey(data);
			parts.redraw();
		},
	};
}
