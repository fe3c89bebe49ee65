import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { makeRoot, plainly, type Root } from "./root.ts";

describe("config: loading", () => {
	let root: Root;
	beforeEach(() => {
		root = makeRoot();
	});
	afterEach(() => root.remove());

	const texts = async (over?: Parameters<Root["load"]>[0]) =>
		(await root.load(over)).problems.map((problem) => problem.text);

	it("merges key by key: a repository that lowers one limit leaves the user's others", async () => {
		root.put(root.user, { timeouts: { send: 9000, stream: 8000 }, server: { maxConcurrent: 2 } });
		root.put(root.project, { timeouts: { send: 500 } });
		const { config, problems } = await root.load();
		assert.deepEqual([config.sendTimeoutMs, config.streamTimeoutMs, config.maxConcurrent], [500, 8000, 2]);
		assert.deepEqual(problems, []);
	});

	it("keeps the user's whole block when a repository has an empty one", async () => {
		root.put(root.user, { server: { sharedToken: "tok", trustedPeers: ["alice"] }, peers: { b: { url: "http://b" } } });
		const alone = await root.load({ projectTrusted: false });
		for (const block of [{}, { server: {}, peers: {} }, { server: null, peers: null }]) {
			root.put(root.project, block);
			assert.deepEqual(plainly((await root.load()).config), plainly(alone.config));
		}
	});

	it("merges maps by name, and each entry keeps its origin", async () => {
		root.put(root.user, { server: { peerTokens: { alice: "user-a", bob: "user-b" } } });
		const loaded = await root.load({ env: { A2A_PEER_TOKENS: "bob:env-b,carol:env:c" } });
		assert.deepEqual(plainly(loaded.config.peerTokens), { alice: "user-a", bob: "env-b", carol: "env:c" });
		const shown = loaded.show();
		assert.match(shown, /server\.peerTokens\.alice = •••• {2}\(user settings\)/);
		assert.match(shown, /server\.peerTokens\.bob = •••• {2}\(env A2A_PEER_TOKENS\)/);
	});

	it("falls back to the weaker layer's good value when a stronger one has a bad value", async () => {
		root.put(root.user, { server: { port: 9950 } });
		root.put(root.envFile, "A2A_PORT=none\n");
		const loaded = await root.load({ env: { A2A_PORT: "70000" } });
		assert.equal(loaded.config.serverPort, 9950);
		assert.deepEqual(
			loaded.problems.map((problem) => [problem.file, problem.value]),
			[
				[root.envFile, '"none"'],
				["environment", "70000"],
			],
		);
		assert.match(loaded.problems[0]?.text ?? "", /; 9950 \(user settings\) is used$/);
	});

	it("takes every word for a boolean, from variables only", async () => {
		for (const [text, expected] of [
			...["true", "1", "yes", "on", "TRUE", " On "].map((word) => [word, true] as const),
			...["false", "0", "no", "off", "No"].map((word) => [word, false] as const),
		]) {
			const { config, problems } = await root.load({ env: { A2A_ENRICH_CARD: text, A2A_SERVER_ENABLED: text } });
			assert.deepEqual([config.enrichCard, config.serverEnabled, problems], [expected, expected, []]);
		}
		root.put(root.user, { server: { enabled: "true" } });
		assert.equal((await root.load()).config.serverEnabled, false);
	});

	it("reads quotes, comments and export in .env.local, and only lines of ours", async () => {
		root.put(
			root.envFile,
			[
				"# A2A_PORT=1",
				"OTHER=$(rm -rf x)",
				"  export A2A_AGENT_NAME='single # not a remark'  # a remark",
				'A2A_SELF_IDENTITY="double"',
				"A2A_PUBLIC_URL=http://h.example/#top # a remark",
				'A2A_BEARER_TOKEN="quoted\\"inside"',
				"A2A_PORT = 9911\r",
				"A2A_RATE_LIMIT=1",
				"A2A_RATE_LIMIT=2",
			].join("\n"),
		);
		const { config, problems } = await root.load();
		assert.equal(config.agentName, "single # not a remark");
		assert.equal(config.selfIdentity, "double");
		assert.equal(config.publicUrl, "http://h.example/#top");
		assert.equal(config.sharedToken, 'quoted"inside');
		assert.deepEqual([config.serverPort, config.rateLimitPerMin], [9911, 2]);
		assert.deepEqual(problems, []);
	});

	it("reports a line of .env.local that it cannot read by number, without its text", async () => {
		root.put(root.envFile, "\nA2A_BEARER_TOKEN='never-closed\nA2A_PORT\n");
		const all = await texts();
		assert.equal(all.length, 2);
		assert.match(all[0] ?? "", /\.env\.local: A2A_BEARER_TOKEN is line 2, expected NAME=value/);
		assert.ok(!all.join().includes("never-closed"));
	});

	it("never reads .env.local from the repository", async () => {
		root.put(join(root.cwd, ".env.local"), "A2A_SERVER_ENABLED=true");
		root.put(join(root.cwd, ".pi", ".env.local"), "A2A_SERVER_ENABLED=true");
		assert.equal((await root.load()).config.serverEnabled, false);
	});

	for (const [what, text, expected] of [
		["is cut short", '{"a2a": {"server"', /settings\.json is not JSON \(line 1, column 18: expected ":"\)/],
		["is a list", "[]", /settings\.json is a list, expected an object/],
		["is a text", '"a2a"', /settings\.json is ••••, expected an object/],
		["has a list for a2a", '{"a2a": []}', /a2a is a list, expected an object/],
		["has a list for a group", '{"a2a": {"server": [1]}}', /server is a list, expected an object/],
		["has numbers that JSON has not", '{"a2a": {"server": {"port": 09}}}', /is not JSON \(line 1/],
		["is too deep", `{"a2a": ${"[".repeat(100_000)}`, /is not JSON \(line 1, column \d+: expected fewer levels/],
	] as const)
		it(`a settings file that ${what} is one problem, and the defaults count`, async () => {
			root.put(root.user, text);
			const loaded = await root.load();
			assert.equal(loaded.problems.length, 1);
			assert.match(loaded.problems[0]?.text ?? "", expected);
			assert.equal(loaded.config.serverPort, 9910);
			assert.ok(loaded.show().length > 0);
		});

	it("an empty settings file, one without a2a and one with a byte order mark are fine", async () => {
		for (const text of ["", " \n", "{}", '{"a2a": null}', '\ufeff{"theme": "dark"}']) {
			root.put(root.user, text);
			assert.deepEqual(await texts(), [], JSON.stringify(text));
		}
		root.put(root.user, '\ufeff{"a2a": {"server": {"port": 9999}}}');
		assert.equal((await root.load()).config.serverPort, 9999);
	});

	it("reads settings with comments and trailing commas, and says that the host does not", async () => {
		root.put(root.user, '{\n// why\n"a2a": {"server": {"port": 9999, /* "port": 1, */ }, },\n}\n');
		const loaded = await root.load();
		assert.equal(loaded.config.serverPort, 9999);
		assert.equal(loaded.problems.length, 1);
		assert.equal(loaded.problems[0]?.level, "hint");
		assert.match(loaded.problems[0]?.text ?? "", /Pi itself does not read this file/);
	});

	it("does not hang or fail on a folder, a pipe or an unreadable file in a settings file's place", async function () {
		mkdirSync(root.user);
		assert.match((await texts())[0] ?? "", /is not readable \(it is not a file\)/);
		if (process.platform === "win32") this.skip();
		mkdirSync(join(root.cwd, ".pi"));
		execFileSync("mkfifo", [root.project]);
		assert.equal((await texts()).length, 2);
		root.put(root.envFile, "A2A_PORT=1");
		chmodSync(root.envFile, 0);
		if (process.getuid?.() !== 0) assert.equal((await texts()).length, 3);
	});

	it("reads the file once when the agent folder is the project's own .pi", async () => {
		const agentDir = join(root.cwd, ".pi");
		root.put(root.project, { server: { port: 9999 } });
		const loaded = await root.load({ agentDir });
		assert.deepEqual([loaded.config.serverPort, loaded.problems], [9999, []]);
	});

	it("hints at the key that was probably meant, and never shows the value of an unknown key", async () => {
		root.put(root.user, {
			serverr: { port: 1 },
			port: 1,
			server: { prot: 1, sharedTokn: "hush", agent_name: "x", colour: "red" },
			peers: { b: { url: "http://b", tokn: "hush", capabilites: [] } },
		});
		const { problems } = await root.load({ env: { A2A_BEARER_TOKN: "hush", A2A_WHATEVER: "1", PATH: "x" } });
		assert.ok(problems.every((problem) => problem.level === "hint"));
		assert.deepEqual(
			problems.map(({ key, expected }) => [key, expected]),
			[
				["serverr", "server"],
				["port", "server.port"],
				["server.prot", "server.port"],
				["server.sharedTokn", "server.sharedToken"],
				["server.agent_name", "server.agentName"],
				["server.colour", "a key that the documentation names"],
				["A2A_BEARER_TOKN", "A2A_BEARER_TOKEN"],
				["peers.b.tokn", "auth.token"],
				["peers.b.capabilites", "capabilities"],
			],
		);
		assert.ok(!problems.some((problem) => problem.text.includes("hush")));
	});

	it("keeps names like __proto__ out of maps, and lookups in maps find only what was written", async () => {
		root.put(
			root.user,
			'{"a2a": {"peers": {"__proto__": {"url": "http://evil"}, "constructor": {"url": "http://evil"}, "good": {"url": "http://b"}}, "__proto__": {"server": {"enabled": true}}}}',
		);
		const { config, problems } = await root.load({ env: { A2A_PEER_TOKENS: "__proto__:x" } });
		assert.deepEqual(Object.keys(config.peers), ["good"]);
		assert.equal(config.peers.toString, undefined);
		assert.deepEqual(Object.keys(config.peerTokens), []);
		assert.equal(config.serverEnabled, false);
		assert.equal(problems.filter((problem) => problem.level !== "hint").length, 3);
		assert.equal(({} as { url?: string }).url, undefined);
	});

	it("never shows a secret: not in problems, not in the overview", async () => {
		const secret = "sup3r-hush";
		root.put(root.user, {
			server: { sharedToken: `${secret} x`, peerTokens: { alice: `${secret}\n`, [`${secret}!`]: "x", bob: secret } },
			peers: {
				a: { url: `http://user:${secret}@h`, auth: { type: "bearer", token: secret } },
				b: { url: "http://b", auth: { type: secret.slice(0, 0), token: `${secret} x` } },
				c: { url: `http://c/?key=${secret}`, auth: secret },
			},
			discovery: { gateways: { g: { url: "http://g", token: secret, upstreamToken: secret } }, gateway: secret },
		});
		root.put(root.project, { server: { sharedToken: secret, peerTokens: { x: secret } }, peers: { z: secret } });
		root.put(root.envFile, `A2A_GATEWAY_TOKEN=${secret} x\nA2A_PEER_TOKENS=${secret}\n`);
		const loaded = await root.load({ env: { A2A_GATEWAY_TOKEN: secret, A2A_GATEWAY_URL: "http://gw" } });
		assert.equal(loaded.config.peerTokens.bob, secret);
		assert.ok(loaded.problems.length > 8);
		for (const text of [loaded.show(), ...loaded.problems.map((problem) => JSON.stringify(problem))])
			assert.ok(!text.includes(secret), text);
	});

	it("a value that keeps callers out and is bad is an error, so that no server starts more open than meant", async () => {
		for (const server of [
			{ sharedToken: "a b" },
			{ peerTokens: { alice: "a b" } },
			{ peerTokens: "alice:tok" },
			{ trustedPeers: "alice" },
			{ trustedPeers: ["a b"] },
		]) {
			root.put(root.user, { server });
			assert.equal((await root.load()).problems[0]?.level, "error", JSON.stringify(server));
		}
	});

	it("warns about a wide host without a token, and not with one or on loopback", async () => {
		const wide = { server: { host: "0.0.0.0" } };
		root.put(root.user, wide);
		assert.match((await texts())[0] ?? "", /settings\.json: server\.host is 0\.0\.0\.0, expected a token as well/);
		assert.deepEqual(await texts({ env: { A2A_BEARER_TOKEN: "t" } }), []);
		assert.deepEqual(await texts({ env: { A2A_PEER_TOKENS: "a:t" } }), []);
		for (const host of ["localhost", "::1", "[::1]", "127.8.8.8"])
			assert.deepEqual(await texts({ env: { A2A_HOST: host } }), []);
		assert.equal((await root.load({ env: { A2A_HOST: "[::1]" } })).config.serverHost, "::1");
	});

	it("warns about a public URL that names no machine (R087)", async () => {
		for (const publicUrl of ["http://0.0.0.0:9910/", "https://[::]/"]) {
			root.put(root.user, { server: { publicUrl } });
			assert.match((await texts())[0] ?? "", /expected an address that others can reach/);
		}
	});

	it("lets an entry of the registry live longer than a heartbeat", async () => {
		root.put(root.user, { discovery: { local: { heartbeatSec: 120 } } });
		const { config, problems } = await root.load();
		assert.equal(config.ttlSec, 480);
		assert.match(
			problems[0]?.text ?? "",
			/settings\.json: discovery\.local\.ttlSec is 60, expected more than .*\(120\); 480/,
		);
	});

	it("hints when the own identity has no token among peerTokens", async () => {
		root.put(root.user, { selfIdentity: "me", server: { peerTokens: { you: "t" } } });
		assert.match((await texts())[0] ?? "", /selfIdentity is me, expected a name in server\.peerTokens/);
		root.put(root.user, { selfIdentity: "me" });
		assert.deepEqual(await texts(), []);
	});

	it("makes the workspace absolute", async () => {
		const workspace = async (value: string) => {
			root.put(root.user, { server: { workspace: value } });
			return (await root.load()).config.workspace;
		};
		assert.equal(await workspace("sub/dir"), join(root.cwd, "sub", "dir"));
		assert.ok(!(await workspace("~/work")).includes("~"));
		assert.equal(await workspace(""), root.cwd);
	});

	describe("gateways", () => {
		const gateways = async (discovery: object, env = {}) => {
			root.put(root.user, { discovery });
			const loaded = await root.load({ env });
			return { entries: plainly(loaded.config.gateways), problems: loaded.problems };
		};
		const gw = { heartbeatSec: 60, channel: true };

		it("the single block becomes an entry whose key is host and port", async () => {
			for (const [url, key] of [
				["http://127.0.0.1:9920/base", "127.0.0.1-9920"],
				["https://gw.example", "gw.example-443"],
				["http://gw.example", "gw.example-80"],
				["http://[::1]:9920", "1--9920"],
			] as const)
				assert.deepEqual((await gateways({ gateway: { url, token: "t" } })).entries, {
					[key]: { url, token: "t", enabled: true, ...gw },
				});
		});

		it("variables complete the single block field by field", async () => {
			const { entries, problems } = await gateways(
				{ gateway: { url: "http://old:1", name: "me", heartbeatSec: 30 } },
				{ A2A_GATEWAY_URL: "http://new:2", A2A_GATEWAY_TOKEN: "t" },
			);
			assert.deepEqual(entries, {
				"new-2": { url: "http://new:2", token: "t", name: "me", enabled: true, heartbeatSec: 30, channel: true },
			});
			assert.deepEqual(problems, []);
		});

		it("is on when URL and token are set, unless it is switched off", async () => {
			const enabled = async (gateway: object, env = {}) =>
				Object.values((await gateways({ gateway }, env)).entries as Record<string, { enabled: boolean }>)[0]?.enabled;
			assert.equal(await enabled({ url: "http://g:1" }), false);
			assert.equal(await enabled({ url: "http://g:1", token: "t" }), true);
			assert.equal(await enabled({ url: "http://g:1", token: "t" }, { A2A_GATEWAY_ENABLED: "off" }), false);
			assert.equal(await enabled({ url: "http://g:1", enabled: true }), true);
		});

		it("an entry of the map wins over the single block of the same key, and an inert block is nothing", async () => {
			const map = { "g-1": { url: "http://g:1", token: "map" } };
			assert.deepEqual((await gateways({ gateways: map, gateway: { url: "http://g:1", token: "block" } })).entries, {
				"g-1": { url: "http://g:1", token: "map", enabled: true, ...gw },
			});
			const inert = await gateways({ gateway: { enabled: false, url: "", token: "" } });
			assert.deepEqual(inert, { entries: {}, problems: [] });
		});

		it("a gateway that is switched on without a URL is a problem", async () => {
			const { problems } = await gateways({ gateway: { enabled: true }, gateways: { g: { enabled: true } } });
			assert.deepEqual(
				problems.map((problem) => problem.key),
				["discovery.gateways.g.url", "discovery.gateway.url"],
			);
		});
	});

	describe("peers", () => {
		it("a bad entry or field is named and left out; the others stay", async () => {
			root.put(root.user, {
				peers: {
					good: { url: "http://g" },
					late: { url: "http://l", timeout: "long", capabilities: ["a", 7], description: "two\nlines" },
					bare: {},
					"two words": { url: "http://t" },
					text: "http://x",
				},
			});
			const { config, problems } = await root.load();
			assert.deepEqual(plainly(config.peers), {
				good: { url: "http://g", capabilities: [] },
				late: { url: "http://l", capabilities: ["a"] },
			});
			assert.deepEqual(
				problems.map((problem) => problem.key),
				[
					"peers.late.timeout",
					"peers.late.capabilities.1",
					"peers.late.description",
					"peers.bare.url",
					"peers.two words",
					"peers.text",
				],
			);
		});
	});

	it("shows groups, values and origins", async () => {
		root.put(root.user, { ui: { transcript: false } });
		root.put(root.project, { retryAttempts: 0 });
		root.put(root.envFile, "A2A_TTL_SEC=90");
		const shown = (await root.load({ env: { A2A_PORT: "9911" } })).show();
		for (const line of [
			"Server\n  server.enabled = false  (default)",
			"  server.port = 9911  (env A2A_PORT)",
			"  ui.transcript = false  (user settings)",
			"  retryAttempts = 0  (project settings)",
			"  discovery.local.ttlSec = 90  (.env.local A2A_TTL_SEC)",
			"  server.sharedToken = (not set)  (default)",
		])
			assert.ok(shown.includes(line), line);
		assert.ok(!shown.includes("Problems"));
		assert.ok(!shown.includes("undefined"));
	});

	it("bounds what a hostile repository can put on the screen", async () => {
		const junk = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`\u001b[2J\u202e${n}`, n]));
		root.put(root.project, junk);
		const { problems } = await root.load();
		assert.ok(problems.length <= 20);
		assert.ok(!/[\u001b\u202e]/.test(problems.map((problem) => problem.text).join()));
	});
});
