import assert from "node:assert/strict";
import { type KeyName, ROWS, type Values } from "../../src/config/keys.ts";
import type { Loaded, Origin } from "../../src/config/load.ts";
import { fallbackOf } from "../../src/config/row.ts";
import { at, makeRoot, plainly, type Root } from "./root.ts";
import { SAMPLES } from "./samples.ts";

describe("config: every key in every layer", () => {
	let root: Root;
	beforeEach(() => {
		root = makeRoot();
	});
	afterEach(() => root.remove());

	/** What the key became: the single gateway's fields are seen in the entry of `gateways` that they make. */
	function resultOf(loaded: Loaded, key: KeyName): unknown {
		const fields: { [K in KeyName]?: string } = {
			gatewayEnabled: "enabled",
			gatewayUrl: "url",
			gatewayToken: "token",
			gatewayName: "name",
			gatewayUpstreamToken: "upstreamToken",
			gatewayHeartbeatSec: "heartbeatSec",
			gatewayChannel: "channel",
		};
		const field = fields[key];
		if (field === undefined) return plainly((loaded.config as Partial<Values>)[key]);
		const [entry] = Object.values(loaded.config.gateways);
		return (entry as Record<string, unknown> | undefined)?.[field];
	}

	/** A single gateway needs an address before its other fields mean anything. */
	const company = (key: KeyName): object =>
		key.startsWith("gateway") && key !== "gateways" && key !== "gatewayUrl"
			? { discovery: { gateway: { url: "http://gw.example:1", enabled: true } } }
			: {};

	const merged = (a: unknown, b: unknown): unknown =>
		typeof a === "object" && a !== null && typeof b === "object" && b !== null && !Array.isArray(b)
			? Object.fromEntries(
					[...new Set([...Object.keys(a), ...Object.keys(b)])].map((key) => [
						key,
						merged((a as Record<string, unknown>)[key], (b as Record<string, unknown>)[key]),
					]),
				)
			: b === undefined
				? a
				: b;

	for (const [key, row] of ROWS) {
		const sample = SAMPLES[key];
		const read = "read" in sample ? sample.read : sample.good;
		const withUser = (value: unknown) => merged(company(key), at(row.path, value));
		const originIs = (loaded: Loaded, expected: Origin) => assert.deepEqual(loaded.origins.get(key), expected);

		it(`${row.path} has its default, with that origin`, async () => {
			const loaded = await root.load();
			const { cwd } = root;
			if (!key.startsWith("gateway"))
				assert.deepEqual(resultOf(loaded, key), plainly(fallbackOf(row, { cwd, hostname: "host-1" })));
			originIs(loaded, { layer: "default" });
			assert.deepEqual(loaded.problems, []);
		});

		it(`${row.path} is read from the user's settings`, async () => {
			root.put(root.user, withUser(sample.good));
			const loaded = await root.load();
			assert.deepEqual(resultOf(loaded, key), read);
			originIs(loaded, { layer: "user", file: root.user });
			assert.deepEqual(loaded.problems, []);
		});

		it(`${row.path}: a bad value is reported with file, key and expectation, and the default counts`, async () => {
			root.put(root.user, at(row.path, sample.bad));
			const loaded = await root.load();
			assert.equal(loaded.problems.length, 1);
			const [problem] = loaded.problems;
			assert.equal(problem?.file, root.user);
			assert.equal(problem?.key, row.path);
			assert.equal(problem?.expected, row.kind.expected);
			assert.equal(problem?.level, row.guards ? "error" : "warning");
			assert.ok(problem?.text.includes(root.user) && problem.text.includes(row.path));
			const plain = makeRoot();
			try {
				const expected = (await plain.load({ cwd: root.cwd })).config;
				assert.deepEqual(plainly(loaded.config), plainly(expected));
			} finally {
				plain.remove();
			}
		});

		it(`${row.path}: null and, for texts, an empty text mean not set`, async () => {
			for (const unset of typeof sample.good === "string" ? [null, ""] : [null]) {
				root.put(root.user, at(row.path, unset));
				const loaded = await root.load();
				originIs(loaded, { layer: "default" });
				assert.deepEqual(loaded.problems, []);
			}
		});

		if (row.env !== undefined) {
			const variable = row.env;
			const text = sample.text;
			it(`${variable} is read from .env.local, and from the environment before that`, async () => {
				assert.ok(text, `a text for ${variable} is missing in the samples`);
				root.put(root.user, company(key));
				root.put(root.envFile, `export ${variable}="${text}" # a remark\n`);
				const fromFile = await root.load({ env: { [variable]: "" } });
				assert.deepEqual(resultOf(fromFile, key), read);
				originIs(fromFile, { layer: "env-file", file: root.envFile, name: variable });
				root.put(root.envFile, `${variable}=;;\n`);
				const fromEnv = await root.load({ env: { [variable]: text } });
				assert.deepEqual(resultOf(fromEnv, key), read);
				originIs(fromEnv, { layer: "env", name: variable });
			});

			it(`${variable}: a bad value names the variable, and the weaker layer counts`, async () => {
				root.put(root.user, withUser(sample.good));
				// No kind takes this: a control character, not a number, not a pair.
				const loaded = await root.load({ env: { [variable]: "\u0001 ?" } });
				assert.deepEqual(resultOf(loaded, key), read);
				const [problem] = loaded.problems;
				assert.equal(problem?.file, "environment");
				assert.ok(problem?.text.includes(variable) && problem.text.includes(row.path), problem?.text);
			});
		}

		if (row.scope === "operator")
			it(`${row.path} is not read from a repository's file, and that is said`, async () => {
				root.put(root.project, withUser(sample.good));
				const loaded = await root.load();
				const without = await root.load({ projectTrusted: false });
				assert.deepEqual(plainly(loaded.config), plainly(without.config));
				originIs(loaded, { layer: "default" });
				const problem = loaded.problems.find((each) => each.key === row.path);
				assert.equal(problem?.file, root.project);
				assert.match(problem?.text ?? "", /a repository may not set it, because .{10,}/);
			});
		else
			it(`${row.path}: a repository's file may lower it, never raise it`, async () => {
				root.put(root.project, at(row.path, sample.good));
				const lowered = await root.load();
				assert.deepEqual(resultOf(lowered, key), read);
				originIs(lowered, { layer: "project", file: root.project });
				assert.deepEqual(lowered.problems, []);

				root.put(root.project, at(row.path, sample.more));
				const raised = await root.load();
				originIs(raised, { layer: "default" });
				assert.equal(raised.problems[0]?.file, root.project);
				// What the user has allowed is the measure, not the default.
				root.put(root.user, at(row.path, sample.good));
				const { fallback } = row;
				root.put(root.project, at(row.path, fallback));
				originIs(await root.load(), { layer: "user", file: root.user });
			});

		it(`${row.path}: a repository that is not trusted is not read at all`, async () => {
			root.put(root.project, at(row.path, sample.good));
			const loaded = await root.load({ projectTrusted: false });
			originIs(loaded, { layer: "default" });
			assert.deepEqual(loaded.problems, []);
		});
	}
});
