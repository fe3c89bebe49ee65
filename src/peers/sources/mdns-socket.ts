/**
 * The socket that the mDNS library is given in place of one of its own: IPv4 and IPv6, every interface of this machine.
 * It keeps no process alive, has no `error` event that could end one, and stops a flood before it is decoded.
 */
import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import { EventEmitter } from "node:events";
import { BlockList } from "node:net";
import type { networkInterfaces } from "node:os";
import type { Clock } from "../../lib/clock.ts";
import { errorCode } from "../../lib/errno.ts";
import { attempt, type Log } from "../../lib/log.ts";

/** The interfaces of this machine, as `os.networkInterfaces` gives them. */
export type Interfaces = () => ReturnType<typeof networkInterfaces>;

export interface MulticastOptions {
	readonly clock: Clock;
	readonly log: Log;
	readonly interfaces: Interfaces;
	/** 5353 but for tests: it is part of the protocol (RFC 6762 §3). */
	readonly port: number;
}

/** One family of addresses. */
interface Lane {
	readonly socket: Socket;
	readonly group: string;
	/** How `addMembership` and `setMulticastInterface` know the interfaces joined. */
	joined: readonly string[];
	/** One packet leaves after another: a socket sends by one interface at a time. */
	last: Promise<void>;
}

/** Linux lets a socket join 20. */
const MAX_INTERFACES = 16;
/** The longest packet there is (RFC 6762 §17). */
const MAX_BYTES = 9_000;
/** Packets a second that are read, and that are sent. A network with hundreds of services stays below. */
const MAX_HEARD = 300;
const MAX_SAID = 50;

export class MulticastSocket extends EventEmitter {
	readonly #options: MulticastOptions;
	readonly #lanes: Lane[] = [];
	readonly #mayHear: () => boolean;
	readonly #maySay: () => boolean;
	#near = new BlockList();
	#closed = false;

	constructor(options: MulticastOptions) {
		super();
		this.#options = options;
		this.#mayHear = perSecond(options.clock, MAX_HEARD);
		this.#maySay = perSecond(options.clock, MAX_SAID);
	}

	/** Binds the port and joins the interfaces. Throws when neither family can be bound. */
	async open(): Promise<void> {
		const opened = await Promise.allSettled([this.#lane("udp4", "224.0.0.251"), this.#lane("udp6", "ff02::fb")]);
		const [ipv4] = opened;
		if (this.#lanes.length === 0 && ipv4.status === "rejected") throw ipv4.reason;
		this.refresh();
	}

	async #lane(type: "udp4" | "udp6", group: string): Promise<void> {
		const socket = createSocket({ type, reuseAddr: true, ipv6Only: type === "udp6" });
		await new Promise<void>((resolve, reject) => {
			socket.once("error", reject);
			socket.bind(this.#options.port, () => resolve());
		}).catch((error: unknown) => {
			socket.close();
			throw error;
		});
		socket.removeAllListeners("error");
		// The network went away: the next refresh joins what is there then.
		socket.on("error", () => undefined);
		socket.on("message", (message, from) => this.#hear(message, from));
		socket.unref();
		if (this.#closed) return void socket.close();
		socket.setMulticastTTL(255);
		socket.setMulticastLoopback(true);
		this.#lanes.push({ socket, group, joined: [], last: Promise.resolve() });
	}

	/** Joins interfaces that have come and forgets those that have gone. True when there was a change. */
	refresh(): boolean {
		const found = Object.entries(this.#options.interfaces());
		this.#near = new BlockList();
		for (const [, addresses = []] of found)
			for (const { address, cidr, family } of addresses)
				if (cidr) this.#near.addSubnet(address, Number(cidr.split("/")[1]), family === "IPv6" ? "ipv6" : "ipv4");
		let changed = false;
		for (const lane of this.#lanes) {
			const wanted = found.flatMap(([name, addresses = []]) => handleOf(name, addresses, lane.group) ?? []);
			const joined = wanted.slice(0, MAX_INTERFACES).filter((handle) => join(lane, handle));
			changed ||= joined.join() !== lane.joined.join();
			lane.joined = joined;
		}
		return changed;
	}

	/** Keeps the process alive while somebody waits for answers; the result ends that. */
	hold(): () => void {
		const held = this.#closed ? [] : [...this.#lanes];
		for (const { socket } of held) socket.ref();
		return () => {
			for (const { socket } of held) socket.unref();
		};
	}

	#hear(message: Buffer, from: RemoteInfo): void {
		// What comes from another port or from beyond the link is not mDNS (RFC 6762 §6, §11).
		if (this.#closed || from.port !== this.#options.port || message.length > MAX_BYTES || !this.#isNear(from)) return;
		if (!this.#mayHear()) return;
		void attempt("read an mDNS packet", () => void this.emit("message", message, from), this.#options.log);
	}

	#isNear({ address, family }: RemoteInfo): boolean {
		const bare = address.replace(/%.*$/, "");
		return this.#near.check(bare, family === "IPv6" ? "ipv6" : "ipv4");
	}

	/** Sends to the group on every interface; where it goes is ours to say, not the library's. Never fails. */
	send(message: Uint8Array, _at: number, _length: number, _port: number, _to: string, done?: () => void): void {
		const lanes = this.#closed || !this.#maySay() ? [] : this.#lanes;
		for (const lane of lanes) lane.last = lane.last.then(() => this.#say(lane, message));
		void Promise.all(lanes.map((lane) => lane.last)).then(() => done?.());
	}

	async #say({ socket, group, joined }: Lane, message: Uint8Array): Promise<void> {
		for (const handle of joined) {
			if (this.#closed) return;
			try {
				socket.setMulticastInterface(handle);
			} catch (error) {
				// The interface has gone since.
				if (errorCode(error) === undefined) throw error;
				continue;
			}
			await new Promise<void>((resolve) => socket.send(message, this.#options.port, group, () => resolve()));
		}
	}

	/** Gives the ports back. May be called twice. */
	close(done?: () => void): void {
		const lanes = this.#closed ? [] : this.#lanes;
		this.#closed = true;
		for (const { socket } of lanes) socket.close();
		this.removeAllListeners();
		done?.();
	}
}

/** What an interface is called when joining; undefined when it does not have that family. */
function handleOf(
	name: string,
	addresses: readonly { readonly address: string; readonly internal: boolean; readonly scopeid?: number }[],
	group: string,
): string | undefined {
	if (!group.includes(":")) return addresses.find(({ address }) => !address.includes(":"))?.address;
	const own = addresses.find(({ address, internal }) => address.startsWith("fe80:") && !internal);
	return own && `::%${process.platform === "win32" ? own.scopeid : name}`;
}

function join({ socket, group }: Lane, handle: string): boolean {
	try {
		socket.addMembership(group, handle);
		return true;
	} catch (error) {
		if (errorCode(error) === undefined) throw error;
		// In use: it was joined before. Anything else: it has gone, or takes no multicast.
		return errorCode(error) === "EADDRINUSE";
	}
}

/** Lets `max` things happen in any second. */
function perSecond(clock: Clock, max: number): () => boolean {
	let second = 0;
	let count = 0;
	return () => {
		const now = Math.floor(clock.now() / 1000);
		count = now === second ? count + 1 : 1;
		second = now;
		return count <= max;
	};
}
