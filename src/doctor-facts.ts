/** What `/a2a-doctor` judges, and what it says. */
import type { ServerStatus } from "./app.ts";
import type { Config } from "./config/keys.ts";
import type { Loaded } from "./config/load.ts";
import type { GatewayStatus } from "./gateways.ts";
import type { MailboxStatus } from "./mailbox.ts";
import type { SourceName } from "./peers/peer.ts";

/** `note`: as it was set, worth knowing. `warning`: something does not work as meant. `error`: it is open, or broken. */
export type Level = "ok" | "note" | "warning" | "error";

export interface Finding {
	readonly level: Level;
	/** What was looked at: `peer alice`. */
	readonly about: string;
	readonly text: string;
	/** What to do about it, one sentence. */
	readonly fix?: string;
}

/** Whether an address answered, and what its clock said. */
export type Look = { readonly date?: number } | { readonly problem: string };

export interface PeerLook {
	readonly name: string;
	readonly source: SourceName;
	readonly address: string;
	/** How it took an authenticated question; `unasked`: nobody has confirmed that it may be called. */
	readonly answer: "ok" | "unauthorized" | "untrusted" | "failed" | "unasked";
	/** Why it failed, one line. */
	readonly why?: string;
	/** Milliseconds that its clock is ahead of ours, where it says. */
	readonly skewMs?: number;
}

/** A file or folder of ours that somebody else may read, or that cannot be used. */
export interface FileFault {
	readonly path: string;
	/** Rights as they are, such as `644`; absent: it belongs to somebody else. */
	readonly mode?: string;
	readonly folder: boolean;
}

/** What a set-up is judged by. */
export interface Facts {
	readonly problems: Loaded["problems"];
	readonly config: Config;
	readonly server: ServerStatus;
	/** The card at each address that others are told, by its URL. */
	readonly own: readonly { readonly url: string; readonly look: Look }[];
	readonly peers: readonly PeerLook[];
	readonly gateways: readonly GatewayStatus[];
	readonly mailbox: MailboxStatus | undefined;
	/** How to install the mDNS package, when it is not there. */
	readonly mdnsMissing: string | undefined;
	readonly files: readonly FileFault[];
	/** Why the audit log cannot be written. */
	readonly auditProblem: string | undefined;
	/** Bytes free where our files are; undefined: the system does not say. */
	readonly freeBytes: number | undefined;
	readonly piVersion: string;
	readonly nodeVersion: string;
}

/** The finding of a check that is well. */
export const ok = (about: string): Finding => ({ level: "ok", about, text: "" });

/** What a check found, or that it is well. */
export const orOk = (about: string, found: readonly Finding[]): readonly Finding[] =>
	found.length > 0 ? found : [ok(about)];
