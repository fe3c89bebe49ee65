/** A TCP port in front of a handler. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, isIP } from "node:net";
import { type Clock, systemClock } from "../../lib/clock.ts";
import { attempt, type Log } from "../../lib/log.ts";
import { isLoopback } from "./gate.ts";
import { answerMalformed } from "./malformed.ts";
import type { HttpReply } from "./reply.ts";
import { follow, type HttpRequest, NodeRequest } from "./request.ts";
import type { ServerTls } from "./tls.ts";
import { writeReply } from "./write.ts";

export interface ListenOptions {
	/** IP address or name to bind, see `bindHost`. */
	readonly host: string;
	/** 0: any free port. */
	readonly port: number;
	/** How many ports above `port` are tried when it is taken; after them, any free port. */
	readonly portFallback: number;
	/** Speaks https with it; absent: http. */
	readonly tls?: ServerTls | undefined;
	readonly log: Log;
	readonly clock?: Clock;
}

/** A server that runs. It keeps no process alive. */
export interface Listening {
	/** The address and port really bound. */
	readonly host: string;
	readonly port: number;
	/** Where it answers, with a trailing slash. A server bound to every address is named by its loopback one. */
	readonly url: string;
	/**
	 * Takes no more connections, ends streams, then connections; settles within two seconds, the port is free then.
	 * Before that, until `work` has settled, the requests under way are left alone, so that they are told how what they wait for
	 * ended. May be called twice.
	 */
	close(work?: Promise<unknown>): Promise<void>;
}

const HEADERS_MS = 10_000;
const REQUEST_MS = 120_000;
const KEEP_ALIVE_MS = 30_000;
const MAX_CONNECTIONS = 4_000;
/** How long replies that are being made get when the server stops. */
const GRACE_MS = 500;

/**
 * The address to bind. Without a token nobody but this machine gets in, whatever is configured; a blank host means
 * loopback, and so does `localhost`, whose meaning a resolver could change.
 */
export function bindHost(wanted: string, hasToken: boolean): string {
	const host = wanted
		.trim()
		.replace(/^\[(.*)\]$/, "$1")
		.toLowerCase();
	if (host === "" || host === "localhost") return "127.0.0.1";
	return hasToken || isLoopback(host) ? host : "127.0.0.1";
}

/** `http://host:port/`, or https, with IPv6 brackets; the wildcard addresses, which nobody can call, become their loopback one. */
export function urlOf(host: string, port: number, secure = false): string {
	const callable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
	return `${secure ? "https" : "http"}://${isIP(callable) === 6 ? `[${callable}]` : callable}:${port}/`;
}

/**
 * Serves `handler`. When the port is taken the next ones are tried, then any free one. Rejects when none can be bound
 * (a host that is not ours, a port that needs rights).
 */
export async function listen(
	handler: (request: HttpRequest) => Promise<HttpReply>,
	options: ListenOptions,
): Promise<Listening> {
	const { log, clock = systemClock } = options;
	const open = new Set<NodeRequest>();
	let closing: Promise<void> | undefined;
	let answered: () => void = () => undefined;

	async function answer(message: IncomingMessage, response: ServerResponse, invite: () => void): Promise<void> {
		const request = new NodeRequest(message, clock, invite);
		follow(message, response, request);
		open.add(request);
		try {
			await writeReply(request, response, await handler(request), clock);
			if (closing) message.socket.destroySoon();
		} finally {
			open.delete(request);
			if (open.size === 0) answered();
		}
	}
	/** Waits for `work`, then a moment for the answers that it made possible. */
	async function told(work: Promise<unknown>): Promise<void> {
		await attempt("end the work of the server", () => work, log);
		if (open.size === 0) return;
		const all = new Promise<void>((resolve) => {
			answered = resolve;
		});
		await Promise.race([all, clock.sleep(GRACE_MS)]);
	}
	// The wall: whatever a request does, it ends at most its own connection.
	function serve(message: IncomingMessage, response: ServerResponse, invite: () => void = () => undefined): void {
		const cut = (error: unknown) => {
			response.destroy();
			log.warn("Could not finish the answer to a request", error);
		};
		const evenWithoutLog = () => undefined;
		answer(message, response, invite).catch(cut).catch(evenWithoutLog);
	}

	const times = {
		headersTimeout: HEADERS_MS,
		requestTimeout: REQUEST_MS,
		keepAliveTimeout: KEEP_ALIVE_MS,
		connectionsCheckingInterval: 5_000,
	};
	const server = options.tls
		? createSecureServer({ ...times, ...options.tls, handshakeTimeout: HEADERS_MS })
		: createServer(times);
	server.maxConnections = MAX_CONNECTIONS;
	// No limit by count (one by size exists): headers beyond it would be dropped in silence, a proxy's mark among them.
	server.maxHeadersCount = 0;
	server.on("request", (message, response) => serve(message, response));
	server.on("checkContinue", (message, response: ServerResponse) =>
		serve(message, response, () => response.writeContinue()),
	);
	answerMalformed(server);
	server.on("connection", (socket) => socket.unref());
	await bind(server, options);
	server.on("error", (error) => log.warn("The server reported an error", error));
	server.unref();

	const { address, port } = server.address() as AddressInfo;
	return {
		host: address,
		port,
		url: urlOf(address, port, options.tls !== undefined),
		close(work) {
			closing ??= shut(server, clock, async () => {
				if (work) await told(work);
				for (const request of open) request.abort();
			});
			return closing;
		},
	};
}

async function shut(server: Server, clock: Clock, endStreams: () => Promise<void>): Promise<void> {
	const closed = new Promise<void>((resolve) => server.close(() => resolve()));
	await endStreams();
	server.closeIdleConnections();
	await Promise.race([closed, clock.sleep(GRACE_MS)]);
	server.closeAllConnections();
	await closed;
}

async function bind(server: Server, options: ListenOptions): Promise<void> {
	const { host, port, portFallback, log } = options;
	const last = port === 0 ? 0 : Math.min(port + Math.max(0, portFallback), 65_535);
	for (let tried = port; tried <= last; tried++) {
		if (await bound(server, host, tried)) {
			if (tried !== port) log.info(`Port ${port} is taken; listening on ${tried}`);
			return;
		}
	}
	await bound(server, host, 0);
	log.info(`Ports ${port} to ${last} are taken; listening on ${(server.address() as AddressInfo).port}`);
}

/** False when the port is taken. Throws when it cannot be bound for another reason. */
function bound(server: Server, host: string, port: number): Promise<boolean> {
	return new Promise((resolve, reject) => {
		const failed = (error: NodeJS.ErrnoException) => {
			server.off("listening", listening);
			if (error.code === "EADDRINUSE" && port !== 0) resolve(false);
			else reject(new Error(`Cannot listen on ${host} port ${port}: ${error.message}`, { cause: error }));
		};
		const listening = () => {
			server.off("error", failed);
			resolve(true);
		};
		server.once("error", failed).once("listening", listening);
		server.listen(port, host);
	});
}
