/** Requests: given out under leases, taken back from the dead, expired when their time is over. Pure. */
import { oneLine } from "../../lib/text.ts";
import { isObject } from "../../protocol/json.ts";
import { actionOf, grantPayload, type Lease, leasePayload, leasesIn } from "./leases.ts";
import { envelope, type Mail, numberIn, ORCHESTRATOR, textIn } from "./messages.ts";
import type { AgentView, Place, Routing } from "./route.ts";
import { type Desk, endLease, fail, isQuick, type Pending, type Work } from "./route-work.ts";

/** A worker stops when its lease is over by its own clock; this much later, in milliseconds, it has. */
export const GRACE_MS = 2_000;
/** States of a request that is not done with. */
const OPEN: ReadonlySet<string | undefined> = new Set([undefined, "waiting", "leased"]);

/** Reads the inboxes: requests that are not done with, and what has no further way to go is marked. */
export function collect(routing: Routing): Work {
	const hops = latestCopies(routing);
	return new Map(routing.agents.map((agent) => [agent.id, deskOf(routing, agent, hops)]));
}

const hopOf = ({ raw }: Mail): number => numberIn(raw, "_hop") ?? 0;

/** Of a request that was handed on: how far its latest copy has come. */
function latestCopies({ agents }: Routing): ReadonlyMap<string, number> {
	const latest = new Map<string, number>();
	for (const { inbox } of agents) {
		for (const mail of inbox) {
			const hop = hopOf(mail);
			if (hop > 0 && hop > (latest.get(mail.id) ?? 0)) latest.set(mail.id, hop);
		}
	}
	return latest;
}

function deskOf(routing: Routing, agent: AgentView, hops: ReadonlyMap<string, number>): Desk {
	const place: Place = { agent: agent.id, side: "inbox" };
	const desk: Desk = { agent, pending: new Map(), used: 0 };
	const leases = leasesIn(agent.inbox);
	for (const mail of agent.inbox) {
		if (mail.type === "request") {
			if (!OPEN.has(mail.state)) continue;
			if ((hops.get(mail.id) ?? 0) > hopOf(mail)) {
				// Written there, and then whoever did it was stopped before it could say so here.
				routing.mark(place, mail.id, { _processed: true, _state: "moved" });
				continue;
			}
			const lease = leases.get(mail.id);
			desk.pending.set(mail.id, pendingOf(mail, lease));
			if (lease?.open && !isQuick(mail)) desk.used += 1;
		} else if (!mail.processed && isOver(routing, mail)) {
			routing.mark(place, mail.id, { _processed: true });
		}
	}
	for (const mail of agent.inbox) {
		if (actionOf(mail) !== "revoke" || mail.from === ORCHESTRATOR) continue;
		const lease = textIn(mail.payload, "lease_id");
		for (const pending of desk.pending.values()) {
			const named = textIn(mail.payload, "request_id") === pending.mail.id || lease === (pending.lease?.id ?? "");
			if (named && mail.from === pending.mail.from) pending.revoked = true;
		}
	}
	return desk;
}

function pendingOf(mail: Mail, lease: Lease | undefined): Pending {
	return {
		mail,
		lease: lease?.open ? lease : undefined,
		attempts: Math.max(lease?.attempt ?? 0, numberIn(mail.raw, "_attempt") ?? 0),
		token: Math.max(lease?.token ?? 0, numberIn(mail.raw, "_token") ?? 0),
		begun: mail.raw._begun === true,
		revoked: false,
		closed: false,
	};
}

/** What is only looked at has been routed by lying there; an answer is for its reader to mark, while it may still be read. */
function isOver({ now }: Routing, mail: Mail): boolean {
	if (mail.type === "response") return now > mail.until;
	const action = actionOf(mail);
	// A lease is over when it is marked so; what renews it belongs to it.
	return action === undefined || !(action === "grant" || action === "renew");
}

/** Leases that are over, by time or by death, and those that go on. */
export function watchLeases(routing: Routing, work: Work): void {
	for (const desk of work.values()) {
		for (const pending of desk.pending.values()) {
			if (pending.closed) continue;
			if (pending.revoked)
				fail(routing, desk, pending, "revoked", { name: "ForbiddenError", message: "the request was taken back" });
			else if (pending.lease) watch(routing, desk, pending, pending.lease);
		}
	}
}

function watch(routing: Routing, desk: Desk, pending: Pending, lease: Lease): void {
	const { now, leaseMs } = routing;
	const { agent } = desk;
	const place: Place = { agent: agent.id, side: "inbox" };
	if (routing.isDead(lease.holder) || now >= lease.expiresAt + GRACE_MS) {
		endLease(routing, desk, pending, "expired");
		tell(routing, agent.id, { ...leasePayload("expire", lease), token: lease.token });
		if (!pending.begun) {
			routing.mark(place, pending.mail.id, { _processed: false, _state: "waiting" });
			return;
		}
		const message = `${agent.id} went away in the middle of its answer`;
		fail(routing, desk, pending, "failed", {
			name: "PeerUnreachableError",
			message,
			metadata: { broken: "stream" },
		});
		return;
	}
	const isHere = agent.holder?.instance === lease.holder.instance && routing.isAlive(agent);
	if (!isHere || lease.expiresAt - now > leaseMs / 2) return;
	const until = new Date(now + leaseMs).toISOString();
	const renewal = { id: routing.newId("renew"), type: "lease", from: ORCHESTRATOR, to: agent.id } as const;
	const payload = leasePayload("renew", lease, { token: lease.token, expires_at: until });
	routing.put(agent.id, envelope({ ...renewal, payload, ttlSeconds: leaseMs / 1000 }, now));
	for (const before of lease.renewals) routing.mark(place, before.id, { _processed: true });
}

