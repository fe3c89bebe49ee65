/**
 * Agents of the local network, by mDNS (RFC 6762) and DNS-SD (RFC 6763). Everybody there can say anything: what is
 * found is listed, gets no credential, and is called only after a person has adopted it. Nothing is opened before the
 * first listing or announcement.
 */
import { hostname, networkInterfaces } from "node:os";
import { type Clock, every } from "../../lib/clock.ts";
import { attempt, type Log } from "../../lib/log.ts";
import { isLoopback } from "../address.ts";
import type { Source } from "../peer.ts";
import { createAnnouncer } from "./mdns-announcer.ts";
import { createAsker } from "./mdns-asker.ts";
import { createMdnsCache } from "./mdns-cache.ts";
import { installHint, isNotInstalled } from "./mdns-install.ts";
import { constructorIn, type Link, openLink } from "./mdns-link.ts";
import { type MdnsFacts, read } from "./mdns-records.ts";
import type { Interfaces } from "./mdns-socket.ts";

export type { MdnsFacts } from "./mdns-records.ts";

export interface MdnsOptions {
	/** Kind of service, `a2a` for `_a2a._tcp`. */
	readonly type: string;
	readonly clock: Clock;
	readonly log: Log;
	/** What tells this session from others under the same host name. */
	readonly pid: number;
	/** Name of this machine; default the system's. */
	readonly hostname?: string;
	readonly interfaces?: Interfaces;
	/** Reads the optional package. */
	readonly load?: () => Promise<unknown>;
	/** Port of mDNS, 5353 but for tests. */
	readonly port?: number;
}

export interface Mdns extends Source {
	/** Tells the network of a server that others can reach, or what changed. One on loopback is not told of. */
	announce(facts: MdnsFacts): Promise<void>;
	/** Says goodbye and leaves the network until the next listing. Settles within a second. */
	withdraw(): Promise<void>;
}

/** How long the first listing, or one after a long pause, waits for answers. */
const LOOK_MS = 500;
/** How soon it is seen that a cable was plugged in. */
const ROUND_MS = 15_000;
/** Records of hosts hold two minutes; whoever is asked this often stays known. */
const ASK_MS = 60_000;
/** After so long without a listing nobody is asked any more. */
const INTEREST_MS = 30 * 60_000;

/** An open connection to the network, until `over` aborts. */
interface Session {
	readonly link: Link;
	readonly over: AbortController;
}

export function fromMdns(options: MdnsOptions): Mdns {
	const { type, clock, log, pid, port = 5353, interfaces = networkInterfaces } = options;
	const load = options.load ?? (() => import("bonjour-service"));
	const cache = createMdnsCache(clock);
	const asker = createAsker(type, clock);
	const faulty = (error: unknown) => log.warn("mDNS discovery had a fault", error);
	const announcer = createAnnouncer({ type, hostname: options.hostname ?? hostname(), pid, interfaces, clock });
	let session: Promise<Session | undefined> | undefined;
	let looking: Promise<void> | undefined;
	let wanted: MdnsFacts | undefined;
	let announcing = new AbortController();
	let isMissing = false;
	let isClosed = false;
	let isToldOff = false;
	let listedAt = Number.NEGATIVE_INFINITY;
	/** Announcing and taking back happen one after another. */
	let last: Promise<unknown> = Promise.resolve();

	function inTurn(work: () => Promise<unknown>): Promise<void> {
		const next = last.then(async () => void (await work()));
		last = next.catch(() => undefined);
		return next;
	}

	function enter(): Promise<Session | undefined> {
		session ??= connect().then((made) => {
			if (!made) session = undefined;
			return made;
		});
		return session;
	}

	async function connect(): Promise<Session | undefined> {
		if (isMissing || isClosed) return undefined;
		try {
			const link = await openLink(constructorIn(await load()), { clock, log, interfaces, port });
			const over = new AbortController();
			link.listen((records, sender) => {
				const heard = read(records, type);
				cache.hear(heard, sender);
				asker.follow(link, heard.bare);
			});
			every(clock, ROUND_MS, () => round(link), over.signal, faulty);
			return { link, over };
		} catch (error) {
			isMissing = isNotInstalled(error);
			if (isMissing) log.warn(`mDNS discovery is off, for bonjour-service is not installed. ${installHint()}`);
			else log.warn("mDNS discovery is off", error);
			return undefined;
		}
	}

	/** Gives the sockets back. What was heard is still believed for its time. */
	async function leave(): Promise<void> {
		const left = session;
		session = undefined;
		asker.forget();
		const entered = await left;
		entered?.over.abort();
		entered?.link.close();
	}

	/** Asks, and later again for what got lost; resolves when those who are there have had time to answer. */
	async function look(): Promise<void> {
		const entered = await enter();
		if (!entered) return;
		const { link, over } = entered;
		const release = link.hold();
		asker.ask(link);
		await clock.sleep(LOOK_MS, over.signal);
		release();
		clock.after(LOOK_MS, () => {
			if (!over.signal.aborted) asker.ask(link);
		});
	}

	async function round(link: Link): Promise<void> {
		const changed = link.refresh();
		if (wanted) await tell();
		if (clock.now() - listedAt < INTEREST_MS) {
			if (changed || asker.age >= ASK_MS) asker.ask(link);
		} else if (!wanted) await leave();
	}

	/** Announces what is wanted, with the addresses of this moment. */
	function tell(): Promise<void> {
		const { signal } = announcing;
		return inTurn(async () => {
			const entered = signal.aborted ? undefined : await enter();
			if (entered && wanted) await announcer.announce(entered.link, wanted, signal);
		});
	}

	async function withdraw(): Promise<void> {
		wanted = undefined;
		// An announcement under way must not hold up the goodbye.
		announcing.abort();
		announcing = new AbortController();
		await inTurn(async () => {
			const entered = await session;
			if (entered) await announcer.withdraw(entered.link);
			await leave();
		});
	}

	return {
		name: "mdns",
		async list() {
			if (isClosed) return [];
			listedAt = clock.now();
			if (asker.age > 2 * ASK_MS) {
				looking ??= look().finally(() => {
					looking = undefined;
				});
			}
			await looking;
			return cache.peers(announcer.own);
		},
		async announce(facts) {
			if (!isLoopback(facts.host)) {
				wanted = facts;
				return tell();
			}
			if (!isToldOff) log.warn(LOOPBACK_ONLY);
			isToldOff = true;
			if (wanted) await withdraw();
		},
		withdraw,
		async close() {
			isClosed = true;
			await attempt("leave the local network", withdraw, log);
		},
	};
}

const LOOPBACK_ONLY =
	"mDNS does not announce this session, for its server listens on this machine only: set server.host and a token";
