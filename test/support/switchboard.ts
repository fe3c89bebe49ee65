/** A small a2a-switchboard: registration, admission, directory, proxy and reverse channel, as its wire contract says. */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Registrant {
	name: string;
	url: string;
	card?: { capabilities?: object; skills?: readonly object[] };
	upstreamToken?: string;
	callerToken?: string;
	state: "pending" | "accepted" | "revoked";
	healthy: boolean | null;
}

/** A request as the gateway saw it. `as`: whose credential it carried. */
export interface Seen {
	readonly method: string;
	readonly path: string;
	readonly as: string;
	readonly headers: IncomingMessage["headers"];
	// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was sent
	readonly body: any;
}

export interface Refusal {
	readonly status: number;
	readonly headers?: Readonly<Record<string, string>>;
	readonly body?: string;
}

export interface SwitchboardOptions {
	readonly token?: string;
	readonly bootstrap?: string;
	/** Knows PATCH; older ones do not. */
	readonly patch?: boolean;
	/** Mints caller tokens; the oldest ones do not. */
	readonly mint?: boolean;
	readonly port?: number;
	/** An id larger than numbers can be exact, in every request down a channel. */
	readonly firstId?: bigint;
	readonly channels?: boolean;
}

interface Line {
	readonly secret: string;
	readonly response: ServerResponse;
	readonly waiting: Map<string, (reply: { status: number; headers: object; body: Buffer } | undefined) => void>;
}

const MAX_BYTES = 4 * 1024 * 1024;
const NAME = /^[A-Za-z0-9._-]{1,64}$/;

