/** Our side of an interop test: the app that users have, with the scripted agent in place of Pi. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { scriptedAgent } from "../../bench/scripted-agent.ts";
import { startServer } from "../../bench/server.ts";
import type { App } from "../../src/app.ts";
import { systemClock } from "../../src/lib/clock.ts";
import type { Outbound } from "../../src/peers/outbound.ts";
import { PeerError } from "../../src/peers/reply.ts";

export interface Us {
	readonly app: App;
	/** Where our server answers, `http://127.0.0.1:port/`. */
	readonly url: string;
	readonly outbound: Outbound;
	/** Stops the app and removes its files. */
	close(): Promise<void>;
}

export interface UsOptions {
	/** Bearer token that our server wants. */
	readonly token?: string;
	/** Tokens of single callers, by name. */
	readonly peerTokens?: Readonly<Record<string, string>>;
	/** `a2a.peers` of the settings. */
	readonly peers?: Readonly<Record<string, { readonly url: string; readonly auth?: object; readonly card?: object }>>;
}

/** Settings beside those of peers. */
interface More {
	readonly queue?: object;
	/** A free one by default. */
	readonly port?: number;
}

/** Starts our app on a free port, with a folder of its own. */
export async function startUs({
	token,
	peerTokens = {},
	peers = {},
	port = 0,
	...more
}: UsOptions & More = {}): Promise<Us> {
	const agentDir = await mkdtemp(join(tmpdir(), "pi-a2a-interop-"));
	const settings = { a2a: { peers, timeouts: { async: 200 }, ...more } };
	await writeFile(join(agentDir, "settings.json"), JSON.stringify(settings));
	const { app, status } = await startServer({
		agentDir,
		runner: () => scriptedAgent(systemClock),
		unlimited: true,
		env: {
			A2A_AGENT_NAME: "pi",
			A2A_PORT: String(port),
			A2A_BEARER_TOKEN: token,
			A2A_PEER_TOKENS: Object.entries(peerTokens)
				.map(([name, value]) => `${name}:${value}`)
				.join(","),
			A2A_DISCOVERY_LOCAL: "false",
		},
	});
	assert.deepEqual(app.loaded.problems, []);
	return {
		app,
		url: status.url ?? "",
		outbound: app.outbound,
		async close() {
			await app.close();
			await rm(agentDir, { recursive: true, force: true });
		},
	};
}

/** The `PeerError` that `call` ends with. */
export async function refusal(call: Promise<unknown>): Promise<PeerError> {
	const outcome = await call.then(
		(reply) => assert.fail(`expected a PeerError, got ${JSON.stringify(reply)}`),
		(error: unknown) => error,
	);
	assert.ok(outcome instanceof PeerError, String(outcome));
	return outcome;
}

/** All items of a stream. */
export async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
	const items: T[] = [];
	for await (const item of stream) items.push(item);
	return items;
}
