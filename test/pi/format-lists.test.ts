import assert from "node:assert/strict";
import type { FanOutcome } from "../../src/peers/fanout.ts";
import type { Peer } from "../../src/peers/peer.ts";
import { PeerError, type PeerReply } from "../../src/peers/reply.ts";
import {
	agentsText,
	cardText,
	fanText,
	historyText,
	metricsText,
	overviewText,
	peersText,
} from "../../src/pi/format-lists.ts";
import { contextId } from "../../src/protocol/types.ts";

const peer: Peer = {
	name: "worker",
	source: "local",
	address: { via: "http", url: new URL("http://127.0.0.1:9910") },
	capabilities: ["web"],
	cwd: "/srv/app",
	model: "fake/scripted",
	tools: Array.from({ length: 20 }, (_, n) => `tool${n}`),
	token: "never-shown",
};
const reply = (name: string, text: string): PeerReply => ({
	peer: name,
	state: "TASK_STATE_COMPLETED",
	text,
	artifacts: [],
	running: false,
	notes: [],
	durationMs: 5,
});

describe("pi/format-lists", () => {
	it("lists peers with address, source, folder, model and abilities, and no token", () => {
		const text = peersText([peer]);
		assert.match(text, /- worker {2}http:\/\/127\.0\.0\.1:9910\/ {2}\(local\)/);
		assert.match(text, /cwd: \/srv\/app/);
		assert.match(text, /model: fake\/scripted/);
		assert.match(text, /tool11, … \(20\)/);
		assert.doesNotMatch(text + agentsText([peer]), /never-shown/);
	});

	it("says what to do when there are no peers", () => {
		assert.match(peersText([]), /a2a\.peers/);
		assert.match(agentsText([]), /No peers are configured/);
	});

	it("sums a card up in lines", () => {
		const text = cardText({
			name: "pi",
			description: "works",
			version: "1",
			url: "http://h/",
			source: "read just now from http://h/card.json",
			signature: "not signed",
			extensions: ["https://h/ext (required)"],
			interfaces: ["JSONRPC 1.0 at http://h/"],
			streaming: true,
			push: false,
			auth: ["bearer"],
			skills: [{ id: "s", name: "review", description: "reviews code", tags: ["skill"] }],
			moreSkills: 2,
			metadata: { cwd: "/srv" },
		});
		assert.deepEqual(text.split("\n"), [
			"pi 1",
			"works",
			"url: http://h/",
			"card: read just now from http://h/card.json",
			"signature: not signed",
			"interface: JSONRPC 1.0 at http://h/",
			"can: streaming",
			"authentication: bearer",
			"extension: https://h/ext (required)",
			"skills:",
			"  - review: reviews code [skill]",
			"  - and 2 more",
			"cwd: /srv",
		]);
	});

	it("gives an overview of peers, conversations and numbers", () => {
		const queued = [
			{ peer: "worker", place: 2, at: 1_000, until: 3_601_000, text: "sum up" },
			{ peer: "other", place: 0, at: 0, until: 9, text: "done" },
		];
		const overview = {
			peers: [peer],
			conversations: [
				{
					contextId: contextId("ctx-1"),
					peers: ["worker"],
					time: "2026-01-01T00:00:00.000Z",
					text: "which\none?",
					open: true,
				},
			],
			metrics: { inbound: { requests: 3 }, uptime: 5 },
			queued,
		};
		const text = overviewText(overview, 61_000);
		assert.match(text, /- worker {2}number 2, given up in 59m 0s {2}\(1m 0s\)\n {4}sum up/);
		assert.match(text, /- other {2}delivered, its result is awaited {2}\(1m 1s\)/);
		assert.match(text, /- ctx-1 · worker · 2026-01-01T00:00:00\.000Z · waits for your answer\n {4}which one\?/);
		assert.match(text, /inbound:\n {2}requests: 3\nuptime: 5/);
		assert.equal(metricsText({}), "");
		assert.equal(metricsText({ uptime: { seconds: 3 }, inbound: {}, refused: {} }), "uptime:\n  seconds: 3");
	});

	it("recalls a conversation with the peer's words between marks", () => {
		const turn = { time: "2026-01-01T10:11:12.000Z", contextId: contextId("c"), peer: "w", address: "http://h" };
		const text = historyText(
			"c",
			[
				{ ...turn, role: "user", text: "hello" },
				{ ...turn, role: "agent", text: "hi", state: "TASK_STATE_COMPLETED" },
			],
			"n",
		);
		assert.match(text, /^\[A2A · context c · 2 turns\]\n\n2026-01-01 10:11:12 to w:\nhello\n\n/);
		assert.match(text, /completed\n--- reply from w, .*\[n\] ---\nhi\n--- end/);
		assert.match(historyText("nope", [], "n"), /Nothing is stored for context nope/);
	});

	it("names every failure of a fan-out beside the replies", () => {
		const outcome: FanOutcome = {
			mode: "all",
			replies: [reply("a", "one"), reply("b", "two")],
			failures: [{ peer: "c", error: new PeerError("c: no answer", { peer: "c" }) }],
			notes: [],
		};
		const text = fanText(outcome, "n");
		assert.match(text, /^\[A2A → all · 2 of 3 completed\]/);
		for (const part of ["\none\n", "\ntwo\n", "[A2A → c · failed]\nc: no answer"]) assert.ok(text.includes(part), part);
	});

	it("gives the chosen reply and names the others", () => {
		const [a, b] = [reply("a", "one"), reply("b", "two")];
		const text = fanText(
			{ mode: "best", replies: [a, b], failures: [], chosen: b, notes: ["Chosen by the model."] },
			"n",
		);
		assert.match(text, /Note: Chosen by the model\./);
		assert.match(text, /Also answered: a \(completed\)/);
		assert.doesNotMatch(text, /\none\n/);
	});
});
