/** A mailbox in a folder of its own, for the tests of this folder. */
import { mkdtempSync, rmSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import type { MailTarget } from "../../src/bindings/mailbox/client.ts";
import type { Holder } from "../../src/bindings/mailbox/leases.ts";
import {
	type Orchestrator,
	type OrchestratorParts,
	startOrchestrator,
} from "../../src/bindings/mailbox/orchestrator.ts";
import { type Post, startPost } from "../../src/bindings/mailbox/post.ts";
import { MailRoot } from "../../src/bindings/mailbox/root.ts";
import { type Facts, type MailServer, type ServerParts, serveMailbox } from "../../src/bindings/mailbox/server.ts";
import { fileEvents, type WatchFolder } from "../../src/bindings/mailbox/watch.ts";
import { type Clock, systemClock } from "../../src/lib/clock.ts";
import { newId } from "../../src/lib/ids.ts";
import type { Agent, Caller } from "../../src/protocol/agent.ts";
import { buildCard } from "../../src/protocol/card.ts";
import { remembering } from "./http-support.ts";

export const TIMES = { pollMs: 500, beatMs: 5_000, deadMs: 15_000, leaseMs: 30_000, redeliveries: 2 } as const;

export const card = buildCard({
	name: "tester",
	description: "Answers tests",
	version: "1.2.3",
	url: "http://127.0.0.1:1/",
	skills: [],
	auth: false,
	streaming: true,
	push: false,
	extended: false,
	v03: true,
});

export const FACTS: Facts = {
	name: "tester",
	description: "Answers tests",
	capabilities: ["read_file", "echo"],
	slots: 3,
	card: JSON.parse(JSON.stringify(card)),
};

export const callerOf = (from: string): Caller => ({
	id: `mailbox:${from}`,
	label: from,
	authenticated: true,
	loopback: false,
});

/** This process, as one run of an agent. */
export const holder = (): Holder => ({ instance: newId("run"), pid: process.pid, host: hostname() });

export interface MailboxStage {
	readonly path: string;
	readonly root: MailRoot;
	readonly log: ReturnType<typeof remembering>;
	orchestrate(times?: Partial<OrchestratorParts["times"]>): Orchestrator;
	serve(agent: Agent, more?: Partial<ServerParts>): Promise<MailServer>;
	post(id: string): Promise<Post>;
	target(post: Post, to: string): MailTarget;
	close(): Promise<void>;
}

/** A mailbox; `watch`: `noEvents` for polling alone. What was started is closed in turn, and the folder removed. */
export function mailboxStage(options: { watch?: WatchFolder; clock?: Clock; path?: string } = {}): MailboxStage {
	const { watch = fileEvents, clock = systemClock } = options;
	const folder = options.path ?? mkdtempSync(join(tmpdir(), "mailbox-"));
	const path = join(folder, "box");
	const log = remembering();
	const rootOf = () =>
		new MailRoot(path, { clock, log, keep: { forMs: 3_600_000, atMost: 100 }, maxBytes: 16 * 1024 * 1024 });
	const root = rootOf();
	const closing: (() => Promise<void>)[] = [];
	return {
		path,
		root,
		log,
		orchestrate(times = {}) {
			const started = startOrchestrator({ root: rootOf(), self: holder(), times: { ...TIMES, ...times }, watch });
			closing.push(() => started.close());
			return started;
		},
		async serve(agent, more = {}) {
			const started = await serveMailbox({
				root: rootOf(),
				agent,
				identify: callerOf,
				id: "worker",
				self: holder(),
				facts: () => FACTS,
				times: { ...TIMES, pollMs: 100 },
				watch,
				...more,
			});
			closing.push(() => started.close());
			return started;
		},
		async post(id) {
			const own = rootOf();
			await own.open();
			await own.make(id);
			const started = startPost({ root: own, id, pollMs: 100, watch });
			closing.push(() => started.close());
			return started;
		},
		target: (post, to) => ({ root, post, to, ttlSeconds: 30, contract: {} }),
		async close() {
			for (const each of closing.reverse()) await each();
			if (options.path === undefined) rmSync(folder, { recursive: true, force: true });
		},
	};
}
