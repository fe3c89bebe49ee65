/** An HTTP peer made of a raw socket: it can answer in every wrong way, and remembers each byte it was sent. */
import { createServer, type Server, type Socket } from "node:net";

export interface PeerRequest {
	readonly method: string;
	readonly path: string;
	/** Lower-case names. */
	readonly headers: Readonly<Record<string, string>>;
	readonly body: string;
	/** The body as a JSON-RPC request; empty for other bodies. */
	readonly rpc: {
		readonly id?: unknown;
		readonly method?: string;
		readonly params?: Readonly<Record<string, unknown>>;
	};
	/** Number of the connection it came over, from 0. */
	readonly connection: number;
}

/** The peer's end of one request. */
export interface Wire {
	/** Bytes as they are. */
	write(bytes: string | Uint8Array): Promise<void>;
	/** Status line and headers. */
	head(status: number, headers?: Readonly<Record<string, string>>): Promise<void>;
	/** A whole reply with its length; the connection stays open. */
	send(status: number, body: string | Uint8Array, headers?: Readonly<Record<string, string>>): Promise<void>;
	/** A JSON reply. */
	json(value: unknown, status?: number, headers?: Readonly<Record<string, string>>): Promise<void>;
	/** A JSON-RPC result for the request. */
	result(value: unknown): Promise<void>;
	/** A JSON-RPC error for the request. */
	error(code: number, message: string, status?: number): Promise<void>;
	/** Headers of an event stream that ends with the connection. */
	events(): Promise<void>;
	/** One event with a JSON-RPC result for the request. */
	event(value: unknown): Promise<void>;
	/** Ends the connection in the regular way. */
	end(): void;
	/** Cuts it (RST). */
	cut(): void;
	/** Resolves when the other side is gone. */
	readonly gone: Promise<void>;
}

export interface FaultyPeer {
	/** `http://127.0.0.1:port/` */
	readonly url: string;
	readonly port: number;
	readonly requests: PeerRequest[];
	/** Connections that are open now. */
	readonly open: number;
	close(): Promise<void>;
}

const TEXT: Readonly<Record<number, string>> = { 200: "OK", 401: "Unauthorized", 404: "Not Found", 503: "Unavailable" };

/** Starts a peer; `answer` plays its part in each request. */
export async function faultyPeer(
	answer: (request: PeerRequest, wire: Wire, number: number) => unknown,
	host = "127.0.0.1",
): Promise<FaultyPeer> {
	const requests: PeerRequest[] = [];
	const sockets = new Set<Socket>();
	let connections = 0;
	const server: Server = createServer((socket) => {
		const connection = connections++;
		sockets.add(socket);
		socket.setNoDelay(true);
		const gone = new Promise<void>((resolve) => socket.once("close", () => resolve()));
		socket.once("close", () => sockets.delete(socket));
		socket.on("error", () => undefined);
		let pending: Buffer = Buffer.alloc(0);
		socket.on("data", (chunk) => {
			pending = Buffer.concat([pending, chunk]);
			for (let found = take(pending, connection); found; found = take(pending, connection)) {
				pending = found.rest;
				requests.push(found.request);
				answer(found.request, wireOf(socket, found.request, gone), requests.length - 1);
			}
		});
	});
	await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, host, resolve));
	const address = server.address();
	const port = typeof address === "object" && address ? address.port : 0;
	return {
		url: `http://${host.includes(":") ? `[${host}]` : host}:${port}/`,
		port,
		requests,
		get open() {
			return sockets.size;
		},
		close() {
			for (const socket of sockets) socket.destroy();
			return new Promise((resolve) => server.close(() => resolve()));
		},
	};
}

function take(bytes: Buffer, connection: number): { request: PeerRequest; rest: Buffer } | undefined {
	const end = bytes.indexOf("\r\n\r\n");
	if (end === -1) return undefined;
	const [line = "", ...lines] = bytes.subarray(0, end).toString("latin1").split("\r\n");
	const headers = Object.fromEntries(
		lines.map((each) => [each.slice(0, each.indexOf(":")).toLowerCase(), each.slice(each.indexOf(":") + 1).trim()]),
	);
	const length = Number(headers["content-length"] ?? 0);
	const from = end + 4;
	if (bytes.length < from + length) return undefined;
	const body = bytes.subarray(from, from + length).toString("utf8");
	const [method = "", path = ""] = line.split(" ");
	const rpc = body.startsWith("{") ? JSON.parse(body) : {};
	return { request: { method, path, headers, body, rpc, connection }, rest: bytes.subarray(from + length) };
}

function wireOf(socket: Socket, request: PeerRequest, gone: Promise<void>): Wire {
	const write = (bytes: string | Uint8Array) =>
		new Promise<void>((resolve) => (socket.destroyed ? resolve() : socket.write(bytes, () => resolve())));
	const head = (status: number, headers: Readonly<Record<string, string>> = {}) => {
		const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
		return write(`HTTP/1.1 ${status} ${TEXT[status] ?? "Status"}\r\n${lines.join("")}\r\n`);
	};
	const send = async (status: number, body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}) => {
		await head(status, { "content-length": String(Buffer.byteLength(body)), ...headers });
		await write(body);
	};
	const json = (value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}) =>
		send(status, JSON.stringify(value), { "content-type": "application/json", ...headers });
	const envelope = (more: object) => ({ jsonrpc: "2.0", id: request.rpc.id, ...more });
	return {
		write,
		head,
		send,
		json,
		result: (result) => json(envelope({ result })),
		error: (code, message, status = 200) => json(envelope({ error: { code, message } }), status),
		events: () => head(200, { "content-type": "text/event-stream", connection: "close" }),
		event: (result) => write(`data: ${JSON.stringify(envelope({ result }))}\n\n`),
		end: () => void socket.end(),
		cut: () => void socket.resetAndDestroy(),
		gone,
	};
}
