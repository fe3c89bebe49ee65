/** Calls to faulty peers, for the tests of the client. */

import type { Connection } from "../../src/bindings/binding.ts";
import { connectHttp, type HttpTarget } from "../../src/bindings/http/client.ts";
import { createHttpPool, type HttpPool } from "../../src/bindings/http/pool.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { SAFE_RETRY_EXTENSION } from "../../src/protocol/card.ts";
import type { StreamResponse } from "../../src/protocol/types.ts";
import { type FaultyPeer, faultyPeer, type PeerRequest, type Wire } from "../support/faulty-peer.ts";
import { say } from "./contract.ts";

export const NEVER = new AbortController().signal;

/** A card that says where to call; `url` is any interface's. */
export function cardFor(url: string, more: object = {}): object {
	return {
		name: "peer",
		description: "",
		version: "1",
		supportedInterfaces: [{ url, protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
		capabilities: { streaming: true },
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [],
		...more,
	};
}

/** On the card of a peer that may be sent a message again. */
export const SAFE = { capabilities: { streaming: true, extensions: [SAFE_RETRY_EXTENSION] } };

/** Everything a test opened, closed again by `close`. */
export class Bench {
	readonly pool: HttpPool = createHttpPool();
	readonly #peers: FaultyPeer[] = [];

	/** A peer whose card is in order and whose calls are answered by `answer`. */
	async peer(answer: (request: PeerRequest, wire: Wire, call: number) => unknown, card?: object): Promise<FaultyPeer> {
		let calls = 0;
		const peer: FaultyPeer = await this.bare((request, wire) => {
			if (request.method === "GET") return wire.json(cardFor(peer.url, card));
			return answer(request, wire, calls++);
		});
		return peer;
	}

	/** A peer that has nothing but what `answer` says. */
	async bare(
		answer: (request: PeerRequest, wire: Wire, number: number) => unknown,
		host?: string,
	): Promise<FaultyPeer> {
		const peer = await faultyPeer(answer, host);
		this.#peers.push(peer);
		return peer;
	}

	target(url: string, more: Partial<HttpTarget> = {}): HttpTarget {
		return {
			url: new URL(url),
			sendTimeoutMs: 4_000,
			streamTimeoutMs: 4_000,
			retryAttempts: 0,
			verifySsl: true,
			check: async () => undefined,
			pool: this.pool,
			clock: systemClock,
			...more,
		};
	}

	connect(url: string, more: Partial<HttpTarget> = {}): Promise<Connection> {
		return connectHttp(this.target(url, more), NEVER);
	}

	async close(): Promise<void> {
		this.pool.close();
		for (const peer of this.#peers.splice(0)) await peer.close();
	}
}

export const send = (connection: Connection, text = "hi", signal = NEVER) =>
	connection.agent.request("SendMessage", say(text), connection.call(signal));

export const stream = (connection: Connection, text = "hi", signal = NEVER): AsyncIterable<StreamResponse> =>
	connection.agent.stream("SendStreamingMessage", say(text), connection.call(signal));

/** Items until the stream ends or throws. */
export async function drain(
	items: AsyncIterable<StreamResponse>,
): Promise<{ items: StreamResponse[]; error?: unknown }> {
	const all: StreamResponse[] = [];
	try {
		for await (const item of items) all.push(item);
		return { items: all };
	} catch (error) {
		return { items: all, error };
	}
}

export const task = (state: string, more: object = {}) => ({
	task: { id: "t1", contextId: "c1", status: { state: `TASK_STATE_${state}` }, ...more },
});
export const update = (state: string) => ({
	statusUpdate: { taskId: "t1", contextId: "c1", status: { state: `TASK_STATE_${state}` } },
});
export const states = (items: readonly StreamResponse[]) =>
	items.map((item) =>
		"task" in item
			? item.task.status.state
			: "statusUpdate" in item
				? item.statusUpdate.status.state
				: Object.keys(item).join(),
	);
