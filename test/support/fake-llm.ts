/**
 * A scripted OpenAI-compatible chat server on 127.0.0.1 for tests: the only thing that is not real in a host test. The
 * script is the last user message, see `fake-llm-script.ts`.
 *
 *   const llm = await startFakeLlm();
 *   llm.url;                  // http://127.0.0.1:PORT/v1
 *   llm.requests.at(-1);      // what the model was sent
 *   await llm.close();
 */
import { createHash, randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ChatBody, dump, find, type Image, imagesOf, planFor, splitFirst, toolNames } from "./fake-llm-script.ts";

/** One chat request as the model saw it. */
export interface LlmRequest {
	readonly n: number;
	readonly model: string | undefined;
	readonly roles: readonly string[];
	readonly tools: readonly string[];
	readonly lastUser: string;
	readonly steps: readonly string[];
	readonly toolResult: string | undefined;
	readonly images: readonly Image[];
	readonly authorization: string | undefined;
	readonly body: ChatBody;
	/** Milliseconds since the epoch of the first piece of text that was sent. */
	firstTextAt: number | undefined;
	/** The client hung up before the answer was complete. */
	aborted: boolean;
}

export interface FakeLlm {
	readonly url: string;
	readonly port: number;
	/** Oldest first. */
	readonly requests: readonly LlmRequest[];
	/** Answers that the client hung up on. */
	readonly aborted: number;
	readonly inFlight: number;
	close(): Promise<void>;
}

interface Answer {
	readonly entry: LlmRequest;
	readonly body: ChatBody;
	readonly request: IncomingMessage;
	readonly response: ServerResponse;
	readonly rawLength: number;
}

