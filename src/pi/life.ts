/**
 * One session of the host, from its start to its end: the app is made behind the host's back, awaited by whatever
 * needs it, shown on the screen and given back.
 */
import { hostname } from "node:os";
import {
	type ExtensionAPI,
	type ExtensionContext,
	getAgentDir,
	type ToolDefinition,
} from "@mariozechner/pi-coding-agent";
import type { App } from "../app.ts";
import { type Loaded, loadConfig } from "../config/load.ts";
import { policyText } from "../guard/peer-policy.ts";
import { systemClock } from "../lib/clock.ts";
import { attempt, type Log } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import { footer, showActivity } from "./activity.ts";
import type { AppHostParts, HostedApp } from "./app-host.ts";
import type { CommandSetting } from "./command-run.ts";
import { hostOf } from "./host.ts";
import { bringHome, type Dispatches } from "./settled.ts";
import { createTranscript } from "./transcript.ts";
import { type Screen, screenOf } from "./ui.ts";

export interface LifeParts {
	readonly pi: ExtensionAPI;
	/** The session's newest context; undefined once it is over. */
	readonly current: () => ExtensionContext | undefined;
	/** Makes the app; its modules are read by this call. */
	readonly app: (loaded: Loaded, parts: AppHostParts) => Promise<HostedApp>;
	readonly childTools: (hops: number, trace?: string, folder?: string) => readonly ToolDefinition[];
}

export interface Life {
	/** Aborts when the session ends. */
	readonly signal: AbortSignal;
	readonly log: Log;
	/** The app, made when it is first asked for. Throws when the session is over. */
	app(): Promise<App>;
	/** Tasks that this session has dispatched and not waited for. Throws when the session is over. */
	dispatches(): Promise<Dispatches>;
	forCommands(app: App): CommandSetting;
	/** Gives everything back. Never throws. */
	close(): Promise<void>;
}

/** So many problems of the configuration are shown at the start; `/a2a-status` shows all. */
const PROBLEMS = 8;

/** A log that says each thing once, to whoever sits in front. */
function logTo(screen: Screen): Log {
	const said = new Set<string>();
	return {
		warn(text, cause) {
			const reason = cause instanceof Error ? `: ${oneLine(cause.message, 300)}` : "";
			const line = `A2A: ${oneLine(text, 300)}${reason}`;
			if (said.has(line) || said.size > 200) return;
			said.add(line);
			screen.notify(line, "warning");
		},
		info: () => undefined,
	};
}

function tellProblems({ problems }: Loaded, screen: Screen): void {
	if (problems.length === 0) return;
	const lines = problems.slice(0, PROBLEMS).map((problem) => `- ${oneLine(problem.text, 400)}`);
	const more = problems.length > PROBLEMS ? [`- and ${problems.length - PROBLEMS} more, see /a2a-status`] : [];
	const kind = problems.some(({ level }) => level !== "hint") ? "warning" : "info";
	screen.notify(["A2A settings:", ...lines, ...more].join("\n"), kind);
}

/** Begins the life of the session behind `pi`. Returns at once. */
export function createLife({ pi, current, app: make, childTools }: LifeParts): Life {
	const over = new AbortController();
	const { signal } = over;
	const screen = screenOf(() => (signal.aborted ? undefined : current()));
	const log = logTo(screen);
	const transcript = createTranscript({ pi, screen, log, clock: systemClock });
	let reading: Promise<Loaded> | undefined;
	let making: Promise<HostedApp> | undefined;
	let stopShowing: (() => void) | undefined;
	let home: readonly [Dispatches, () => void] | undefined;

	const ctx = (): ExtensionContext => {
		const now = signal.aborted ? undefined : current();
		if (!now) throw new Error("This session of Pi is over.");
		return now;
	};

	function read(): Promise<Loaded> {
		reading ??= loadConfig({
			agentDir: getAgentDir(),
			cwd: ctx().cwd,
			env: process.env,
			projectTrusted: hostOf(pi, ctx()).trusted,
			hostname: hostname(),
		});
		return reading;
	}

	async function hosted(): Promise<HostedApp> {
		making ??= (async () => {
			const loaded = await read();
			const made = await make(loaded, { pi, ctx, log, screen, childTools });
			const { app } = made;
			stopShowing = showActivity({
				tasks: app.tasks,
				screen,
				clock: systemClock,
				add: transcript.add,
				wanted: () => app.loaded.config.transcript,
				status: app.server.status,
				policyOf: (caller) => policyText(caller, app.loaded.config.peerPolicies),
			});
			if (signal.aborted) return made;
			home = bringHome({
				pi,
				sessions: ctx().sessionManager,
				homecoming: app.homecoming,
				screen,
				add: transcript.add,
				wanted: () => app.loaded.config.notifyOnSettled,
				clock: systemClock,
				log,
			});
			return made;
		})();
		return making;
	}

	const refresh = (app: App): void => screen.status(footer(app.server.status()));

	async function startServer(): Promise<void> {
		const { app, sweep } = await hosted();
		// Asked for behind the end it would listen for ever.
		if (signal.aborted) return;
		await app.server.start();
		refresh(app);
		void sweep();
	}

	/** Says what is wrong with the configuration, also when the session is over in a moment. */
	async function tell(): Promise<Loaded> {
		// The host has its first screen or its first request under way before our modules are read.
		await systemClock.sleep(0);
		const loaded = await read();
		tellProblems(loaded, screen);
		return loaded;
	}
	const told = attempt("read the settings", tell, log);

	async function boot(): Promise<void> {
		const config = (await told)?.config;
		const enabled = config?.serverEnabled === true;
		const mailed = config?.mailboxEnabled === true;
		const { mode } = screen;
		// Where nobody looks and nobody calls, the app is made when it is first used.
		if (signal.aborted || !(enabled || mailed || mode === "tui" || mode === "rpc")) return;
		const { app } = await hosted();
		if (enabled && !signal.aborted) await startServer();
		else if (mailed && !signal.aborted) await app.mailbox.start();
	}
	void attempt("start", boot, log);

	return {
		signal,
		log,
		app: async () => {
			const { app } = await hosted();
			if (signal.aborted) throw new Error("This session of Pi is over.");
			return app;
		},
		async dispatches() {
			await hosted();
			if (!home) throw new Error("This session of Pi is over.");
			return home[0];
		},
		forCommands: (app) => ({
			app,
			screen,
			signal,
			clock: systemClock,
			say: transcript.show,
			startServer,
			refresh: () => refresh(app),
		}),
		async close() {
			await told;
			screen.status(undefined);
			screen.working(undefined);
			over.abort();
			transcript.close();
			stopShowing?.();
			home?.[1]();
			await attempt("end the session", async () => (await making)?.app.close(), log);
		},
	};
}
