/** Leases: the right of one worker to do one request for a time. They live as messages in the worker's inbox. Pure. */
import type { JsonObject } from "../../protocol/types.ts";
import { type Mail, numberIn, ORCHESTRATOR, textIn } from "./messages.ts";

/** Who holds a lease: one run of an agent, and where its process is. */
export interface Holder {
	/** Names one run of the agent; a new one after every start. */
	readonly instance: string;
	readonly pid: number;
	readonly host: string;
}

export interface Lease {
	readonly id: string;
	readonly request: string;
	/** Grows with every lease of a request: whoever has a smaller one has lost it. */
	readonly token: number;
	/** Which try of the request this is, from 1. */
	readonly attempt: number;
	/** Milliseconds since the epoch, renewals included. */
	readonly expiresAt: number;
	readonly holder: Holder;
	/** Neither completed, revoked nor expired. */
	readonly open: boolean;
	/** Messages that renewed it. */
	readonly renewals: readonly Mail[];
}

/** The payload of a message that grants a lease. */
export function grantPayload(lease: Omit<Lease, "open" | "renewals">): JsonObject {
	const { instance, pid, host } = lease.holder;
	return {
		action: "grant",
		lease_id: lease.id,
		request_id: lease.request,
		token: lease.token,
		attempt: lease.attempt,
		expires_at: new Date(lease.expiresAt).toISOString(),
		holder: { instance, pid, host },
	};
}

/** The payload of a message that renews, revokes, expires or gives back a lease. */
export function leasePayload(
	action: "renew" | "revoke" | "expire" | "release",
	{ id, request }: Pick<Lease, "id" | "request">,
	more: JsonObject = {},
): JsonObject {
	return { action, lease_id: id, request_id: request, ...more };
}

const timeIn = (payload: JsonObject, name: string): number => Date.parse(textIn(payload, name) ?? "");

function granted(mail: Mail): Lease | undefined {
	const { payload } = mail;
	const id = textIn(payload, "lease_id");
	const request = textIn(payload, "request_id");
	const holder = payload.holder as JsonObject | undefined;
	const token = numberIn(payload, "token");
	const expiresAt = timeIn(payload, "expires_at");
	if (!id || !request || token === undefined || Number.isNaN(expiresAt) || typeof holder !== "object") return undefined;
	return {
		id,
		request,
		token,
		attempt: numberIn(payload, "attempt") ?? 1,
		expiresAt,
		holder: {
			instance: textIn(holder, "instance") ?? "",
			pid: numberIn(holder, "pid") ?? 0,
			host: textIn(holder, "host") ?? "",
		},
		open: !mail.processed,
		renewals: [],
	};
}

/** What a lease message says; undefined for one that is no message of a lease. */
export function actionOf(mail: Mail): string | undefined {
	return mail.type === "lease" ? textIn(mail.payload, "action") : undefined;
}

/** The newest lease of every request, by request, as the messages of a worker's inbox tell. */
export function leasesIn(inbox: readonly Mail[]): ReadonlyMap<string, Lease> {
	const found = new Map<string, Lease>();
	for (const mail of inbox) {
		if (mail.type !== "lease") continue;
		const { payload } = mail;
		// Somebody else than the orchestrator may take back, never give.
		if (mail.from === ORCHESTRATOR && payload.action === "grant") {
			const lease = granted(mail);
			if (lease && lease.token > (found.get(lease.request)?.token ?? -1)) found.set(lease.request, lease);
			continue;
		}
		const lease = found.get(textIn(payload, "request_id") ?? "");
		if (!lease || lease.id !== payload.lease_id || mail.from !== ORCHESTRATOR) continue;
		if (payload.action === "renew") {
			const until = timeIn(payload, "expires_at");
			const expiresAt = Number.isNaN(until) ? lease.expiresAt : Math.max(until, lease.expiresAt);
			found.set(lease.request, { ...lease, expiresAt, renewals: [...lease.renewals, mail] });
		} else if (payload.action === "revoke" || payload.action === "expire") {
			found.set(lease.request, { ...lease, open: false });
		}
	}
	return found;
}
