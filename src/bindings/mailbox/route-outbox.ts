/** What agents have written into their outboxes, on its way to whom it is for. Pure. */
import { EVERYBODY, type Mail, repliesTo, textIn } from "./messages.ts";
import type { AgentView, Place, Routing } from "./route.ts";
import { bestFor } from "./route-requests.ts";
import { close, type Desk, endLease, type Pending, type Work } from "./route-work.ts";

/** Routes one outbox. */
export function deliverOutbox(routing: Routing, agent: AgentView, work: Work): void {
	const newest = new Map<string, Mail>();
	for (const mail of agent.outbox) {
		if (mail.type === "broadcast" || mail.type === "heartbeat") {
			if ((newest.get(mail.type)?.at ?? 0) <= mail.at) newest.set(mail.type, mail);
		}
	}
	const place: Place = { agent: agent.id, side: "outbox" };
	for (const mail of agent.outbox) {
		if (mail.type === "broadcast" && newest.get("broadcast") === mail) announce(routing, agent, mail);
		if (mail.processed) continue;
		if (mail.type === "response") answer(routing, agent, mail, work);
		else if (mail.type === "request") send(routing, agent, mail, work);
		else if (mail.type === "lease") release(routing, agent, mail, work);
		// The newest heartbeat is what its agent lives by; marking it would only cost a write.
		else if (newest.get(mail.type) !== mail) routing.mark(place, mail.id, { _processed: true });
	}
}

/** A result goes to whoever asked, if the right to give it has not been lost. */
function answer(routing: Routing, agent: AgentView, mail: Mail, work: Work): void {
	const place: Place = { agent: agent.id, side: "outbox" };
	// Last of all: an answer that is marked while its request is not would be asked for again.
	const done = (state: string, after: readonly string[] = []) =>
		routing.mark(place, mail.id, { _processed: true, _state: state }, [...after, agent.id], 2);
	const desk = work.get(agent.id);
	const request = repliesTo(mail);
	const pending = desk?.pending.get(request);
	if (!desk || !pending || pending.closed) {
		// Of a request that nobody knows: a result by hand, for whoever it names.
		const known = agent.inbox.some(({ id, type }) => id === request && type === "request");
		if (known) done("discarded");
		else forward(routing, mail, mail.to, done);
		return;
	}
	const lease = textIn(mail.payload, "lease_id");
	if (lease !== undefined && lease !== pending.lease?.id) {
		done("discarded");
		return;
	}
	const to = pending.mail.from;
	forward(routing, mail, to, done);
	const after = routing.byId.has(to) ? [to] : [];
	if (mail.payload.last !== false) {
		close(routing, desk, pending, "answered", after);
		return;
	}
	if (!pending.begun) routing.mark({ ...place, side: "inbox" }, request, { _begun: true }, after);
	pending.begun = true;
}

function forward(
	routing: Routing,
	mail: Mail,
	to: string,
	done: (state: string, after?: readonly string[]) => void,
): void {
	if (routing.byId.has(to)) {
		routing.put(to, { ...mail.raw, to, _processed: false });
		done("delivered", [to]);
	} else done("undelivered");
}

/** A request in an outbox is posted: into the inbox of whom it is for, or of whoever can do it. */
function send(routing: Routing, agent: AgentView, mail: Mail, work: Work): void {
	const place: Place = { agent: agent.id, side: "outbox" };
	const to = mail.to === EVERYBODY ? bestFor(routing, mail, work)?.agent.id : routing.byId.get(mail.to)?.id;
	if (to !== undefined) {
		routing.put(to, { ...mail.raw, to });
		routing.mark(place, mail.id, { _processed: true, _state: "delivered" }, [to]);
	} else if (routing.now > mail.until) {
		const pending = { mail, lease: undefined, attempts: 0, token: 0, begun: false, revoked: false, closed: false };
		const message = mail.to === EVERYBODY ? "no agent could take the request in time" : `there is no agent ${mail.to}`;
		unsent(routing, { agent, pending: new Map(), used: 0 }, pending, message);
	}
}

function unsent(routing: Routing, desk: Desk, { mail }: Pending, message: string): void {
	const error = { name: "RequestTimeoutError", message };
	const payload = { in_reply_to: mail.id, last: true, state: "expired", reason: message, error };
	const { from, raw } = mail;
	routing.put(from, { ...raw, msg_id: `expired-${mail.id}`, type: "response", from: mail.to, to: from, payload });
	routing.mark({ agent: desk.agent.id, side: "outbox" }, mail.id, { _processed: true, _state: "expired" }, [from]);
}

/** A worker that ends in good order gives its leases back. */
function release(routing: Routing, agent: AgentView, mail: Mail, work: Work): void {
	routing.mark({ agent: agent.id, side: "outbox" }, mail.id, { _processed: true });
	const desk = work.get(agent.id);
	const pending = desk?.pending.get(textIn(mail.payload, "request_id") ?? "");
	if (!desk || !pending?.lease || pending.lease.id !== mail.payload.lease_id) return;
	endLease(routing, desk, pending, "released");
	// It was not the fault of the request.
	pending.attempts -= 1;
}

/** What an agent announces goes to everybody, once, also to those that come later. */
function announce(routing: Routing, agent: AgentView, mail: Mail): void {
	const before = Array.isArray(mail.raw._delivered) ? mail.raw._delivered : [];
	const reached = new Set(before.map(String));
	const to = routing.agents.filter(
		(other) => other.id !== agent.id && !reached.has(other.id) && (!other.holder || routing.isAlive(other)),
	);
	if (to.length === 0 && mail.processed) return;
	for (const { id } of to) routing.put(id, { ...without(mail), _processed: true });
	const all = [...reached, ...to.map(({ id }) => id)];
	const fields = { _processed: true, _delivered: all };
	routing.mark(
		{ agent: agent.id, side: "outbox" },
		mail.id,
		fields,
		to.map(({ id }) => id),
	);
}

function without({ raw }: Mail) {
	const { _delivered, ...rest } = raw;
	return rest;
}