export class Switchboard {
	readonly token: string;
	readonly bootstrap: string;
	readonly peers = new Map<string, Registrant>();
	readonly seen: Seen[] = [];
	/** What was posted as answers to channel requests, and what came of it. */
	readonly answers: { readonly id: string; readonly status: number }[] = [];
	/** Answers instead of the gateway, where it gives something. */
	intercept: (seen: Seen) => Refusal | undefined = () => undefined;
	/** Takes requests and answers none. */
	mute = false;
	readonly #options: SwitchboardOptions;
	readonly #lines = new Map<string, Line>();
	readonly #server = createServer((request, response) => {
		this.#answer(request, response).catch((error: unknown) => {
			response.destroy();
			throw error;
		});
	});
	#id: bigint;

	constructor(options: SwitchboardOptions = {}) {
		this.#options = options;
		this.token = options.token ?? "fleet-token";
		this.bootstrap = options.bootstrap ?? "operator-token";
		this.#id = options.firstId ?? 1n;
	}

	async listen(): Promise<this> {
		await new Promise<void>((resolve) => this.#server.listen(this.#options.port ?? 0, "127.0.0.1", resolve));
		return this;
	}

	get port(): number {
		return (this.#server.address() as AddressInfo).port;
	}

	get url(): string {
		return `http://127.0.0.1:${this.port}`;
	}

	/** Requests that anybody made for `/register`, as `POST fleet`. */
	get registrations(): string[] {
		return this.seen.filter(({ path }) => path.startsWith("/register")).map(({ method, as }) => `${method} ${as}`);
	}

	admit(name: string, state: Registrant["state"] = "accepted"): void {
		const peer = this.peers.get(name);
		if (!peer) throw new Error(`${name} is not registered`);
		peer.state = state;
	}

	/** Names whose channel is open. */
	get channels(): string[] {
		return [...this.#lines.keys()];
	}

	/** Writes to an open channel as it is. */
	raw(name: string, text: string): void {
		this.#lines.get(name)?.response.write(text);
	}

	secret(name: string): string {
		return this.#lines.get(name)?.secret ?? "";
	}

	/** Cuts a channel. */
	cut(name: string): void {
		this.#lines.get(name)?.response.destroy();
	}

	/** Cuts every connection and gives the port back. */
	async close(): Promise<void> {
		const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
		this.#server.closeAllConnections();
		await closed;
	}

	#who(request: IncomingMessage): string {
		const header = request.headers.authorization ?? "";
		const given = header.replace(/^Bearer /, "") || String(request.headers["x-gateway-token"] ?? "");
		if (given === this.token) return "fleet";
		if (given === this.bootstrap) return "operator";
		for (const peer of this.peers.values()) if (given && given === peer.callerToken) return `peer ${peer.name}`;
		return given === "" ? "nobody" : "unknown";
	}

	async #answer(request: IncomingMessage, response: ServerResponse): Promise<number> {
		const chunks: Buffer[] = [];
		for await (const chunk of request) chunks.push(chunk as Buffer);
		const bytes = Buffer.concat(chunks);
		const url = new URL(request.url ?? "/", this.url);
		const as = this.#who(request);
		const seen: Seen = {
			method: request.method ?? "",
			path: request.url ?? "",
			as,
			headers: request.headers,
			body: parsed(bytes),
		};
		this.seen.push(seen);
		if (this.mute) return 0;
		const refused = this.intercept(seen);
		if (refused) return send(response, refused.status, refused.body ?? "", refused.headers);
		const name = url.searchParams.get("name") ?? "";
		if (url.pathname === "/register") {
			if (seen.method === "POST") return this.#post(as, seen.body, response);
			if (seen.method === "PATCH") return this.#patch(as, seen.body, response);
			if (seen.method === "DELETE") return this.#delete(as, name, response);
			return send(response, 405, "");
		}
		if (/^\/\.well-known\/agent(-card)?\.json$/.test(url.pathname)) return this.#directory(as, response);
		if (url.pathname === "/channel" && this.#options.channels !== false) return this.#channel(as, name, response);
		const id = /^\/channel\/response\/(\d+)$/.exec(url.pathname)?.[1];
		if (id !== undefined) return this.#response(as, name, id, bytes, response);
		const proxied = /^\/peer\/([^/]+)(\/.*)$/.exec(url.pathname);
		if (proxied) return this.#proxy(as, proxied[1] ?? "", proxied[2] ?? "", url.search, seen, bytes, response);
		return send(response, 404, "not found");
	}

	#post(as: string, body: Seen["body"], response: ServerResponse): number {
		if (as === "nobody" || as === "unknown") return json(response, 401, { error: "unknown token" });
		if (!isValid(body)) return json(response, 422, { error: "bad name or url" });
		const known = this.peers.get(body.name);
		if (known) {
			const owned = known.callerToken !== undefined;
			if (owned && as !== `peer ${known.name}`) return json(response, 409, { error: "name taken" });
			Object.assign(known, fieldsOf(body));
			return json(response, 200, { status: "updated", peer: known.name, state: known.state });
		}
		const state = as === "operator" ? "accepted" : "pending";
		const token = this.#options.mint === false ? {} : { callerToken: randomBytes(8).toString("hex") };
		const peer: Registrant = { name: body.name, state, healthy: null, ...fieldsOf(body), ...token };
		this.peers.set(peer.name, peer);
		const said = peer.callerToken ? { caller_token: peer.callerToken } : {};
		return json(response, 201, { status: "registered", peer: peer.name, state, ...said });
	}

	#patch(as: string, body: Seen["body"], response: ServerResponse): number {
		if (this.#options.patch === false) return json(response, 405, { error: "method not allowed" });
		// A caller token that no peer has is unknown, unless the peer itself is gone.
		if (!as.startsWith("peer ")) {
			if (!this.peers.has(body?.name)) return json(response, 404, { error: "no such peer" });
			return json(response, 401, { error: "unknown token" });
		}
		const peer = this.peers.get(body?.name);
		if (!peer) return json(response, 404, { error: "no such peer" });
		if (as !== `peer ${peer.name}`) return json(response, 409, { error: "someone else's peer" });
		if (peer.state === "revoked") return json(response, 403, { error: "revoked" });
		Object.assign(peer, fieldsOf(body));
		return json(response, 200, { status: "updated", peer: peer.name, state: peer.state });
	}

	#delete(as: string, name: string, response: ServerResponse): number {
		if (as !== `peer ${name}`) return json(response, 404, { error: "not registered by this identity" });
		this.peers.delete(name);
		this.cut(name);
		return json(response, 200, { status: "deregistered" });
	}

	#directory(as: string, response: ServerResponse): number {
		const listed = [...this.peers.values()].filter(({ state }) => state === "accepted");
		const peers = listed.map(({ name, healthy, card }) => ({
			name,
			url: `/peer/${name}/`,
			healthy: this.#lines.has(name) ? true : healthy,
			channel: this.#lines.has(name),
			capabilities: card?.capabilities ?? null,
			skills: card?.skills ?? null,
		}));
		const admitted = as !== "nobody" && as !== "unknown";
		return json(response, 200, { name: "switchboard", version: "0.6.1", peers: admitted ? peers : [] });
	}

	#channel(as: string, name: string, response: ServerResponse): number {
		const peer = this.peers.get(name);
		if (!peer) return json(response, 404, { error: "no such peer" });
		if (as !== `peer ${name}`) return json(response, 401, { error: "not yours" });
		if (peer.state !== "accepted") return json(response, 403, { error: "not accepted" });
		const line: Line = { secret: randomBytes(8).toString("hex"), response, waiting: new Map() };
		response.writeHead(200, { "content-type": "text/event-stream" });
		response.write(`event: hello\ndata: ${line.secret}\n\n`);
		this.#lines.set(name, line);
		response.once("close", () => {
			if (this.#lines.get(name) === line) this.#lines.delete(name);
			for (const done of line.waiting.values()) done(undefined);
		});
		return 200;
	}

	#response(as: string, name: string, id: string, bytes: Buffer, response: ServerResponse): number {
		const status = this.#taken(as, name, id, bytes);
		this.answers.push({ id, status });
		return json(response, status, { status: status === 200 ? "delivered" : "refused" });
	}

	#taken(as: string, name: string, id: string, bytes: Buffer): number {
		if (bytes.length > MAX_BYTES) return 413;
		const line = this.#lines.get(name);
		if (as !== `peer ${name}`) return 403;
		const done = line?.waiting.get(id);
		if (!line || !done) return 404;
		const text = bytes.toString("utf8");
		if (/^\{\s*"id"\s*:\s*(\d+)/.exec(text)?.[1] !== id) return 422;
		const { status, headers, body_b64, chan_secret } = JSON.parse(text);
		if (chan_secret !== line.secret) return 403;
		line.waiting.delete(id);
		done({ status, headers, body: Buffer.from(body_b64, "base64") });
		return 200;
	}

	async #proxy(
		as: string,
		name: string,
		path: string,
		query: string,
		{ method, headers }: Seen,
		bytes: Buffer,
		response: ServerResponse,
	): Promise<number> {
		const own = (status: number, code: number, message: string) =>
			json(response, status, { jsonrpc: "2.0", id: null, error: { code, message } });
		if (as === "nobody" || as === "unknown") return own(401, -32001, "unauthorized");
		const peer = this.peers.get(name);
		if (!peer) return send(response, 404, "unknown peer");
		if (peer.state !== "accepted") return own(403, -32002, "peer not accepted");
		if (bytes.length > MAX_BYTES) return send(response, 413, "too large");
		const passed = Object.fromEntries(
			Object.entries(headers).flatMap(([key, value]) =>
				["host", "connection", "content-length", "authorization", "x-gateway-token", "x-gateway-caller"].includes(key)
					? []
					: [[key, String(value)]],
			),
		);
		const line = this.#lines.get(name);
		if (line) {
			const reply = await this.ask(name, { method, path, query: query.slice(1) || null, headers: passed, body: bytes });
			if (!reply) return send(response, 502, "peer unreachable");
			return send(response, reply.status, reply.body, reply.headers as Record<string, string>);
		}
		try {
			const answer = await fetch(new URL(`.${path}${query}`, peer.url), {
				method,
				headers: { ...passed, ...(peer.upstreamToken ? { authorization: `Bearer ${peer.upstreamToken}` } : {}) },
				...(bytes.length > 0 ? { body: bytes } : {}),
			});
			const body = Buffer.from(await answer.arrayBuffer());
			const type = answer.headers.get("content-type") ?? "text/plain";
			return send(response, answer.status, body, { "content-type": type });
		} catch {
			return send(response, 502, "peer unreachable");
		}
	}

	/** Sends a request down the channel of `name`; undefined when the channel is lost before the answer. */
	ask(
		name: string,
		request: { method: string; path: string; query?: string | null; headers?: object; body?: Buffer; secret?: string },
	): Promise<{ status: number; headers: object; body: Buffer } | undefined> {
		const line = this.#lines.get(name);
		if (!line) return Promise.resolve(undefined);
		const id = String(this.#id++);
		const rest = JSON.stringify({
			method: request.method,
			path: request.path,
			query: request.query ?? null,
			headers: request.headers ?? {},
			body_b64: (request.body ?? Buffer.alloc(0)).toString("base64"),
			chan_secret: request.secret ?? line.secret,
		});
		return new Promise((resolve) => {
			line.waiting.set(id, resolve);
			line.response.write(`event: request\ndata: {"id":${id},${rest.slice(1)}\n\n`);
		});
	}
}

function isValid(body: Seen["body"]): boolean {
	return NAME.test(body?.name ?? "") && /^https?:/.test(body?.url ?? "") && (body?.upstream_token ?? "").length <= 512;
}

function fieldsOf(body: Seen["body"]): Pick<Registrant, "url"> & Partial<Registrant> {
	return {
		url: body.url,
		...(body.card ? { card: body.card } : {}),
		...(body.upstream_token ? { upstreamToken: body.upstream_token } : {}),
	};
}

function parsed(bytes: Buffer): unknown {
	try {
		return JSON.parse(bytes.toString("utf8"));
	} catch {
		return undefined;
	}
}

/** Answers, and says with what. */
function send(
	response: ServerResponse,
	status: number,
	body: string | Buffer,
	headers: Readonly<Record<string, string>> = {},
): number {
	response.writeHead(status, { "content-type": "text/plain", ...headers }).end(body);
	return status;
}

function json(response: ServerResponse, status: number, value: object): number {
	return send(response, status, JSON.stringify(value), { "content-type": "application/json" });
}

/** A gateway on a free port of 127.0.0.1, or on the given one. */
export const switchboard = (options?: SwitchboardOptions): Promise<Switchboard> => new Switchboard(options).listen();
