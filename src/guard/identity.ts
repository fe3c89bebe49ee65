/** From a credential to a caller. The only place that decides who somebody is. */
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { remember } from "../lib/bounded.ts";
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
	/**
	 * Nobody beyond this machine can connect. Then the name that a caller gives itself is shown: it comes from here, or
	 * through a proxy that the operator put in front. Default: so it is.
	 */
	readonly closed?: () => boolean;
}

/**
 * Different wrong tokens that one address may try in a minute; beyond it a wrong token is answered with a request to
 * wait. The right one is still let in: callers behind one proxy share its address, and one of them must not lock out
 * the others.
 */
const GUESSES_PER_MINUTE = 10;
/**
 * Wrong tokens of any kind from one address in a minute; beyond it nothing of that address is looked at but tokens that
 * were right before: whoever floods us from behind the same address must not lock those callers out.
 */
const FAILURES_PER_MINUTE = 300;
/** Right tokens that are remembered, each with where it came from. */
const MAX_PROVEN = 1_000;
/** Wrong tokens that are remembered, to tell a client with a stale one from somebody who guesses. */
const MAX_GUESSES = 10_000;
const MAX_NAME = 80;

interface Address {
	readonly shown: string;
	readonly loopback: boolean;
	/** What a limit is kept for: an IPv4 address, or the network of an IPv6 one, whose owner has all of it. */
	readonly network: string;
}

/** `::ffff:127.0.0.1` and every other name for this machine become one address. */
function addressOf(address: string): Address {
	const plain = address.replace(/^::ffff:(?=\d+\.)/i, "");
	const loopback = plain === "::1" || /^127(\.\d{1,3}){3}$/.test(plain);
	const shown = loopback ? "127.0.0.1" : oneLine(plain, 64) || "unknown";
	return { shown, loopback, network: plain.includes(":") && !loopback ? networkOf(plain) : shown };
}

/** The first four groups of an IPv6 address. */
function networkOf(address: string): string {
	const [head = "", tail] = address.split("%")[0]?.toLowerCase().split("::") ?? [];
	const before = head.split(":").filter((group) => group !== "");
	const after = tail === undefined ? [] : tail.split(":").filter((group) => group !== "");
	const zeros = Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0");
	return [...before, ...zeros, ...after].slice(0, 4).join(":");
}

/** Names as people read them: two that look alike are one. */
const folded = (name: string): string => name.normalize("NFKC").toLowerCase();

const flooded = (retryAfter: number) => new A2AError("RateLimitedError", "Too many wrong tokens; wait", { retryAfter });

/**
 * A function that says who calls. Tokens are compared as digests of one length, all of them every time, so that neither
 * the length, nor how much of it was right, nor whether a name exists can be told from the time it takes.
 * Throws `UnauthorizedError`, and `RateLimitedError` for an address that keeps guessing.
 */
export function identifier(options: IdentityOptions): (credential: Credential) => Caller {
	const key = randomBytes(32);
	const digest = (token: string) => createHmac("sha256", key).update(token).digest();
	// Per-peer tokens first: a token that is also the shared one still names its owner.
	const names = Object.keys(options.peers);
	const named = Object.entries(options.peers).flatMap(([name, token]) =>
		token === "" ? [] : [{ id: `peer:${name}`, name, digest: digest(token) }],
	);
	const shared = options.shared === "" ? undefined : digest(options.shared);
	const guesses = buckets({ perMinute: GUESSES_PER_MINUTE, clock: options.clock });
	const failures = buckets({ perMinute: FAILURES_PER_MINUTE, clock: options.clock });
	const guessed = new Map<string, true>();
	const proven = new Map<string, true>();
	const taken = new Set(names.map(folded));
	// A name without a token, or with an empty one, is a mistake that must not open the server.
	const isOpen = names.length === 0 && !shared;

	/** The name to show for a caller that is told from others by its address alone. */
	function labelOf(id: string, asserted: string | undefined, loopback: boolean): string {
		return (loopback && (options.closed?.() ?? true) && assertedName(asserted)) || id;
	}

	/** A name that somebody gave itself; one that belongs to a peer with a token is marked. */
	function assertedName(asserted: string | undefined): string {
		const name = oneLine(asserted ?? "", MAX_NAME);
		return taken.has(folded(name)) ? `${name} (unverified)` : name;
	}

	function ownerOf(presented: Buffer): { readonly id: string; readonly name: string } | "shared" | undefined {
		let owner: { readonly id: string; readonly name: string } | "shared" | undefined;
		for (const each of named) if (timingSafeEqual(presented, each.digest)) owner ??= each;
		if (shared && timingSafeEqual(presented, shared)) owner ??= "shared";
		for (const [gateway, minted] of options.minted?.() ?? []) {
			const id = `gateway:${gateway}`;
			if (timingSafeEqual(presented, digest(minted)) && minted !== "") owner ??= { id, name: id };
		}
		return owner;
	}

	/** Who calls through a gateway is elsewhere, wherever the gateway itself runs. */
	function callerOf({ id, name }: { readonly id: string; readonly name: string }, loopback: boolean): Caller {
		const near = loopback && !id.startsWith("gateway:");
		return { id, label: oneLine(name, MAX_NAME), authenticated: true, loopback: near };
	}

	/** A wrong token from `network`. Always throws. */
	function refuse(network: string, presented: Buffer): never {
		failures.take(network);
		const guess = `${network} ${presented.toString("base64")}`;
		const wait = guessed.has(guess) ? 0 : guesses.take(network);
		remember(guessed, guess, true, MAX_GUESSES);
		throw wait > 0 ? flooded(wait) : new A2AError("UnauthorizedError");
	}

	return ({ scheme, token, address, asserted, key: via }) => {
		const { shown, loopback, network } = addressOf(address);
		if ((scheme === "gateway" || scheme === "mailbox") && via !== undefined) {
			const id = `${scheme}:${via}`;
			return { id, label: assertedName(asserted) || oneLine(id, MAX_NAME), authenticated: true, loopback: false };
		}
		const anonymous = `ip:${shown}`;
		if (isOpen) {
			// A gateway that presents what was minted for it is known by that.
			const gateway = token ? ownerOf(digest(token)) : undefined;
			if (gateway !== undefined && gateway !== "shared") return callerOf(gateway, loopback);
			if (!loopback) throw new A2AError("UnauthorizedError");
			return { id: anonymous, label: labelOf(anonymous, asserted, loopback), authenticated: false, loopback };
		}
		const wait = failures.peek(network);
		if (token === undefined || token === "") throw wait > 0 ? flooded(wait) : new A2AError("UnauthorizedError");
		const presented = digest(token);
		const place = `${network} ${presented.toString("base64")}`;
		if (wait > 0 && !proven.has(place)) throw flooded(wait);
		const owner = ownerOf(presented);
		if (owner === undefined) return refuse(network, presented);
		remember(proven, place, true, MAX_PROVEN);
		if (owner !== "shared") return callerOf(owner, loopback);
		return { id: anonymous, label: labelOf(anonymous, asserted, loopback), authenticated: true, loopback };
	};
}
