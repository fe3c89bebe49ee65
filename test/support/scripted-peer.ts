/** A peer that answers as the test says: an Agent Card, and JSON-RPC methods each with a function of its own. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as it arrived. */
export interface Received {
	readonly method: string;
	// biome-ignore lint/suspicious/noExplicitAny: a test looks into whatever was sent
	readonly params: any;
	readonly headers: IncomingMessage["headers"];
}

/** What a method answers: a result; or items of a stream, each a result. A thrown `RpcError` is answered as one. */
export type Answers = Record<
	string,
	(params: Received["params"], nth: number) => unknown | Promise<unknown> | AsyncIterable<unknown>
>;

/** Thrown by an answer: the JSON-RPC error to send. */
export class RpcError extends Error {
	readonly code: number;
	constructor(code: number, message: string) {
		super(message);
		this.code = code;
	}
}

/** Thrown by an answer: the connection is cut instead of a reply. */
export class Lost extends Error {}

/** An item of a stream, with the id of its event. */
export class Numbered {
	readonly id: string;
	readonly item: object;
	constructor(id: string, item: object) {
		this.id = id;
		this.item = item;
	}
}

/** An item of a stream: cut the connection here. */
export const CUT = Symbol("cut");

export interface ScriptedPeer {
	readonly url: string;
	readonly port: number;
	/** Calls in order of their arrival; the card is not among them. */
	readonly received: Received[];
	/** Answers that the peer has not finished: zero when nobody waits. */
	readonly open: () => number;
	/** The parameters of the calls of one method. */
	of(method: string): Received["params"][];
	close(): Promise<void>;
}

export interface PeerOptions {
	readonly name?: string;
	readonly streaming?: boolean;
	readonly skills?: readonly { id: string; name: string; description: string; tags: string[] }[];
	readonly card?: object;
	readonly answers: Answers;
}

const isStream = (value: unknown): value is AsyncIterable<unknown> =>
	typeof value === "object" && value !== null && Symbol.asyncIterator in value;

async function bodyOf(request: IncomingMessage): Promise<string> {
	let text = "";
	for await (const chunk of request.setEncoding("utf8")) text += chunk;
	return text;
}

/** Starts a peer on a free port of 127.0.0.1. */
export async function startPeer(options: PeerOptions): Promise<ScriptedPeer> {
	const received: Received[] = [];
	let open = 0;

	async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
		if (request.method === "GET") {
			if (!request.url?.endsWith("/.well-known/agent-card.json")) return void response.writeHead(404).end();
			response.setHeader("content-type", "application/json");
			return void response.end(JSON.stringify(card()));
		}
		const { id, method, params } = JSON.parse(await bodyOf(request));
		const nth = received.filter((each) => each.method === method).length;
		received.push({ method, params, headers: request.headers });
		const send = (member: object) => JSON.stringify({ jsonrpc: "2.0", id, ...member });
		try {
			const script = options.answers[method];
			if (!script) throw new RpcError(-32601, `no method ${method}`);
			const result = script(params, nth);
			if (!isStream(result)) {
				const value = await result;
				response.setHeader("content-type", "application/json");
				return void response.end(send({ result: value }));
			}
			await stream(result, response, send);
		} catch (error) {
			if (error instanceof Lost) return void response.socket?.resetAndDestroy();
			if (!(error instanceof RpcError)) throw error;
			response.setHeader("content-type", "application/json");
			response.end(send({ error: { code: error.code, message: error.message } }));
		}
	}

	async function stream(
		items: AsyncIterable<unknown>,
		response: ServerResponse,
		send: (member: object) => string,
	): Promise<void> {
		response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
		for await (const item of items) {
			// What was written still goes out.
			if (item === CUT) return void response.socket?.destroySoon();
			const { id, item: result } = item instanceof Numbered ? item : { id: undefined, item };
			const data = typeof result === "string" ? result : `data: ${send({ result })}\n\n`;
			response.write(id === undefined ? data : `id: ${id}\n${data}`);
			if (response.destroyed) return;
		}
		response.end();
	}

	const server = createServer((request, response) => {
		open += 1;
		response.once("close", () => {
			open -= 1;
		});
		answer(request, response).catch((error: unknown) => response.destroy(error as Error));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	const url = `http://127.0.0.1:${port}/`;
	const card = () => ({
		name: options.name ?? "scripted",
		description: "answers as the test says",
		version: "1.0.0",
		supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
		capabilities: { streaming: options.streaming ?? false },
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: options.skills ?? [],
		...options.card,
	});
	return {
		url,
		port,
		received,
		open: () => open,
		of: (method) => received.filter((each) => each.method === method).map((each) => each.params),
		async close() {
			const closed = new Promise((resolve) => server.close(resolve));
			server.closeAllConnections();
			await closed;
		},
	};
}

/** A promise that never settles: the peer does not answer. */
export const silence = (): Promise<never> => new Promise(() => undefined);

/** A task as a peer tells of it. */
export function task(state: string, more: object = {}, message?: string): object {
	return {
		id: "t1",
		contextId: "c1",
		status: { state: `TASK_STATE_${state}`, ...(message === undefined ? {} : { message: said(message) }) },
		...more,
	};
}

/** A message of the peer. */
export const said = (text: string, more: object = {}): object => ({
	messageId: `m-${text}`,
	role: "ROLE_AGENT",
	parts: [{ text }],
	...more,
});

/** A status update of task t1. */
export const status = (state: string, message?: string): object => {
	const { id: taskId, contextId, status: now } = task(state, {}, message) as Record<string, unknown>;
	return { statusUpdate: { taskId, contextId, status: now } };
};

/** A piece of the reply of task t1. */
export const chunk = (text: string, append = false, id = "a1"): object => ({
	artifactUpdate: { taskId: "t1", contextId: "c1", artifact: { artifactId: id, parts: [{ text }] }, append },
});

/** The artifacts member of a task that replied with `text`. */
export const made = (text: string): object => ({ artifacts: [{ artifactId: "a1", parts: [{ text }] }] });
