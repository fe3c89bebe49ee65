/** Agents of the file mailbox, as long as they give signs of life. */

import type { MailRoot } from "../../bindings/mailbox/root.ts";
import { listAgents } from "../../bindings/mailbox/roster.ts";
import type { Peer, Source } from "../peer.ts";

export interface MailboxSourceOptions {
	/** The mailbox; undefined while it is switched off. */
	readonly root: () => MailRoot | undefined;
	/** Silence that means death, in milliseconds. */
	readonly deadMs: () => number;
	/** Our own id; we are not listed. */
	readonly self: () => string | undefined;
}

/** A flooded folder is read this far. */
const MAX_PEERS = 500;

/** The source of peers that are reached over files. They are called by their id. */
export function fromMailbox({ root, deadMs, self }: MailboxSourceOptions): Source {
	return {
		name: "mailbox",
		async list() {
			const where = root();
			if (!where) return [];
			const own = self();
			const agents = await listAgents(where, deadMs());
			return agents
				.filter(({ id, alive, registration }) => alive && id !== own && registration?.slots !== 0)
				.slice(0, MAX_PEERS)
				.map(
					({ id, registration, capabilities, seen }): Peer => ({
						name: id,
						source: "mailbox",
						address: { via: "mailbox", id },
						capabilities,
						...(registration?.description ? { description: registration.description } : {}),
						...(registration ? { pid: registration.pid } : {}),
						seen,
					}),
				);
		},
		async close() {
			// Nothing is kept open.
		},
	};
}
