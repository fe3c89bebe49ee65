import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { lookUp, referenceIn } from "../../src/config/secret-refs.ts";
import { secretsOf } from "../../src/config/secrets.ts";

describe("a secret by reference", () => {
	let home: string;
	beforeEach(() => {
		home = mkdtempSync(join(tmpdir(), "secret-"));
	});
	afterEach(() => rmSync(home, { recursive: true, force: true }));
	const load = (a2a: object, env: Record<string, string> = {}, project: object = {}) => {
		writeFileSync(join(home, "settings.json"), JSON.stringify({ a2a }));
		const cwd = join(home, "work");
		mkdirSync(join(cwd, ".pi"), { recursive: true });
		writeFileSync(join(cwd, ".pi", "settings.json"), JSON.stringify({ a2a: project }));
		return loadConfig({
			agentDir: home,
			cwd,
			env: { PATH: process.env.PATH, ...env },
			projectTrusted: true,
			hostname: "h",
		});
	};

	it("is a variable or a command, wherever a token may stand", async () => {
		const { config, problems } = await load(
			{
				server: {
					sharedToken: "$SHARED",
					peerTokens: { alice: "!echo alice-word" },
					pushSecret: "!printf 'sign me' | tr -d ' '",
				},
				peers: { bob: { url: "https://bob.example/", auth: { token: `$\{BOB}` } } },
				discovery: { gateways: { gw: { url: "https://gw.example/", token: "!echo gw-word", upstreamToken: "$UP" } } },
			},
			{ SHARED: "shared-word", BOB: "bob-word", UP: "up-word" },
		);
		assert.deepEqual(problems, []);
		assert.equal(config.sharedToken, "shared-word");
		assert.deepEqual({ ...config.peerTokens }, { alice: "alice-word" });
		assert.equal(config.peers.bob?.token, "bob-word");
		assert.equal(config.gateways.gw?.token, "gw-word");
		// What is kept out of all that is said are the secrets, not what refers to them.
		const all = ["shared-word", "signme", "alice-word", "bob-word", "gw-word", "up-word"];
		assert.deepEqual([...secretsOf(config)].sort(), all.sort());
	});

	it("is shown as what it is, and neither its command nor its value", async () => {
		const loaded = await load(
			{ server: { sharedToken: "!echo the-word", peerTokens: { alice: "$ALICE" } } },
			{ ALICE: "her-word" },
		);
		const text = loaded.show();
		assert.match(text, /server\.sharedToken = \(from a command\)/);
		assert.match(text, /server\.peerTokens\.alice = \(from \$ALICE\)/);
		assert.doesNotMatch(text, /the-word|her-word|echo/);
	});

	it("that leads nowhere is a problem that names the key; where it keeps callers out, the server must not start", async () => {
		const { config, problems } = await load({
			server: { sharedToken: "!echo half-a-secret; exit 3", peerTokens: { alice: "$NOBODY", bob: "bobs-word" } },
			peers: { carol: { url: "https://carol.example/", auth: { token: "!true" } } },
		});
		assert.equal(config.sharedToken, "");
		assert.deepEqual({ ...config.peerTokens }, { bob: "bobs-word" });
		assert.equal(config.peers.carol?.token, undefined);
		const told = problems.map(({ key, level, text }) => `${level} ${key} ${text}`).sort();
		assert.match(told[0] ?? "", /^error server\.peerTokens\.alice .*the variable NOBODY is not set/);
		assert.match(told[1] ?? "", /^error server\.sharedToken .*it ended with exit code 3/);
		assert.match(told[2] ?? "", /^warning peers\.carol\.auth\.token .*it printed nothing/);
		assert.doesNotMatch(told.join("\n"), /half-a-secret|exit 3/);
	});

	it("in a repository's file is not followed", async () => {
		const trace = join(home, "trace");
		const { config } = await load({}, {}, { server: { sharedToken: `!touch ${trace}; echo word` } });
		assert.equal(config.sharedToken, "");
		assert.equal(existsSync(trace), false);
	});

	it("of a command that hangs or floods is given up, with all that it started", async () => {
		const trace = join(home, "trace");
		const hangs = { from: "command", command: `(sleep 0.3; touch ${trace}) & wait` } as const;
		await assert.rejects(lookUp(hangs, process.env, 100), /it took longer than 0\.1 s/);
		await assert.rejects(lookUp({ from: "command", command: "yes" }, process.env), /it printed too much/);
		await assert.rejects(lookUp({ from: "command", command: "echo two words" }, process.env), /more than one word/);
		await new Promise((resolve) => setTimeout(resolve, 500));
		assert.equal(existsSync(trace), false);
	});

	it("is told from a token that merely looks odd", () => {
		for (const text of ["word", "$", "a$B", "$A-b", "${A", "!", "! ", "$1"])
			assert.equal(referenceIn(text), undefined, text);
	});

	it("that goes to another machine over http is kept and said, once, without the secret", async () => {
		const auth = { token: ["the", "word"].join("-") };
		const urls = { far: "http://172.30.55.31:9900", near: "http://127.0.0.1:9900", safe: "https://far.example" };
		const peers = Object.fromEntries(Object.entries(urls).map(([name, url]) => [name, { url, auth }]));
		const { config, problems } = await load({ peers });
		assert.equal(config.peers.far?.token, "the-word");
		assert.deepEqual(
			problems.map(({ level, key }) => [level, key]),
			[["hint", "peers.far.url"]],
		);
		assert.match(
			problems[0]?.text ?? "",
			/http:\/\/172\.30\.55\.31:9900, expected https: others on the way can read the token/,
		);
	});
});
