/**
 * Hermes as it is on the wire: 1.0 data under path-like names, a quick WORKING and then polling, questions in the message
 * of the status, errors of its own range. A server to call, and a caller.
 */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { play, type State, type Step } from "./sdk-script.ts";

// biome-ignore lint/suspicious/noExplicitAny: what travels is looked into as it is
type Any = any;

export interface Hermes {
	/** `http://127.0.0.1:port/` */
	readonly url: string;
	readonly received: { readonly method: string; readonly params: Any; readonly headers: IncomingMessage["headers"] }[];
	close(): Promise<void>;
}

export interface HermesOptions {
	/** Shared bearer token. */
	readonly token?: string;
	/** Answers a send with a WORKING task at once. Default true. */
	readonly earlyAck?: boolean;
	/** The card says that it streams. Default false. */
	readonly streaming?: boolean;
	/** Serves the card under its old name only. */
	readonly oldCard?: boolean;
	/** Error code of its own that every call gets. */
	readonly refuses?: number;
}

const ERRORS: Readonly<Record<number, readonly [number, string]>> = {
	[-32050]: [401, "Unauthorized"],
	[-32051]: [429, "Rate limit exceeded"],
	[-32052]: [403, "Peer is not trusted"],
	[-32053]: [503, "Busy"],
};

/** Its old names, and those of 1.0. */
const METHODS: Readonly<Record<string, string>> = {
	"message/send": "SendMessage",
	"message/stream": "SendStreamingMessage",
	"tasks/get": "GetTask",
	"tasks/list": "ListTasks",
	"tasks/cancel": "CancelTask",
	"tasks/subscribe": "SubscribeToTask",
};

const stateOf = (state: State) => `TASK_STATE_${state.toUpperCase().replace("-", "_")}`;

/** A task of Hermes. */
class Work {
	readonly id = `task-${randomUUID().slice(0, 8)}`;
	readonly contextId: string;
	readonly controller = new AbortController();
	readonly #readers = new Set<(event: object) => void>();
	readonly #artifacts: Any[] = [];
	#status: Any = { state: "TASK_STATE_WORKING" };
	/** The turn that runs, or the last one. */
	turn: Promise<void> = Promise.resolve();

	constructor(contextId: string) {
		this.contextId = contextId;
	}

	get state(): string {
		return this.#status.state;
	}

	get isWaiting(): boolean {
		return /_REQUIRED$/.test(this.state);
	}

	get isOver(): boolean {
		return /COMPLETED|FAILED|CANCELED|REJECTED/.test(this.state);
	}

	get view(): object {
		const { id, contextId } = this;
		return { id, contextId, status: this.#status, artifacts: structuredClone(this.#artifacts) };
	}

	begin(words: string): void {
		const resumed = this.isWaiting;
		this.#status = { state: "TASK_STATE_WORKING" };
		this.turn = (async () => {
			for await (const step of play(words, resumed, this.controller.signal)) {
				if (this.isOver) return;
				this.#say(step);
			}
		})();
	}

	cancel(): void {
		this.controller.abort();
		this.#say({ state: "canceled" });
	}

	#say(step: Step): void {
		const ids = { taskId: this.id, contextId: this.contextId };
		if ("state" in step || "message" in step) {
			const said = "message" in step ? step.message : step.text;
			const state = stateOf("message" in step ? "completed" : step.state);
			const message = { messageId: randomUUID(), role: "ROLE_AGENT", parts: [{ text: said ?? "" }], ...ids };
			this.#status = { state, timestamp: new Date().toISOString(), ...(said === undefined ? {} : { message }) };
			this.#tell({ statusUpdate: { ...ids, status: this.#status } });
			return;
		}
		const { artifact: artifactId, text, append = false, last: lastChunk = false } = step;
		const known = this.#artifacts.find((each) => each.artifactId === artifactId);
		if (known) known.parts.push({ text });
		else this.#artifacts.push({ artifactId, parts: [{ text }] });
		this.#tell({ artifactUpdate: { ...ids, artifact: { artifactId, parts: [{ text }] }, append, lastChunk } });
	}

	#tell(event: object): void {
		for (const reader of this.#readers) reader(event);
	}

	/** Tells `reader` of all that happens from now on, and of the task as it stands first; resolves at the end of it. */
	async follow(reader: (event: object) => void): Promise<void> {
		reader({ task: this.view });
		this.#readers.add(reader);
		await this.turn;
		this.#readers.delete(reader);
	}
}

