/** Our client half against scripted peers: real sockets, the time that the test gives. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Connection } from "../../src/bindings/binding.ts";
import { createHttpPool } from "../../src/bindings/http/pool.ts";
import { redact, redaction } from "../../src/guard/redact.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { newMessageId } from "../../src/lib/ids.ts";
import { nullLog } from "../../src/lib/log.ts";
import { type CallRequest, callPeer } from "../../src/peers/call.ts";
import { type Connect, createConnect, openHttp } from "../../src/peers/connect.ts";
import { createConversations } from "../../src/peers/conversations.ts";
import type { OwnTokens } from "../../src/peers/credentials.ts";
import { createDirectory } from "../../src/peers/directory.ts";
import type { Judge } from "../../src/peers/fanout.ts";
import type { SendLimits } from "../../src/peers/files-out.ts";
import type { Exchange } from "../../src/peers/observe.ts";
import { createOutbound, type Outbound } from "../../src/peers/outbound.ts";
import { createReceiver } from "../../src/peers/received.ts";
import type { PeerReply } from "../../src/peers/reply.ts";
import { type ConfiguredPeer, fromConfig } from "../../src/peers/sources/config.ts";
import { type PeerOptions, type ScriptedPeer, startPeer } from "../support/scripted-peer.ts";

export interface RigOptions {
	readonly clock?: Clock;
	/** Peers by the names that the operator gives them. */
	readonly config?: Readonly<Record<string, string | ConfiguredPeer>>;
	readonly own?: OwnTokens;
	readonly identity?: string;
	readonly timeoutMs?: number;
	readonly retryAttempts?: number;
	readonly judge?: Judge;
	/** For files sent and for files received. */
	readonly limits?: Partial<SendLimits>;
}

export interface Rig {
	readonly connect: Connect;
	readonly exchanges: Exchange[];
	readonly outbound: Outbound;
	/** Folder of the agent. */
	readonly root: string;
	/** The working directory. */
	readonly work: string;
}

const noTokens: OwnTokens = { selfIdentity: "", sharedToken: "", peerTokens: {} };

/** What a test started; `end` gives it all back and says when something was left open. */
export class Bench {
	readonly #peers: ScriptedPeer[] = [];
	readonly #pool = createHttpPool();
	readonly #rigs: Rig[] = [];

	async peer(options: PeerOptions): Promise<ScriptedPeer> {
		const peer = await startPeer(options);
		this.#peers.push(peer);
		return peer;
	}

	async rig(options: RigOptions = {}): Promise<Rig> {
		const { clock = systemClock, own = noTokens, identity = "" } = options;
		const root = await mkdtemp(join(tmpdir(), "peers-"));
		const work = await mkdtemp(join(tmpdir(), "work-"));
		const entries = Object.entries(options.config ?? {}).map(([name, peer]) => [
			name,
			typeof peer === "string" ? { url: peer, capabilities: [] } : peer,
		]);
		const tokens = Object.values(options.config ?? {}).flatMap((peer) =>
			typeof peer === "string" ? [] : (peer.token ?? []),
		);
		const directory = createDirectory([fromConfig(Object.fromEntries(entries), nullLog)]);
		const exchanges: Exchange[] = [];
		const open = openHttp({
			identity,
			sendTimeoutMs: 60_000,
			streamTimeoutMs: 60_000,
			retryAttempts: options.retryAttempts ?? 0,
			verifySsl: true,
			pool: this.#pool,
			clock,
			check: () => async () => undefined,
		});
		const exchange = (done: Exchange) => void exchanges.push(done);
		const connect = createConnect({ open: { http: open }, directory, own, clock, redact, exchange });
		const limits = { maxBytes: 10_000_000, maxTotalBytes: 20_000_000, maxCount: 100, ...options.limits };
		const { withoutKnown } = redaction(tokens);
		const outbound = createOutbound({
			directory,
			connect,
			conversations: createConversations(join(root, "a2a_conversations"), clock),
			clock,
			log: nullLog,
			redact,
			withoutKnown,
			receiver: createReceiver({
				...{ dir: join(root, "a2a_received"), limits, keepDays: 1 },
				...{ withoutKnown, clock, log: nullLog },
			}),
			sending: { cwd: work, agentDir: root, limits },
			identity,
			timeoutMs: options.timeoutMs ?? 60_000,
			pollMs: 5,
			judge: options.judge,
			metrics: () => ({ calls: exchanges.length }),
		});
		const rig = { connect, exchanges, outbound, root, work };
		this.#rigs.push(rig);
		return rig;
	}

	async end(): Promise<void> {
		for (const { outbound, root, work } of this.#rigs) {
			await outbound.close();
			await outbound.close();
			await rm(root, { recursive: true });
			await rm(work, { recursive: true });
		}
		for (const peer of this.#peers) await until(() => peer.open() === 0, "no request is left open");
		this.#pool.close();
		await Promise.all(this.#peers.map((peer) => peer.close()));
	}
}

/** Waits for something that happens at the other end of a socket. */
export async function until(happened: () => boolean, what: string): Promise<void> {
	for (let tries = 0; !happened(); tries++) {
		if (tries > 2000) assert.fail(`did not happen: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 1));
	}
}

export const forever = (): AbortSignal => new AbortController().signal;

/** One call of a peer, without a conversation. */
export async function call(
	rig: Rig,
	peer: ScriptedPeer,
	more: Partial<CallRequest> = {},
	clock: Clock = systemClock,
): Promise<PeerReply> {
	const connection = await connectionTo(rig, peer);
	const request = { text: "do it", signal: forever(), timeoutMs: 60_000, ...more };
	return callPeer(connection, request, { peer: "worker", clock, pollMs: 5, newMessageId });
}

export function connectionTo({ connect }: Rig, peer: ScriptedPeer): Promise<Connection> {
	const address = { via: "http", url: new URL(peer.url) } as const;
	return connect({ name: "worker", source: "url", address, capabilities: [] }, forever());
}
