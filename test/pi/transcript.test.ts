import assert from "node:assert/strict";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { manualClock } from "../../src/lib/clock.ts";
import { nullLog } from "../../src/lib/log.ts";
import { createTranscript, ENTRY, registerTranscript } from "../../src/pi/transcript.ts";
import type { Mode, Screen } from "../../src/pi/ui.ts";

/** A host of either age, as far as a transcript sees it. */
function stage(facts: { readonly drawsEntries: boolean; readonly mode?: Mode }) {
	const clock = manualClock();
	const sent: string[] = [];
	const notices: string[] = [];
	const state = { idle: true, mode: facts.mode ?? ("tui" as Mode), broken: false };
	const pi = {
		sendMessage: ({ content }: { content: string }) => {
			if (state.broken) throw new Error("stale");
			sent.push(`message: ${content}`);
		},
		appendEntry: (_type: string, row: { text: string }) => sent.push(`entry: ${row.text}`),
		...(facts.drawsEntries ? { registerEntryRenderer: () => undefined } : {}),
	} as unknown as ExtensionAPI;
	const screen: Screen = {
		get mode() {
			return state.mode;
		},
		get idle() {
			return state.idle;
		},
		notify: (text) => notices.push(text),
		status: () => undefined,
		working: () => undefined,
		onEscape: () => () => undefined,
		dialog: async () => undefined,
	};
	const transcript = createTranscript({ pi, screen, clock, log: nullLog });
	const add = (text: string) => transcript.add({ kind: "step", text });
	return { transcript, add, clock, sent, notices, state };
}

describe("pi/transcript", () => {
	it("adds an entry at once where entries are drawn, also in mid-turn", () => {
		const { add, sent, state } = stage({ drawsEntries: true });
		state.idle = false;
		assert.equal(add("one"), true);
		assert.deepEqual(sent, ["entry: one"]);
	});

	it("waits for the end of a turn where only messages are drawn, and keeps the order", async () => {
		// R062
		const { add, clock, sent, state } = stage({ drawsEntries: false });
		assert.equal(add("before"), true);
		state.idle = false;
		assert.equal(add("one"), false);
		assert.equal(add("two"), false);
		await clock.advance(1000);
		assert.deepEqual(sent, ["message: before"]);
		state.idle = true;
		await clock.advance(1000);
		assert.deepEqual(sent, ["message: before", "message: one", "message: two"]);
		assert.equal(clock.pending, 0);
	});

	it("does not pile up without end while the host is busy", async () => {
		const { add, clock, sent, state } = stage({ drawsEntries: false });
		state.idle = false;
		for (let n = 0; n < 500; n++) add(`line ${n}`);
		state.idle = true;
		await clock.advance(1000);
		assert.equal(sent.length, 201);
		assert.equal(sent.at(-1), "message: [A2A inbound] 300 more lines");
	});

	it("adds nothing where nobody looks, and nothing after its end", async () => {
		const print = stage({ drawsEntries: false, mode: "print" });
		assert.equal(print.add("x"), false);
		const over = stage({ drawsEntries: false });
		over.state.idle = false;
		over.add("x");
		over.transcript.close();
		over.state.idle = true;
		await over.clock.advance(1000);
		over.add("y");
		assert.deepEqual([print.sent, over.sent, over.clock.pending], [[], [], 0]);
	});

	it("survives a host that has replaced the session", async () => {
		// R104
		const { add, state, clock } = stage({ drawsEntries: false });
		state.broken = true;
		add("x");
		await clock.advance(1000);
	});

	it("shows what the user asked for at once: in the transcript, or as a notice", () => {
		const tui = stage({ drawsEntries: false });
		tui.transcript.show("answer");
		tui.state.idle = false;
		tui.transcript.show("in mid-turn");
		assert.deepEqual([tui.sent, tui.notices], [["message: answer"], ["in mid-turn"]]);
		const rpc = stage({ drawsEntries: true, mode: "rpc" });
		rpc.transcript.show("answer");
		assert.deepEqual([rpc.sent, rpc.notices], [[], ["answer"]]);
	});

	it("takes its rows out of requests and of what is summed up", () => {
		// R105
		type Handler = (event: object) => { messages?: unknown[] } | undefined;
		const handlers = new Map<string, Handler>();
		registerTranscript({
			on: (event: string, handler: Handler) => handlers.set(event, handler),
			registerMessageRenderer: () => undefined,
		} as unknown as ExtensionAPI);
		const ours = { role: "custom", customType: ENTRY, content: "x" };
		const other = { role: "custom", customType: "else", content: "y" };
		const user = { role: "user", content: "z" };
		assert.deepEqual(handlers.get("context")?.({ messages: [user, ours, other] }), { messages: [user, other] });
		assert.equal(handlers.get("context")?.({ messages: [user] }), undefined);
		const preparation = { messagesToSummarize: [ours, user], turnPrefixMessages: [user, ours] };
		handlers.get("session_before_compact")?.({ preparation });
		assert.deepEqual(preparation, { messagesToSummarize: [user], turnPrefixMessages: [user] });
		const tree = { entriesToSummarize: [{ type: "custom_message", customType: ENTRY }, { type: "message" }] };
		handlers.get("session_before_tree")?.({ preparation: tree });
		assert.deepEqual(tree.entriesToSummarize, [{ type: "message" }]);
	});

	it("draws an answer to its end, and a step of a task in one line", () => {
		type Draw = (message: object, options: object, theme: object) => { render(width: number): string[] } | undefined;
		const drawing: Draw[] = [];
		registerTranscript({
			on: () => undefined,
			registerMessageRenderer: (_type: string, draw: Draw) => drawing.push(draw),
		} as unknown as ExtensionAPI);
		const draw = (kind: string) =>
			drawing[0]?.({ details: { kind, text: "word ".repeat(40) } }, {}, { fg: (_: string, text: string) => text });
		const words = (shown: string[] | undefined) => shown?.join(" ").match(/word/g)?.length;
		assert.equal(words(draw("output")?.render(40)), 40);
		assert.equal(draw("step")?.render(40).length, 1);
	});
});