/** Tells a worker what became of its lease. It has been routed by being written. */
function tell(routing: Routing, agent: string, payload: ReturnType<typeof leasePayload>): void {
	const draft = { id: routing.newId("lease"), type: "lease", from: ORCHESTRATOR, to: agent, payload } as const;
	routing.put(agent, { ...envelope(draft, routing.now), _processed: true });
}

/** Gives out what waits: to its agent, to another one that can do it when that one is dead, or to nobody any more. */
export function delegate(routing: Routing, work: Work): void {
	for (const desk of work.values()) {
		const isAlive = routing.isAlive(desk.agent);
		for (const pending of desk.pending.values()) {
			if (pending.closed || pending.lease) continue;
			const { mail, attempts } = pending;
			if (attempts > routing.redeliveries) {
				const message = `the agents that began it died, ${attempts} times`;
				fail(routing, desk, pending, "failed", { name: "PeerUnreachableError", message });
			} else if (routing.now > mail.until) {
				const why = attempts > 0 ? `${desk.agent.id} died while it worked on it` : reasonToWait(desk, isAlive);
				fail(routing, desk, pending, "expired", {
					name: "RequestTimeoutError",
					message: `the request expired: ${why}`,
				});
			} else if (isAlive) {
				if (isQuick(mail) || desk.used < desk.agent.slots) grant(routing, desk, pending);
			} else if (desk.agent.holder || attempts > 0) handOn(routing, desk, pending, work);
		}
	}
}

function reasonToWait({ agent, used }: Desk, isAlive: boolean): string {
	if (isAlive) return used >= agent.slots ? `${agent.id} was busy` : `it came to ${agent.id} too late`;
	return agent.seen === 0 ? `${agent.id} has never been here` : `${agent.id} gives no sign of life`;
}

function grant(routing: Routing, desk: Desk, pending: Pending): void {
	const { agent } = desk;
	const { mail } = pending;
	const { holder } = agent;
	if (!holder) return;
	const lease = {
		id: routing.newId("lease"),
		request: mail.id,
		// Above those of every orchestrator before us, and every one of ours.
		token: Math.max(routing.epoch * 1_000_000, pending.token + 1),
		attempt: pending.attempts + 1,
		expiresAt: routing.now + routing.leaseMs,
		holder,
	};
	if (!isQuick(mail)) desk.used += 1;
	const draft = {
		id: lease.id,
		type: "lease",
		from: ORCHESTRATOR,
		to: agent.id,
		payload: grantPayload(lease),
	} as const;
	routing.put(agent.id, envelope({ ...draft, ttlSeconds: routing.leaseMs / 1000 }, routing.now));
	const fields = { _processed: true, _state: "leased", _attempt: lease.attempt, _token: lease.token };
	routing.mark({ agent: agent.id, side: "inbox" }, mail.id, fields);
	pending.lease = { ...lease, open: true, renewals: [] };
}

/** A request that anybody can do who has what its contract names. */
function isForAnybody({ contract, payload }: Mail): boolean {
	const params = isObject(payload.params) ? payload.params : payload;
	const message = isObject(params.message) ? params.message : params;
	const task = message.taskId ?? message.task_id;
	return (contract.capabilities?.length ?? 0) > 0 && !isQuick({ payload } as Mail) && task === undefined;
}

/** The living agent that has every capability the request names, and the most room; undefined when there is none. */
export function bestFor(routing: Routing, mail: Mail, work: Work): Desk | undefined {
	const wanted = (mail.contract.capabilities ?? []).map((each) => each.toLowerCase());
	let best: Desk | undefined;
	for (const desk of work.values()) {
		const { agent } = desk;
		if (agent.id === mail.from || desk.used >= agent.slots || !routing.isAlive(agent)) continue;
		const has = new Set(agent.capabilities.map((each) => each.toLowerCase()));
		if (!wanted.every((each) => has.has(each))) continue;
		if (!best || agent.slots - desk.used > best.agent.slots - best.used) best = desk;
	}
	if (best) best.used += 1;
	return best;
}

/** The agent is dead. A contract that names what it takes lets another one do it; else it waits for its agent's return. */
function handOn(routing: Routing, desk: Desk, pending: Pending, work: Work): void {
	const { mail } = pending;
	const other = isForAnybody(mail) ? bestFor(routing, mail, work) : undefined;
	if (!other || other === desk) return;
	const { id } = other.agent;
	const moved = {
		_hop: hopOf(mail) + 1,
		_attempt: pending.attempts,
		_token: pending.token,
		_moved_from: desk.agent.id,
	};
	routing.put(id, { ...mail.raw, to: id, ...moved, _processed: false, _state: "waiting" });
	pending.closed = true;
	const state = { _processed: true, _state: "moved", _moved_to: oneLine(id, 200) };
	routing.mark({ agent: desk.agent.id, side: "inbox" }, mail.id, state, [id]);
}
