/**
 * What an orchestrator does, as a function: everything that stands in the boxes, and the time, in; what is to be written
 * where, out. Whoever calls it carries the moves out; calling it again after half of them were carried out gives the rest.
 */
import type { JsonObject } from "../../protocol/types.ts";
import type { Edit } from "./box-text.ts";
import type { Holder } from "./leases.ts";
import type { Mail } from "./messages.ts";
import { deliverOutbox } from "./route-outbox.ts";
import { collect, delegate, watchLeases } from "./route-requests.ts";

/** An agent and its boxes. */
export interface AgentView {
	readonly id: string;
	/** Absent for one that no program of ours keeps: it gets mail and no leases. */
	readonly holder?: Holder;
	readonly slots: number;
	readonly capabilities: readonly string[];
	/** Milliseconds since the epoch of its last sign of life; 0 for none. */
	readonly seen: number;
	readonly inbox: readonly Mail[];
	readonly outbox: readonly Mail[];
}

export interface Snapshot {
	readonly agents: readonly AgentView[];
	/** Number of the orchestrator among all that there were. */
	readonly epoch: number;
	/** A process that is known to be gone. */
	readonly isDead: (holder: Holder) => boolean;
	/** A new id. */
	readonly newId: (prefix: string) => string;
}

export interface RouteTimes {
	/** A lease, in milliseconds. */
	readonly leaseMs: number;
	/** Silence that means death, in milliseconds. */
	readonly deadMs: number;
	/** How often work of dead agents is given out again. */
	readonly redeliveries: number;
}

/** A box, in a move. */
export interface Place {
	readonly agent: string;
	readonly side: "inbox" | "outbox";
}

/**
 * Something to be written. Moves of a round come after all of the round before: whoever is stopped in between has done
 * nothing that cannot be done again. `after`: agents into whose inbox earlier rounds write; if that failed, it must not be.
 */
export interface Move extends Place {
	readonly edit: Edit;
	readonly round: 0 | 1 | 2;
	readonly after?: readonly string[];
}

/** What the parts of a route share. */
export interface Routing extends Snapshot, RouteTimes {
	readonly now: number;
	readonly byId: ReadonlyMap<string, AgentView>;
	readonly moves: Move[];
	put(agent: string, raw: JsonObject): void;
	/** With `after` in round 1, else in round 0. */
	mark(place: Place, id: string, fields: JsonObject, after?: readonly string[], round?: 2): void;
	isAlive(agent: AgentView): boolean;
}

/** The moves at `now` (milliseconds since the epoch). Empty when there is nothing to do. */
export function route(snapshot: Snapshot, now: number, times: RouteTimes): readonly Move[] {
	const moves: Move[] = [];
	const routing: Routing = {
		...snapshot,
		...times,
		now,
		moves,
		byId: new Map(snapshot.agents.map((agent) => [agent.id, agent])),
		put: (agent, raw) => void moves.push({ agent, side: "inbox", edit: { put: raw }, round: 0 }),
		mark: (place, id, fields, after, round) =>
			void moves.push({
				...place,
				edit: { mark: id, fields },
				round: round ?? (after ? 1 : 0),
				...(after ? { after } : {}),
			}),
		isAlive: ({ holder, seen }) => holder !== undefined && now - seen <= times.deadMs && !snapshot.isDead(holder),
	};
	const work = collect(routing);
	// What has been done counts, even where whoever did it is gone by now.
	for (const agent of snapshot.agents) deliverOutbox(routing, agent, work);
	watchLeases(routing, work);
	delegate(routing, work);
	return moves;
}
