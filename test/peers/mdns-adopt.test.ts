import assert from "node:assert/strict";
import type { Connection } from "../../src/bindings/binding.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { type Adopt, createAdoption, isUnknown, needsAdoption, type UnknownOrigins } from "../../src/peers/adopt.ts";
import { createConnect, type OpenOptions } from "../../src/peers/connect.ts";
import { createDirectory } from "../../src/peers/directory.ts";
import type { Peer, Source, SourceName } from "../../src/peers/peer.ts";
import { PeerError } from "../../src/peers/reply.ts";

const LAN = "http://10.9.9.50:9911/";
const peer = (source: SourceName, url = LAN, more: Partial<Peer> = {}): Peer => ({
	...{ name: "worker", source, address: { via: "http", url: new URL(url) }, capabilities: [] },
	...more,
});
const listing = (...peers: readonly Peer[]): Source[] =>
	[...new Set(peers.map(({ source }) => source))].map((name) => ({
		name,
		list: async () => peers.filter(({ source }) => source === name),
		close: async () => undefined,
	}));
const forever = () => new AbortController().signal;

describe("peers/adopt: who may be called", () => {
	it("what was found on the network needs a yes, under every address of that origin", () => {
		const found = peer("mdns");
		assert.ok(needsAdoption(found, [found]));
		assert.ok(needsAdoption(peer("url", "http://10.9.9.50:9911/other"), [found]));
		assert.ok(!needsAdoption(peer("url", "http://10.9.9.50:9912/"), [found]));
	});

	it("what the operator wrote down, and a session of this machine, needs none", () => {
		const found = peer("mdns");
		assert.ok(!needsAdoption(peer("config"), [found]));
		assert.ok(!needsAdoption(found, [found, peer("config", "http://10.9.9.50:9911/rpc")]));
		assert.ok(!needsAdoption(found, [found, peer("local")]));
		assert.ok(needsAdoption(found, [found, peer("config", "http://10.9.9.51:9911/")]));
	});

	it("without anybody to ask the answer is no", async () => {
		assert.equal(await createAdoption(undefined)(peer("mdns"), forever()), false);
	});

	it("a person is asked once for an origin, whatever the name is then", async () => {
		const asked: string[] = [];
		const adopt = createAdoption(async (question) => {
			asked.push(question);
			return question.includes("10.9.9.50");
		});
		assert.equal(await adopt(peer("mdns"), forever()), true);
		assert.equal(await adopt(peer("mdns", LAN, { name: "renamed" }), forever()), true);
		assert.equal(await adopt(peer("mdns", "http://10.9.9.51:9911/"), forever()), false);
		assert.equal(await adopt(peer("mdns", "http://10.9.9.51:9911/"), forever()), false);
		assert.equal(asked.length, 2);
		assert.match(asked[0] ?? "", /^Call "worker" at http:\/\/10\.9\.9\.50:9911\/\? .*local network/);
	});

	it("calls at the same time wait for one question after another", async () => {
		let open = 0;
		const asked: string[] = [];
		const adopt = createAdoption(async (question) => {
			assert.equal(++open, 1);
			asked.push(question);
			await new Promise((resolve) => setImmediate(resolve));
			open--;
			return true;
		});
		const urls = [LAN, LAN, "http://10.9.9.51:1/", LAN];
		assert.deepEqual(await Promise.all(urls.map((url) => adopt(peer("mdns", url), forever()))), [
			true,
			true,
			true,
			true,
		]);
		assert.equal(asked.length, 2);
	});

	it("a call that is stopped takes its question back, which is no answer", async () => {
		const signals: AbortSignal[] = [];
		const answers: ((yes: boolean) => void)[] = [];
		const adopt = createAdoption((_question, signal) => {
			signals.push(signal);
			return new Promise((resolve) => answers.push(resolve));
		});
		const stopped = new AbortController();
		const first = adopt(peer("mdns"), stopped.signal);
		await new Promise((resolve) => setImmediate(resolve));
		stopped.abort();
		assert.equal(await first, false);
		assert.equal(signals[0]?.aborted, true);
		const second = adopt(peer("mdns"), forever());
		await new Promise((resolve) => setImmediate(resolve));
		answers[1]?.(true);
		assert.equal(await second, true);
	});

	it("a question that cannot be put is no yes, and the next call asks again", async () => {
		let fails = true;
		const adopt = createAdoption(async () => {
			if (fails) throw new Error("the session is over");
			return true;
		});
		await assert.rejects(adopt(peer("mdns"), forever()), /over/);
		fails = false;
		assert.equal(await adopt(peer("mdns"), forever()), true);
	});
});

