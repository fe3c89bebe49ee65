/** One HTTP request to a peer and its answer, over `node:http` and `node:https`. */
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import type { LookupFunction } from "node:net";
import { oneLine } from "../../lib/text.ts";
import { A2AError } from "../../protocol/errors.ts";
import { Incoming } from "./incoming.ts";
import type { HttpPool } from "./pool.ts";
import type { Trust } from "./tls.ts";

/**
 * Says whether a URL may be called at all; throws an `A2AError` when it may not. The addresses are those that were
 * checked, and the connection goes to one of them; none given: any address the name has.
 */
export type UrlCheck = (url: URL) => Promise<readonly Endpoint[] | undefined>;

export interface Endpoint {
	readonly address: string;
	readonly family: number;
}

export interface Ask {
	readonly method: "GET" | "POST" | "PATCH" | "DELETE";
	readonly url: URL;
	/** Lower-case names. */
	readonly headers: Readonly<Record<string, string>>;
	readonly body?: string;
	/**
	 * Sent a second time only when the first cannot have been taken: it never left, or was answered with 429 or 503.
	 * Absent: may be sent as often as is needed.
	 */
	readonly once?: boolean | undefined;
}

export interface Wire {
	readonly pool: HttpPool;
	readonly check: UrlCheck;
	/** False: the certificate of this very peer is not looked at. */
	readonly verifySsl: boolean;
	/** Whose certificates are taken, and what is shown of us. Absent: what Node trusts, and nothing. */
	readonly trust?: Trust | undefined;
}

/** An answer whose headers are here. Read its body with `bytes` or `chunks`, or call `drop`. */
export interface Answer {
	readonly status: number;
	readonly headers: Readonly<Record<string, string | undefined>>;
	/** Where it came from. */
	readonly url: URL;
	/** The whole body. Throws `InvalidAgentResponseError` when it is longer than `maxBytes`. */
	bytes(maxBytes: number): Promise<Buffer>;
	/** The body as it comes. Throws when the connection is cut. */
	chunks(): AsyncIterable<Buffer>;
	/** Nobody will read it: the connection is closed. */
	drop(): void;
}

/**
 * The transport of a peer failed; `transient` tells whether trying again may help. When the request may have been taken
 * all the same, `details.metadata.broken` is "reply".
 */
export class TransportError extends A2AError {
	readonly transient: boolean;
	constructor(message: string, transient: boolean, cause: unknown, sent: boolean) {
		super("PeerUnreachableError", message, { cause, metadata: sent ? { broken: "reply" } : {} });
		this.transient = transient;
	}

	/** The request may have reached the peer. */
	get sent(): boolean {
		return this.details.metadata?.broken !== undefined;
	}
}

/**
 * Sends a request; resolves when the headers of the answer have come. Throws `TransportError`, what `check` throws, and
 * the reason of `signal`. Aborting later cuts the body off with that reason.
 */
export async function exchange(ask: Ask, wire: Wire, signal: AbortSignal): Promise<Answer> {
	const { url } = ask;
	if (url.protocol !== "http:" && url.protocol !== "https:") {
		throw new A2AError("InvalidRequestError", `Only http and https can be called, not ${oneLine(url.protocol, 20)}`);
	}
	if (url.username || url.password) {
		throw new A2AError("InvalidRequestError", "A URL with a user or password in it is not called");
	}
	const addresses = await wire.check(url);
	// An idle connection may be closed by its peer in the very moment it is used again; that is no failure of the peer.
	try {
		return await once(ask, wire, addresses, signal);
	} catch (error) {
		if (!(error instanceof StaleConnection)) throw error;
		return await once(ask, wire, addresses, signal).catch((again) => {
			throw again instanceof StaleConnection ? unreachable(url, again.cause, true) : again;
		});
	}
}

/** A kept connection was dead already. */
class StaleConnection extends Error {}

