/** Token buckets by name: a steady rate with room for a burst, constant cost, bounded memory. */
import { remember } from "../lib/bounded.ts";
import type { Clock } from "../lib/clock.ts";

export interface Buckets {
	/** Takes one from the bucket. 0 when it was there, else the seconds until it will be. */
	take(name: string): number;
	/** As `take`, without taking. */
	peek(name: string): number;
}

/** Names that are remembered; beyond them those unused for longest are forgotten. */
const MAX_NAMES = 10_000;

/** Buckets that hold `perMinute` and fill at that rate. `Infinity` is no limit. */
export function buckets(options: { readonly perMinute: number; readonly clock: Clock }): Buckets {
	const { perMinute, clock } = options;
	const perMs = perMinute / 60_000;
	const known = new Map<string, { left: number; at: number }>();

	function level(name: string): { left: number; at: number } {
		const now = clock.now();
		const bucket = known.get(name) ?? { left: perMinute, at: now };
		// A clock that was set back must not take what was there.
		bucket.left = Math.min(perMinute, bucket.left + Math.max(0, now - bucket.at) * perMs);
		bucket.at = now;
		return bucket;
	}
	const wait = (left: number) => (left >= 1 ? 0 : Math.max(1, Math.ceil((1 - left) / perMs / 1000)));

	return {
		take(name) {
			if (perMinute === Number.POSITIVE_INFINITY) return 0;
			const bucket = level(name);
			const seconds = wait(bucket.left);
			if (seconds === 0) bucket.left -= 1;
			remember(known, name, bucket, MAX_NAMES);
			return seconds;
		},
		peek: (name) => (perMinute === Number.POSITIVE_INFINITY || !known.has(name) ? 0 : wait(level(name).left)),
	};
}
