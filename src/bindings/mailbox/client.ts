/** The client half: an agent of the mailbox as an `Agent`. */

import type { Agent, Call, Caller } from "../../protocol/agent.ts";
import { decodeCard } from "../../protocol/decode.ts";
import { A2AError } from "../../protocol/errors.ts";
import type { ManyReply, OneReply, OperationName, Params, Results } from "../../protocol/operations.ts";
import type { AgentCard, JsonObject } from "../../protocol/types.ts";
import type { Connection } from "../binding.ts";
import { askingPayload, errorIn, itemIn, resultIn } from "./payload.ts";
import type { Post } from "./post.ts";
import type { MailRoot } from "./root.ts";
import { agentIn } from "./roster.ts";

export interface MailTarget {
	readonly root: MailRoot;
	readonly post: Post;
	/** Id of the agent that is called. */
	readonly to: string;
	readonly ttlSeconds: number;
	/** What the worker may use; see the protocol's text. */
	readonly contract: JsonObject;
	/** Whom we speak for, where that is not us. */
	readonly behalf?: string;
	/** Limit of an operation with one reply, in milliseconds; 0: none. */
	readonly timeoutMs?: number;
}

/** Opens an agent of the mailbox. Throws `PeerUnreachableError` when there is none of that id. */
export async function connectMailbox(target: MailTarget): Promise<Connection> {
	const { root, to } = target;
	const found = (await root.folders()).includes(root.place(to).name)
		? await agentIn(root, root.place(to).name)
		: undefined;
	if (!found) throw new A2AError("PeerUnreachableError", `There is no agent ${to} in the mailbox`);
	const card = found.registration?.card ? decodeCard(found.registration.card) : undefined;
	const self: Caller = { id: "self", label: target.post.id, authenticated: true, loopback: true };
	return {
		agent: new MailPeer(target),
		card: (): AgentCard | undefined => card,
		streaming: card?.capabilities.streaming === true,
		call: (signal) => ({ caller: self, signal, service: { version: "1.0", extensions: [] } }),
	};
}

class MailPeer implements Agent {
	readonly #target: MailTarget;

	constructor(target: MailTarget) {
		this.#target = target;
	}

	async request<K extends OneReply>(operation: K, params: Params[K], call: Call): Promise<Results[K]> {
		const { timeoutMs = 0, to, root } = this.#target;
		const limit = new AbortController();
		const leave = () => limit.abort(call.signal.reason);
		if (call.signal.aborted) leave();
		call.signal.addEventListener("abort", leave, { once: true });
		const text = `No reply of ${to} within ${timeoutMs / 1000} s, our own limit`;
		const cancel = root.parts.clock.after(timeoutMs > 0 ? timeoutMs : Number.POSITIVE_INFINITY, () =>
			limit.abort(new A2AError("PeerTimeoutError", text)),
		);
		try {
			for await (const answer of this.#ask(operation, params, { ...call, signal: limit.signal })) {
				if (answer.last !== false) return resultIn(operation, answer);
			}
		} finally {
			cancel();
			call.signal.removeEventListener("abort", leave);
		}
		throw new A2AError("InvalidAgentResponseError", `${to} ended its answer without a result`);
	}

	async *stream<K extends ManyReply>(operation: K, params: Params[K], call: Call): AsyncGenerator<Results[K]> {
		for await (const answer of this.#ask(operation, params, call)) {
			const error = errorIn(answer);
			if (error) throw error;
			if (answer.item !== undefined) yield itemIn(operation, answer);
		}
	}

	#ask<K extends OperationName>(operation: K, params: Params[K], call: Call): AsyncIterable<JsonObject> {
		const { post, to, ttlSeconds, contract, behalf } = this.#target;
		const payload = askingPayload(operation, params, call);
		const all = behalf === undefined ? payload : { ...payload, on_behalf_of: behalf };
		return post.ask(to, all, { ttlSeconds, contract, signal: call.signal });
	}
}
