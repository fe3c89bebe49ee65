/**
 * What the registrations of `index.ts` call: one session of the host at a time, and the parts that work, imported when
 * they are first needed.
 */
import type { ExtensionAPI, ExtensionContext, ToolDefinition } from "@mariozechner/pi-coding-agent";
import type { App } from "../app.ts";
import { keptAlive } from "../lib/alive.ts";
import { systemClock } from "../lib/clock.ts";
import { attempt } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import type { Peer } from "../peers/peer.ts";
import type { Offer, RunCommand } from "./commands.ts";
import { createLife, type Life } from "./life.ts";
import { type RunTool, type ToolName, toolDefinitions } from "./tools.ts";

export interface Extension {
	/** A session begins; called again for the same one, its context is taken and nothing else happens. */
	start(ctx: ExtensionContext): void;
	/** The session ends: everything is given back. May be called twice, and while the start is under way. */
	stop(): Promise<void>;
	readonly tool: RunTool;
	readonly command: RunCommand;
	/** For completions: soon, or none. */
	peers(): Promise<readonly Peer[]>;
	/** The conversations with peers, newest first, for completions as well. */
	contexts(): Promise<readonly Offer[]>;
}

/** Completions are for someone who is typing. */
const OFFERS_MS = 400;
/** What a task of a peer may use as well: it may pass work on, but not read what this host said to others. */
const PASSED_ON: readonly ToolName[] = ["a2a_call", "a2a_status", "a2a_discover", "a2a_orchestrate", "a2a_peers"];

/** The extension behind one load of `index.ts`. */
export function createExtension(pi: ExtensionAPI): Extension {
	let current: ExtensionContext | undefined;
	let life: Life | undefined;

	const alive = (): Life => {
		if (!life) throw new Error("A2A is not available in this session.");
		return life;
	};
	const runner =
		(hops: number, trace?: string, folder?: string): RunTool =>
		(name, args, signal, onUpdate, { cwd }) =>
			keptAlive(async () => {
				const session = alive();
				const [{ runTool }, { outbound }] = await Promise.all([import("./tool-run.ts"), session.app()]);
				// What a task of a peer dispatches is not this session's to be told of.
				const dispatches = hops === 0 ? await session.dispatches() : undefined;
				const both = signal ? AbortSignal.any([signal, session.signal]) : session.signal;
				// What works for a peer gives out what it was given to work with, and no more.
				const within = hops > 0 ? [cwd, ...(folder ? [folder] : [])] : undefined;
				return runTool(name, args, {
					...{ outbound, clock: systemClock, signal: both, onUpdate },
					...{ hops, trace, cwd, within, dispatches },
				});
			});

	/** A list for someone who is typing: what is not there in a moment is not offered. */
	async function soon<T>(what: string, list: (app: App) => Promise<readonly T[]>): Promise<readonly T[]> {
		const { app, log } = alive();
		const late = systemClock.sleep(OFFERS_MS).then((): readonly T[] => []);
		const found = attempt(what, async () => list(await app()), log);
		return (await Promise.race([found, late])) ?? [];
	}

	return {
		start(ctx) {
			current = ctx;
			life ??= createLife({
				pi,
				current: () => current,
				app: async (loaded, parts) => {
					const [{ createApp }, { appHost }] = await Promise.all([import("../app.ts"), import("./app-host.ts")]);
					return appHost(createApp, loaded, parts);
				},
				childTools: (hops, trace, folder) => {
					const tools = toolDefinitions(runner(hops, trace, folder)).filter(({ name }) => PASSED_ON.includes(name));
					// A list of definitions with parameters of their own each has no common type in the host.
					return tools as unknown as ToolDefinition[];
				},
			});
		},
		async stop() {
			const ended = life;
			life = undefined;
			await ended?.close();
			current = undefined;
		},
		tool: runner(0),
		command: (name, args) =>
			keptAlive(async () => {
				const session = alive();
				const [{ runCommand }, app] = await Promise.all([import("./command-run.ts"), session.app()]);
				await runCommand(name, args, session.forCommands(app));
			}),
		peers: () => soon("list the peers", ({ outbound }) => outbound.peers()),
		contexts: () =>
			soon("list the conversations", async ({ outbound }) => {
				const { conversations } = await outbound.list();
				return conversations.map(({ contextId, peers, text }) => ({
					name: contextId,
					description: oneLine(`${peers.join(", ")}: ${text}`, 60),
				}));
			}),
	};
}
