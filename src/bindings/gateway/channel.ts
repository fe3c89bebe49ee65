/** The reverse channel: a line that we hold open and down which a gateway sends requests, whatever firewall is between. */
import type { Clock } from "../../lib/clock.ts";
import { attempt, type Log } from "../../lib/log.ts";
import { sharedController } from "../../lib/signals.ts";
import { oneLine } from "../../lib/text.ts";
import { type SseEvent, SseParser } from "../../protocol/sse.ts";
import { type GatewayApi, GatewayError } from "./api.ts";
import { type Counter, type HttpHandler, openCounter } from "./counter.ts";

export type { HttpHandler } from "./counter.ts";

export interface ChannelOptions {
	/** The gateway's key. */
	readonly key: string;
	readonly api: Pick<GatewayApi, "channel" | "respond">;
	readonly name: string;
	readonly token: string;
	/** What answers; asked at each request. */
	readonly handler: () => HttpHandler;
	readonly clock: Clock;
	readonly log: Log;
}

/** Nothing here throws. */
export interface Channel {
	state(): "open" | "opening" | "broken";
	/** Why it is not open. One clean line. */
	problem(): string | undefined;
	/** The gateway is known to be back: a broken line is opened without waiting longer. */
	retry(): void;
	/** Cuts the line; requests on it are given up. May be called twice. */
	close(): void;
}

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;
const LONGEST_WISH_MS = 3_600_000;
/** A line that held for so long was a good one: the next attempt begins with the shortest pause. */
const STEADY_MS = 30_000;
/** The gateway pings every 15 s. */
const SILENCE_MS = 50_000;
/** A request with a body of 4 MiB in base64. */
const MAX_EVENT_BYTES = 6 * 1024 * 1024;

export function openChannel(options: ChannelOptions): Channel {
	const { key, clock, log } = options;
	const over = new AbortController();
	let state: ReturnType<Channel["state"]> = "opening";
	let problem: string | undefined;
	let resting: AbortController | undefined;

	/** One connection, from its opening to its end. Throws the reason of its end. */
	async function connection(): Promise<void> {
		// Every request on the line listens to it.
		const line = sharedController();
		const cut = () => line.abort(over.signal.reason);
		over.signal.addEventListener("abort", cut, { once: true });
		if (over.signal.aborted) cut();
		let cancel: () => void = () => undefined;
		try {
			const { api, name, token } = options;
			const answer = await api.channel(name, token, line.signal);
			const counter = openCounter({ ...options, signal: line.signal });
			const events = reader(counter, () => {
				state = "open";
				problem = undefined;
			});
			const silent = () => line.abort(new GatewayError(`nothing came for ${SILENCE_MS / 1000} s`));
			cancel = clock.after(SILENCE_MS, silent);
			for await (const chunk of answer.chunks()) {
				cancel();
				cancel = clock.after(SILENCE_MS, silent);
				events(chunk);
			}
			throw new GatewayError("the gateway closed it");
		} finally {
			cancel();
			over.signal.removeEventListener("abort", cut);
			// Also cuts the connection itself.
			line.abort(new GatewayError("the channel was closed"));
		}
	}

	async function run(): Promise<void> {
		let failures = 0;
		while (!over.signal.aborted) {
			const began = clock.now();
			let wish = 0;
			try {
				await connection();
			} catch (error) {
				if (over.signal.aborted) return;
				wish = error instanceof GatewayError ? error.retryAfterMs : 0;
				problem = `the channel is not open: ${oneLine(error instanceof Error ? error.message : String(error), 300)}`;
			}
			const steady = state === "open" && clock.now() - began >= STEADY_MS;
			failures = steady ? 0 : failures + 1;
			state = "broken";
			const pause = Math.min(FIRST_PAUSE_MS * 2 ** Math.max(0, failures - 1), LONGEST_PAUSE_MS);
			resting = new AbortController();
			await clock.sleep(Math.max(pause, Math.min(wish, LONGEST_WISH_MS)), resting.signal);
			resting = undefined;
		}
	}
	void attempt(`hold the channel of the gateway ${key}`, run, log);

	return {
		state: () => state,
		problem: () => problem,
		retry: () => resting?.abort(),
		close() {
			over.abort(new GatewayError("the channel was closed"));
			resting?.abort();
		},
	};
}

/** Reads the bytes of one connection. Throws for what is no channel. `ready`: the gateway has greeted us. */
function reader(counter: Counter, ready: () => void): (chunk: Uint8Array) => void {
	const parser = new SseParser({ maxBytes: MAX_EVENT_BYTES });
	let secret: string | undefined;
	function take({ event, data }: SseEvent): void {
		if (event === "request" && secret !== undefined) counter.take(data, secret);
		if (event !== "hello" || secret !== undefined) return;
		if (data.length > 512) throw new GatewayError("its greeting is none");
		secret = data;
		ready();
	}
	return (chunk) => {
		for (const event of parser.push(chunk)) take(event);
	};
}
