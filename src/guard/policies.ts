/** Who may, and how much: refusals before anything has happened. */
import { remember } from "../lib/bounded.ts";
import type { Clock } from "../lib/clock.ts";
import type { Policy, Step } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";
import type { Message } from "../protocol/types.ts";
import { buckets } from "./buckets.ts";

/** Lets in whom the operator named. An empty list names everybody who got past `identify`. */
export function trusted(options: {
	readonly trustedPeers: readonly string[];
	readonly allowAllUsers: boolean;
}): Policy {
	const names = new Set(options.trustedPeers.flatMap((name) => (name.includes(":") ? [name] : [name, `peer:${name}`])));
	const open = names.size === 0 || options.allowAllUsers;
	return ({ call: { caller } }) => {
		if (!open && !names.has(caller.id)) throw new A2AError("UntrustedCallerError");
		return undefined;
	};
}

/** At most `perMinute` requests a minute from one caller. */
export function rateLimited(options: { readonly perMinute: number; readonly clock: Clock }): Policy {
	const requests = buckets(options);
	return ({ call: { caller } }) => {
		const wait = requests.take(caller.id);
		if (wait === 0) return undefined;
		throw new A2AError("RateLimitedError", `Too many requests; try again in ${wait} s`, { retryAfter: wait });
	};
}

/** At most `max` open streams of one caller: each holds a connection, and there are only so many for all callers. */
export function streamsCapped(options: { readonly max: number }): Policy {
	const open = new Map<string, number>();
	return ({ operation, call: { caller } }) => {
		if (operation !== "SendStreamingMessage" && operation !== "SubscribeToTask") return undefined;
		const count = (open.get(caller.id) ?? 0) + 1;
		if (count > options.max) throw new A2AError("BusyError", "Too many open streams; close some first");
		open.set(caller.id, count);
		return () => {
			const left = (open.get(caller.id) ?? 1) - 1;
			if (left > 0) open.set(caller.id, left);
			else open.delete(caller.id);
		};
	};
}

/** A conversation without a turn for this long starts counting anew. */
const IDLE_MS = 600_000;
const MAX_CONTEXTS = 10_000;
/** So often a message may be sent again without counting. */
const MAX_AGAIN = 3;

const messageOf = (step: Step): Message | undefined =>
	step.operation === "SendMessage" || step.operation === "SendStreamingMessage" ? step.params.message : undefined;

/**
 * Ends conversations in which agents only answer each other: more than `max` turns of one caller in one context, or a
 * message that says it has been handed on `max` times already (`pi/hops` in its metadata, which our own calls carry).
 */
export function turnCapped(options: { readonly max: number; readonly clock: Clock }): Policy {
	const { max, clock } = options;
	const turns = new Map<string, { count: number; at: number; messageId: string; again: number }>();
	return (step) => {
		const message = messageOf(step);
		if (!message || max === Number.POSITIVE_INFINITY) return undefined;
		const hops = message.metadata?.["pi/hops"];
		if (typeof hops === "number" && hops >= max) {
			throw new A2AError(
				"TurnLimitError",
				`This work has been handed on ${max} times; do it yourself or report back instead of asking another agent`,
			);
		}
		// Without either it begins a conversation of its own.
		const conversation = message.contextId ?? message.taskId;
		if (conversation === undefined) return undefined;
		const key = JSON.stringify([step.call.caller.id, conversation]);
		const now = clock.now();
		const known = turns.get(key);
		const again = known?.messageId === message.messageId ? known.again + 1 : 0;
		// Sent again because its reply was lost, a message is still the same turn.
		const adds = again > 0 && again <= MAX_AGAIN ? 0 : 1;
		const count = known && now - known.at < IDLE_MS ? known.count + adds : 1;
		if (count > max) {
			throw new A2AError(
				"TurnLimitError",
				`This conversation has had its ${max} turns; finish with what you have, or begin a new context`,
				{ retryAfter: Math.ceil(IDLE_MS / 1000) },
			);
		}
		remember(turns, key, { count, at: now, messageId: message.messageId, again }, MAX_CONTEXTS);
		return undefined;
	};
}
