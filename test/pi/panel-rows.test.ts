import assert from "node:assert/strict";
import { MASK } from "../../src/config/key-kinds.ts";
import { type KeyName, ROWS } from "../../src/config/keys.ts";
import { fallbackOf } from "../../src/config/row.ts";
import {
	type Edits,
	firstField,
	inputText,
	type PanelState,
	readInput,
	readName,
	rowsFor,
	withoutEntry,
} from "../../src/pi/panel-rows.ts";

const PEERS = {
	worker: { url: "http://h:1", token: "never-shown", timeoutMs: 120_000, capabilities: ["web", "code"] },
};

function stateWith(facts: {
	readonly values?: { readonly [key: string]: unknown };
	readonly origins?: { readonly [key: string]: string };
	readonly edits?: Edits;
	readonly open?: readonly string[];
}): PanelState {
	const defaults = new Map(ROWS.map(([key, row]) => [key, fallbackOf(row, { cwd: "/srv", hostname: "box" })] as const));
	return {
		value: (key: KeyName) => facts.values?.[key] ?? defaults.get(key),
		origin: (key: KeyName) => facts.origins?.[key] ?? "",
		edits: facts.edits ?? new Map(),
		open: new Set(facts.open),
	};
}
const find = (state: PanelState, path: string, deed?: string) =>
	rowsFor(state).find((row) => row.path === path && (deed === undefined || row.deed === deed));

describe("pi/panel-rows", () => {
	it("has a row for every key, in groups, and hides the single gateway while it says nothing", () => {
		const rows = rowsFor(stateWith({}));
		for (const [, row] of ROWS) {
			const shown = rows.some((each) => each.path === row.path);
			assert.equal(shown, row.group !== "Gateway", row.path);
		}
		assert.equal(rows[0]?.group, "Server");
		assert.ok(!rows.some((row) => row.group === "Gateway"));
		assert.ok(rowsFor(stateWith({ origins: { gatewayUrl: "user settings" } })).some((row) => row.group === "Gateway"));
	});

	it("shows values with their origin, and never a secret", () => {
		const state = stateWith({
			values: { sharedToken: "never-shown", peers: PEERS, peerTokens: { alice: "never-shown" } },
			origins: { serverPort: "env A2A_PORT" },
			open: ["peers.worker"],
		});
		assert.deepEqual([find(state, "server.port")?.value, find(state, "server.port")?.origin], ["9910", "env A2A_PORT"]);
		assert.equal(find(state, "server.sharedToken")?.value, MASK);
		assert.equal(find(state, "peers.worker.auth.token")?.value, MASK);
		assert.doesNotMatch(JSON.stringify(rowsFor(state)), /never-shown/);
	});

	it("toggles flags, edits lines, opens entries and leaves lists of objects to the file", () => {
		const state = stateWith({ values: { peers: PEERS } });
		assert.equal(find(state, "server.enabled")?.deed, "toggle");
		assert.equal(find(state, "server.port")?.deed, "edit");
		assert.equal(find(state, "server.trustedPeers")?.deed, "edit");
		assert.equal(find(state, "server.skills")?.deed, "none");
		assert.equal(find(state, "peers.worker")?.deed, "open");
		assert.equal(find(state, "peers", "add")?.label, "+ add to peers");
	});

	it("shows the fields of an open entry as they are written in the file", () => {
		const state = stateWith({ values: { peers: PEERS }, open: ["peers.worker"] });
		assert.equal(find(state, "peers.worker.timeout")?.value, "120");
		assert.equal(find(state, "peers.worker.capabilities")?.value, "web, code");
		assert.equal(find(state, "peers.worker.auth.type"), undefined);
		assert.equal(find(state, "peers.worker", "remove")?.label, "remove worker");
	});

	it("shows edits before they are saved: changed, unset, added, removed", () => {
		const edits = new Map<string, unknown>([
			["server.port", 9999],
			["server.enabled", true],
			["server.maxConcurrent", undefined],
			["peers.new.url", "http://n:1"],
			["peers.worker", undefined],
		]);
		const state = stateWith({ values: { peers: PEERS }, edits, open: ["peers.new"] });
		assert.deepEqual([find(state, "server.port")?.value, find(state, "server.port")?.edited], ["9999", true]);
		assert.equal(find(state, "server.enabled")?.value, "true");
		assert.equal(find(state, "server.maxConcurrent")?.value, "(default)");
		assert.equal(find(state, "peers.new")?.value, "(new)");
		assert.equal(find(state, "peers.new.url")?.value, "http://n:1");
		assert.equal(find(state, "peers.worker"), undefined);
	});

	it("starts from nothing when an entry is removed and added again", () => {
		const removed = withoutEntry(new Map([["peers.worker.url", "http://typed"]]), "peers.worker");
		assert.deepEqual([...removed], [["peers.worker", undefined]]);
		removed.set("peers.worker.url", "http://again");
		const state = stateWith({ values: { peers: PEERS }, edits: removed, open: ["peers.worker"] });
		assert.equal(find(state, "peers.worker.url")?.value, "http://again");
		assert.equal(find(state, "peers.worker.auth.token")?.value, "(not set)");
	});

	it("reads what is typed, says what was expected, and takes an empty line for the default", () => {
		assert.deepEqual(readInput("server.port", " 8080 "), { value: 8080 });
		assert.deepEqual(readInput("server.port", ""), { value: undefined });
		assert.deepEqual(readInput("server.trustedPeers", "alice, bob"), { value: ["alice", "bob"] });
		assert.deepEqual(readInput("peers.worker.auth.token", "t0k"), { value: "t0k" });
		const problem = readInput("server.port", "ten");
		assert.ok("problem" in problem && /expected a whole number from 0 to 65535/.test(problem.problem));
		assert.ok("problem" in readInput("peers.worker.url", "ftp://x"));
		assert.ok("problem" in readInput("no.such.key", "1"));
	});

	it("begins an input line with the value in force, but never with a secret", () => {
		const state = stateWith({ values: { peers: PEERS, sharedToken: "x" }, edits: new Map([["agentName", "e"]]) });
		assert.equal(inputText("server.port", state), "9910");
		assert.equal(inputText("peers.worker.url", state), "http://h:1");
		assert.equal(inputText("peers.worker.timeout", state), "120");
		assert.equal(inputText("peers.worker.capabilities", state), "web, code");
		assert.equal(inputText("server.sharedToken", state), "");
		assert.equal(inputText("peers.worker.auth.token", state), "");
	});

	it("asks a new peer for its URL and a new token for itself, and refuses names that cannot be called", () => {
		assert.equal(firstField("peers.bob"), "peers.bob.url");
		assert.equal(firstField("server.peerTokens.bob"), "server.peerTokens.bob");
		assert.deepEqual(readName("peers", " bob "), { path: "peers.bob" });
		for (const name of ["", "a b", "../x", "__proto__"]) assert.ok("problem" in readName("peers", name), name);
	});
});
