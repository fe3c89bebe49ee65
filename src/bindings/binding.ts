/** What a binding is: a way operations travel. Types only. */
import type { Agent, Call } from "../protocol/agent.ts";
import type { AgentCard } from "../protocol/types.ts";

/** The client half of a binding, opened for one peer. */
export interface Connection {
	/** The peer's operations. Throws `A2AError`; a stream that broke has `details.metadata.broken === "stream"`. */
	readonly agent: Agent;
	/** What the peer's card says, once read; undefined for a peer without a card. */
	readonly card: () => AgentCard | undefined;
	/** Whether the peer can stream. */
	readonly streaming: boolean;
	/** A `Call` for it: our identity, its protocol version. */
	readonly call: (signal: AbortSignal) => Call;
}
