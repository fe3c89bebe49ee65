/** How much one task may use: counted from what the host reports, and ended for everybody to see. */
import type { PeerPolicy } from "../guard/peer-policy.ts";
import { remember } from "../lib/bounded.ts";
import type { Clock } from "../lib/clock.ts";
import { Meter } from "./session-usage.ts";

/** What a task has used in its turns so far. */
interface Spent {
	turns: number;
	tokens: number;
	ms: number;
}

type Limits = Pick<PeerPolicy, "maxTurns" | "maxSeconds" | "maxTokens">;

/** Tasks of which is remembered what they have used; those that wait for an answer are among them. */
const COUNTED = 2_000;

export interface Budget {
	/** Aborts when it is used up. */
	readonly signal: AbortSignal;
	/** What was used up; `undefined` while something is left. */
	reason(): string | undefined;
	/** The next event of the session. */
	on(event: object): void;
	/** The turn has ended: the time that it took is counted. */
	close(): void;
}

/** The budget of one turn of a task that has `spent` so much before; it goes on counting there. */
function budget({ maxTurns, maxSeconds, maxTokens }: Limits, spent: Spent, clock: Clock): Budget {
	const over = new AbortController();
	const began = clock.now();
	let reason: string | undefined;

	function end(most: number | undefined, unit: string): void {
		reason ??= `The policy of this agent allows a task of this caller ${most} ${unit}; they are used up`;
		over.abort();
	}
	const left = (maxSeconds ?? Number.POSITIVE_INFINITY) * 1000 - spent.ms;
	const cancel = clock.after(Math.max(0, left), () => end(maxSeconds, "seconds"));
	if (spent.turns >= (maxTurns ?? Number.POSITIVE_INFINITY)) end(maxTurns, "turns");
	if (spent.tokens > (maxTokens ?? Number.POSITIVE_INFINITY)) end(maxTokens, "tokens");

	return {
		signal: over.signal,
		reason: () => reason,
		on(event) {
			const meter = new Meter();
			meter.on(event);
			const used = meter.total(0);
			if (!used) return;
			const { stopReason } = (event as { readonly message: { readonly stopReason?: unknown } }).message;
			const { inputTokens = 0, outputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = used;
			// An attempt that failed and is made again is no turn, but its tokens are paid for.
			if (stopReason !== "error") spent.turns += 1;
			spent.tokens += inputTokens + outputTokens + cacheReadTokens + cacheWriteTokens;
			if (spent.tokens > (maxTokens ?? Number.POSITIVE_INFINITY)) end(maxTokens, "tokens");
			// The last turn may answer; one that calls tools wants another.
			const more = stopReason === "toolUse" && spent.turns >= (maxTurns ?? Number.POSITIVE_INFINITY);
			if (more) end(maxTurns, "turns");
		},
		close() {
			cancel();
			spent.ms += clock.now() - began;
		},
	};
}

/** Gives the budget of each turn; the turns of one task share what it may use. */
export function budgets(clock: Clock): (taskId: string, limits: Limits) => Budget {
	const spending = new Map<string, Spent>();
	return (taskId, limits) => {
		const spent = spending.get(taskId) ?? { turns: 0, tokens: 0, ms: 0 };
		remember(spending, taskId, spent, COUNTED);
		return budget(limits, spent, clock);
	};
}
