/** A session's place at one gateway: registered, renewed at every heartbeat, given back at the end. */
import type { Clock } from "../../lib/clock.ts";
import { attempt, type Log } from "../../lib/log.ts";
import { oneLine } from "../../lib/text.ts";
import { type GatewayApi, GatewayError, type Registration } from "./api.ts";
import type { Channel } from "./channel.ts";
import { uniqueName } from "./names.ts";
import { type Beat, type Identity, type Joined, register } from "./register.ts";
import type { CallerToken } from "./token.ts";

export type UpstreamState = "registering" | "registered" | "pending" | "revoked" | "backing off" | "stopped";

export interface UpstreamStatus {
	readonly state: UpstreamState;
	/** The name we have there, or are asking for. */
	readonly name: string;
	readonly channel?: ReturnType<Channel["state"]> | undefined;
	/** When the next heartbeat is due, in milliseconds since the epoch; absent while one is under way. */
	readonly next?: number;
	/** What an operator should know. One clean line. */
	readonly detail?: string;
}

export interface UpstreamOptions {
	/** The gateway's key. */
	readonly key: string;
	readonly api: GatewayApi;
	/** For the farewell: requests that keep the process alive until they are answered. */
	readonly farewell: Pick<GatewayApi, "deregister">;
	readonly name: string;
	readonly shared: string | undefined;
	readonly heartbeatMs: number;
	/** Settles when somebody else has left the name. */
	readonly after?: Promise<unknown> | undefined;
	/** What we tell, asked anew at every heartbeat. */
	readonly what: () => Promise<Omit<Registration, "name">>;
	readonly tokenFor: (name: string) => CallerToken;
	/** Opens the reverse channel; absent where the operator wants none. */
	readonly channel?: ((name: string, token: string) => Channel) | undefined;
	/** Told of each success. */
	readonly onBeat: () => void;
	readonly clock: Clock;
	readonly log: Log;
}

/** Nothing here throws or rejects. */
export interface Upstream {
	status(): UpstreamStatus;
	/** Our credential for calls through the gateway, while it lets us make any. */
	caller(): string | undefined;
	/** There is news to tell: the next heartbeat comes at once, unless the gateway is left alone after a failure. */
	refresh(): void;
	/** Leaves the gateway; settles within two seconds. May be called twice. */
	stop(): Promise<void>;
}

const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 300_000;
/** A gateway that asks for more patience than this is asked again all the same. */
const LONGEST_WISH_MS = 3_600_000;
/** At the end: for a heartbeat that is under way, and for the farewell. */
const LAST_BEAT_MS = 800;
const FAREWELL_MS = 1_000;
/** For all of it: a locked file must not hold up the end of a session. */
const STOP_MS = 2_000;

/** The pause after so many failures in a row, in milliseconds. */
export function pauseAfter(failures: number, wishMs: number): number {
	const pause = Math.min(FIRST_PAUSE_MS * 2 ** (failures - 1), LONGEST_PAUSE_MS);
	return Math.max(pause, Math.min(wishMs, LONGEST_WISH_MS));
}

