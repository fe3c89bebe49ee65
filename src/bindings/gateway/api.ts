/** The HTTP interface of an a2a-switchboard gateway. Every answer is a stranger's: bounded, checked, one line each. */
import type { Clock } from "../../lib/clock.ts";
import { oneLine } from "../../lib/text.ts";
import { A2AError } from "../../protocol/errors.ts";
import { isObject, parseJson } from "../../protocol/json.ts";
import type { AgentCard } from "../../protocol/types.ts";
import { type Answer, type Ask, type Fetching, httpRequest, retryAfter } from "../http/fetch.ts";

/** How the gateway stands to a peer. */
export type Admission = "pending" | "accepted" | "revoked";

/** What we tell of ourselves. `name`: 1–64 of `[A-Za-z0-9._-]`. */
export interface Registration {
	readonly name: string;
	/** Where we answer; http(s). */
	readonly url: string;
	readonly card?: AgentCard;
	/** What the gateway presents when it calls us. */
	readonly upstream_token: string;
}

export interface Registered {
	readonly admission: Admission;
	/** Our own credential, disclosed only by the call that minted it. */
	readonly callerToken?: string;
}

/** Every method throws a `GatewayError`, and the reason of `signal` when that aborts. */
export interface GatewayApi {
	/** POST mints and adopts a name, PATCH renews what the caller token owns. */
	register(
		method: "POST" | "PATCH",
		token: string | undefined,
		what: Registration,
		signal: AbortSignal,
	): Promise<Registered>;
	deregister(name: string, token: string, signal: AbortSignal): Promise<void>;
	/** The entries of the directory, undecoded. */
	directory(token: string | undefined, signal: AbortSignal): Promise<readonly unknown[]>;
	/** The reverse channel: an open event stream. `signal` cuts it off as well. */
	channel(name: string, token: string, signal: AbortSignal): Promise<Answer>;
	/** `envelope`: the JSON text of the answer to the request `id`. */
	respond(id: string, name: string, token: string, envelope: string, signal: AbortSignal): Promise<void>;
}

/** The gateway refused, made no sense, or did not answer. `message` is one clean line. */
export class GatewayError extends Error {
	override readonly name = "GatewayError";
	/** HTTP status; undefined when there was no answer. */
	readonly status: number | undefined;
	/** How long it asks to be left alone, in milliseconds; 0 when it does not say. */
	readonly retryAfterMs: number;
	constructor(message: string, status?: number, retryAfterMs = 0, cause?: unknown) {
		super(message, cause === undefined ? undefined : { cause });
		this.status = status;
		this.retryAfterMs = retryAfterMs;
	}
}

export interface GatewayApiOptions extends Pick<Fetching, "pool" | "check" | "verifySsl"> {
	/** Where the gateway is; a path is kept. */
	readonly url: URL;
	readonly clock: Clock;
}

/** For one request, but for the channel, whose headers alone are waited for. */
const REQUEST_MS = 10_000;
/** An answer of four megabytes takes its time over a slow line. */
const RESPOND_MS = 60_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_DIRECTORY_BYTES = 4 * 1024 * 1024;
/** What the gateway takes (256 KiB), with room for the rest of the body. */
export const MAX_CARD_BYTES = 250 * 1024;

const SAYS: Readonly<Record<number, string>> = {
	401: "it does not know the token",
	403: "it does not allow this peer",
	404: "it knows no such peer",
	405: "it is too old for this",
	409: "the name belongs to somebody else there",
	413: "it is too large for it",
	422: "it does not accept the name, the URL or the token",
	429: "it is asked too often",
};

