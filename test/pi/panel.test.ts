import assert from "node:assert/strict";
import { visibleWidth } from "@mariozechner/pi-tui";
import { ROWS } from "../../src/config/keys.ts";
import { fallbackOf } from "../../src/config/row.ts";
import { createPanel } from "../../src/pi/panel.ts";
import type { Edits } from "../../src/pi/panel-rows.ts";

const KEY = { down: "\x1b[B", up: "\x1b[A", enter: "\r", escape: "\x1b", "ctrl+c": "\x03" } as const;

function open() {
	const values = new Map(ROWS.map(([key, row]) => [key, fallbackOf(row, { cwd: "/srv", hostname: "box" })] as const));
	const saved: Edits[] = [];
	let draws = 0;
	const panel = createPanel({
		theme: { fg: (_color, text) => text, bold: (text) => text },
		value: (key) => values.get(key),
		origin: () => "",
		height: () => 12,
		redraw: () => draws++,
		done: (edits) => saved.push(edits),
	});
	const press = (...keys: (keyof typeof KEY)[]) => {
		for (const key of keys) panel.handleInput(KEY[key]);
	};
	const type = (text: string) => {
		for (const letter of text) panel.handleInput(letter);
	};
	const screen = (width = 100) => panel.render(width).join("\n");
	/** Moves down until the selected row is the one of `label`. */
	const goTo = (label: string) => {
		for (let step = 0; step < 100 && !screen().includes(`❯ ${label}`); step++) press("down");
		assert.match(screen(), new RegExp(`❯ ${label.replace(/[+.]/g, "\\$&")}`));
	};
	return { panel, press, type, screen, goTo, saved, draws: () => draws };
}

describe("pi/panel", () => {
	it("toggles with Enter and hands the edits over on Esc", () => {
		const { press, goTo, saved, screen } = open();
		goTo("server.enabled");
		press("enter");
		assert.match(screen(), /server\.enabled \* +true/);
		press("escape");
		assert.deepEqual([...(saved[0] ?? [])], [["server.enabled", true]]);
	});

	it("edits a value in a line of its own; Esc there changes nothing", () => {
		const { press, type, goTo, saved, screen } = open();
		goTo("server.port");
		press("enter");
		assert.match(screen(), /a whole number from 0 to 65535/);
		press("escape");
		press("enter");
		type("0");
		press("enter");
		assert.match(screen(), /expected a whole number/);
		for (let n = 0; n < 5; n++) type("\x7f");
		type("8123");
		press("enter", "escape");
		assert.deepEqual([...(saved[0] ?? [])], [["server.port", 8123]]);
	});

	it("adds a peer by name and URL, and removes it again", () => {
		const { press, type, goTo, saved, screen } = open();
		goTo("+ add to peers");
		press("enter");
		type("bob");
		press("enter");
		type("http://localhost:9999");
		press("enter");
		assert.match(screen(), /peers › bob/);
		goTo("  remove bob");
		press("enter");
		assert.doesNotMatch(screen(), /peers › bob/);
		press("escape");
		assert.deepEqual([...(saved[0] ?? [])], [["peers.bob", undefined]]);
	});

	it("saves nothing when it is left with Ctrl+C", () => {
		const { press, goTo, saved } = open();
		goTo("server.enabled");
		press("enter", "ctrl+c");
		assert.deepEqual([...(saved[0] ?? [])], []);
	});

	it("asks for a redraw after every key and never draws wider than the terminal", () => {
		const { panel, press, draws } = open();
		press("down", "up", "enter");
		assert.equal(draws(), 3);
		for (const width of [1, 10, 33, 80, 200]) {
			for (const line of panel.render(width)) assert.ok(visibleWidth(line) <= width);
		}
	});
});