/** Starts Hermes on a free port. */
export async function startHermes(options: HermesOptions = {}): Promise<Hermes> {
	const { token, earlyAck = true, streaming = false, oldCard = false, refuses } = options;
	const received: Hermes["received"] = [];
	const tasks = new Map<string, Work>();
	const here = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;

	const card = () => ({
		name: "hermes",
		description: "A personal agent.",
		version: "0.9.0",
		supportedInterfaces: [{ url: here(), protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
		capabilities: { streaming, pushNotifications: true, extendedAgentCard: false },
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [{ id: "research", name: "Research", description: "Finds things out.", tags: ["research"] }],
		...(token === undefined
			? {}
			: {
					securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
					securityRequirements: [{ schemes: { bearer: { list: [] } } }],
				}),
	});

	const server = createServer(async (request, response) => {
		const names = oldCard ? ["agent.json"] : ["agent-card.json", "agent.json"];
		if (request.method === "GET") {
			const isCard = names.some((name) => request.url === `/.well-known/${name}`);
			return answer(response, isCard ? 200 : 404, isCard ? card() : { error: "not found" });
		}
		let body = "";
		for await (const chunk of request.setEncoding("utf8")) body += chunk;
		const { id, method, params } = JSON.parse(body);
		received.push({ method, params, headers: request.headers });
		const fail = (code: number, message: string, status = 200) =>
			answer(response, status, { jsonrpc: "2.0", id, error: { code, message } });
		const isKnown = token === undefined || request.headers.authorization === `Bearer ${token}`;
		const own = refuses ?? (isKnown ? undefined : -32050);
		if (own !== undefined) {
			const [status, message] = ERRORS[own] ?? [500, "?"];
			return fail(own, message, status);
		}
		const operation = METHODS[method] ?? method;
		const isOld = operation !== method;
		const reply = (result: unknown) => answer(response, 200, { jsonrpc: "2.0", id, result });
		const sending = operation === "SendMessage" || operation === "SendStreamingMessage";
		const wanted = sending ? params.message.taskId : params.id;
		if (wanted !== undefined && !tasks.has(wanted)) return fail(-32001, "Task not found");
		if (sending) {
			const { message } = params;
			const work = tasks.get(wanted) ?? new Work(message.contextId ?? params.contextId ?? randomUUID());
			tasks.set(work.id, work);
			work.begin(message.parts[0].text);
			if (operation === "SendStreamingMessage") return stream(response, id, work);
			if (!earlyAck) await work.turn;
			return reply(isOld ? work.view : { task: work.view });
		}
		if (operation === "ListTasks") {
			return reply({ tasks: [...tasks.values()].map((work) => ({ id: work.id, state: work.state })) });
		}
		const work = tasks.get(wanted);
		if (operation === "GetTask" && work) return reply(work.view);
		if (operation === "SubscribeToTask" && work) {
			return work.isOver ? fail(-32004, "The task has ended") : stream(response, id, work);
		}
		if (operation === "CancelTask" && work) {
			if (work.isOver) return fail(-32002, "The task has ended");
			work.cancel();
			return reply(work.view);
		}
		return fail(-32601, "Method not found");
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	return {
		url: here(),
		received,
		close() {
			for (const work of tasks.values()) work.controller.abort();
			server.closeAllConnections();
			return new Promise((resolve) => server.close(() => resolve()));
		},
	};
}

function answer(response: ServerResponse, status: number, body: object): void {
	response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
}

/** Events until the end of the task, or its question. */
async function stream(response: ServerResponse, id: unknown, work: Work): Promise<void> {
	response.writeHead(200, { "content-type": "text/event-stream" });
	const write = (result: object) => response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
	await work.follow(write);
	response.end();
}

/** Hermes as a caller. */
export interface HermesCaller {
	/** The result of a call; throws an `Error` whose `cause` is the JSON-RPC error. */
	call(method: string, params: object): Promise<Any>;
	/** The results in a stream. */
	stream(method: string, params: object): Promise<Any[]>;
	/** Sends `text` and polls until the task ends or asks something, as `a2a_call` does. */
	ask(text: string, message?: object, params?: object): Promise<Any>;
}

/** A caller of the server at `url`. */
export function hermesCaller(url: string, token?: string): HermesCaller {
	let last = 0;
	async function post(method: string, params: object): Promise<Response> {
		return fetch(url, {
			method: "POST",
			headers: {
				"content-type": "application/json",
				"x-a2a-identity": "hermes",
				...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
			},
			body: JSON.stringify({ jsonrpc: "2.0", id: `h-${++last}`, method, params }),
		});
	}
	function resultIn(envelope: Any): Any {
		if (envelope.error) throw new Error(envelope.error.message, { cause: envelope.error });
		assert.equal(envelope.id, `h-${last}`);
		return envelope.result;
	}
	async function call(method: string, params: object): Promise<Any> {
		return resultIn(await (await post(method, params)).json());
	}
	return {
		call,
		async stream(method, params) {
			const response = await post(method, params);
			const text = await response.text();
			if (!/event-stream/.test(response.headers.get("content-type") ?? "")) return [resultIn(JSON.parse(text))];
			const data = text.split("\n").filter((line) => line.startsWith("data: "));
			return data.map((line) => resultIn(JSON.parse(line.slice("data: ".length))));
		},
		async ask(text, message = {}, params = {}) {
			const whole = { messageId: randomUUID(), role: "ROLE_USER", parts: [{ text }], ...message };
			let task = await call("message/send", { message: whole, ...params });
			while (/SUBMITTED|WORKING/.test(task.status?.state ?? "")) {
				await new Promise((resolve) => setTimeout(resolve, 50));
				task = await call("tasks/get", { id: task.id });
			}
			return task;
		},
	};
}
