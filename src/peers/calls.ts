/** What can be asked of one peer: a call, how a task stands, its card. Knows the conversations and ends what runs. */
import type { Connection } from "../bindings/binding.ts";
import type { NewHook } from "../bindings/http/hooks.ts";
import { PATH } from "../guard/loops.ts";
import { eachText } from "../guard/redact.ts";
import type { Clock } from "../lib/clock.ts";
import { newContextId, newMessageId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import { A2AError } from "../protocol/errors.ts";
import { data } from "../protocol/parts.ts";
import { type AgentCard, contextId, type JsonObject, type TaskId, taskId } from "../protocol/types.ts";
import { shownAddress } from "./address.ts";
import { type CallRequest, callPeer, messageOf } from "./call.ts";
import type { Connect } from "./connect.ts";
import type { Conversations } from "./conversations.ts";
import { createDeliver } from "./deliver.ts";
import type { Directory } from "./directory.ts";
import { type Outgoing, readFiles, type SendFilesParts } from "./files-out.ts";
import type { CallOptions, Outbound } from "./outbound.ts";
import type { Peer } from "./peer.ts";
import type { Deliver, Queue } from "./queue.ts";
import { isUndelivered } from "./queue-call.ts";
import type { Receiver } from "./received.ts";
import { type Recorder, recorder } from "./record.ts";
import { asPeerError, PeerError, type PeerReply } from "./reply.ts";
import { taskStatus } from "./status.ts";
import { summarize } from "./summary.ts";
import { outgoingTrace } from "./trace.ts";

export interface CallsParts {
	readonly directory: Directory;
	readonly connect: Connect;
	readonly conversations: Conversations;
	readonly clock: Clock;
	readonly log: Log;
	/** Takes credentials out of what is written down. */
	readonly redact: (text: string) => string;
	/** Puts down the files that come with answers. */
	readonly receiver: Receiver;
	/** Which files may go out, but for `redact`, which is the same. */
	readonly sending: Omit<SendFilesParts, "redact">;
	/** Takes our own credentials out of what peers say: one that repeats them would put them into logs and models. */
	readonly withoutKnown: (text: string) => string;
	/** Our own name, sent as `pi/self`; empty for none. */
	readonly identity: string;
	/** Who has passed on the work that came to us by that `traceparent`, we last; sent as `pi/path`. */
	readonly path?: ((trace: string | undefined) => readonly string[]) | undefined;
	/** Limit of a call in milliseconds, where neither the caller nor the peer's entry gives one. */
	readonly timeoutMs: number;
	/** Longest pause between two polls, in milliseconds. */
	readonly pollMs: number;
	/** Keeps what cannot be delivered. */
	readonly queue?: Pick<Queue, "put" | "isOn"> | undefined;
	/** A webhook of ours for a message to a peer with that card; undefined where the peer could not use it. */
	readonly webhook?: ((peer: Peer, card: AgentCard | undefined) => NewHook | undefined) | undefined;
}

export interface Calls extends Pick<Outbound, "call" | "status" | "discover" | "close"> {
	/** Sends a message that was queued and waits until the peer has it. */
	readonly deliver: Deliver;
	/** A connection to the peer. Throws a `PeerError`. */
	open(peer: Peer, signal: AbortSignal): Promise<Connection>;
}

export function createCalls(parts: CallsParts): Calls {
	const { directory, clock, log, pollMs, path } = parts;
	const running = new Map<AbortController, Promise<unknown>>();
	const clean = <T>(said: T): T => eachText(said, parts.withoutKnown);

	/** Runs `work` under a signal that aborts with the caller's and with `close`. */
	async function owned<T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
		const controller = new AbortController();
		const stop = () => controller.abort();
		if (signal.aborted) stop();
		signal.addEventListener("abort", stop, { once: true });
		const ending = work(controller.signal);
		running.set(controller, ending);
		try {
			return clean(await ending);
		} catch (error) {
			throw cleanError(error, clean);
		} finally {
			running.delete(controller);
			signal.removeEventListener("abort", stop);
		}
	}

	async function open(peer: Peer, signal: AbortSignal, timeoutMs?: number, trace?: string): Promise<Connection> {
		try {
			return await parts.connect(peer, signal, timeoutMs, outgoingTrace(trace));
		} catch (error) {
			if (signal.aborted) throw new PeerError(`${peer.name}: the call was stopped.`, { peer: peer.name });
			throw asPeerError(error, { peer: peer.name });
		}
	}

	/** `ask`, whose outcome is written down. */
	async function recorded(record: Recorder, ask: () => Promise<PeerReply>): Promise<PeerReply> {
		try {
			return await record.reply(clean(await parts.receiver.take(await ask())));
		} catch (error) {
			const told = error instanceof PeerError ? await parts.receiver.rescue(error) : error;
			await record.failure(cleanError(told, clean));
			throw told;
		}
	}

	async function alongside({ files, data: value }: CallOptions, peer: Peer): Promise<Outgoing> {
		try {
			const read = await readFiles(files ?? { paths: [] }, { ...parts.sending, redact: parts.redact });
			return { ...read, parts: value === undefined ? read.parts : [...read.parts, data(value)] };
		} catch (error) {
			const reason = error instanceof Error ? error.message : String(error);
			throw new PeerError(`${reason}. Nothing was sent.`, { peer: peer.name, cause: error });
		}
	}

	function metadata({ hops = 0, trace }: CallOptions): JsonObject {
		const self = oneLine(parts.identity, 80);
		return { ...(self ? { "pi/self": self } : {}), "pi/hops": hops, ...(path ? { [PATH]: path(trace) } : {}) };
	}

	return {
		open,

		async call(agent, message, options) {
			if (message.trim() === "") {
				throw new PeerError("The message is empty. Say what the peer shall do.", { peer: oneLine(agent, 120) });
			}
			const peer = await directory.resolve(agent, true);
			const context = options.contextId?.trim() ? contextId(options.contextId.trim()) : newContextId();
			const along = await alongside(options, peer);
			const record = recorder({ ...parts, peer, context, message, files: along.files });
			const request = {
				text: message,
				parts: along.parts,
				contextId: context,
				detached: options.detached,
				metadata: metadata(options),
				timeoutMs: options.timeoutMs ?? limitOf(peer) ?? parts.timeoutMs,
				onProgress: (progress) => {
					record.progress(progress);
					options.onProgress?.(progress);
				},
			} satisfies Omit<CallRequest, "signal">;
			const facts = { peer: peer.name, clock, pollMs, newMessageId, clean: parts.withoutKnown };
			// The result of what another agent's work sends would come home to somebody who has not asked.
			const isOurs = (options.hops ?? 0) === 0 && options.queue !== false;
			const keeps = parts.queue?.isOn && isOurs && parts.redact(agent) === agent;
			let isOpen = false;
			/** `send`; what cannot be delivered is kept where that is wanted. */
			const orKept = async (signal: AbortSignal, send: () => Promise<PeerReply>): Promise<PeerReply> => {
				try {
					return await send();
				} catch (error) {
					if (!keeps || signal.aborted || !isUndelivered(error, isOpen)) throw error;
					const task = options.taskId ? taskId(options.taskId) : await record.openQuestion();
					const said = eachText(messageOf({ ...request, taskId: task }, newMessageId()), parts.redact);
					const why = asPeerError(cleanError(error, clean), { peer: peer.name }).message;
					return withSent(await parts.queue.put({ agent, peer: peer.name, message: said }, why), along);
				}
			};
			const sent = async (signal: AbortSignal): Promise<PeerReply> => {
				const connection = await open(peer, signal, request.timeoutMs, options.trace);
				isOpen = true;
				const webhook = options.detached && options.webhook ? parts.webhook?.(peer, connection.card()) : undefined;
				const send = async (task?: TaskId) =>
					withSent(await callPeer(connection, { ...request, webhook, signal, taskId: task }, facts), along);
				const ask = async () => {
					if (options.taskId) return send(taskId(options.taskId));
					const question = await record.openQuestion();
					return question ? answer(send, question) : send();
				};
				return recorded(record, () => notified(webhook, ask));
			};
			const reply = await owned(options.signal, (signal) => orKept(signal, () => sent(signal)));
			return peer.chosen === undefined ? reply : { ...reply, notes: [peer.chosen, ...reply.notes] };
		},

		deliver: createDeliver({
			directory,
			open,
			recorded(peer, { message: { contextId: context, parts: said } }, ask) {
				const message = said.map((part) => ("text" in part ? part.text : "")).join("");
				return recorded(recorder({ ...parts, peer, message, ...(context ? { context } : {}) }), ask);
			},
			facts: { clock, pollMs, clean: parts.withoutKnown },
			limit: (peer) => limitOf(peer) ?? parts.timeoutMs,
			cleanError: (error) => cleanError(error, clean),
		}),

		async status(agent, id, options) {
			const peer = await directory.resolve(agent);
			const { waitMs = 0, onProgress } = options;
			const record = recorder({ ...parts, peer });
			return owned(options.signal, async (signal) => {
				const connection = await open(peer, signal, undefined, options.trace);
				const request = { taskId: taskId(id.trim()), waitMs, signal, onProgress };
				return recorded(record, () =>
					taskStatus(connection, request, { peer: peer.name, clock, pollMs, clean: parts.withoutKnown }),
				);
			});
		},

		async discover(agent, signal) {
			const peer = await directory.resolve(agent);
			return owned(signal, async (within) => {
				const { agent: operations, call, card, found } = await open(peer, within);
				const shown = card();
				if (!shown) throw new PeerError(`${peer.name} has no Agent Card.`, { peer: peer.name });
				const url = shownAddress(peer.address);
				if (!shown.capabilities.extendedAgentCard) return summarize(shown, url, found?.());
				try {
					return summarize(await operations.request("GetExtendedAgentCard", {}, call(within)), url, found?.());
				} catch (error) {
					// The extended card is for those whom the peer knows; everybody may read the public one.
					const { message } = asPeerError(error, { peer: peer.name });
					log.info(`The extended card was not shown: ${message}`);
					return summarize(shown, url, found?.());
				}
			});
		},

		async close() {
			const endings = [...running.values()];
			for (const controller of running.keys()) controller.abort();
			await Promise.allSettled(endings);
		},
	};
}

