import assert from "node:assert/strict";
import { firstWord, flag, unquoted } from "../../src/pi/command-args.ts";
import { COMMANDS, completions, helpText, UsageError, usage } from "../../src/pi/commands.ts";

const peers = {
	peers: async () => [{ name: "worker", description: "in /srv" }, { name: "web" }, { name: "http://x" }],
	contexts: async () => [{ name: "ctx-1", description: "worker: hi" }, { name: "ctx-2" }],
};

describe("pi/commands", () => {
	it("has the commands in the forms that are documented", () => {
		assert.deepEqual((Object.keys(COMMANDS) as (keyof typeof COMMANDS)[]).map(usage), [
			"/a2a",
			"/a2a-discover <url>",
			"/a2a-agents",
			"/a2a-send <agent> <msg>",
			"/a2a-list",
			"/a2a-broadcast <msg> --agents a,b,c",
			"/a2a-status",
			"/a2a-config [show]",
			"/a2a-server start|stop|status",
			"/a2a-peers",
			"/a2a-doctor",
			"/a2a-help",
		]);
	});

	it("helps with one line per command", () => {
		const lines = helpText().split("\n");
		assert.equal(lines.length, 12);
		assert.match(lines[3] ?? "", /^\/a2a-send <agent> <msg> +Send a task to a peer; --file path sends a file along$/);
	});

	it("shows the usage with a usage error", () => {
		assert.equal(
			new UsageError("a2a-server", "Say what to do.").message,
			"Say what to do.\nUsage: /a2a-server start|stop|status",
		);
	});

	it("completes the conversation to go on with, and each of the peers of a broadcast", async () => {
		assert.deepEqual(await completions("a2a-send", "worker --context ctx-1", peers), [
			{ value: "worker --context ctx-1 ", label: "ctx-1", description: "worker: hi" },
		]);
		assert.equal((await completions("a2a-send", "worker --context ", peers))?.length, 2);
		const both = await completions("a2a-broadcast", "say hi --agents worker,w", peers);
		assert.deepEqual(both, [{ value: "say hi --agents worker,web", label: "web" }]);
		assert.equal(await completions("a2a-broadcast", "say hi --agents worker,web", peers), null);
		assert.equal(await completions("a2a-broadcast", "say", peers), null);
	});

	it("completes peers and sub-commands, and only the first word", async () => {
		assert.deepEqual(await completions("a2a-send", "w", peers), [
			{ value: "worker ", label: "worker", description: "in /srv" },
			{ value: "web ", label: "web" },
		]);
		assert.deepEqual(await completions("a2a-server", "st", peers), [
			{ value: "start", label: "start" },
			{ value: "stop", label: "stop" },
			{ value: "status", label: "status" },
		]);
		assert.equal(await completions("a2a-send", "worker do", peers), null);
		assert.equal(await completions("a2a-config", "x", peers), null);
		assert.equal(await completions("a2a-config", "", peers), null);
		assert.equal((await completions("a2a-config", "s", peers))?.length, 1);
	});

	it("offers nothing for a word that is complete, so that one Enter runs the command", async () => {
		assert.equal(await completions("a2a-server", "start", peers), null);
		assert.equal(await completions("a2a-config", "show", peers), null);
		assert.equal(await completions("a2a-discover", "worker", peers), null);
		assert.equal((await completions("a2a-send", "worker", peers))?.length, 1);
	});

	it("takes quotes off only when they are around everything", () => {
		assert.deepEqual(['"a b"', "'a'", 'say "x"', " plain "].map(unquoted), ["a b", "a", 'say "x"', "plain"]);
	});

	it("splits the agent from the message and keeps the message's own lines and blanks", () => {
		assert.deepEqual(firstWord(" worker  do  this\nand that"), ["worker", "do  this\nand that"]);
		assert.deepEqual(firstWord('"my peer" hello'), ["my peer", "hello"]);
		assert.deepEqual(firstWord(""), ["", ""]);
	});

	it("finds a flag at either end and leaves one inside the message alone", () => {
		assert.deepEqual(flag("say hi --agents a,b", "agents"), { value: "a,b", rest: "say hi" });
		assert.deepEqual(flag('--agents="a, b" say hi', "agents"), { value: "a, b", rest: "say hi" });
		assert.deepEqual(flag("run it --agents x here and there", "agents"), {
			value: undefined,
			rest: "run it --agents x here and there",
		});
		assert.deepEqual(flag("say hi", "agents"), { value: undefined, rest: "say hi" });
	});
});
