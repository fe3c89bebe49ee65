/**
 * The table of keys: reading, defaults, ranges, trust, variables, documentation, settings panel and restart behaviour
 * all come from its rows.
 */
import type { Kind, ValueOf } from "./key-kinds.ts";
import { AUDIT_KEYS } from "./keys-audit.ts";
import { CARD_KEYS } from "./keys-cards.ts";
import { CONTENT_KEYS } from "./keys-content.ts";
import { DISCOVERY_KEYS } from "./keys-discovery.ts";
import { FILE_KEYS } from "./keys-files.ts";
import { JOURNAL_KEYS } from "./keys-journal.ts";
import { MAILBOX_KEYS } from "./keys-mailbox.ts";
import { NOTIFY_KEYS } from "./keys-notify.ts";
import { PEER_KEYS, UI_KEYS } from "./keys-peers.ts";
import { POLICY_KEYS } from "./keys-policies.ts";
import { PUSH_KEYS } from "./keys-push.ts";
import { QUEUE_KEYS } from "./keys-queue.ts";
import { QUEUE_IN_KEYS } from "./keys-queue-in.ts";
import { SERVER_KEYS } from "./keys-server.ts";
import { TLS_KEYS } from "./keys-tls.ts";
import type { KeyTable, Row } from "./row.ts";

export const KEYS = {
	...SERVER_KEYS,
	...QUEUE_IN_KEYS,
	...TLS_KEYS,
	...POLICY_KEYS,
	...JOURNAL_KEYS,
	...PUSH_KEYS,
	...CONTENT_KEYS,
	...FILE_KEYS,
	...CARD_KEYS,
	...PEER_KEYS,
	...QUEUE_KEYS,
	...DISCOVERY_KEYS,
	...MAILBOX_KEYS,
	...UI_KEYS,
	...NOTIFY_KEYS,
	...AUDIT_KEYS,
} as const satisfies KeyTable;

type Keys = typeof KEYS;
export type KeyName = keyof Keys;
/** Rows of the single gateway block: they become an entry of `gateways`. */
type Single = Extract<KeyName, `gateway${Capitalize<string>}`>;

/** Every setting, as the rest of the extension reads it. */
export type Config = { readonly [K in Exclude<KeyName, Single>]: ValueOf<Keys[K]["kind"]> };

/** Every setting before the single gateway has become an entry of `gateways`. */
export type Values = { readonly [K in KeyName]: ValueOf<Keys[K]["kind"]> };

/** The rows, in the order of the table. */
export const ROWS = Object.entries(KEYS) as readonly (readonly [KeyName, Row<unknown>])[];

/** What can be set at a path such as `server.port`, `peers.alice` or `peers.alice.auth.token`. */
export interface Place {
	readonly name: KeyName;
	readonly row: Row<unknown>;
	readonly kind: Kind<unknown>;
	/** The names to go through below `a2a`. */
	readonly path: readonly string[];
}

/** The place that `path` names; `undefined` when there is no such key. Names in maps may have dots. */
export function keyAt(path: string): Place | undefined {
	for (const [key, row] of ROWS) {
		const way = row.path.split(".");
		if (path === row.path) return { name: key, row, kind: row.kind, path: way };
		const below = path.startsWith(`${row.path}.`) ? row.kind.below?.(path.slice(row.path.length + 1)) : undefined;
		if (below) return { name: key, row, kind: below.kind, path: [...way, ...below.path] };
	}
	return undefined;
}