export function createGatewayApi(options: GatewayApiOptions): GatewayApi {
	const { url: home, clock } = options;
	const base = new URL(home.pathname.endsWith("/") ? home.pathname : `${home.pathname}/`, home);
	const how: Fetching = { ...options, retryAttempts: 0 };
	const at = (path: string, name?: string) =>
		new URL(name === undefined ? path : `${path}?name=${encodeURIComponent(name)}`, base);

	/** The answer of the gateway if it is a good one. */
	async function ask(token: string | undefined, request: Omit<Ask, "headers">, signal: AbortSignal): Promise<Answer> {
		const headers = {
			accept: "application/json, text/event-stream",
			...(request.body === undefined ? {} : { "content-type": "application/json" }),
			...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
		};
		let answer: Answer;
		try {
			answer = await httpRequest({ ...request, headers }, how, signal);
		} catch (error) {
			if (signal.aborted) throw signal.reason;
			const text = oneLine(error instanceof Error ? error.message : String(error), 300);
			throw new GatewayError(text, undefined, 0, error);
		}
		if (answer.status >= 200 && answer.status < 300) return answer;
		const said = told(await answer.bytes(MAX_ANSWER_BYTES).catch(unread(answer)));
		const why = SAYS[answer.status] ?? "the gateway failed";
		const text = `${why} (HTTP ${answer.status}${said === "" ? "" : `: ${said}`})`;
		throw new GatewayError(text, answer.status, retryAfter(answer, clock.now()));
	}

	/** `work` under a limit of `ms` milliseconds. */
	async function within<T>(ms: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
		const controller = new AbortController();
		const follow = () => controller.abort(signal.reason);
		const late = () => controller.abort(new GatewayError(`no answer within ${ms / 1000} s`));
		if (signal.aborted) follow();
		signal.addEventListener("abort", follow, { once: true });
		const cancel = clock.after(ms, late);
		try {
			return await work(controller.signal);
		} finally {
			cancel();
			signal.removeEventListener("abort", follow);
		}
	}

	/** The JSON object in the answer. */
	async function object(answer: Answer, maxBytes: number, signal: AbortSignal): Promise<Record<string, unknown>> {
		try {
			const value = parseJson((await answer.bytes(maxBytes)).toString("utf8"));
			if (isObject(value)) return value;
		} catch (error) {
			if (signal.aborted) throw signal.reason;
			if (!(error instanceof A2AError)) throw error;
			throw new GatewayError(`its answer cannot be used: ${oneLine(error.message)}`, undefined, 0, error);
		}
		throw new GatewayError("its answer is not a JSON object");
	}

	return {
		register: (method, token, what, outer) =>
			within(REQUEST_MS, outer, async (signal) => {
				const body = JSON.stringify(what);
				const answer = await ask(token, { method, url: at("register"), body }, signal);
				return registered(await object(answer, MAX_ANSWER_BYTES, signal));
			}),
		deregister: (name, token, outer) =>
			within(REQUEST_MS, outer, async (signal) => {
				(await ask(token, { method: "DELETE", url: at("register", name) }, signal)).drop();
			}),
		directory: (token, outer) =>
			within(REQUEST_MS, outer, async (signal) => {
				const answer = await ask(token, { method: "GET", url: at(".well-known/agent.json") }, signal);
				const { peers } = await object(answer, MAX_DIRECTORY_BYTES, signal);
				if (Array.isArray(peers)) return peers;
				throw new GatewayError("what it serves is no directory of a switchboard: there is no list of peers");
			}),
		async channel(name, token, signal) {
			const line = new AbortController();
			const cut = () => line.abort(signal.reason);
			if (signal.aborted) cut();
			signal.addEventListener("abort", cut, { once: true });
			const late = () => line.abort(new GatewayError(`no answer within ${REQUEST_MS / 1000} s`));
			const cancel = clock.after(REQUEST_MS, late);
			try {
				const answer = await ask(token, { method: "GET", url: at("channel", name) }, line.signal);
				const type = answer.headers["content-type"]?.split(";", 1)[0]?.trim().toLowerCase();
				if (type === "text/event-stream") return answer;
				answer.drop();
				throw new GatewayError(`its channel is no event stream but ${oneLine(type ?? "of no type", 60)}`);
			} catch (error) {
				signal.removeEventListener("abort", cut);
				throw error;
			} finally {
				cancel();
			}
		},
		respond: (id, name, token, body, outer) =>
			within(RESPOND_MS, outer, async (signal) => {
				const url = at(`channel/response/${id}`, name);
				(await ask(token, { method: "POST", url, body }, signal)).drop();
			}),
	};
}

/** Something that may stand in a header: what a gateway calls a token is sent back to it as one. */
export const isToken = (value: unknown): value is string =>
	typeof value === "string" && /^[\x21-\x7e]{1,512}$/.test(value);

function registered({ state, caller_token: token }: Record<string, unknown>): Registered {
	// Gateways of before admission name no state: whoever is registered is in.
	const admission = state === "pending" || state === "revoked" ? state : "accepted";
	return { admission, ...(isToken(token) ? { callerToken: token } : {}) };
}

/** What the body of a refusal says, whatever its form. */
function told(bytes: Uint8Array): string {
	const text = Buffer.from(bytes).toString("utf8");
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return oneLine(text, 160);
	}
	const inner = isObject(value) ? (value.error ?? value.detail ?? value.message) : value;
	const said = isObject(inner) ? inner.message : inner;
	return typeof said === "string" ? oneLine(said, 160) : "";
}

/** The status says enough where the words cannot be read. */
function unread(answer: Answer): () => Uint8Array {
	return () => {
		answer.drop();
		return new Uint8Array();
	};
}
