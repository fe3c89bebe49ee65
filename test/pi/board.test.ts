import assert from "node:assert/strict";
import { visibleWidth } from "@mariozechner/pi-tui";
import { type Board, createBoard, type Outcome } from "../../src/pi/board.ts";
import { type BoardFacts, boardRows, boardText, TABS } from "../../src/pi/board-rows.ts";
import { contextId, taskId } from "../../src/protocol/types.ts";

const NOW = Date.UTC(2026, 0, 1, 12);
const KEY = { down: "\x1b[B", up: "\x1b[A", right: "\x1b[C", left: "\x1b[D", enter: "\r", escape: "\x1b" } as const;

const task = (n: number, more: Partial<BoardFacts["tasks"][number]> = {}): BoardFacts["tasks"][number] => ({
	id: taskId(`task-${String(n).padStart(4, "0")}`),
	contextId: contextId(`ctx-${n}`),
	label: "alice",
	state: "TASK_STATE_WORKING",
	opened: NOW - 5_000,
	changed: NOW,
	...more,
});
const peer = (n: number): BoardFacts["peers"][number] => ({
	name: `peer-${n}`,
	source: "local",
	address: { via: "http", url: new URL(`http://127.0.0.1:${1000 + n}/`) },
	capabilities: ["web"],
	model: "p/m",
	cwd: `/srv/${n}`,
	seen: NOW - 1_000,
});
const facts = (more: Partial<BoardFacts> = {}): BoardFacts => ({
	peers: [peer(1), peer(2)],
	tasks: [task(1), task(2, { state: "TASK_STATE_COMPLETED", label: "bob" })],
	doing: new Map([["task-0001", "bash ls"]]),
	pending: [{ agent: "w", peer: "w", taskId: "task-out", at: NOW - 60_000 }],
	queued: [{ peer: "away", place: 1, at: NOW, until: NOW + 1_000, text: "later\nplease" }],
	conversations: [
		{ contextId: contextId("ctx-9"), peers: ["w"], time: "2026-01-01T11:00:00.000Z", text: "hi", open: true },
	],
	server: { running: true, inFlight: 1, callers: ["alice"], url: "http://127.0.0.1:9910/" },
	gateways: [{ key: "g", url: "http://g/", state: "backing off", detail: "refused" }],
	mailbox: { root: "/m", id: "box", orchestrator: false, running: 0 },
	audit: [{ time: "2026-01-01T11:00:00.000Z", direction: "in", peer: "alice", operation: "SendMessage" }],
	now: NOW,
	...more,
});

function opened(first: BoardFacts = facts(), height = 12) {
	let now = first;
	let draws = 0;
	const done: Outcome[] = [];
	const canceled: string[] = [];
	const board: Board = createBoard({
		theme: { fg: (_color, text) => text, bold: (text) => text },
		facts: () => now,
		story: (id) => [`← do ${id}`, "⚙ bash ls"],
		cancel: (id) => {
			canceled.push(id);
			return "Canceled.";
		},
		height: () => height,
		redraw: () => draws++,
		done: (outcome) => done.push(outcome),
	});
	const screen = (width = 100) => board.render(width).join("\n");
	screen();
	return {
		...{ board, screen, done, canceled },
		draws: () => draws,
		set: (next: BoardFacts) => {
			now = next;
			board.tick();
		},
		press: (...keys: (keyof typeof KEY)[]) => {
			for (const key of keys) board.handleInput(KEY[key]);
		},
		type: (text: string) => {
			for (const letter of text) board.handleInput(letter);
		},
	};
}

