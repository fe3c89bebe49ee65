import assert from "node:assert/strict";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readdirSync,
	readFileSync,
	rmdirSync,
	statSync,
	symlinkSync,
	utimesSync,
} from "node:fs";
import { join } from "node:path";
import { SettingsManager } from "@mariozechner/pi-coding-agent";
import { edited } from "../../src/config/edit-json.ts";
import { parseJson } from "../../src/config/json.ts";
import { ROWS } from "../../src/config/keys.ts";
import { saveEdits } from "../../src/config/save.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { makeRoot, plainly, type Root } from "./root.ts";
import { SAMPLES } from "./samples.ts";

describe("config: saving", () => {
	let root: Root;
	beforeEach(() => {
		root = makeRoot();
	});
	afterEach(() => root.remove());

	const save = (edits: Record<string, unknown>, options?: Parameters<typeof saveEdits>[2]) =>
		saveEdits(root.agentDir, new Map(Object.entries(edits)), options);
	const text = () => readFileSync(root.user, "utf8");

	it("changes the one value and keeps every other byte", async () => {
		const before =
			'{\n\t"theme" : "dark",\n\n\t"a2a": {\n\t\t"server": { "enabled": false,   "port": 9910 },\n\t\t"peers": {}\n\t},\n\t"numbers": [1.0, 1e3]\n}';
		root.put(root.user, before);
		await save({ "server.port": 9911 });
		assert.equal(text(), before.replace("9910", "9911"));
	});

	it("writes nothing when nothing changes", async () => {
		root.put(root.user, '{"a2a":{"server":{"port":9910}}}');
		const { mtimeMs, ino } = statSync(root.user);
		await save({ "server.host": undefined, "peers.nobody": undefined, "peers.nobody.url": undefined });
		assert.deepEqual([statSync(root.user).mtimeMs, statSync(root.user).ino], [mtimeMs, ino]);
	});

	it("makes the file, for the owner alone, in the host's layout", async () => {
		await save({ "server.port": 9911, "peers.bob.url": "http://b" });
		assert.equal(
			text(),
			'{\n  "a2a": {\n    "server": {\n      "port": 9911\n    },\n    "peers": {\n      "bob": {\n        "url": "http://b"\n      }\n    }\n  }\n}\n',
		);
		if (process.platform !== "win32") assert.equal(statSync(root.user).mode & 0o777, 0o600);
	});

	it("makes the agent folder when there is none", async () => {
		const agentDir = join(root.agentDir, "new");
		await saveEdits(agentDir, new Map([["server.port", 1]]));
		assert.ok(existsSync(join(agentDir, "settings.json")));
	});

	it("keeps the file's mode and follows a symbolic link", async function () {
		if (process.platform === "win32") this.skip();
		const real = join(root.cwd, "dotfiles.json");
		root.put(real, { server: { port: 1 } });
		chmodSync(real, 0o640);
		symlinkSync(real, root.user);
		await save({ "server.port": 2 });
		assert.equal(readFileSync(real, "utf8"), '{"a2a":{"server":{"port":2}}}');
		assert.equal(statSync(real).mode & 0o777, 0o640);
	});

	it("leaves nothing beside the file", async () => {
		await save({ "server.port": 9911 });
		await assert.rejects(save({ "server.port": "x" }));
		assert.deepEqual(readdirSync(root.agentDir), ["settings.json"]);
	});

	it("every key can be saved, is read back with that value, and can be taken out again", async () => {
		root.put(root.user, '{\n  "theme": "dark",\n  "a2a": {}\n}\n');
		for (const [key, row] of ROWS) {
			await save({ [row.path]: SAMPLES[key].good });
			const loaded = await root.load();
			assert.equal(loaded.origins.get(key)?.layer, "user", row.path);
			assert.deepEqual(
				loaded.problems.filter((problem) => problem.level !== "hint"),
				[],
				row.path,
			);
		}
		await save(Object.fromEntries(ROWS.map(([, row]) => [row.path, undefined])));
		assert.equal(JSON.parse(text()).theme, "dark");
		for (const [key] of ROWS) assert.equal((await root.load()).origins.get(key)?.layer, "default");
	});

	it("refuses what the key does not take, for every key, and leaves the file alone", async () => {
		root.put(root.user, { server: { port: 9910 } });
		const before = text();
		for (const [key, row] of ROWS)
			await assert.rejects(save({ "ui.transcript": false, [row.path]: SAMPLES[key].bad }), (error: Error) => {
				assert.ok(error.message.includes(row.path) && error.message.includes("expected"), error.message);
				if (row.secret) assert.ok(!error.message.includes(String(SAMPLES[key].bad)), error.message);
				return true;
			});
		await assert.rejects(save({ "server.prot": 1 }), /server\.prot is not a key/);
		assert.equal(text(), before);
	});

	it("edits entries of maps one by one, also those whose names have dots", async () => {
		root.put(root.user, { peers: { "b.example": { url: "http://b", auth: { type: "bearer", token: "t" }, x: 1 } } });
		await save({
			"peers.b.example.url": "http://c",
			"peers.b.example.auth.token": undefined,
			"peers.new": { url: "http://n" },
		});
		assert.deepEqual(JSON.parse(text()).a2a, {
			peers: { "b.example": { url: "http://c", auth: { type: "bearer" }, x: 1 }, new: { url: "http://n" } },
		});
		await save({ "peers.b.example": undefined, "server.peerTokens.alice": "tok" });
		assert.deepEqual(JSON.parse(text()).a2a, {
			peers: { new: { url: "http://n" } },
			server: { peerTokens: { alice: "tok" } },
		});
	});

	it("does not leave half an entry behind", async () => {
		root.put(root.user, { peers: {} });
		await assert.rejects(save({ "peers.bob.capabilities": ["x"] }), /peers\.bob\.url is missing/);
		await save({ "peers.bob.capabilities": ["x"], "peers.bob.url": "http://b" });
		assert.deepEqual(JSON.parse(text()).a2a.peers.bob, { capabilities: ["x"], url: "http://b" });
	});

	for (const [what, content] of [
		["is not JSON", '{"a2a": {'],
		["is not an object", "[1]"],
		["has something else for a2a", '{"a2a": []}'],
		["has something else for a group", '{"a2a": {"server": "x"}}'],
		["has a comment that does not end", '{"a2a": {} /* oops }'],
	] as const)
		it(`leaves a file alone that ${what}, and says so`, async () => {
			root.put(root.user, content);
			await assert.rejects(save({ "server.port": 1 }), /settings\.json .*(left as it is|cannot be edited)/);
			assert.equal(text(), content);
		});

	it("leaves a file alone that is not UTF-8", async () => {
		const { writeFileSync } = await import("node:fs");
		const bytes = Buffer.from('{"name": "caf\xe9"}', "latin1");
		writeFileSync(root.user, bytes);
		await assert.rejects(save({ "server.port": 1 }));
		assert.deepEqual(readFileSync(root.user), bytes);
	});

	it("keeps a byte order mark, Windows line ends and comments", async () => {
		root.put(root.user, '\ufeff{\r\n    // mine\r\n    "a2a": { /* none */ }\r\n}\r\n');
		await save({ retryAttempts: 1 });
		assert.equal(
			text(),
			'\ufeff{\r\n    // mine\r\n    "a2a": { /* none */\r\n        "retryAttempts": 1\r\n    }\r\n}\r\n',
		);
	});

	it("two sessions that save at the same time both get their edit in", async () => {
		root.put(root.user, {});
		const keys = [
			"server.port",
			"server.portFallback",
			"retryAttempts",
			"timeouts.send",
			"timeouts.stream",
			"server.maxConcurrent",
		];
		await Promise.all(keys.map((key, n) => save({ [key]: key.startsWith("timeouts") ? 1000 : n })));
		const { config } = await root.load();
		assert.deepEqual(
			[config.serverPort, config.portFallback, config.retryAttempts, config.sendTimeoutMs, config.maxConcurrent],
			[0, 1, 2, 1000, 5],
		);
	});

	it("waits for the host's own lock and gives up with a clear error", async () => {
		root.put(root.user, {});
		const clock = manualClock(Date.now());
		mkdirSync(`${root.user}.lock`);
		const saving = save({ retryAttempts: 1 }, { clock });
		await clock.advance(100);
		assert.ok(!text().includes("retryAttempts"));
		rmdirSync(`${root.user}.lock`);
		while (!text().includes("retryAttempts")) await clock.advance(20);
		await saving;

		mkdirSync(`${root.user}.lock`);
		// A holder that is alive: the manual clock must not make its lock look old.
		utimesSync(`${root.user}.lock`, clock.now() / 1000 + 3600, clock.now() / 1000 + 3600);
		let settled = false;
		const failing = save({ retryAttempts: 2 }, { clock }).finally(() => {
			settled = true;
		});
		const outcome = assert.rejects(failing, /settings\.json is locked by another process/);
		while (!settled) await clock.advance(500);
		await outcome;
	});

	it("takes over a lock that a dead process left behind", async () => {
		mkdirSync(`${root.user}.lock`);
		utimesSync(`${root.user}.lock`, 1, 1);
		await save({ retryAttempts: 1 });
		assert.ok(!existsSync(`${root.user}.lock`));
	});

	it("the host's settings manager and ours keep each other's keys", async () => {
		const host = SettingsManager.create(root.cwd, root.agentDir);
		host.setTheme("dark");
		await host.flush();
		await save({ "server.port": 9911 });
		host.setTheme("light");
		await host.flush();
		assert.deepEqual(host.drainErrors(), []);
		const { theme, a2a } = JSON.parse(text());
		assert.deepEqual([theme, a2a], ["light", { server: { port: 9911 } }]);
	});
});

