import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import dgram from "node:dgram";
import { once } from "node:events";
import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import type { Service } from "bonjour-service";
import type { Mdns } from "../../src/peers/sources/mdns.ts";
import type { Rr } from "../../src/peers/sources/mdns-records.ts";
import { agentRecords, LAN, loopbackNetwork, type Network, until, withLan } from "./mdns-support.ts";

const facts = { name: "worker", host: "0.0.0.0", port: 9911, skills: ["docs"] };
const names = async (session: Mdns) => (await session.list()).map(({ name }) => name);
const urls = async (session: Mdns) =>
	(await session.list()).map(({ address }) => (address.via === "http" ? address.url.href : address.id));

describe("peers/sources/mdns: on a network, with the real bonjour-service", () => {
	let net: Network;
	beforeEach(() => {
		net = loopbackNetwork();
	});
	afterEach(() => net.close());

	it("sessions find each other, and no session itself", async () => {
		const [one, two] = [net.session(), net.session()];
		await one.announce(facts);
		await two.announce({ ...facts, name: "helper", port: 9912 });
		assert.deepEqual(await names(one), ["helper"]);
		assert.deepEqual(await urls(two), ["http://10.9.9.9:9911/"]);
		assert.deepEqual(net.said, []);
	});

	it("the records of two sessions of one name have hosts of their own, none the machine's (R112)", async () => {
		const records: Rr[] = [];
		net.foreign().wire.on("response", ({ answers, additionals }) => records.push(...answers, ...additionals));
		await net.session({ hostname: hostname() }).announce(facts);
		await net.session({ hostname: hostname() }).announce(facts);
		const services = await until(
			() => records.filter(({ type }) => type === "SRV"),
			(found) => found.length >= 2,
		);
		const instances = new Set(services.map(({ name }) => name));
		const targets = new Set(services.map(({ data }) => (data as { target: string }).target));
		const hosts = new Set(records.filter(({ type }) => type === "A" || type === "AAAA").map(({ name }) => name));
		assert.deepEqual([instances.size, targets.size, hosts.size], [2, 2, 2]);
		assert.deepEqual(hosts, targets);
		const machine = hostname().split(".")[0] ?? "";
		for (const host of hosts) assert.match(host, new RegExp(`^${machine}-a2a-\\d+\\.local$`));
	});

	it("another program's browser finds a session, and its announcement is found", async () => {
		const { bonjour } = net.foreign();
		const mine = net.session();
		await mine.announce(facts);
		const found = bonjour.find({ type: "a2a" });
		const [up] = (await once(found, "up")) as [Service];
		assert.deepEqual([up.port, up.txt.name, up.txt.path, up.txt.skills], [9911, "worker", "/", "docs"]);
		assert.deepEqual(Object.keys(up.txt).sort(), ["name", "path", "skills", "txtvers"]);
		assert.deepEqual(up.addresses, ["10.9.9.9"]);
		const down = once(found, "down");
		bonjour.publish({ name: "their agent", type: "a2a", port: 7001, host: "theirs.local", txt: { name: "adk" } });
		const session = net.session();
		await until(
			() => names(session),
			(seen) => seen.includes("adk") && seen.includes("worker"),
		);
		await mine.close();
		await down;
	});

	it("a session that leaves is gone for the others at once", async () => {
		const [one, two] = [net.session(), net.session()];
		await one.announce(facts);
		assert.deepEqual(await names(two), ["worker"]);
		await one.close();
		await until(
			() => names(two),
			(seen) => seen.length === 0,
		);
	});

	it("what changed replaces what was said", async () => {
		const [one, two] = [net.session(), net.session()];
		await one.announce(facts);
		assert.deepEqual(await names(two), ["worker"]);
		await one.announce({ ...facts, name: "docs-worker", port: 9920 });
		const [peer] = await until(
			() => two.list(),
			([first]) => first?.name === "docs-worker",
		);
		assert.equal(peer?.address.via === "http" && peer.address.url.port, "9920");
		assert.equal((await two.list()).length, 1);
	});

	it("one that dies without a word is gone when its time is up (R113)", async () => {
		const session = net.session();
		await session.list();
		await net.foreign().say(agentRecords("dying", { ttl: 5, address: "10.9.9.50", txt: ["name=dying"] }));
		await until(
			() => names(session),
			(seen) => seen.includes("dying"),
		);
		net.clock.later(5_500);
		assert.deepEqual(await names(session), []);
	});

	it("a session that answers when asked stays, however long ago it was announced", async () => {
		const [one, two] = [net.session(), net.session()];
		await one.announce(facts);
		assert.deepEqual(await names(two), ["worker"]);
		for (let i = 0; i < 5; i++) {
			net.clock.later(200_000);
			assert.deepEqual(await names(two), ["worker"]);
		}
	});

	it("of a service that tells its name alone the rest is asked for", async () => {
		const session = net.session();
		await session.list();
		const { wire, say } = net.foreign();
		const [pointer, ...rest] = agentRecords("terse", { txt: ["name=terse"] }) as [Rr, ...Rr[]];
		wire.on("query", (packet) => {
			const { questions } = packet as unknown as { questions: { name: string; type: string }[] };
			if (questions.some(({ type }) => type === "SRV")) void say(rest);
		});
		await say([pointer]);
		await until(
			() => names(session),
			(seen) => seen.includes("terse"),
		);
	});

	it("a name that another machine has is left to it", async () => {
		const { bonjour } = net.foreign();
		bonjour.publish({ name: "box-a2a-77", type: "a2a", port: 7001, host: "x.local", probe: false });
		await net.session({ pid: 77 }).announce(facts);
		const session = net.session();
		await until(
			() => names(session),
			(seen) => seen.includes("worker"),
		);
		const found = bonjour.find({ type: "a2a" });
		await until(
			() => found.services.map(({ name }) => name).sort(),
			(seen) => seen.join() === "box-a2a-77,box-a2a-77-2",
		);
	});

	it("a server on loopback is not announced, which is said once and opens nothing", async () => {
		let loads = 0;
		const load = async () => loads++;
		const session = net.session({ load });
		for (const host of ["127.0.0.1", "::1", "127.0.0.1"]) await session.announce({ ...facts, host });
		assert.equal(loads, 0);
		assert.equal(net.said.length, 1);
		assert.match(net.said[0] ?? "", /does not announce this session.*this machine only/);
	});

	it("an announcement ends when the server moves to loopback", async () => {
		const [one, two] = [net.session(), net.session()];
		await one.announce(facts);
		assert.deepEqual(await names(two), ["worker"]);
		await one.announce({ ...facts, host: "127.0.0.1" });
		await until(
			() => names(two),
			(seen) => seen.length === 0,
		);
	});

	it("announcing can follow taking back without waiting", async () => {
		const [one, two] = [net.session(), net.session()];
		const all = [one.announce(facts), one.withdraw(), one.announce({ ...facts, name: "again" })];
		await Promise.all(all);
		await until(
			() => names(two),
			(seen) => seen.join() === "again",
		);
	});

	it("without the package one line says what to install where, and there are no peers", async () => {
		const missing = "no-such-package-here";
		const session = net.session({ load: () => import(missing) });
		assert.deepEqual(await session.list(), []);
		await session.announce(facts);
		assert.deepEqual(await session.list(), []);
		const root = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
		assert.deepEqual(net.said, [
			`mDNS discovery is off, for bonjour-service is not installed. Run: npm i bonjour-service -P --no-save --omit=dev --prefix "${root}" and then /reload`,
		]);
	});

	it("a package that is another one is said to be so", async () => {
		for (const module of [{}, { default: 7 }, { Bonjour: class {} }]) {
			const session = net.session({ load: async () => module });
			assert.deepEqual(await session.list(), []);
		}
		assert.deepEqual(
			new Set(net.said),
			new Set(["mDNS discovery is off: this version of bonjour-service is not known; 1.x is"]),
		);
	});

	it("a port that cannot be had is one line, and works when it is free again", async () => {
		const rival = dgram.createSocket({ type: "udp4" });
		const rival6 = dgram.createSocket({ type: "udp6", ipv6Only: true });
		rival.bind(net.port);
		rival6.bind(net.port);
		await Promise.all([once(rival, "listening"), once(rival6, "listening")]);
		const session = net.session();
		assert.deepEqual(await session.list(), []);
		assert.match(net.said[0] ?? "", /^mDNS discovery is off: .*EADDRINUSE/);
		await Promise.all([rival, rival6].map((each) => new Promise<void>((resolve) => each.close(() => resolve()))));
		await net.session().announce(facts);
		assert.deepEqual(await names(session), ["worker"]);
	});

	it("a network that goes away and comes back is no reason to fail", async () => {
		let up = true;
		const [one, two] = [net.session({ interfaces: () => (up ? LAN() : {}) }), net.session()];
		await one.announce(facts);
		assert.deepEqual(await names(two), ["worker"]);
		up = false;
		await one.announce({ ...facts, name: "unplugged" });
		await until(
			() => names(two),
			(seen) => seen.length === 0,
		);
		assert.deepEqual(await one.list(), []);
		up = true;
		await one.announce({ ...facts, name: "back" });
		await until(
			() => names(two),
			(seen) => seen.join() === "back",
		);
		assert.deepEqual(net.said, []);
	});

	it("packets that are none and packets in floods hurt nobody", async () => {
		const session = net.session();
		await session.list();
		for (const bytes of [[], [0], Array(12).fill(255), Array(9_001).fill(1), [...Array(12).fill(0), 192, 12]])
			await net.raw(Uint8Array.from(bytes));
		const { say } = net.foreign();
		for (let i = 0; i < 1_000; i++) await say(agentRecords(`flood-${i}`, { txt: [`name=flood-${i}`] }));
		await until(
			() => names(session),
			(seen) => seen.length === 64,
		);
		assert.deepEqual(net.said, []);
	});

	it("an answer that comes from another port is not believed", async () => {
		const session = net.session();
		await session.list();
		const other = loopbackNetwork();
		try {
			const stray = agentRecords("stray", { txt: ["name=stray"] });
			const packet = await new Promise<Buffer>((resolve) => {
				const ear = dgram.createSocket({ type: "udp4", reuseAddr: true });
				ear.bind(other.port, () => {
					ear.addMembership("224.0.0.251", "127.0.0.1");
					ear.once("message", (bytes) => ear.close(() => resolve(bytes)));
					void other.foreign().say(stray);
				});
			});
			await net.raw(packet, net.port + 1);
			await net.raw(packet.subarray(0, packet.length - 9));
			await new Promise((resolve) => setTimeout(resolve, 50));
			assert.deepEqual(await names(session), []);
			await net.raw(packet);
			await until(
				() => names(session),
				(seen) => seen.includes("stray"),
			);
		} finally {
			await other.close();
		}
	});

	it("an answer from beyond the networks of this machine is not believed", async () => {
		const far = net.session({ interfaces: () => ({ lan9: LAN().lan9 }) });
		const near = net.session();
		await Promise.all([far.list(), near.list()]);
		await net.foreign().say(agentRecords("n", { txt: ["name=n"] }));
		await until(
			() => names(near),
			(seen) => seen.includes("n"),
		);
		assert.deepEqual(await names(far), []);
	});

	it("nothing is loaded before the first listing, and a listing soon after costs no wait", async () => {
		let loads = 0;
		const session = net.session({
			load: async () => {
				loads += 1;
				return import("bonjour-service");
			},
		});
		assert.equal(loads, 0);
		await Promise.all([session.list(), session.list()]);
		const before = performance.now();
		for (let i = 0; i < 20; i++) await session.list();
		assert.ok(performance.now() - before < 50);
		assert.equal(loads, 1);
	});

	it("once closed it lists nobody and opens nothing, and closing twice is fine", async () => {
		const session = net.session({ interfaces: withLan("10.9.9.8") });
		await session.announce(facts);
		await Promise.all([session.close(), session.close()]);
		assert.deepEqual(await session.list(), []);
	});

	it("keeps no process alive, but for the wait for answers (R101)", async () => {
		const file = (name: string) => JSON.stringify(new URL(`../../src/${name}`, import.meta.url).href);
		const start = `
			import { fromMdns } from ${file("peers/sources/mdns.ts")};
			import { systemClock } from ${file("lib/clock.ts")};
			const log = { warn: (text) => console.log(text), info() {} };
			const mdns = fromMdns({ type: "a2a", pid: 1, clock: systemClock, log, port: ${net.port} });
			mdns.announce({ name: "x", host: "0.0.0.0", port: 1, skills: [] });`;
		for (const [more, said] of [
			["", ""],
			['console.log("listed", (await mdns.list()).length);', "listed 0\n"],
		] as const) {
			const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", start + more]);
			let out = "";
			for (const stream of [child.stdout, child.stderr])
				stream.on("data", (bytes) => {
					out += bytes;
				});
			const late = setTimeout(() => child.kill(), 8_000);
			const [status] = await once(child, "exit");
			clearTimeout(late);
			assert.equal(out, said);
			assert.equal(status, 0);
		}
	}).timeout(20_000);
});
