/** One message to a peer and what comes of it: streamed where the peer can, else in one reply; followed to its end. */
import type { Connection } from "../bindings/binding.ts";
import type { NewHook } from "../bindings/http/hooks.ts";
import type { Clock } from "../lib/clock.ts";
import { retriesSafely } from "../protocol/card.ts";
import { A2AError } from "../protocol/errors.ts";
import { text } from "../protocol/parts.ts";
import type { ContextId, JsonObject, Message, Part, SendMessageRequest, TaskId } from "../protocol/types.ts";
import { bounds } from "./bounds.ts";
import { PeerError, type PeerReply, type Progress } from "./reply.ts";
import { answered, isLost, isTimeout, refusesStream, Work } from "./work.ts";

export { PeerError, type PeerReply, type Progress } from "./reply.ts";

export interface CallRequest {
	readonly text: string;
	/** Files and data that go along, after the text. */
	readonly parts?: readonly Part[] | undefined;
	readonly contextId?: ContextId | undefined;
	/** The task that this message answers. */
	readonly taskId?: TaskId | undefined;
	/** Return as soon as the peer has accepted the work. A peer that knows no such thing answers when it is done. */
	readonly detached?: boolean | undefined;
	/** It may have been sent before, by a process that has ended: it is looked for at a peer that might do its work twice. */
	readonly again?: boolean | undefined;
	/** Where the peer shall tell us how the work goes on; ended when the peer does not take it. */
	readonly webhook?: Pick<NewHook, "config" | "end"> | undefined;
	readonly metadata?: JsonObject | undefined;
	/** The caller gives up: the task is canceled at the peer. */
	readonly signal: AbortSignal;
	/** Our own limit in milliseconds. When it passes the task goes on and the reply says so. */
	readonly timeoutMs: number;
	readonly onProgress?: ((progress: Progress) => void) | undefined;
}

export interface CallParts {
	/** The peer's name, for replies and errors. */
	readonly peer: string;
	readonly clock: Clock;
	/** Longest pause between two polls, in milliseconds. */
	readonly pollMs: number;
	readonly newMessageId: () => string;
	/** What progress tells of the peer's words passes it. */
	readonly clean?: ((said: string) => string) | undefined;
}

/**
 * Sends a message and waits until its task ends or asks something, or until `timeoutMs` (then the reply is `running`).
 * Throws a `PeerError` when the task failed, was rejected or canceled, when the peer could not be reached or made no
 * sense, and when `signal` aborts; then the peer has been told within two seconds.
 */
export async function callPeer(connection: Connection, request: CallRequest, parts: CallParts): Promise<PeerReply> {
	const { contextId, taskId, onProgress } = request;
	const messageId = parts.newMessageId();
	const work = new Work({ ...parts, connection, contextId, taskId, messageId, onProgress });
	const began = parts.clock.now();
	const within = bounds(parts.clock, request.timeoutMs, request.signal);
	try {
		if (request.again && !retriesSafely(connection.card())) {
			if (!(await work.recover()))
				throw work.explain(new Error("it does not know a message that it may have been sent."));
		} else await deliver(connection, work, request, messageId, within.signal);
		if (!request.detached) await work.follow(within.signal);
		return work.conclude();
	} catch (error) {
		if (error instanceof PeerError) throw error;
		if (within.ended === "stopped") throw await stopped(work, parts.peer);
		if (within.ended === "limit" || isTimeout(error)) return outlived(work, parts.clock.now() - began);
		if (isLost(error) && !work.taskId) work.note(UNKNOWN);
		throw work.explain(error);
	} finally {
		within.release();
	}
}

const UNKNOWN = "Whether the peer got the message and works on it is not known.";

/**
 * What we take (§3.2.2), as much as can be named: anything is kept. Some servers compare the words and know no `*`.
 */
export const ACCEPTED_OUTPUT_MODES: readonly string[] = [
	...["text/plain", "text/markdown", "application/json"],
	...["image/png", "image/jpeg", "application/pdf", "*/*"],
];

