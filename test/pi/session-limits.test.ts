import assert from "node:assert/strict";
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
import { isNamed, limiter } from "../../src/pi/session-limits.ts";
import { alsoNamed, toolsNamed } from "../../src/tool-names.ts";

/** As much of the host as counts turns. */
function host() {
	let begin: () => void = () => undefined;
	const pi = { on: (_event: string, handler: () => void) => (begin = handler) } as unknown as ExtensionAPI;
	return { pi, turn: () => begin() };
}

describe("pi: limits of a contract", () => {
	it("let only the tools that it names be used, by whatever name, and those that serve the talk", () => {
		const limits = { tools: ["read_file", "BASH", "web_search"] };
		const may = (tool: string) => isNamed({ limits, free: ["ask"] }, tool);
		assert.deepEqual(["read", "read_file", "bash", "web_search", "ask"].map(may), [true, true, true, true, true]);
		assert.deepEqual(["write", "ls", "a2a_call"].map(may), [false, false, false]);
		assert.equal(isNamed({ limits: undefined, free: [] }, "write"), true);
		assert.equal(isNamed({ limits: { tools: [] }, free: [] }, "read"), false);
	});

	it("count turns, not calls, and end them with a word to the model", () => {
		const { pi, turn } = host();
		const refusal = limiter(pi, { limits: { maxTurns: 2 }, free: ["ask"] });
		turn();
		assert.deepEqual([refusal("read"), refusal("read")], [undefined, undefined]);
		turn();
		assert.equal(refusal("ask"), undefined);
		assert.equal(refusal("read"), undefined);
		turn();
		assert.equal(refusal("ask"), undefined);
		assert.match(refusal("read") ?? "", /2 turns with tools .* are used up/);
		turn();
		assert.match(refusal("bash") ?? "", /used up/);
	});

	it("know the names of the protocol's text in both directions", () => {
		assert.deepEqual(toolsNamed(["list_files", "x"]), ["list_files", "ls", "x"]);
		assert.deepEqual(alsoNamed(["read", "x"]), ["read", "x", "read_file"]);
	});
});
