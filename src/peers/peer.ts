/** Whom we can call. Types only. */
import type { TlsFiles } from "../bindings/http/tls.ts";
import type { JsonObject } from "../protocol/types.ts";

/** Where we know a peer from. `url`: somebody typed or the model chose a plain URL. */
export type SourceName = "config" | "local" | "mdns" | "gateway" | "mailbox" | "url";

/** How a peer is reached. `pin`: every request stays on this origin whatever a card says (gateways). */
export type Address =
	| { readonly via: "http"; readonly url: URL; readonly pin?: string; readonly timeoutMs?: number }
	| { readonly via: "mailbox"; readonly id: string };

/** What the operator wrote down of a peer's card. */
export interface CardSettings {
	/** Its own address, when it is none of the usual ones. */
	readonly url?: URL | undefined;
	/** The card, or the file that it is in. */
	readonly source?: JsonObject | string | undefined;
	/** The public keys that may sign it: a JWK, a JWKS, PEM text, or the file that they are in. */
	readonly keys?: JsonObject | string | undefined;
}

/** A peer as sources know it. Text fields are cleaned (one line, bounded) by the source that read them. */
export interface Peer {
	/** What the user or model calls it by; unique in the directory. */
	readonly name: string;
	readonly source: SourceName;
	readonly address: Address;
	/** What it says it can do; orchestration matches these (case-insensitive). */
	readonly capabilities: readonly string[];
	readonly description?: string;
	readonly cwd?: string;
	readonly model?: string;
	readonly tools?: readonly string[];
	readonly skills?: readonly string[];
	readonly pid?: number;
	/** Milliseconds since the epoch when the source last heard of it. */
	readonly seen?: number;
	/** Bearer token that the operator wrote down for this peer. Never shown, never logged. */
	readonly token?: string;
	readonly card?: CardSettings;
	/** Files of certificates that the operator wrote down for this peer. */
	readonly tls?: TlsFiles;
	/** It was not asked for by its name: why it was chosen, in a sentence. */
	readonly chosen?: string;
}

/** A place to find peers. `list` never throws for one bad entry; it leaves it out and says so in the log. */
export interface Source {
	readonly name: SourceName;
	list(): Promise<readonly Peer[]>;
	close(): Promise<void>;
}
