import assert from "node:assert/strict";
import type { Log } from "../../src/lib/log.ts";
import { nullLog } from "../../src/lib/log.ts";
import { createDirectory } from "../../src/peers/directory.ts";
import type { Peer, Source, SourceName } from "../../src/peers/peer.ts";
import { PeerError } from "../../src/peers/reply.ts";
import { fromConfig } from "../../src/peers/sources/config.ts";

const at = (url: string): Peer["address"] => ({ via: "http", url: new URL(url) });

function source(name: SourceName, ...peers: Partial<Peer>[]): Source {
	const list = peers.map((peer) => ({
		name: "x",
		source: name,
		address: at("http://127.0.0.1:1"),
		capabilities: [],
		...peer,
	}));
	return { name, list: async () => list, close: async () => undefined };
}

const refusal = (pattern: RegExp) => (error: unknown) =>
	error instanceof PeerError && pattern.test(error.message) && !error.message.includes("\n");

/** A small generator of numbers, the same in every run. */
function numbers(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state = (state * 1103515245 + 12345) % 2147483648;
		return Math.floor((state / 2147483648) * below);
	};
}

describe("peers/directory", () => {
	it("lists the peers of every source, the operator's own first", async () => {
		const directory = createDirectory([
			source("local", { name: "b", address: at("http://127.0.0.1:2") }),
			source("config", { name: "a", address: at("http://a.example/") }),
		]);
		assert.deepEqual(
			(await directory.list()).map((peer) => peer.name),
			["a", "b"],
		);
	});

	it("makes one entry of one address, with the operator's name and the details that others know", async () => {
		const directory = createDirectory([
			source("local", { name: "host", address: at("http://127.0.0.1:2"), cwd: "/src", pid: 7, capabilities: ["docs"] }),
			source("config", { name: "worker", address: at("http://localhost:2/"), capabilities: ["code"], token: "t" }),
		]);
		const [peer, ...others] = await directory.list();
		assert.equal(others.length, 0);
		assert.equal(peer?.name, "worker");
		assert.equal(peer?.cwd, "/src");
		assert.equal(peer?.token, "t");
		assert.deepEqual(peer?.capabilities, ["code", "docs"]);
		assert.equal(peer?.address.via === "http" && peer.address.url.href, "http://localhost:2/");
	});

	it("keeps two names that the operator gave to one address, each with its own token", async () => {
		const directory = createDirectory([
			source("config", { name: "as-alice", token: "one" }, { name: "as-bob", token: "two" }),
			source("local", { name: "host", cwd: "/src" }),
		]);
		assert.deepEqual(
			(await directory.list()).map(({ name, token, cwd }) => [name, token, cwd]),
			[
				["as-alice", "one", "/src"],
				["as-bob", "two", "/src"],
			],
		);
		assert.equal((await directory.resolve("as-bob")).token, "two");
	});

	it("does not let the network widen what the operator's peer can do, nor give it a token", async () => {
		const directory = createDirectory([
			source("config", { name: "worker", address: at("http://127.0.0.1:2"), capabilities: ["code"] }),
			source("mdns", { address: at("http://127.0.0.1:2"), capabilities: ["everything"], token: "planted" }),
		]);
		const peer = await directory.resolve("worker");
		assert.deepEqual(peer.capabilities, ["code"]);
		assert.equal(peer.token, undefined);
	});

	it("gives two sessions of one name a mark each, and keeps a configured name plain", async () => {
		const directory = createDirectory([
			source(
				"local",
				{ name: "pi", address: at("http://127.0.0.1:9910"), pid: 5 },
				{ name: "Pi", address: at("http://127.0.0.1:9911"), pid: 6 },
				{ name: "hermes", address: at("http://127.0.0.1:9912"), pid: 7 },
			),
			source("config", { name: "hermes", address: at("http://hermes.example/") }),
		]);
		assert.deepEqual(
			(await directory.list()).map((peer) => peer.name),
			["hermes", "pi-9910", "Pi-9911", "hermes-9912"],
		);
		await assert.rejects(directory.resolve("pi"), refusal(/no peer named "pi".*pi-9910.*Pi-9911/));
	});

	it("resolves every name that it lists to the peer that was shown, whatever the sources say", async () => {
		const words = [
			"pi",
			"PI",
			"pi-9910",
			"http://127.0.0.1:9911/",
			"a b",
			"",
			"\u202epi",
			"ｐｉ",
			"x,y",
			"__proto__",
			"pi-2",
		];
		for (let seed = 1; seed <= 100; seed++) {
			const pick = numbers(seed);
			const make = (name: SourceName) =>
				source(
					name,
					...Array.from({ length: pick(8) }, () => ({
						name: words[pick(words.length)] ?? "",
						address: at(`http://127.0.0.1:${9910 + pick(6)}/${pick(2) ? "a" : ""}`),
						pid: pick(5),
					})),
				);
			const directory = createDirectory([make("config"), make("local"), make("mdns"), make("gateway")]);
			const peers = await directory.list();
			assert.equal(new Set(peers.map((peer) => peer.name)).size, peers.length, `seed ${seed}: names are unique`);
			for (const peer of peers) {
				assert.deepEqual(await directory.resolve(peer.name), peer, `seed ${seed}: ${JSON.stringify(peer.name)}`);
			}
		}
	});

	it("takes a name in another case where only one peer can be meant", async () => {
		const directory = createDirectory([
			source(
				"config",
				{ name: "Alice", address: at("http://a.example") },
				{ name: "alice", address: at("http://b.example") },
			),
			source("local", { name: "Bob" }),
		]);
		assert.equal((await directory.resolve("bob")).name, "Bob");
		assert.equal((await directory.resolve("alice")).name, "alice");
		await assert.rejects(directory.resolve("ALICE"), refusal(/Alice/));
	});

	// R119
	it("names the near ones when nobody has that name", async () => {
		const directory = createDirectory([source("config", { name: "engineer" })]);
		await assert.rejects(directory.resolve("enginer"), refusal(/Did you mean "engineer"\?/));
		await assert.rejects(directory.resolve(""), refusal(/Known peers: "engineer"/));
		await assert.rejects(createDirectory([]).resolve("x"), refusal(/No peers are known/));
	});

	it("finds a peer by what it can do, where nobody has the name, and says which and why", async () => {
		const able = { capabilities: ["Web Search"] };
		const sources = [
			source("mdns", { name: "stranger", address: at("http://10.0.0.9:1/"), ...able }),
			source(
				"local",
				{ name: "one", address: at("http://127.0.0.1:1/"), ...able },
				{ name: "two", address: at("http://127.0.0.1:2/"), ...able },
			),
		];
		const directory = createDirectory(sources);
		const found = await directory.resolve("web_search", true);
		assert.equal(found.name, "one");
		assert.match(found.chosen ?? "", /no peer named "web_search"; one was chosen .* the first of 2\.$/);
		assert.equal((await directory.resolve("two", true)).chosen, undefined);
		await assert.rejects(directory.resolve("web_search"), refusal(/no peer named/));
		await assert.rejects(directory.resolve("cooking", true), refusal(/no peer named/));
		await assert.rejects(createDirectory(sources.slice(0, 1)).resolve("web_search", true), refusal(/no peer named/));
	});

	it("takes a plain URL, and knows the peer that lives there", async () => {
		const directory = createDirectory([
			source("config", { name: "worker", address: at("http://127.0.0.1:9000/a2a"), token: "t" }),
		]);
		for (const url of [
			"http://localhost:9000/a2a/",
			"http://127.0.0.1:9000/a2a/.well-known/agent-card.json",
			"localhost:9000/a2a",
		]) {
			assert.equal((await directory.resolve(url)).name, "worker", url);
		}
		const stranger = await directory.resolve(" https://other.example:8443/x ");
		assert.equal(stranger.source, "url");
		assert.equal(stranger.name, "https://other.example:8443/x");
	});

	it("refuses URLs with a password in them, and schemes that are not web ones", async () => {
		const directory = createDirectory([]);
		await assert.rejects(directory.resolve("http://user:secret@host/"), (error: unknown) => {
			return error instanceof PeerError && /not a URL that can be called/.test(error.message);
		});
		await assert.rejects(directory.resolve("file:///etc/passwd"), refusal(/no peer named/));
	});

	it("leaves this session out of the list, also where the operator wrote it down", async () => {
		const directory = createDirectory(
			[
				source(
					"config",
					{ name: "me", address: at("http://localhost:9910") },
					{ name: "other", address: at("http://o") },
				),
			],
			{ self: () => [new URL("http://127.0.0.1:9910/")] },
		);
		assert.deepEqual(
			(await directory.list()).map((peer) => peer.name),
			["other"],
		);
	});

	it("goes on without a source that fails, and says so", async () => {
		const said: string[] = [];
		const log: Log = { ...nullLog, warn: (text) => said.push(text) };
		const broken: Source = {
			name: "mdns",
			list: () => Promise.reject(new Error("no socket")),
			close: async () => undefined,
		};
		const directory = createDirectory([broken, source("config", { name: "a" })], { log });
		assert.equal((await directory.list()).length, 1);
		assert.deepEqual(said, ["Could not list the peers of mdns"]);
	});

	it("leaves out a configured peer without a usable URL, and says which", async () => {
		const said: string[] = [];
		const log: Log = { ...nullLog, warn: (text) => said.push(text) };
		const config = fromConfig(
			{ good: { url: "http://g.example", capabilities: [] }, bad: { url: "ftp://x", capabilities: [] } },
			log,
		);
		assert.deepEqual(
			(await config.list()).map((peer) => peer.name),
			["good"],
		);
		assert.match(said[0] ?? "", /bad is left out/);
	});
});
