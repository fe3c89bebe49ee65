/** The panel `/a2a`: tabs of rows, moved through with arrows; what is open in detail goes on living. */
import { type Component, Input, matchesKey, truncateToWidth } from "@mariozechner/pi-tui";
import { type BoardFacts, type BoardRow, boardRows, TABS } from "./board-rows.ts";
import { lines, type Paint, wrapping } from "./render.ts";

/** What is to be done once the panel is closed. */
export type Outcome =
	| { readonly deed: "send"; readonly peer: string }
	| { readonly deed: "copy"; readonly id: string }
	| undefined;

export interface BoardParts {
	readonly theme: Paint;
	readonly facts: () => BoardFacts;
	/** What has been said and done in an inbound task, one line each, oldest first. */
	readonly story: (taskId: string) => readonly string[];
	/** Cancels an inbound task; says in a line what came of it. */
	readonly cancel: (taskId: string) => string;
	/** Lines of the screen that rows may take. */
	readonly height: () => number;
	readonly redraw: () => void;
	readonly done: (outcome: Outcome) => void;
}

export interface Board extends Component {
	handleInput(data: string): void;
	/** Looks at the facts again, and draws if what is seen has changed. */
	tick(): void;
}

const LIST_HELP = "←→ tabs · ↑↓ move · / filter · Enter opens · s send · c cancel · y copy id · Esc closes";
const DETAIL_HELP = "↑↓ scroll · s send · c cancel · y copy id · Esc back";

