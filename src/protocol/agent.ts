/**
 * The waist of the system: whatever can be asked of an agent is asked through `Agent`, be it our own operations, a
 * peer over HTTP or one over files. Bindings, policies and callers know nothing else of each other.
 */
import type { ManyReply, OneReply, OperationName, Params, Results } from "./operations.ts";

/** Who calls us, established by `guard/identity` alone; nothing a caller writes into a request changes `id`. */
export interface Caller {
	/** Key for ownership, rate limit and trust: `peer:alice`, `ip:127.0.0.1`, `gateway:work`, `self`. */
	readonly id: string;
	/** Name to show: the authenticated name, else the asserted one, else the address. One clean line. */
	readonly label: string;
	/** A token was presented and it was right. */
	readonly authenticated: boolean;
	/** The connection comes from this machine. */
	readonly loopback: boolean;
}

/** §3.2.6. `version` is the data shape spoken on the wire of this call; the core always sees 1.0. */
export interface ServiceParameters {
	readonly version: "1.0" | "0.3";
	readonly extensions: readonly string[];
	/** The call brought the data of 1.0 without a version, or by a name of before 1.0: its caller may use such names. */
	readonly legacy?: boolean;
}

/** What a call allows the work that it begins, beyond what this agent allows anyhow. */
export interface WorkLimits {
	/** Tools that may be used; absent: those that there are. */
	readonly tools?: readonly string[];
	/** Turns in which the model uses tools. */
	readonly maxTurns?: number;
	/** Milliseconds from the beginning of the work. */
	readonly maxMs?: number;
	/** Aborts when the right to do the work is taken back: it stops. (`Call.signal` only says that nobody listens.) */
	readonly revoked?: AbortSignal;
}

/** Everything about a call that is not its parameters. */
export interface Call {
	readonly caller: Caller;
	/** The caller left or the deadline passed. Leaving a stream never stops a task. */
	readonly signal: AbortSignal;
	readonly service: ServiceParameters;
	/** Id of the last event of a stream that the caller has seen (`Last-Event-ID`): the stream goes on after it. */
	readonly after?: string;
	/** W3C trace context as it arrived: `traceparent`. Checked for its form; carried, never trusted. */
	readonly trace?: string;
	/** What the work may use, where the caller has set it limits. */
	readonly limits?: WorkLimits;
}

/** What can be asked of an agent. Both methods throw `A2AError`; a stream throws before its first item when refused. */
export interface Agent {
	request<K extends OneReply>(operation: K, params: Params[K], call: Call): Promise<Results[K]>;
	stream<K extends ManyReply>(operation: K, params: Params[K], call: Call): AsyncIterable<Results[K]>;
}

/** One call, as a policy sees it. */
export type Step = {
	[K in OperationName]: { readonly operation: K; readonly params: Params[K]; readonly call: Call };
}[OperationName];

/** Told once how the call ended. `result` is that of a one-reply operation. */
export type Ended = (outcome: { readonly error?: unknown; readonly result?: unknown }) => void;

/** Refuses by throwing an `A2AError`, before anything has happened; may ask to be told the end. */
export type Policy = (step: Step) => Ended | undefined | Promise<Ended | undefined>;

/** `agent` behind `policies`, asked in order. A refused stream throws before its first item. */
export function guarded(agent: Agent, ...policies: readonly Policy[]): Agent {
	async function admit(step: Step): Promise<Ended> {
		const told: Ended[] = [];
		const end: Ended = (outcome) => {
			for (const ended of told.reverse()) ended(outcome);
		};
		try {
			for (const policy of policies) {
				const ended = await policy(step);
				if (ended) told.push(ended);
			}
		} catch (error) {
			end({ error });
			throw error;
		}
		return end;
	}
	return {
		async request(operation, params, call) {
			const end = await admit({ operation, params, call } as Step);
			try {
				const result = await agent.request(operation, params, call);
				end({ result });
				return result;
			} catch (error) {
				end({ error });
				throw error;
			}
		},
		async *stream(operation, params, call) {
			const end = await admit({ operation, params, call } as Step);
			let outcome: Parameters<Ended>[0] = {};
			try {
				yield* agent.stream(operation, params, call);
			} catch (error) {
				outcome = { error };
				throw error;
			} finally {
				end(outcome);
			}
		},
	};
}
