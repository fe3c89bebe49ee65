/** What a binding is: a way operations travel. Types only. */
import type { SignatureStatus } from "../guard/card-signatures.ts";
import type { Agent, Call } from "../protocol/agent.ts";
import type { AgentCard } from "../protocol/types.ts";

/** A card, and where it comes from. */
export interface FoundCard {
	readonly card: AgentCard;
	/** The peer gave it just now or before, gave it before and fails to now, or the operator wrote it down. */
	readonly from: "peer" | "cache" | "stale" | "settings";
	/** Where it was found; undefined for one that was written down. */
	readonly url?: URL | undefined;
	readonly signature: SignatureStatus;
}

/** The client half of a binding, opened for one peer. */
export interface Connection {
	/** The peer's operations. Throws `A2AError`; a stream that broke has `details.metadata.broken === "stream"`. */
	readonly agent: Agent;
	/** What the peer's card says, once read; undefined for a peer without a card. */
	readonly card: () => AgentCard | undefined;
	/** The same with where it comes from, where the binding can say that. */
	readonly found?: (() => FoundCard | undefined) | undefined;
	/** Whether the peer can stream. */
	readonly streaming: boolean;
	/** A `Call` for it: our identity, its protocol version. */
	readonly call: (signal: AbortSignal) => Call;
}