/** What a peer made us throw, without what `clean` takes out; then the cause, which holds the same words, goes too. */
function cleanError(error: unknown, clean: (said: string) => string): unknown {
	if (!(error instanceof PeerError)) return error;
	const { peer, state, taskId: task, contextId: context, hint, refusal } = error;
	const facts = { peer, state, taskId: task && taskId(clean(task)), contextId: context && contextId(clean(context)) };
	const message = clean(error.message);
	const same = message === error.message && facts.taskId === task && facts.contextId === context;
	return same ? error : new PeerError(message, { ...facts, hint, refusal });
}

/** The reply with what was sent, and what was taken out of it. */
function withSent(reply: PeerReply, { files, notes }: Outgoing): PeerReply {
	return files.length === 0 ? reply : { ...reply, sent: files, notes: [...notes, ...reply.notes] };
}

/** `ask`, whose task the webhook is for when it goes on. */
async function notified(webhook: NewHook | undefined, ask: () => Promise<PeerReply>): Promise<PeerReply> {
	try {
		const reply = await ask();
		if (reply.running && reply.taskId) webhook?.bind(reply.taskId);
		else webhook?.end();
		return reply;
	} catch (error) {
		webhook?.end();
		throw error;
	}
}

function limitOf(peer: Peer): number | undefined {
	return peer.address.via === "http" ? peer.address.timeoutMs : undefined;
}

/** Answers the question that was open when we last heard; a peer that waits no more gets the message as a new task. */
async function answer(send: (task?: TaskId) => Promise<PeerReply>, question: TaskId): Promise<PeerReply> {
	try {
		return await send(question);
	} catch (error) {
		const refusal = error instanceof PeerError ? error.cause : undefined;
		if (!(refusal instanceof A2AError) || !REFUSALS.has(refusal.name)) throw error;
		const note = `The peer no longer waits for an answer to ${question}, so this began a new task.`;
		const reply = await send();
		return { ...reply, notes: [note, ...reply.notes] };
	}
}

/** With these the message has had no effect. */
const REFUSALS: ReadonlySet<string> = new Set(["UnsupportedOperationError", "TaskNotFoundError"]);
