/** An mDNS network of its own on the loopback interface: another port than the real one, so that nobody else is there. */
import dgram from "node:dgram";
import { networkInterfaces } from "node:os";
import { Bonjour } from "bonjour-service";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import type { Log } from "../../src/lib/log.ts";
import { fromMdns, type Mdns, type MdnsOptions } from "../../src/peers/sources/mdns.ts";
import type { Rr } from "../../src/peers/sources/mdns-records.ts";
import type { Interfaces } from "../../src/peers/sources/mdns-socket.ts";

/** The real time, with waits five times as short; `later` moves it on. */
export function quickClock(): Clock & { later(ms: number): void } {
	let ahead = 0;
	return {
		now: () => Date.now() + ahead,
		sleep: (ms, signal) => systemClock.sleep(ms / 5, signal),
		after: (ms, fn) => systemClock.after(ms / 5, fn),
		later(ms) {
			ahead += ms;
		},
	};
}

/** The loopback interface, and one more that other machines could reach; nothing is sent there, for it does not exist. */
export const withLan =
	(...addresses: readonly string[]): Interfaces =>
	() => {
		const loopback = Object.entries(networkInterfaces()).filter(([, each]) => each?.some(({ internal }) => internal));
		const lan = addresses.map((address) => {
			const family = address.includes(":") ? "IPv6" : "IPv4";
			const prefix = family === "IPv6" ? 64 : 24;
			const more = { netmask: "", mac: "02:00:00:00:00:01", internal: false, cidr: `${address}/${prefix}` };
			return family === "IPv6" ? { ...more, family, address, scopeid: 9 } : { ...more, family, address };
		}) as NonNullable<ReturnType<Interfaces>[string]>;
		return { ...Object.fromEntries(loopback), lan9: lan };
	};

export const LAN = withLan("10.9.9.9");

/** What the library has inside; tests speak to it packet by packet. */
interface Wire {
	on(event: "response" | "query", reader: (packet: { answers: Rr[]; additionals: Rr[] }) => void): void;
	respond(records: readonly Rr[], done: () => void): void;
	query(name: string, type: string): void;
}

export interface Network {
	readonly port: number;
	readonly clock: ReturnType<typeof quickClock>;
	/** Lines of the log of every session. */
	readonly said: string[];
	/** A session's view of the network. */
	session(options?: Partial<MdnsOptions>): Mdns;
	/** Another program with the real library. */
	foreign(): { readonly bonjour: Bonjour; readonly wire: Wire; say(records: readonly Rr[]): Promise<void> };
	/** A datagram to the group, as it is. */
	raw(bytes: Uint8Array, from?: number): Promise<void>;
	close(): Promise<void>;
}

export function loopbackNetwork(): Network {
	const port = 20_000 + Math.floor(Math.random() * 30_000);
	const clock = quickClock();
	const said: string[] = [];
	const log: Log = {
		warn: (text, cause) => void said.push(cause instanceof Error ? `${text}: ${cause.message}` : text),
		info: () => undefined,
	};
	const sessions: Mdns[] = [];
	const foreigners: Bonjour[] = [];
	let pid = 1000;
	return {
		port,
		clock,
		said,
		session(options = {}) {
			pid += 1;
			const made = fromMdns({
				...{ type: "a2a", hostname: "box", pid, clock, log, port, interfaces: LAN },
				...options,
			});
			sessions.push(made);
			return made;
		},
		foreign() {
			const bonjour = new Bonjour({ port, interface: "127.0.0.1", bind: "0.0.0.0" } as object);
			foreigners.push(bonjour);
			const { mdns: wire } = (bonjour as unknown as { server: { mdns: Wire } }).server;
			return { bonjour, wire, say: (records) => new Promise((resolve) => wire.respond(records, () => resolve())) };
		},
		raw: (bytes, from = port) =>
			new Promise((resolve) => {
				const socket = dgram.createSocket({ type: "udp4", reuseAddr: true });
				socket.bind(from, () => {
					socket.setMulticastInterface("127.0.0.1");
					socket.send(bytes, port, "224.0.0.251", () => socket.close(() => resolve()));
				});
			}),
		async close() {
			await Promise.all(sessions.map((each) => each.close()));
			await Promise.all(foreigners.map((each) => new Promise<void>((resolve) => each.destroy(() => resolve()))));
		},
	};
}

/** Looks every few milliseconds until it is so; gives up, with what was last seen, after five seconds. */
export async function until<T>(look: () => T | Promise<T>, isSo: (value: T) => boolean): Promise<T> {
	const end = Date.now() + 5_000;
	for (;;) {
		const value = await look();
		if (isSo(value)) return value;
		if (Date.now() > end) throw new Error(`still ${JSON.stringify(value)}`);
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}

/** The records of somebody's agent. */
export function agentRecords(
	name: string,
	{ port = 9911, ttl = 120, address = "10.9.9.50", txt = ["path=/"], type = "a2a" } = {},
): Rr[] {
	const domain = `_${type}._tcp.local`;
	return [
		{ name: domain, type: "PTR", ttl, data: `${name}.${domain}` },
		{ name: `${name}.${domain}`, type: "SRV", ttl, data: { port, target: `${name}.local` } },
		{ name: `${name}.${domain}`, type: "TXT", ttl, data: txt.map((line) => Buffer.from(line)) },
		{ name: `${name}.local`, type: address.includes(":") ? "AAAA" : "A", ttl, data: address },
	];
}