/** The message of a call, as it is sent. */
export function messageOf(
	request: Pick<CallRequest, "text" | "parts" | "contextId" | "taskId" | "metadata">,
	messageId: string,
): Message {
	const { contextId, taskId, metadata } = request;
	return {
		messageId,
		role: "ROLE_USER",
		parts: [text(request.text), ...(request.parts ?? [])],
		...(contextId ? { contextId } : {}),
		...(taskId ? { taskId } : {}),
		...(metadata ? { metadata } : {}),
	};
}

function params(request: CallRequest, messageId: string): SendMessageRequest {
	return {
		message: messageOf(request, messageId),
		configuration: {
			acceptedOutputModes: ACCEPTED_OUTPUT_MODES,
			...(request.detached ? { returnImmediately: true } : {}),
			...(request.webhook ? { taskPushNotificationConfig: request.webhook.config } : {}),
		},
	};
}

/** As `send`; a peer that refuses our webhook gets the same message without it. */
async function deliver(
	connection: Connection,
	work: Work,
	request: CallRequest,
	messageId: string,
	signal: AbortSignal,
): Promise<void> {
	try {
		await send(connection, work, params(request, messageId), signal);
	} catch (error) {
		if (!request.webhook || !refusesWebhook(error)) throw error;
		request.webhook.end();
		await send(connection, work, params({ ...request, webhook: undefined }, messageId), signal);
	}
}

/** Delivers the message. Afterwards the work is known: an answer, or a task that can be followed. Else it throws. */
async function send(
	connection: Connection,
	work: Work,
	request: SendMessageRequest,
	signal: AbortSignal,
): Promise<void> {
	const { agent, call, streaming } = connection;
	const answers = request.message.taskId !== undefined;
	// returnImmediately means nothing to a stream (§3.2.2).
	if (streaming && !request.configuration?.returnImmediately) {
		try {
			await work.read(agent.stream("SendStreamingMessage", request, call(signal)), signal, answers);
			if (work.isKnown || (await work.recover())) return;
			throw new Error("the peer closed the stream without a word; whether it works on the message is not known");
		} catch (error) {
			signal.throwIfAborted();
			// What the peer has said stands; how it goes on is asked of the peer, never guessed.
			if (work.isKnown || (isLost(error) && (await work.recover()))) return work.note("The stream broke off", error);
			if (!refusesStream(error)) throw error;
			work.note("The peer refused to stream, so it was asked for one reply.");
		}
	}
	try {
		const reply = await agent.request("SendMessage", request, call(signal));
		// A peer that waits for the end answers with the task as it is then; one that does not, as the message found it.
		work.take(answers && request.configuration?.returnImmediately ? answered(reply) : reply);
	} catch (error) {
		signal.throwIfAborted();
		if (!isLost(error) || !(await work.recover())) throw error;
		work.note("The peer's reply was lost", error);
	}
}

/** The peer has not begun, and it was the webhook that it minded. */
function refusesWebhook(error: unknown): boolean {
	if (!(error instanceof A2AError)) return false;
	if (error.name === "PushNotificationNotSupportedError") return true;
	if (error.name !== "InvalidParamsError") return false;
	const fields = (error.details.violations ?? []).map(({ field }) => field);
	return [error.message, ...fields].some((said) => /push_?notification|webhook|\burl\b/i.test(said));
}

async function stopped(work: Work, peer: string): Promise<PeerError> {
	const outcome = await work.cancel();
	return new PeerError(`${peer}: the call was stopped. ${outcome}`, {
		peer,
		state: work.seen.task?.status.state,
		taskId: work.taskId,
		contextId: work.contextId,
	});
}

/** Our limit passed: the same reply in every way of waiting. */
async function outlived(work: Work, elapsedMs: number): Promise<PeerReply> {
	const limit = `${Math.round(elapsedMs / 100) / 10} s`;
	if (await work.recover()) {
		work.note(`Still running: no end within ${limit}, our own limit. Ask for the result later by the task id.`);
	} else {
		work.note(`No answer within ${limit}, our own limit, and no task id: the peer may still be working.`);
	}
	return work.conclude();
}
