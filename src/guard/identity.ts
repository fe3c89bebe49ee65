/** From a credential to a caller. The only place that decides who somebody is. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import { oneLine } from "../lib/text.ts";
import type { Caller } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";
import { buckets } from "./buckets.ts";

/** What a binding knows of whoever called. */
export interface Credential {
	/** `bearer`: a token was sent. `gateway`: it came down the channel of the gateway `key`. */
	readonly scheme: "none" | "bearer" | "gateway" | "mailbox";
	readonly token?: string;
	/** Address of the other end of the connection; no header changes it. */
	readonly address: string;
	/** The name a caller gives itself (`X-A2A-Identity`): for display, and only once it has been let in. */
	readonly asserted?: string;
	/** Name of the gateway, or id of the mailbox. */
	readonly key?: string;
}

export interface IdentityOptions {
	/** Token for everybody; empty for none. */
	readonly shared: string;
	/** A token for each name. */
	readonly peers: Readonly<Record<string, string>>;
	readonly clock: Clock;
	/** Tokens minted for gateways, by gateway key. Asked at each call. */
	readonly minted?: () => ReadonlyMap<string, string>;
}

/** Wrong tokens that one address may try in a minute before it has to wait. */
const WRONG_PER_MINUTE = 30;

/** `::ffff:127.0.0.1` and every other name for this machine become one address. */
function addressOf(address: string): { readonly shown: string; readonly loopback: boolean } {
	const plain = address.replace(/^::ffff:/i, "");
	const loopback = plain === "::1" || /^127(\.\d{1,3}){3}$/.test(plain);
	return { shown: loopback ? "127.0.0.1" : oneLine(plain, 64) || "unknown", loopback };
}

/**
 * A function that says who calls. Tokens are compared as digests of one length, all of them every time, so that neither
 * the length, nor how much of it was right, nor whether a name exists can be told from the time it takes.
 * Throws `UnauthorizedError`, and `RateLimitedError` for an address that keeps guessing.
 */
export function identifier(options: IdentityOptions): (credential: Credential) => Caller {
	const key = randomBytes(32);
	const digest = (token: string) => createHmac("sha256", key).update(token).digest();
	// Per-peer tokens first: a token that is also the shared one still names its owner.
	const named = Object.entries(options.peers).flatMap(([name, token]) =>
		token === "" ? [] : [{ id: `peer:${name}`, name, digest: digest(token) }],
	);
	const shared = options.shared === "" ? undefined : digest(options.shared);
	const guesses = buckets({ perMinute: WRONG_PER_MINUTE, clock: options.clock });

	function ownerOf(token: string): { readonly id: string; readonly name: string } | "shared" | undefined {
		const presented = digest(token);
		let owner: { readonly id: string; readonly name: string } | "shared" | undefined;
		for (const each of named) if (timingSafeEqual(presented, each.digest)) owner ??= each;
		if (shared && timingSafeEqual(presented, shared)) owner ??= "shared";
		for (const [gateway, minted] of options.minted?.() ?? []) {
			const id = `gateway:${gateway}`;
			if (timingSafeEqual(presented, digest(minted))) owner ??= { id, name: id };
		}
		return owner;
	}

	return ({ scheme, token, address, asserted, key: via }) => {
		const { shown, loopback } = addressOf(address);
		if ((scheme === "gateway" || scheme === "mailbox") && via !== undefined) {
			const id = `${scheme}:${via}`;
			return { id, label: oneLine(asserted ?? "", 80) || id, authenticated: true, loopback: false };
		}
		const anonymous = `ip:${shown}`;
		if (named.length === 0 && !shared && (options.minted?.().size ?? 0) === 0) {
			if (!loopback) throw new A2AError("UnauthorizedError");
			return { id: anonymous, label: oneLine(asserted ?? "", 80) || anonymous, authenticated: false, loopback };
		}
		const wait = guesses.peek(shown);
		if (wait > 0) throw new A2AError("RateLimitedError", "Too many wrong tokens; wait", { retryAfter: wait });
		const owner = token === undefined ? undefined : ownerOf(token);
		if (owner === undefined) {
			if (token !== undefined) guesses.take(shown);
			throw new A2AError("UnauthorizedError");
		}
		if (owner !== "shared") return { id: owner.id, label: oneLine(owner.name, 80), authenticated: true, loopback };
		return { id: anonymous, label: oneLine(asserted ?? "", 80) || anonymous, authenticated: true, loopback };
	};
}