export function startUpstream(options: UpstreamOptions): Upstream {
	const { key, api, clock, log } = options;
	const over = new AbortController();
	let resting: AbortController | undefined;
	let next: number | undefined;
	let who: Identity = { name: options.name, token: undefined };
	let store = options.tokenFor(who.name);
	let renamed = false;
	let failures = 0;
	/** What the gateway last said of us. */
	let accepted = false;
	let state: UpstreamState = "registering";
	let trouble: string | undefined;
	let channel: { readonly line: Channel; readonly name: string; readonly token: string } | undefined;
	let stopping: Promise<void> | undefined;
	const isStopping = () => stopping !== undefined;

	async function rename(): Promise<void> {
		const taken = who.name;
		renamed = true;
		await store.release();
		who = { name: uniqueName(taken), token: undefined };
		store = options.tokenFor(who.name);
		await store.claim();
		log.info(`Gateway ${key}: the name ${taken} belongs to another session, so this one is ${who.name}`);
	}

	/** Takes a name that no other session of this machine is using, and what is known of it. */
	async function settle(): Promise<void> {
		await options.after;
		if (await store.claim()) who = { ...who, token: await store.read() };
		else await rename();
	}

	async function joined(): Promise<Joined> {
		const beat: Beat = { api, shared: options.shared, what: await options.what(), signal: over.signal };
		try {
			return await register(beat, who);
		} catch (error) {
			// The name is somebody else's, or was ours and its token is lost. Once: two that rename in turns never end.
			if (!(error instanceof GatewayError) || error.status !== 409 || renamed || isStopping()) throw error;
			if (who.token !== undefined) await store.forget(who.token);
			await rename();
			return register(beat, who);
		}
	}

	async function keep(now: Joined): Promise<void> {
		const before = who.token;
		who = now;
		if (now.token !== undefined && now.token !== before) await store.write(now.token);
		if (now.token === undefined && before !== undefined) await store.forget(before);
		await store.touch();
	}

	/** One heartbeat. Gives the milliseconds until the next. */
	async function beat(): Promise<number> {
		try {
			const now = await joined();
			await keep(now);
			if (failures > 0) channel?.line.retry();
			failures = 0;
			trouble = undefined;
			accepted = now.admission === "accepted";
			state = now.admission === "accepted" ? "registered" : now.admission;
			attend();
			options.onBeat();
			return options.heartbeatMs;
		} catch (error) {
			failures += 1;
			const wish = error instanceof GatewayError ? error.retryAfterMs : 0;
			const pause = pauseAfter(failures, wish);
			if (isStopping()) return pause;
			const why = oneLine(error instanceof Error ? error.message : String(error), 400);
			const revoked = error instanceof GatewayError && error.status === 403;
			state = revoked ? "revoked" : "backing off";
			if (revoked) accepted = false;
			attend();
			trouble = `${why}; next try in ${Math.round(pause / 1000)} s`;
			if (failures === 1) log.warn(`Gateway ${key}: this session is not registered: ${why}`);
			return pause;
		}
	}

	/** The channel is open while the gateway lets us in, and under the name and token that hold now. */
	function attend(): void {
		const { name, token } = who;
		const wanted = options.channel !== undefined && accepted && token !== undefined && !isStopping();
		if (channel && (!wanted || channel.name !== name || channel.token !== token)) {
			channel.line.close();
			channel = undefined;
		}
		if (wanted && !channel && options.channel) channel = { line: options.channel(name, token), name, token };
	}

	async function run(): Promise<void> {
		await settle();
		while (!isStopping()) {
			const pause = await beat();
			if (isStopping()) return;
			resting = new AbortController();
			next = clock.now() + pause;
			await clock.sleep(pause, resting.signal);
			resting = undefined;
			next = undefined;
		}
	}
	const running = attempt(`stay at the gateway ${key}`, run, log);

	/** Waits for `work`, but not longer than `ms` milliseconds. */
	async function within(ms: number, work: Promise<unknown>): Promise<void> {
		const done = new AbortController();
		await Promise.race([work, clock.sleep(ms, done.signal)]);
		done.abort();
	}

	async function leave(): Promise<void> {
		resting?.abort();
		channel?.line.close();
		channel = undefined;
		// A registration that is under way would be left behind.
		await within(LAST_BEAT_MS, running);
		over.abort(new Error("stopped"));
		await running;
		state = "stopped";
		accepted = false;
		const { name, token } = who;
		if (token !== undefined && (await farewell(name, token))) await store.forget(token);
		await store.release();
	}

	/** Whether the gateway knows us no more. What it cannot be told now, the next session finds and takes over. */
	async function farewell(name: string, token: string): Promise<boolean> {
		const limit = new AbortController();
		const cancel = clock.after(FAREWELL_MS, () => limit.abort(new GatewayError("no answer in time")));
		try {
			await options.farewell.deregister(name, token, limit.signal);
			return true;
		} catch (error) {
			if (error instanceof GatewayError && (error.status === 404 || error.status === 401)) return true;
			log.info(
				`Gateway ${key}: could not deregister ${name}: ${error instanceof Error ? error.message : String(error)}`,
			);
			return false;
		} finally {
			cancel();
		}
	}

	function detail(): string | undefined {
		if (trouble !== undefined) return trouble;
		if (state === "pending") return `the operator of the gateway has to accept ${who.name}`;
		if (state === "revoked") return "the operator of the gateway has revoked this peer";
		return channel?.line.problem();
	}

	return {
		status() {
			const told = detail();
			const line = channel ? { channel: channel.line.state() } : {};
			const due = next === undefined ? {} : { next };
			return { state, name: who.name, ...line, ...due, ...(told === undefined ? {} : { detail: told }) };
		},
		caller: () => (accepted ? who.token : undefined),
		refresh() {
			if (failures === 0) resting?.abort();
		},
		stop() {
			stopping ??= within(STOP_MS, attempt(`leave the gateway ${key}`, leave, log));
			return stopping;
		},
	};
}
