/** Peers that a gateway lists. Whatever an entry says, its peer is called through the gateway and nowhere else. */
import { GatewayError } from "../../bindings/gateway/api.ts";
import { isPeerName } from "../../bindings/gateway/names.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { sharedController } from "../../lib/signals.ts";
import { oneLine } from "../../lib/text.ts";
import { isObject } from "../../protocol/json.ts";
import type { Peer, Source } from "../peer.ts";

/** A gateway as this source sees it. */
export interface Listed {
	readonly key: string;
	/** Where the gateway is; a path is kept. */
	readonly url: URL;
	/** The entries of its directory, undecoded. Throws. */
	directory(signal: AbortSignal): Promise<readonly unknown[]>;
	/** The credential for calls through it. */
	token(): string | undefined;
	/** The name that is ours there. */
	self(): string | undefined;
}

export interface GatewaySourceOptions {
	/** The gateways in use now. One that is gone takes its peers along; the others keep theirs. */
	readonly gateways: () => readonly Listed[];
	readonly clock: Clock;
	readonly log: Log;
}

export interface GatewaySource extends Source {
	/** The gateway answers again: what failed before is no reason to wait. */
	retry(key: string): void;
}

/** A directory this young is not asked for again, in milliseconds. */
const FRESH_MS = 5_000;
/** A list is shown without waiting longer for one gateway; its answer is kept for the next time. */
const PATIENCE_MS = 2_000;
const FIRST_PAUSE_MS = 2_000;
const LONGEST_PAUSE_MS = 300_000;
const MAX_PEERS = 500;
const MAX_SKILLS = 64;

interface Memory {
	/** Where it was read: a key may come to mean another gateway. */
	readonly href: string;
	entries: readonly unknown[];
	freshUntil: number;
	failures: number;
	asking: Promise<void> | undefined;
}

export function fromGateways({ gateways, clock, log }: GatewaySourceOptions): GatewaySource {
	const memories = new Map<string, Memory>();
	const over = sharedController();

	function memoryOf({ key, url }: Listed): Memory {
		const known = memories.get(key);
		if (known?.href === url.href) return known;
		const memory: Memory = { href: url.href, entries: [], freshUntil: 0, failures: 0, asking: undefined };
		memories.set(key, memory);
		return memory;
	}

	async function refresh(gateway: Listed, memory: Memory): Promise<void> {
		try {
			memory.entries = (await gateway.directory(over.signal)).slice(0, MAX_PEERS);
			memory.failures = 0;
			memory.freshUntil = clock.now() + FRESH_MS;
		} catch (error) {
			if (over.signal.aborted) return;
			// Nobody can be called through a gateway that does not answer.
			memory.entries = [];
			memory.failures += 1;
			const wish = error instanceof GatewayError ? error.retryAfterMs : 0;
			const pause = Math.max(FIRST_PAUSE_MS * 2 ** (memory.failures - 1), wish);
			memory.freshUntil = clock.now() + Math.min(pause, LONGEST_PAUSE_MS);
			if (memory.failures > 1) return;
			log.warn(`Gateway ${gateway.key}: its peers cannot be listed: ${oneLine(textOf(error), 300)}`);
		}
	}

	async function peersOf(gateway: Listed): Promise<readonly Peer[]> {
		const memory = memoryOf(gateway);
		if (clock.now() >= memory.freshUntil && !over.signal.aborted) {
			memory.asking ??= refresh(gateway, memory).finally(() => {
				memory.asking = undefined;
			});
			const late = new AbortController();
			await Promise.race([memory.asking, clock.sleep(PATIENCE_MS, late.signal)]);
			late.abort();
		}
		const self = gateway.self();
		return memory.entries.flatMap((entry) => peerIn(entry, gateway, self) ?? []);
	}

	return {
		name: "gateway",
		async list() {
			const now = gateways();
			for (const key of memories.keys()) if (!now.some((each) => each.key === key)) memories.delete(key);
			return (await Promise.all(now.map(peersOf))).flat();
		},
		retry(key) {
			const memory = memories.get(key);
			if (memory && memory.failures > 0) memory.freshUntil = 0;
		},
		async close() {
			over.abort(new Error("closed"));
		},
	};
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The peer of one entry. An entry without a usable name, and our own, are none. */
function peerIn(entry: unknown, { key, url, token: tokenOf }: Listed, self: string | undefined): Peer | undefined {
	if (!isObject(entry) || !isPeerName(entry.name) || entry.name === self) return undefined;
	const { name, healthy } = entry;
	const base = new URL(url.pathname.endsWith("/") ? url.pathname : `${url.pathname}/`, url);
	const skills = Array.isArray(entry.skills) ? entry.skills.slice(0, MAX_SKILLS).flatMap(skillIn) : undefined;
	const remarks = [
		healthy === false ? "not reachable at the moment" : "",
		// Without a card nobody knows that it speaks A2A at all.
		!skills && !isObject(entry.capabilities) ? "has shown no agent card: it may speak another protocol" : "",
	].filter(Boolean);
	const token = tokenOf();
	return {
		name: `gw/${key}/${name}`,
		source: "gateway",
		// Not the URL in the entry: it could lead elsewhere, and the credential with it.
		address: { via: "http", url: new URL(`peer/${name}/`, base), pin: url.origin },
		capabilities: [...new Set(skills?.flatMap((each) => each.all) ?? [])],
		skills: skills?.map((each) => each.name) ?? [],
		...(remarks.length > 0 ? { description: remarks.join("; ") } : {}),
		...(token === undefined ? {} : { token }),
	};
}

function skillIn(value: unknown): { readonly name: string; readonly all: readonly string[] }[] {
	if (!isObject(value)) return [];
	const line = (text: unknown, max: number) => (typeof text === "string" ? oneLine(text, max) : "");
	const id = line(value.id, 80);
	const name = line(value.name, 80) || id;
	const tags = (Array.isArray(value.tags) ? value.tags : []).slice(0, MAX_SKILLS).map((tag) => line(tag, 40));
	return name === "" ? [] : [{ name, all: [id, name, ...tags].filter((each) => each !== "") }];
}
