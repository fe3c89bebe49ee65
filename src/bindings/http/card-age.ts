/** How long a card that was fetched may be used (§8.6.2, RFC 9111). */
import type { Answer } from "./exchange.ts";

/** What the headers of an answer say of its use, as times in milliseconds since the epoch. */
export interface Lifetime {
	/** False: it may be used once and is not kept. */
	readonly keep: boolean;
	/** Until then it needs no asking. */
	readonly freshUntil: number;
	/** Until then it may stand in for one that its origin fails to give. */
	readonly staleUntil: number;
}

const DEFAULT_AGE_MS = 60_000;
const LONGEST_AGE_MS = 3_600_000;
/** A card that is older than this says little of a server that fails. */
const STALE_MS = 3_600_000;
const LONGEST_STALE_MS = 86_400_000;

/** The directives of `Cache-Control`, lower-case; one without a value has an empty one. */
function directives(control: string): ReadonlyMap<string, string> {
	const pairs = control.toLowerCase().matchAll(/([\w-]+)(?:\s*=\s*"?([^",\s]*)"?)?/g);
	return new Map([...pairs].map(([, name = "", value = ""]) => [name, value]));
}

function whole(text: string | undefined): number | undefined {
	return text !== undefined && /^\d{1,10}$/.test(text) ? Number(text) * 1000 : undefined;
}

/** The lifetime that an answer gives its card, when it came in at `now`. */
export function lifetimeOf({ headers }: Pick<Answer, "headers">, now: number): Lifetime {
	const said = directives(headers["cache-control"] ?? "");
	if (said.has("no-store")) return { keep: false, freshUntil: now, staleUntil: now };
	const expires = headers.expires === undefined ? undefined : Date.parse(headers.expires);
	const date = Date.parse(headers.date ?? "");
	// An `Expires` that is no date lies in the past (RFC 9111 §5.3).
	const byDate = expires === undefined ? undefined : Number.isNaN(expires) ? 0 : expires - (date || now);
	const age = said.has("no-cache") ? 0 : (whole(said.get("max-age")) ?? byDate ?? DEFAULT_AGE_MS);
	const spent = whole(headers.age?.trim()) ?? 0;
	const freshUntil = now + Math.min(Math.max(0, age - spent), LONGEST_AGE_MS);
	const strict = said.has("must-revalidate") || said.has("no-cache");
	const stale = strict ? 0 : Math.min(whole(said.get("stale-if-error")) ?? STALE_MS, LONGEST_STALE_MS);
	return { keep: true, freshUntil, staleUntil: freshUntil + stale };
}