describe("pi/board-rows", () => {
	it("has a row for everything there is, the newest task first", () => {
		assert.deepEqual(
			TABS.map((tab) => boardRows(tab, facts()).length),
			[2, 2, 2, 1, 3, 1],
		);
		assert.match(boardRows("Tasks in", facts())[0]?.text ?? "", /bob +completed/);
		assert.match(boardRows("Tasks in", facts())[1]?.text ?? "", /alice +working +5(\.0)?s +bash ls/);
		assert.match(boardRows("Peers", facts())[0]?.text ?? "", /^peer-1 +local +p\/m · \/srv\/1 · web$/);
	});

	it("keeps every row in one clean line", () => {
		const text = boardRows("Tasks out", facts()).map((row) => row.text);
		assert.doesNotMatch(text.join(""), /\n|\x1b/);
	});

	it("filters by every word, whatever its case, and by the id", () => {
		assert.deepEqual(
			boardRows("Peers", facts(), "PEER-2 web").map(({ id }) => id),
			["peer-2"],
		);
		assert.equal(boardRows("Tasks in", facts(), "task-0001").length, 1);
		assert.equal(boardRows("Peers", facts(), "peer-1 peer-2").length, 0);
	});

	it("is a short text where there is no terminal", () => {
		const text = boardText(facts({ peers: Array.from({ length: 30 }, (_, n) => peer(n)) }));
		assert.match(text, /^Peers \(30\)\n/);
		assert.match(text, /and 20 more/);
		assert.match(text, /Ways \(3\)[\s\S]*gateway g +backing off/);
	});
});

describe("pi/board", () => {
	it("moves with arrows through tabs and rows, and closes with Esc", () => {
		const { press, screen, done } = opened();
		press("down");
		assert.match(screen(), /❯ ● peer-2/);
		press("right");
		assert.match(screen(), /\[Tasks in\]/);
		press("left", "left");
		assert.match(screen(), /\[Audit\]/);
		press("escape");
		assert.deepEqual(done, [undefined]);
	});

	it("filters while one types behind /, and Esc takes the filter back before it closes", () => {
		const { type, press, screen, done } = opened();
		type("/peer-2");
		assert.doesNotMatch(screen(), /peer-1/);
		press("enter");
		assert.match(screen(), /filter: peer-2/);
		press("escape");
		assert.match(screen(), /peer-1/);
		assert.equal(done.length, 0);
	});

	it("opens a task, whose state and story go on living", () => {
		const { press, screen, set } = opened();
		press("right", "down", "enter");
		assert.match(screen(), /State: working[\s\S]*⚙ bash ls/);
		set(facts({ tasks: [task(1, { state: "TASK_STATE_COMPLETED" })] }));
		assert.match(screen(), /State: completed/);
		press("escape");
		assert.match(screen(), /\[Tasks in\][\s\S]*❯/);
	});

	it("cancels a task with c, sends to a peer with s, copies an id with y", () => {
		const { press, type, screen, canceled, done } = opened();
		type("c");
		assert.match(screen(), /Choose a task/);
		type("s");
		press("right");
		type("s");
		assert.match(screen(), /Choose a peer/);
		press("down");
		type("c");
		assert.match(screen(), /Canceled\./);
		type("y");
		assert.deepEqual(canceled, ["task-0001"]);
		assert.deepEqual(done, [
			{ deed: "send", peer: "peer-1" },
			{ deed: "copy", id: "task-0001" },
		]);
	});

	it("keeps the selection on its row while others come", () => {
		const { press, screen, set } = opened();
		press("right", "down");
		set(facts({ tasks: [task(1), task(2), task(3), task(4)] }));
		assert.match(screen(), /❯ ● .*bash ls/);
	});

	it("draws at a tick only when something that is seen has changed", () => {
		const { set, draws } = opened();
		set(facts());
		set(facts({ tasks: [] }));
		assert.equal(draws(), 0);
		set(facts({ peers: [peer(3)] }));
		assert.equal(draws(), 1);
	});

	it("fits 80 and 120 columns, and draws only what is seen of 200 peers and 500 tasks, fast", () => {
		const many = facts({
			peers: Array.from({ length: 200 }, (_, n) => peer(n)),
			tasks: Array.from({ length: 500 }, (_, n) => task(n, { label: "ü".repeat(40) })),
		});
		const { press, board, set } = opened(many, 20);
		for (const width of [20, 80, 120])
			for (const _ of TABS) {
				const drawn = board.render(width);
				assert.ok(drawn.length <= 30);
				for (const line of drawn) assert.ok(visibleWidth(line) <= width, line);
				press("right");
			}
		press("right");
		const began = performance.now();
		for (let n = 0; n < 20; n++) set(many);
		assert.ok((performance.now() - began) / 20 < 50);
	});
});
