/** The requests that are not done with, and how they are closed. Pure. */
import type { JsonObject } from "../../protocol/types.ts";
import type { Lease } from "./leases.ts";
import { envelope, type Mail, ORCHESTRATOR, textIn } from "./messages.ts";
import type { AgentView, Place, Routing } from "./route.ts";

/** A request in the inbox of an agent. */
export interface Pending {
	readonly mail: Mail;
	/** The lease under which it is done now. */
	lease: Lease | undefined;
	/** Leases that it has had. */
	attempts: number;
	/** That of the last lease. */
	token: number;
	/** Something of the answer has gone out: it cannot be begun again. */
	begun: boolean;
	/** Whoever asked has taken it back. */
	revoked: boolean;
	/** Done with, in this round. */
	closed: boolean;
}

/** An agent's part of the work. */
export interface Desk {
	readonly agent: AgentView;
	/** By id of the message. */
	readonly pending: Map<string, Pending>;
	/** Slots that are taken. */
	used: number;
}

/** All desks, by agent. */
export type Work = ReadonlyMap<string, Desk>;

/** A request that only asks how something stands, or stops it, waits for no slot. */
export function isQuick({ payload }: Mail): boolean {
	const operation = textIn(payload, "operation");
	return operation !== undefined && operation !== "SendMessage" && operation !== "SendStreamingMessage";
}

const inboxOf = ({ agent }: Desk): Place => ({ agent: agent.id, side: "inbox" });

/** Marks a request as done with, and its lease as over. `after`: agents that must have got something first. */
export function close(routing: Routing, desk: Desk, pending: Pending, state: string, after: readonly string[]): void {
	pending.closed = true;
	routing.mark(inboxOf(desk), pending.mail.id, { _processed: true, _state: state }, after);
	if (pending.lease) endLease(routing, desk, pending, state === "answered" ? "completed" : state, after);
}

/** Marks the lease of a request as over; a slot is free again. */
export function endLease(
	routing: Routing,
	desk: Desk,
	pending: Pending,
	state: string,
	after: readonly string[] = [],
): void {
	const { lease } = pending;
	if (!lease) return;
	pending.lease = undefined;
	if (!isQuick(pending.mail)) desk.used -= 1;
	const place = inboxOf(desk);
	routing.mark(place, lease.id, { _processed: true, _state: state }, after);
	for (const renewal of lease.renewals) routing.mark(place, renewal.id, { _processed: true }, after);
}

/** Closes a request without an answer of a worker, and tells whoever asked why. */
export function fail(
	routing: Routing,
	desk: Desk,
	pending: Pending,
	state: "expired" | "failed" | "revoked",
	error: { readonly name: string; readonly message: string; readonly metadata?: JsonObject },
): void {
	const { id, from } = pending.mail;
	const payload = { in_reply_to: id, last: true, state, reason: error.message, error: { ...error } };
	const known = routing.byId.has(from);
	// The id is always the same: told twice, it is one message.
	const told = { id: `${state}-${id}`.slice(0, 200), type: "response", from: ORCHESTRATOR, to: from, payload } as const;
	if (known) routing.put(from, envelope({ ...told, ttlSeconds: 300 }, routing.now));
	close(routing, desk, pending, state, known ? [from] : []);
}
