/** A server on a free port of 127.0.0.1, and bytes over a socket, for the tests of this folder. */
import { connect } from "node:net";
import { allowedHosts } from "../../src/bindings/http/gate.ts";
import { createHandler, type HandlerParts } from "../../src/bindings/http/handler.ts";
import { type Listening, listen } from "../../src/bindings/http/listen.ts";
import type { ServerTls } from "../../src/bindings/http/tls.ts";
import { identifier } from "../../src/guard/identity.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Log } from "../../src/lib/log.ts";
import type { Agent } from "../../src/protocol/agent.ts";
import { buildCard } from "../../src/protocol/card.ts";
import type { AgentCard, AgentExtension } from "../../src/protocol/types.ts";

export interface ServeOptions {
	readonly agent: Agent;
	/** Names and their tokens; none: everybody is let in. */
	readonly tokens?: Readonly<Record<string, string>>;
	readonly isV03?: HandlerParts["isV03"];
	readonly v03?: boolean;
	readonly maxBodyBytes?: number;
	readonly publicUrl?: string;
	readonly extensions?: readonly AgentExtension[];
	readonly host?: string;
	readonly clock?: HandlerParts["clock"];
	readonly metrics?: () => object;
	readonly hooks?: HandlerParts["hooks"];
	readonly tls?: ServerTls | undefined;
	readonly refused?: HandlerParts["refused"];
	readonly log?: Log;
	/** The card as it is served. */
	readonly shown?: (card: AgentCard) => AgentCard;
}

/** What the server said to its log. */
export function remembering(): Log & { readonly lines: string[] } {
	const lines: string[] = [];
	return { lines, warn: (text) => void lines.push(text), info: (text) => void lines.push(text) };
}

export async function serve(options: ServeOptions): Promise<Listening> {
	const { tokens = {}, log = remembering() } = options;
	const authRequired = Object.keys(tokens).length > 0;
	const host = options.host ?? "127.0.0.1";
	const clock = options.clock ? { clock: options.clock } : {};
	const running: { url: string } = { url: "http://127.0.0.1:1/" };
	const { shown = (card) => card } = options;
	const cardOf = () =>
		buildCard({
			name: "tester",
			description: "Answers tests",
			version: "1.2.3",
			url: running.url,
			restUrl: `${running.url}rest`,
			skills: [],
			auth: authRequired,
			streaming: true,
			push: false,
			extended: false,
			v03: options.v03 ?? true,
			...(options.extensions ? { extensions: options.extensions } : {}),
		});
	const handler = createHandler({
		agent: options.agent,
		identify: identifier({ shared: "", peers: tokens, clock: systemClock }),
		card: () => shown(cardOf()),
		gate: { hosts: () => allowedHosts(host, options.publicUrl, authRequired), authRequired },
		isV03: options.isV03 ?? (() => false),
		...(options.maxBodyBytes ? { maxBodyBytes: options.maxBodyBytes } : {}),
		...(options.metrics ? { metrics: options.metrics } : {}),
		...(options.hooks ? { hooks: options.hooks } : {}),
		...(options.refused ? { refused: options.refused } : {}),
		...clock,
		log,
	});
	const server = await listen(handler, { host, port: 0, portFallback: 0, tls: options.tls, log, ...clock });
	running.url = server.url;
	return server;
}

/** Sends bytes to a port and gives everything that comes back until the other side closes or `enough` says so. */
export function raw(
	port: number,
	bytes: string | Uint8Array,
	enough: (text: string) => boolean = () => false,
	host = "127.0.0.1",
): Promise<string> {
	return new Promise((resolve, reject) => {
		let text = "";
		const socket = connect(port, host, () => socket.write(bytes));
		socket.setEncoding("utf8");
		const timer = setTimeout(() => socket.destroy(new Error(`no end; so far: ${text}`)), 5_000);
		socket.on("data", (chunk: string) => {
			text += chunk;
			if (enough(text)) socket.destroy();
		});
		socket.once("close", () => {
			clearTimeout(timer);
			resolve(text);
		});
		socket.once("error", (error) => (text ? resolve(text) : reject(error)));
	});
}

/** A POST of JSON-RPC, as raw text. */
export function post(body: string, headers: Readonly<Record<string, string>> = {}, path = "/"): string {
	const all = {
		host: "127.0.0.1",
		"content-type": "application/json",
		"content-length": String(Buffer.byteLength(body)),
		connection: "close",
		...headers,
	};
	const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
	return `POST ${path} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n${body}`;
}

/** A JSON-RPC reply, loosely. */
export interface Reply {
	readonly jsonrpc?: unknown;
	readonly id?: unknown;
	// biome-ignore lint/suspicious/noExplicitAny: whatever the server says is looked at member by member
	readonly result?: any;
	readonly error?: { readonly code: number; readonly message: string; readonly data?: readonly unknown[] };
}

/** A JSON-RPC call over fetch; gives the HTTP response and the JSON. */
export async function rpc(
	url: string,
	method: string,
	params: unknown,
	headers: Readonly<Record<string, string>> = {},
	id: unknown = 1,
): Promise<{ status: number; headers: Headers; json: Reply }> {
	const response = await fetch(url, {
		method: "POST",
		headers: { "content-type": "application/json", ...headers },
		body: JSON.stringify({ jsonrpc: "2.0", id, method, ...(params === undefined ? {} : { params }) }),
	});
	return { status: response.status, headers: response.headers, json: (await response.json()) as Reply };
}