function once(ask: Ask, wire: Wire, addresses: readonly Endpoint[] | undefined, signal: AbortSignal): Promise<Answer> {
	const { url, method, body } = ask;
	return new Promise((resolve, reject) => {
		if (signal.aborted) return reject(signal.reason);
		const bytes = body === undefined ? undefined : Buffer.from(body);
		const request = (url.protocol === "https:" ? secureRequest : plainRequest)(url, {
			method,
			// An idle connection may be dead; one who may ask only once takes none of those.
			agent: ask.once ? false : wire.pool.agentFor(url, wire.trust),
			headers: {
				...ask.headers,
				"accept-encoding": "identity",
				...(bytes ? { "content-length": String(bytes.length) } : {}),
			},
			...(addresses ? { lookup: pinned(addresses) } : {}),
			...wire.trust,
			...(wire.verifySsl ? {} : { rejectUnauthorized: false }),
		});
		const abort = () => request.destroy(signal.reason instanceof Error ? signal.reason : new Error("aborted"));
		signal.addEventListener("abort", abort, { once: true });
		let incoming: Incoming | undefined;
		let sent = false;
		request.once("socket", (socket) => {
			if (!socket.connecting) sent = true;
			else socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => (sent = true));
		});
		request.once("response", (response) => {
			response.once("close", () => signal.removeEventListener("abort", abort));
			incoming = new Incoming(response, signal);
			resolve(answerOf(response, incoming, url, signal));
		});
		request.on("error", (error: NodeJS.ErrnoException) => {
			if (incoming) return incoming.fail(error);
			signal.removeEventListener("abort", abort);
			if (signal.aborted) return reject(signal.reason);
			const stale = request.reusedSocket && (error.code === "ECONNRESET" || error.code === "EPIPE");
			reject(stale ? new StaleConnection("stale", { cause: error }) : unreachable(url, error, sent));
		});
		request.end(bytes);
	});
}

/** A lookup that gives what was checked, whatever the name may mean by now. */
function pinned(addresses: readonly Endpoint[]): LookupFunction {
	return (_name, options, done) => {
		const [first] = addresses;
		if (options.all) done(null, [...addresses]);
		else if (first) done(null, first.address, first.family);
		else done(new Error("the name has no address"), "", 4);
	};
}

function answerOf(response: IncomingMessage, incoming: Incoming, url: URL, signal: AbortSignal): Answer {
	const headers: Record<string, string | undefined> = Object.create(null);
	for (const [name, value] of Object.entries(response.headers)) {
		headers[name] = Array.isArray(value) ? value.join(", ") : value;
	}
	const encoding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
	async function* chunks(): AsyncGenerator<Buffer, void, undefined> {
		if (encoding !== "identity" && encoding !== "") {
			incoming.drop();
			throw invalid(`The answer of ${place(url)} is compressed, which was not asked for`);
		}
		try {
			yield* incoming.chunks();
		} catch (error) {
			if (signal.aborted) throw signal.reason;
			throw unreachable(url, error, true, "The connection was cut in the middle of the answer from");
		}
	}
	return {
		status: response.statusCode ?? 0,
		headers,
		url,
		chunks,
		async bytes(maxBytes) {
			const parts: Buffer[] = [];
			let size = 0;
			for await (const chunk of chunks()) {
				size += chunk.length;
				if (size > maxBytes) {
					incoming.drop();
					throw invalid(`The answer of ${place(url)} is larger than ${maxBytes} bytes`);
				}
				parts.push(chunk);
			}
			return Buffer.concat(parts, size);
		},
		drop: () => incoming.drop(),
	};
}

const invalid = (text: string) => new A2AError("InvalidAgentResponseError", text);

/** A URL as it may stand in an error: without query, bounded. */
export function place(url: URL): string {
	return oneLine(`${url.origin}${url.pathname}`, 200);
}

/** Node's names for a certificate that does not do. */
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_VERIFY|ERR_TLS/;

function unreachable(url: URL, error: unknown, sent: boolean, what = "Could not reach"): TransportError {
	const code = (error as NodeJS.ErrnoException)?.code ?? "";
	const said = `${what} ${place(url)}: ${reasonOf(error)}`;
	if (CERTIFICATE.test(code))
		return new TransportError(`${said} (its certificate is not accepted)`, false, error, false);
	if (code === "EPROTO") return new TransportError(`${said} (perhaps it speaks plain http)`, false, error, false);
	return new TransportError(said, code !== "ENOTFOUND", error, sent);
}

/** What Node says of a failed connection. Where several addresses were tried, each has its own reason. */
function reasonOf(error: unknown): string {
	if (error instanceof AggregateError) return [...new Set(error.errors.map(reasonOf))].slice(0, 4).join("; ");
	const text = error instanceof Error ? error.message || (error as NodeJS.ErrnoException).code : String(error);
	return oneLine(text || "the connection failed", 200);
}
