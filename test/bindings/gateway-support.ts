/** Sessions at gateways, for the tests of this folder: real sockets and files, the time that the test gives. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { HttpHandler } from "../../src/bindings/gateway/channel.ts";
import type { GatewayConfig } from "../../src/config/entries.ts";
import { createGateways, type Gateways, type Served } from "../../src/gateways.ts";
import { type ManualClock, manualClock } from "../../src/lib/clock.ts";
import type { Peer } from "../../src/peers/peer.ts";
import { buildCard } from "../../src/protocol/card.ts";
import { type Switchboard, type SwitchboardOptions, switchboard } from "../support/switchboard.ts";
import { remembering } from "./http-support.ts";

/** Waits for what sockets and files bring, without letting the clock of the test move. */
export async function until(what: string, condition: () => unknown): Promise<void> {
	const deadline = Date.now() + 5_000;
	while (!condition()) {
		if (Date.now() > deadline) assert.fail(`did not happen: ${what}`);
		await new Promise((resolve) => setImmediate(resolve));
	}
}

export const refusing: HttpHandler = async () => ({ status: 501, headers: {}, body: "" });

/** A session: its gateways and what its server gives to them. */
export interface Session extends Gateways {
	readonly config: { gateways: Record<string, GatewayConfig>; agentName: string; verifySsl: boolean };
	readonly log: ReturnType<typeof remembering>;
	/** Starts, or starts anew on another port. */
	serve(port?: number, more?: Partial<Served>): void;
	/** The state at one gateway. */
	at(key: string): ReturnType<Gateways["status"]>[number] | undefined;
	names(): Promise<string[]>;
	peer(name: string): Promise<Peer>;
}

export class Fleet {
	readonly clock: ManualClock = manualClock(Date.now());
	root = "";
	readonly #boards: Switchboard[] = [];
	readonly #sessions: Session[] = [];

	async begin(): Promise<void> {
		this.root = await mkdtemp(join(tmpdir(), "gateway-"));
	}

	async board(options?: SwitchboardOptions): Promise<Switchboard> {
		const board = await switchboard(options);
		this.#boards.push(board);
		return board;
	}

	/** Settings for `board`, accepted at once and without a channel when nothing else is said. */
	at(board: Switchboard, more: Partial<GatewayConfig> = {}): GatewayConfig {
		return { enabled: true, url: board.url, token: board.bootstrap, heartbeatSec: 60, channel: false, ...more };
	}

	session(gateways: Record<string, GatewayConfig>, agentName = "pi"): Session {
		const config = { gateways, agentName, verifySsl: true };
		const log = remembering();
		const made = createGateways({ config: () => config, agentDir: this.root, clock: this.clock, log });
		const session: Session = {
			...made,
			config,
			log,
			serve(port = 9910, more = {}) {
				made.start({
					url: () => `http://127.0.0.1:${port}/`,
					port,
					card: (url) =>
						buildCard({
							...{ name: config.agentName, description: "", version: "1", url, auth: false, v03: true },
							...{ streaming: true, push: false, extended: false },
							skills: [{ id: "sums", name: "Sums", description: "Adds", tags: ["math"] }],
						}),
					handler: refusing,
					...more,
				});
			},
			at: (key) => made.status().find((each) => each.key === key),
			names: async () => (await made.source.list()).map(({ name }) => name),
			async peer(name) {
				const found = (await made.source.list()).find((peer) => peer.name === name);
				assert.ok(found, `${name} is listed`);
				return found;
			},
		};
		this.#sessions.push(session);
		return session;
	}

	/** Waits for a session to rest, and moves time on to its next heartbeat; gives the seconds until then. */
	async beat(session: Session, key = "work"): Promise<number> {
		const next = () => session.at(key)?.next;
		await until("a pause", () => next() !== undefined);
		const pause = (next() ?? 0) - this.clock.now();
		await this.clock.advance(pause);
		await until("a heartbeat", () => (next() ?? 0) > this.clock.now());
		return pause / 1000;
	}

	/** The files of one gateway, by name, as JSON. */
	async files(key: string): Promise<Record<string, unknown>> {
		const folder = join(this.root, "a2a_gateways", key);
		const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".json")).sort();
		const read = names.map(async (name) => [name, JSON.parse(await readFile(join(folder, name), "utf8"))]);
		return Object.fromEntries(await Promise.all(read));
	}

	/** Ends everything. Fails when a timer is left. */
	async end(): Promise<void> {
		for (const session of this.#sessions.splice(0)) {
			let closed = false;
			const closing = session.close().then(() => {
				closed = true;
			});
			const patience = Date.now() + 300;
			while (!closed) {
				await new Promise((resolve) => setImmediate(resolve));
				// A gateway that answers nothing is waited for, but not here.
				if (Date.now() > patience) await this.clock.advance(2_000);
			}
			await closing;
		}
		for (const board of this.#boards.splice(0)) await board.close();
		await until("the end of every timer", () => this.clock.pending === 0);
		// A session that was not waited for to the end may still be giving back its name.
		await rm(this.root, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
	}
}
