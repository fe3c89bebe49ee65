/** What one row of the table of keys says. */
import type { Kind } from "./key-kinds.ts";

/** In the order in which they are shown. */
export const GROUPS = [
	"Server",
	"Access",
	"TLS",
	"Limits",
	"Journal",
	"Push notifications",
	"Files",
	"Agent card",
	"Identity",
	"Peers",
	"Timeouts",
	"Outbound queue",
	"Discovery",
	"Gateways",
	"Gateway",
	"Mailbox",
	"UI",
	"Audit log",
] as const;
export type Group = (typeof GROUPS)[number];

/**
 * Who may set a key. `operator`: never read from a file that a repository controls. `lower`: such a file may only ask
 * for less than the operator allows. There is no third kind: whatever else a repository wants, it wants from its reader.
 */
export type Scope = "operator" | "lower";

/** What must start anew when the key changes: the inbound server, what finds and announces peers, or nothing. */
export type Restart = "server" | "discovery" | "none";

/** What defaults depend on. */
export interface Facts {
	/** The host session's working directory, absolute. */
	readonly cwd: string;
	readonly hostname: string;
}

/** A key: everything that is known about it. */
export interface Row<T> {
	/** Below `a2a` in settings.json. */
	readonly path: string;
	readonly env: string | undefined;
	readonly kind: Kind<T>;
	readonly fallback: T | ((facts: Facts) => T);
	/** The default in a word, where `fallback` cannot be shown. */
	readonly fallbackText: string | undefined;
	readonly scope: Scope;
	/** Completes "a repository may not set it: …" (or "may only lower it: …"). */
	readonly why: string;
	/** Never shown. */
	readonly secret: boolean;
	/** A bad value here would leave the server more open than was meant, so the server must not start with one. */
	readonly guards: boolean;
	/** One sentence. */
	readonly help: string;
	readonly group: Group;
	readonly restart: Restart;
}

/** The rest of a row; what is absent is as in most rows. */
interface More {
	readonly help: string;
	readonly env?: string;
	readonly scope?: Scope;
	readonly why?: string;
	readonly guards?: boolean;
	readonly fallbackText?: string;
	readonly restart?: Restart;
}

/** Makes rows of one group; what they share is said once. */
export function rows(group: Group, restart: Restart, why: string) {
	return <T>(
		path: string,
		kind: Kind<T>,
		fallback: NoInfer<T> | ((facts: Facts) => NoInfer<T>),
		more: More,
	): Row<T> => ({
		path,
		env: more.env,
		kind,
		fallback,
		fallbackText: more.fallbackText,
		scope: more.scope ?? "operator",
		why: more.why ?? why,
		secret: kind.secret ?? false,
		guards: more.guards ?? false,
		help: more.help,
		group,
		restart: more.restart ?? restart,
	});
}

export type KeyTable = { readonly [name: string]: Row<unknown> };

/** The default of a key in this session. */
export function fallbackOf<T>(row: Row<T>, facts: Facts): T {
	return typeof row.fallback === "function" ? (row.fallback as (facts: Facts) => T)(facts) : row.fallback;
}

/** For keys that a repository may lower. */
export const LESS = { scope: "lower", why: "it may ask for less than you allow, never for more" } as const;
