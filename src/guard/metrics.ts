/** Counts of what came in and went out since the start, for `/a2a-status` and `/metrics`. No names, no texts. */
import type { Clock } from "../lib/clock.ts";
import type { Policy } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";

interface Counter {
	total: number;
	failed: number;
	/** Milliseconds of all together, and of the longest. */
	sumMs: number;
	maxMs: number;
	lastMs: number;
}

export interface Metrics {
	/** Counts what is asked of us. */
	readonly policy: Policy;
	/** Counts one exchange with a peer. */
	outbound(operation: string, failed: boolean, ms: number): void;
	/** Plain numbers, by direction and operation. Refusals by the name of the error; durations in milliseconds. */
	snapshot(): { readonly [direction: string]: object };
}

/** Counters that begin at zero now. */
export function metrics(clock: Clock): Metrics {
	const since = clock.now();
	const inbound = new Map<string, Counter>();
	const outbound = new Map<string, Counter>();
	const refused = new Map<string, number>();
	const gauge = { inFlight: 0 };

	function count(counters: Map<string, Counter>, operation: string, failed: boolean, ms: number): void {
		const counter = counters.get(operation) ?? { total: 0, failed: 0, sumMs: 0, maxMs: 0, lastMs: 0 };
		counter.total += 1;
		counter.failed += failed ? 1 : 0;
		counter.sumMs += ms;
		counter.maxMs = Math.max(counter.maxMs, ms);
		counter.lastMs = ms;
		counters.set(operation, counter);
	}

	const shown = (counters: Map<string, Counter>) =>
		Object.fromEntries(
			[...counters].map(([operation, { total, failed, sumMs, maxMs, lastMs }]) => [
				operation,
				{ total, failed, averageMs: Math.round(sumMs / total), maxMs, lastMs },
			]),
		);

	return {
		policy({ operation }) {
			const began = clock.now();
			gauge.inFlight += 1;
			return ({ error }) => {
				gauge.inFlight -= 1;
				if (error instanceof A2AError) refused.set(error.name, (refused.get(error.name) ?? 0) + 1);
				count(inbound, operation, error !== undefined, clock.now() - began);
			};
		},
		outbound: (operation, failed, ms) => count(outbound, operation, failed, ms),
		snapshot: () => ({
			uptime: { seconds: Math.round((clock.now() - since) / 1000) },
			...(gauge.inFlight > 0 ? { requests: { inFlight: gauge.inFlight } } : {}),
			inbound: shown(inbound),
			outbound: shown(outbound),
			refused: Object.fromEntries(refused),
		}),
	};
}