describe("config: editing JSON as text", () => {
	const path = ["a", "b"];
	for (const [what, before, value, after] of [
		["a value", '{"a":{"b":1,"c":2}}', 7, '{"a":{"b":7,"c":2}}'],
		[
			"a value by an object",
			'{\n  "a": {\n    "b": 1\n  }\n}',
			{ x: 1 },
			'{\n  "a": {\n    "b": {\n      "x": 1\n    }\n  }\n}',
		],
		["a new last member in its line", '{"a": {"c": 2}}', 1, '{"a": {"c": 2, "b": 1}}'],
		[
			"a new last member in its own line",
			'{\n  "a": {\n    "c": 2 // c\n  }\n}\n',
			1,
			'{\n  "a": {\n    "c": 2, // c\n    "b": 1\n  }\n}\n',
		],
		[
			"a new member after a trailing comma",
			'{\n "a": {\n  "c": 2,\n }\n}',
			1,
			'{\n "a": {\n  "c": 2,\n  "b": 1\n }\n}',
		],
		["the only member of an empty object", '{\n  "a": {}\n}', 1, '{\n  "a": {\n    "b": 1\n  }\n}'],
		["a member in an object that is missing", '{\n  "z": 1\n}\n', 1, '{\n  "z": 1,\n  "a": {\n    "b": 1\n  }\n}\n'],
		["a member where null stands", '{"a": null}', 1, '{"a": {\n  "b": 1\n}}'],
		["nothing where nothing is", '{"z":1}', undefined, '{"z":1}'],
		["nothing below null", '{"a":null}', undefined, '{"a":null}'],
		["the first member out of a line", '{"a": {"b": 1, "c": 2}}', undefined, '{"a": {"c": 2}}'],
		["the last member out of a line", '{"a": {"c": 2, "b": 1}}', undefined, '{"a": {"c": 2}}'],
		["the only member", '{"a": { "b": 1 }}', undefined, '{"a": {}}'],
		["a line", '{\n  "a": {\n    "b": 1,\n    "c": 2\n  }\n}', undefined, '{\n  "a": {\n    "c": 2\n  }\n}'],
		[
			"the last line",
			'{\n  "a": {\n    "c": 2, // c\n    "b": [\n      1\n    ]\n  }\n}',
			undefined,
			'{\n  "a": {\n    "c": 2 // c\n  }\n}',
		],
		["both of a doubled member", '{"a": {"b": 1, "c": 2, "b": 3}}', undefined, '{"a": {"c": 2}}'],
		["the one that counts of a doubled member", '{"a": {"b": 1, "b": 3}}', 4, '{"a": {"b": 1, "b": 4}}'],
	] as const)
		it(`${value === undefined ? "takes out" : "puts in"} ${what}`, () => {
			assert.equal(edited(before, path, value), after);
		});

	it("any edit of any object gives what the same edit of the value gives", () => {
		// A fixed sequence, so that a failure can be repeated.
		let seed = 42;
		const random = (below: number) => {
			seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
			return seed % below;
		};
		const value = (depth: number): unknown => {
			const kind = random(depth > 2 ? 4 : 6);
			if (kind === 0) return null;
			if (kind === 1) return random(1000) / 8;
			if (kind === 2) return ["", "x", '"\\\u2028', "// no comment", "{,}"][random(5)];
			if (kind === 3) return random(2) === 0;
			if (kind === 4) return Array.from({ length: random(3) }, () => value(depth + 1));
			return Object.fromEntries(Array.from({ length: random(4) }, () => ["abcd"[random(4)], value(depth + 1)]));
		};
		const set = (object: Record<string, unknown>, key: string, put: unknown) => {
			if (put === undefined) delete object[key];
			else object[key] = put;
		};
		for (let round = 0; round < 2000; round++) {
			const before = Object.fromEntries(
				Array.from({ length: random(4) }, () => ["abcd"[random(4)], value(0)]),
			) as Record<string, unknown>;
			const layout = [undefined, 2, "\t"][random(3)];
			const text = JSON.stringify(before, undefined, layout);
			const key = "abcd"[random(4)] ?? "a";
			const put = random(3) === 0 ? undefined : value(1);
			set(before, key, put);
			const after = edited(text, [key], put);
			assert.deepEqual(JSON.parse(after), plainly(before), `${text} ${key} ${JSON.stringify(put)}`);
			assert.deepEqual(plainly(parseJson(after).value), plainly(before));
		}
	});
});