/** A panel for `ui.custom`. Draws at a key, and at a `tick` that shows something new. */
export function createBoard(parts: BoardParts): Board {
	const { theme } = parts;
	let tab = 0;
	let selected = 0;
	let key: string | undefined;
	let filter = "";
	let typing: Input | undefined;
	/** The row that is open, and how many lines of it lie below what is shown. */
	let open: { readonly key: string; last: BoardRow; up: number } | undefined;
	let said = "";
	let width = 80;
	let drawn = "";
	let facts = parts.facts();

	const rows = (): BoardRow[] => boardRows(TABS[tab] ?? "Peers", facts, filter);

	/** The selection stays with its row while others come and go. */
	function place(all: readonly BoardRow[]): void {
		const at = all.findIndex((row) => row.key === key);
		selected = Math.max(0, Math.min(all.length - 1, at === -1 ? selected : at));
		key = all[selected]?.key;
	}

	function move(by: number): void {
		const all = rows();
		place(all);
		selected = Math.max(0, Math.min(all.length - 1, selected + by));
		key = all[selected]?.key;
	}

	function turn(by: number): void {
		tab = (tab + by + TABS.length) % TABS.length;
		selected = 0;
		key = undefined;
	}

	function filterLine(): void {
		const input = new Input();
		input.focused = true;
		if (filter !== "") input.handleInput(`\x1b[200~${filter}\x1b[201~`);
		input.onSubmit = () => {
			typing = undefined;
		};
		input.onEscape = () => {
			typing = undefined;
			filter = "";
		};
		typing = input;
	}

	function act(data: string, row: BoardRow | undefined): void {
		if (!row) return;
		const { subject, id } = row;
		if (data === "s") {
			if (subject.kind === "peer") parts.done({ deed: "send", peer: subject.name });
			else said = "Choose a peer to send a message to.";
		} else if (data === "c") {
			said = subject.kind === "task" ? parts.cancel(subject.id) : "Choose a task under Tasks in to cancel it.";
		} else if (data === "y") {
			if (id !== "") parts.done({ deed: "copy", id });
			else said = "This row has no id.";
		}
	}

	function listKey(data: string): void {
		if (matchesKey(data, "up")) move(-1);
		else if (matchesKey(data, "down")) move(1);
		else if (matchesKey(data, "pageUp")) move(-10);
		else if (matchesKey(data, "pageDown")) move(10);
		else if (matchesKey(data, "left")) turn(-1);
		else if (matchesKey(data, "right") || matchesKey(data, "tab")) turn(1);
		else if (data === "/") filterLine();
		else if (matchesKey(data, "enter")) {
			move(0);
			const row = rows()[selected];
			if (row) open = { key: row.key, last: row, up: 0 };
		} else if (matchesKey(data, "escape") && filter !== "") filter = "";
		else if (matchesKey(data, "escape") || matchesKey(data, "ctrl+c")) parts.done(undefined);
		else {
			move(0);
			act(data, rows()[selected]);
		}
	}

	function detailKey(data: string, shown: NonNullable<typeof open>): void {
		if (matchesKey(data, "escape")) open = undefined;
		else if (matchesKey(data, "ctrl+c")) parts.done(undefined);
		else if (matchesKey(data, "up")) shown.up += 1;
		else if (matchesKey(data, "down")) shown.up = Math.max(0, shown.up - 1);
		else act(data, shown.last);
	}

	const rowLine = (row: BoardRow, isSelected: boolean): string => {
		const tone = row.mark === "✗" ? "error" : row.mark === "?" ? "warning" : row.mark === "✓" ? "success" : "muted";
		const text = isSelected ? theme.bold(row.text) : row.text;
		return `${isSelected ? theme.fg("accent", "❯ ") : "  "}${theme.fg(tone, row.mark)} ${text}`;
	};

	function drawList(height: number): string[] {
		const all = rows();
		place(all);
		const from = Math.max(0, Math.min(selected - Math.floor(height / 2), all.length - height));
		const seen = all.slice(from, from + height).map((row, at) => rowLine(row, from + at === selected));
		return [...(seen.length > 0 ? seen : [theme.fg("dim", filter ? "  nothing matches" : "  nothing here")])];
	}

	function drawDetails(shown: NonNullable<typeof open>, height: number): string[] {
		shown.last = boardRows(TABS[tab] ?? "Peers", facts).find((row) => row.key === shown.key) ?? shown.last;
		const { subject, details } = shown.last;
		const story = subject.kind === "task" ? ["", ...parts.story(subject.id)] : [];
		const all = wrapping([...details, ...story].join("\n"))(Math.max(1, width - 2));
		shown.up = Math.min(shown.up, Math.max(0, all.length - height));
		const end = all.length - shown.up;
		return all.slice(Math.max(0, end - height), end).map((line) => `  ${line}`);
	}

	function draw(): string[] {
		const height = Math.max(3, parts.height());
		const heads = TABS.map((name, at) => (at === tab ? theme.fg("accent", theme.bold(`[${name}]`)) : ` ${name} `));
		const body = open ? drawDetails(open, height) : drawList(height);
		const count = open || typing ? "" : filter === "" ? `${rows().length} rows` : `filter: ${filter}`;
		return [
			`${theme.bold("A2A")} ${heads.join("")}`,
			...body,
			...(typing ? ["Filter:", ...typing.render(Math.max(4, width - 2))] : [theme.fg("muted", said || count)]),
			...wrapping(typing ? "Enter keeps it · Esc clears it" : open ? DETAIL_HELP : LIST_HELP)(width).map((line) =>
				theme.fg("dim", line),
			),
		];
	}

	const view = lines(draw);
	const render = (columns: number): string[] => {
		width = columns;
		const made = view.render(columns).map((line) => truncateToWidth(line, Math.max(1, columns)));
		drawn = made.join("\n");
		return made;
	};

	return {
		render,
		invalidate: () => undefined,
		handleInput(data) {
			said = "";
			if (typing) {
				typing.handleInput(data);
				if (typing) filter = typing.getValue();
				selected = 0;
				key = undefined;
			} else if (open) detailKey(data, open);
			else listKey(data);
			parts.redraw();
		},
		tick() {
			facts = parts.facts();
			const before = drawn;
			render(width);
			if (drawn !== before) parts.redraw();
		},
	};
}