/** Starts the server. `delay`: milliseconds before the first byte of every answer. `onRequest` sees each request. */
export async function startFakeLlm(
	options: { readonly delay?: number; readonly port?: number; readonly onRequest?: (entry: LlmRequest) => void } = {},
): Promise<FakeLlm> {
	const requests: LlmRequest[] = [];
	const attempts = new Map<string, number>();
	// Tool-call ids must stay unique when a conversation is continued against a second server.
	const run = randomBytes(3).toString("hex");
	const counts = { served: 0, inFlight: 0, aborted: 0 };

	/** Whether this is one of the first `times` attempts at this step of this script. */
	function isEarly(key: unknown, times: number): boolean {
		const hash = createHash("sha1").update(JSON.stringify(key)).digest("hex");
		const seen = (attempts.get(hash) ?? 0) + 1;
		if (seen <= times) attempts.set(hash, seen);
		else attempts.delete(hash);
		return seen <= times;
	}

	async function answer({ entry, body, request, response, rawLength }: Answer): Promise<void> {
		const messages = body.messages ?? [];
		const plan = planFor(messages);
		const stream = body.stream === true;
		const id = `chatcmpl-fake-${entry.n}`;
		const created = Math.floor(Date.now() / 1000);
		const toolCalls: { id: string; type: "function"; function: { name: string; arguments: string } }[] = [];
		let [text, reasoning, finish, opened, gone] = ["", "", "stop", false, false];
		let usage = { in: 10 + Math.ceil(rawLength / 4), out: 0 };

		const hungUp = new Promise<void>((resolve) => {
			response.on("close", () => {
				if (!response.writableFinished) {
					gone = true;
					entry.aborted = true;
					counts.aborted++;
				}
				resolve();
			});
		});
		const sleep = async (ms: number) => {
			let timer: NodeJS.Timeout | undefined;
			const wait = new Promise<void>((resolve) => {
				timer = setTimeout(resolve, ms);
			});
			await Promise.race([wait, hungUp]);
			clearTimeout(timer);
		};
		const fail = (status: number, message: string) => {
			response.writeHead(status, { "content-type": "application/json" });
			const error = { message: message || `scripted error ${status}`, type: "scripted", code: status };
			response.end(JSON.stringify({ error }));
		};
		const chunk = (delta: object, finish_reason: string | null = null) => {
			const choices = [{ index: 0, delta, finish_reason }];
			const value = { id, object: "chat.completion.chunk", created, model: body.model, choices };
			if (!gone) response.write(`data: ${JSON.stringify(value)}\n\n`);
		};
		const open = () => {
			if (opened || !stream) return;
			opened = true;
			response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
			chunk({ role: "assistant", content: "" });
		};
		const say = (piece: string) => {
			text += piece;
			if (!stream) return;
			open();
			entry.firstTextAt ??= Date.now();
			chunk({ content: piece });
		};
		const line = (piece: string) => say((text && !text.endsWith("\n") ? "\n" : "") + piece);
		const call = (name: string, args: string) => {
			const index = toolCalls.length;
			const callId = `call_${run}_${entry.n}_${index}`;
			toolCalls.push({ id: callId, type: "function", function: { name, arguments: args } });
			if (!stream) return;
			open();
			const half = Math.ceil(args.length / 2);
			chunk({ tool_calls: [{ index, id: callId, type: "function", function: { name, arguments: "" } }] });
			chunk({ tool_calls: [{ index, function: { arguments: args.slice(0, half) } }] });
			if (half < args.length) chunk({ tool_calls: [{ index, function: { arguments: args.slice(half) } }] });
		};

		if (options.delay) await sleep(options.delay);
		if (plan.all.length === 0) line(plan.done > 0 ? plan.resultText : `echo: ${plan.userText}`);
		else if (plan.rest.length === 0 && plan.done > 0) line(plan.resultText);

		for (let i = 0; i < plan.rest.length && !gone; i++) {
			const { op, arg } = plan.rest[i] ?? { op: "", arg: "" };
			const [first, rest] = splitFirst(arg);
			if (op === "SAY") line(arg.replace(/\\n/g, "\n"));
			else if (op === "REPEAT") line(rest.repeat(Math.min(Number(first) || 1, 1_000_000)));
			else if (op === "RESULT") line(plan.resultText);
			else if (op === "DUMP") line(dump(arg, body, request.headers));
			else if (op === "FIND") line(find(arg, messages, plan.userText));
			else if (op === "LENGTH") finish = "length";
			else if (op === "FILTER") finish = "content_filter";
			else if (op === "EMPTY") text = "";
			else if (op === "USAGE") usage = { in: Number(first) || 0, out: Number(rest) || 0 };
			else if (op === "THINK") {
				reasoning += arg;
				open();
				if (stream) chunk({ reasoning_content: arg });
			} else if (op === "STREAM") {
				for (let k = 1; k <= Math.min(Number(first) || 1, 100_000) && !gone; k++) {
					say(`chunk-${k} `);
					if (Number(rest)) await sleep(Number(rest));
				}
			} else if (op === "SLEEP") {
				open();
				await sleep(Number(arg) || 0);
			} else if (op === "HANG") {
				open();
				await hungUp;
			} else if (op === "ERROR") return fail(Number(first) || 500, rest);
			else if (op === "FAIL") {
				const [status, message] = splitFirst(rest);
				if (isEarly([i, plan.done, plan.userText], Number(first))) return fail(Number(status) || 500, message);
			} else if (op === "CUT" || (op === "CUTONCE" && isEarly([i, plan.done, plan.userText], 1))) {
				say("cut here");
				await sleep(10);
				response.destroy();
				return;
			} else if (op === "CALL" || op === "RAWCALL" || op === "ALSO") {
				call(first, rest || "{}");
				while (plan.rest[i + 1]?.op === "ALSO") {
					i++;
					const [name, args] = splitFirst(plan.rest[i]?.arg ?? "");
					call(name, args || "{}");
				}
				finish = "tool_calls";
				break;
			}
		}
		if (gone) return;

		const out = usage.out || Math.ceil((text.length + reasoning.length) / 4) + toolCalls.length * 10;
		const tokens = { prompt_tokens: usage.in, completion_tokens: out, total_tokens: usage.in + out };
		const common = { id, created, model: body.model };
		if (stream) {
			open();
			chunk({}, finish);
			const value = { ...common, object: "chat.completion.chunk", choices: [], usage: tokens };
			if (body.stream_options?.include_usage) response.write(`data: ${JSON.stringify(value)}\n\n`);
			response.end("data: [DONE]\n\n");
			return;
		}
		const message = {
			role: "assistant",
			content: toolCalls.length > 0 && !text ? null : text,
			...(toolCalls.length > 0 ? { tool_calls: toolCalls } : {}),
			...(reasoning ? { reasoning_content: reasoning } : {}),
		};
		response.writeHead(200, { "content-type": "application/json" });
		const choices = [{ index: 0, message, finish_reason: finish }];
		response.end(JSON.stringify({ ...common, object: "chat.completion", choices, usage: tokens }));
	}

	async function chat(request: IncomingMessage, response: ServerResponse, raw: string): Promise<void> {
		const body = JSON.parse(raw) as ChatBody;
		const plan = planFor(body.messages ?? []);
		const entry: LlmRequest = {
			n: ++counts.served,
			model: body.model,
			roles: (body.messages ?? []).map((message) => message.role),
			tools: toolNames(body),
			lastUser: plan.userText,
			steps: plan.rest.map((step) => `${step.op} ${step.arg}`.trim()),
			toolResult: plan.resultText || undefined,
			images: (body.messages ?? []).flatMap((message) => imagesOf(message.content)),
			authorization: request.headers.authorization,
			body,
			firstTextAt: undefined,
			aborted: false,
		};
		requests.push(entry);
		options.onRequest?.(entry);
		await answer({ entry, body, request, response, rawLength: raw.length });
	}

	const server = createServer((request, response) => {
		if (request.method === "GET" && request.url === "/v1/models") {
			const data = [{ id: "scripted", object: "model", owned_by: "fake" }];
			response.writeHead(200, { "content-type": "application/json" });
			response.end(JSON.stringify({ object: "list", data }));
			return;
		}
		let raw = "";
		request.setEncoding("utf8").on("data", (piece: string) => {
			raw += piece;
		});
		request.on("end", () => {
			counts.inFlight++;
			chat(request, response, raw)
				.catch((error: unknown) => {
					if (!response.headersSent) response.writeHead(500);
					response.end(String(error));
				})
				.finally(() => {
					counts.inFlight--;
				});
		});
	});
	await new Promise<void>((resolve, reject) => {
		server.once("error", reject);
		server.listen(options.port ?? 0, "127.0.0.1", resolve);
	});
	const { port } = server.address() as AddressInfo;
	return {
		url: `http://127.0.0.1:${port}/v1`,
		port,
		requests,
		get aborted() {
			return counts.aborted;
		},
		get inFlight() {
			return counts.inFlight;
		},
		close: () =>
			new Promise((resolve) => {
				server.close(() => resolve());
				server.closeAllConnections();
			}),
	};
}

/** Models a test may offer; what is left out is as a plain text-and-image model of 128k. */
export interface FakeModel {
	readonly id: string;
	readonly contextWindow?: number;
	readonly maxTokens?: number;
	readonly reasoning?: boolean;
	readonly input?: readonly string[];
}

/** The content of Pi's `models.json`; the same text serves both supported hosts. */
export function piModelsJson(url: string, models: readonly FakeModel[] = [{ id: "scripted" }]): object {
	return {
		providers: {
			fake: {
				baseUrl: url,
				api: "openai-completions",
				apiKey: "fake-key",
				compat: { supportsDeveloperRole: false, supportsReasoningEffort: false },
				models: models.map((model) => ({
					name: model.id,
					reasoning: false,
					input: ["text", "image"],
					contextWindow: 128_000,
					maxTokens: 8192,
					cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
					...model,
				})),
			},
		},
	};
}