describe("peers/connect: a peer found on the network", () => {
	/** Opens `wanted`; what it was opened with, when it was. */
	async function opened(wanted: Peer, known: readonly Peer[], adopt?: Adopt): Promise<OpenOptions[]> {
		const calls: OpenOptions[] = [];
		const connect = createConnect({
			open: {
				http: async (_address, options) => {
					calls.push(options);
					return { card: () => undefined } as unknown as Connection;
				},
			},
			directory: createDirectory(listing(...known)),
			own: { selfIdentity: "", sharedToken: "the-shared-one", peerTokens: {} },
			adopt,
			clock: manualClock(),
			redact: (text) => text,
			exchange: () => undefined,
		});
		try {
			await connect(wanted, forever());
		} catch (error) {
			assert.ok(error instanceof PeerError);
			assert.match(error.message, /worker was found on the local network and nobody has confirmed it/);
			assert.match(error.hint ?? "", /a2a\.peers .*http:\/\//);
			assert.deepEqual(calls, [], "nothing was sent");
		}
		return calls;
	}

	it("is not called before somebody said yes", async () => {
		const found = peer("mdns");
		assert.deepEqual(await opened(found, [found]), []);
		assert.deepEqual(await opened(found, [found], async () => false), []);
		assert.deepEqual(await opened(peer("url"), [found], async () => false), []);
	});

	it("is called without any credential, on this machine too", async () => {
		for (const url of [LAN, "http://127.0.0.1:9911/"]) {
			const found = peer("mdns", url, { token: "planted" });
			const [options, ...more] = await opened(found, [found], async () => true);
			assert.equal(more.length, 0);
			assert.ok(options && !("token" in options));
		}
	});

	it("is called once the operator wrote it down, without a question", async () => {
		const never: Adopt = () => assert.fail("nobody is to be asked");
		const written = peer("config", `${LAN}a2a`);
		assert.equal((await opened(peer("mdns"), [written, peer("mdns")], never)).length, 1);
	});
});

describe("peers/directory: what the network says", () => {
	const list = (...peers: readonly Peer[]) => createDirectory(listing(...peers)).list();

	it("adds nothing to what better sources know of an address", async () => {
		const said = peer("mdns", LAN, {
			name: "evil",
			cwd: "/evil",
			skills: ["all"],
			tools: ["all"],
			description: "obey",
		});
		assert.deepEqual(await list(said, peer("config", LAN)), [peer("config", LAN)]);
	});

	it("is no second entry of a session that the registry of this machine has", async () => {
		const own = Object.values((await import("node:os")).networkInterfaces()).flatMap((each) => each ?? []);
		const outer = own.find(({ internal, family }) => !internal && family === "IPv4")?.address ?? "127.0.0.1";
		const local = peer("local", "http://127.0.0.1:9911/");
		assert.deepEqual(await list(local, peer("mdns", `http://${outer}:9911/`)), [local]);
		assert.equal((await list(local, peer("mdns", `http://${outer}:9912/`))).length, 2);
		assert.equal((await list(local, peer("mdns", LAN))).length, 2);
	});

	it("takes no name from configured and local peers", async () => {
		const names = (
			await list(peer("mdns"), peer("config", "http://a.test/"), peer("local", "http://127.0.0.1:1/"))
		).map(({ name, source }) => `${source} ${name}`);
		assert.equal(names[0], "config worker");
		assert.equal(names.filter((each) => each.endsWith(" worker")).length, 1);
	});
});

describe("peers/connect: a URL on another machine that nobody wrote down", () => {
	const unknown = peer("url", "https://agents.example/a");
	async function opened(
		wanted: Peer,
		unknownOrigins: UnknownOrigins | undefined,
		{ known = [], adopt }: { readonly known?: readonly Peer[]; readonly adopt?: Adopt } = {},
	): Promise<string> {
		const connect = createConnect({
			open: { http: async () => ({ card: () => undefined }) as unknown as Connection },
			directory: createDirectory(listing(...known)),
			own: { selfIdentity: "", sharedToken: "", peerTokens: {} },
			adopt,
			unknownOrigins,
			clock: manualClock(),
			redact: (text) => text,
			exchange: () => undefined,
		});
		return connect(wanted, forever()).then(
			() => "called",
			(error: Error) => error.message,
		);
	}
	const REFUSED =
		/^https:\/\/agents\.example\/a is in none of the settings and nobody has confirmed it\. Nothing was sent/;

	it("is called, asked about, or refused, as the operator wants it", async () => {
		assert.equal(await opened(unknown, undefined), "called");
		assert.equal(await opened(unknown, "allow", { adopt: () => assert.fail("asked") }), "called");
		assert.match(await opened(unknown, "deny", { adopt: async () => true }), REFUSED);
		assert.match(await opened(unknown, "ask"), REFUSED);
		assert.match(await opened(unknown, "ask", { adopt: async () => false }), REFUSED);
		assert.equal(await opened(unknown, "ask", { adopt: async () => true }), "called");
	});

	it("is no configured peer, no peer of a gateway, no session and nothing on this machine", async () => {
		for (const source of ["config", "gateway", "local"] as const) {
			assert.equal(await opened(peer(source), "deny"), "called");
			assert.ok(!isUnknown(unknown, [peer(source, "https://agents.example/other")]));
		}
		assert.equal(await opened(peer("url", "http://127.0.0.1:9/"), "deny"), "called");
		assert.ok(
			isUnknown(unknown, [peer("config", "https://agents.example:444/a"), peer("mdns", "https://agents.example/")]),
		);
	});

	it("is asked about once for an origin, with its address and nothing that it says of itself", async () => {
		const asked: string[] = [];
		const adopt = createAdoption(async (question) => asked.push(question) > 0);
		for (const path of ["a", "b"])
			assert.equal(
				await opened(peer("url", `https://agents.example/${path}`, { name: "a friend" }), "ask", { adopt }),
				"called",
			);
		assert.equal(asked.length, 1);
		assert.match(asked[0] ?? "", /^Call https:\/\/agents\.example\/a\? It is in none of your settings\./);
	});
});
