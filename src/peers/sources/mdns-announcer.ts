/** Tells the network of this session, under a name that nobody there has, until it is taken back. */
import { isDeepStrictEqual } from "node:util";
import type { Clock } from "../../lib/clock.ts";
import type { Link } from "./mdns-link.ts";
import { domainOf, goodbye, labelOf, type MdnsFacts, type Rr, reachable, recordsOf } from "./mdns-records.ts";
import type { Interfaces } from "./mdns-socket.ts";

export interface AnnouncerOptions {
	readonly type: string;
	readonly hostname: string;
	readonly pid: number;
	readonly interfaces: Interfaces;
	readonly clock: Clock;
}

export interface Announcer {
	/** Our full name on the network, while we have one. */
	readonly own: string | undefined;
	/**
	 * Announces, or announces what changed. A `signal` that aborts ends it early. False when nothing can be announced:
	 * the server has no address on any network.
	 */
	announce(link: Link, facts: MdnsFacts, signal: AbortSignal): Promise<boolean>;
	/** Says goodbye; settles soon even when the network takes nothing. */
	withdraw(link: Link): Promise<void>;
}

/** Three questions a quarter of a second apart (RFC 6762 §8.1). */
const PROBES = 3;
const PROBE_MS = 250;
/** Said twice, for packets get lost (§8.3). */
const AGAIN_MS = 1_000;
const GOODBYE_MS = 500;
const MAX_NAMES = 9;

export function createAnnouncer(options: AnnouncerOptions): Announcer {
	const { type, clock, interfaces } = options;
	const base = labelOf(options.hostname, options.pid);
	let label: string | undefined;
	let said: readonly Rr[] = [];
	let cancel: (() => void) | undefined;

	const fullName = (name: string) => `${name}.${domainOf(type)}`;

	/** Whether somebody on the network answers for that name: another machine called the same, with our process number. */
	async function isTaken(link: Link, fqdn: string, signal: AbortSignal): Promise<boolean> {
		let taken = false;
		const leave = link.listen((records) => {
			taken ||= records.some(({ name, type: kind, ttl }) => kind === "SRV" && ttl !== 0 && name.toLowerCase() === fqdn);
		});
		for (let i = 0; i < PROBES && !taken && !signal.aborted; i++) {
			link.ask([{ name: fqdn, type: "ANY" }]);
			await clock.sleep(PROBE_MS, signal);
		}
		leave();
		return taken;
	}

	async function freeLabel(link: Link, signal: AbortSignal): Promise<string | undefined> {
		for (let n = 1; n <= MAX_NAMES && !signal.aborted; n++) {
			const name = n === 1 ? base : `${base}-${n}`;
			if (!(await isTaken(link, fullName(name).toLowerCase(), signal))) return signal.aborted ? undefined : name;
		}
		return undefined;
	}

	async function withdraw(link: Link): Promise<void> {
		cancel?.();
		const last = said;
		said = [];
		label = undefined;
		if (last.length === 0) return;
		link.unregister(last);
		const late = new AbortController();
		await Promise.race([link.say(goodbye(last)), clock.sleep(GOODBYE_MS, late.signal)]);
		late.abort();
	}

	return {
		get own() {
			return label === undefined ? undefined : fullName(label);
		},
		async announce(link, facts, signal) {
			const addresses = reachable(facts.host, interfaces);
			if (addresses.length === 0) {
				await withdraw(link);
				return false;
			}
			label ??= await freeLabel(link, signal);
			if (label === undefined || signal.aborted) return true;
			const records = recordsOf(type, label, facts, addresses);
			if (isDeepStrictEqual(records, said)) return true;
			link.unregister(said);
			link.register(records);
			said = records;
			await link.say(records);
			cancel?.();
			cancel = clock.after(AGAIN_MS, () => void link.say(records));
			return true;
		},
		withdraw,
	};
}
