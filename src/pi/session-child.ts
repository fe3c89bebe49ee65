/** One isolated Pi session that serves a peer: opened with everything the host has, stopped and given back. */
import {
	type AgentSession,
	createAgentSession,
	createBashToolDefinition,
	DefaultResourceLoader,
	type ExtensionAPI,
	type SessionManager,
	SettingsManager,
	type ToolDefinition,
} from "@mariozechner/pi-coding-agent";
import type { Clock } from "../lib/clock.ts";
import { attempt, type Log } from "../lib/log.ts";
import { GUIDE } from "./child-tools.ts";
import { markChild } from "./children.ts";
import type { PiHost } from "./host.ts";
import { isNamed, type LimitOptions, limiter } from "./session-limits.ts";
import type { PolicyGate } from "./session-policy.ts";
import type { Resources } from "./session-resources.ts";
import { childSettings } from "./session-settings.ts";

/** An image in the form that both hosts take. */
export interface PromptImage {
	readonly type: "image";
	/** base64 */
	readonly data: string;
	readonly mimeType: string;
}

export interface Child {
	/** Every event of the session, in order. `listener` must not throw: 1.x would lose the answer. */
	subscribe(listener: (event: object) => void): void;
	/** Runs one prompt; resolves when the model's run has ended, rejects when it could not start. */
	prompt(text: string, images: readonly PromptImage[]): Promise<void>;
	/** Whether the session works, compacts or is about to go on by itself. */
	busy(): boolean;
	/** Resolves when the session's extensions have seen every event of the run. */
	drained(): Promise<void>;
	/** Stops what runs now. Lost when nothing has begun yet, so it is repeated until the run ends. */
	abort(): void;
	/** Tells the session's extensions that it ends, then gives it back. Never rejects. */
	close(): Promise<void>;
}

export interface ChildOptions {
	readonly host: PiHost;
	readonly resources: Resources;
	readonly agentDir: string;
	readonly cwd: string;
	readonly manager: SessionManager;
	/** The conversation goes on: what its extensions hear as the reason of `session_start`. */
	readonly resumed: boolean;
	readonly tools: readonly ToolDefinition[];
	/** What the caller allows. */
	readonly limits?: LimitOptions["limits"];
	/** Tools of `tools` that no contract needs to name. */
	readonly free?: LimitOptions["free"];
	/** What the operator allows the caller. */
	readonly policy: PolicyGate;
	/** Why no tool may start any more; undefined while they may. */
	readonly closedTo: () => string | undefined;
	/** Told of each tool that is about to start, by the id of its call. */
	readonly onTool?: (id: string) => void;
	readonly signal: AbortSignal;
	readonly clock: Clock;
	readonly log: Log;
}

/** An extension that does not come to an end must not hold the task. */
const SHUTDOWN_MS = 5_000;

/** What the hosts accept beyond the types of 0.73. */
type NewSettings = (settings: object, options: { readonly projectTrusted: boolean }) => SettingsManager;

function settingsOf({ host, resources }: ChildOptions): SettingsManager {
	const settings = childSettings(resources.settings, host.model()?.contextWindow);
	const create: NewSettings = SettingsManager.inMemory.bind(SettingsManager);
	return create(settings, { projectTrusted: resources.trusted });
}

async function loaderOf(options: ChildOptions, settingsManager: SettingsManager): Promise<DefaultResourceLoader> {
	const { resources, host, agentDir, cwd, closedTo, policy } = options;
	/** Rules of this side, in front of every tool whatever extension it comes from. */
	const rules = (pi: ExtensionAPI) => {
		const limited = limiter(pi, limitsOf(options));
		// A bash that an extension of the user brings, to run commands elsewhere, comes before this one.
		pi.registerTool(shellTool(cwd, settingsManager));
		pi.on("tool_call", async ({ toolName, toolCallId, input }) => {
			// Asked again at the call: an extension may switch tools on later.
			const reason =
				closedTo() ??
				(mayUse(options, toolName) ? limited(toolName) : "This tool is off for tasks from outside.") ??
				(await policy.permit(toolName, input)) ??
				closedTo();
			if (reason === undefined) options.onTool?.(toolCallId);
			return reason === undefined ? undefined : { block: true, reason };
		});
	};
	const loader = new DefaultResourceLoader({
		cwd,
		agentDir,
		settingsManager,
		// Discovery would also take what lies in the workspace, with no question of trust.
		noExtensions: true,
		noSkills: true,
		noPromptTemplates: true,
		noThemes: true,
		noContextFiles: host.flags.noContextFiles,
		additionalExtensionPaths: [...resources.extensions],
		additionalSkillPaths: [...resources.skills],
		extensionFactories: [rules],
		systemPromptOverride: (found) => (resources.trusted ? found : resources.system),
		appendSystemPromptOverride: (found) => [...(resources.trusted ? found : resources.appendSystem), GUIDE],
	});
	await loader.reload();
	return loader;
}

/** The host's own bash, without the variables that configure us: tokens are among them. */
function shellTool(cwd: string, settings: SettingsManager): ToolDefinition {
	const [commandPrefix, shellPath] = [settings.getShellCommandPrefix(), settings.getShellPath()];
	const tool = createBashToolDefinition(cwd, {
		...(commandPrefix === undefined ? {} : { commandPrefix }),
		...(shellPath === undefined ? {} : { shellPath }),
		spawnHook: ({ env, ...context }) => ({
			...context,
			env: Object.fromEntries(Object.entries(env).filter(([name]) => !/^A2A_/i.test(name))),
		}),
	});
	// A definition with parameters of its own has no common type with others in the host.
	return tool as unknown as ToolDefinition;
}

/**
 * Whether a session may use a tool: its own always; one that the host has only while its user leaves it on. A tool that
 * the host does not know comes from an extension that set up its tools differently here, unless the user named them.
 */
function mayUse({ host, tools, policy }: ChildOptions, name: string): boolean {
	if (tools.some((own) => own.name === name) || host.activeTools().includes(name)) return true;
	if (!host.flags.choosesTools && policy.grants.includes(name)) return true;
	return !host.flags.choosesTools && !host.allTools().includes(name);
}

const limitsOf = ({ limits, free = [] }: ChildOptions): LimitOptions => ({ limits, free });

/** What the host has switched on beyond the usual comes along; what it has switched off is not offered. */
function matchTools(session: AgentSession, options: ChildOptions): void {
	const here = session.getActiveToolNames();
	const { host, policy } = options;
	const more = [...host.activeTools(), ...policy.grants].filter((name) => session.getToolDefinition(name));
	const names = [...new Set([...here, ...more])].filter(
		(name) => mayUse(options, name) && isNamed(limitsOf(options), name) && policy.offers(name),
	);
	if (names.length !== here.length || names.some((name) => !here.includes(name))) session.setActiveToolsByName(names);
}

/** 0.73 hands the events of a run on behind its end when a handler of an extension is slow; 1.x waits for them. */
async function drained(session: AgentSession): Promise<void> {
	const queue = () => (session as unknown as { readonly _agentEventQueue?: Promise<void> })._agentEventQueue;
	for (let seen = queue(); seen; ) {
		await seen.catch(() => undefined); // an extension's fault, which the host reports
		const now = queue();
		if (now === seen) return;
		seen = now;
	}
}

const aborted = (signal: AbortSignal) =>
	new Promise<void>((resolve) => {
		if (signal.aborted) resolve();
		else signal.addEventListener("abort", () => resolve(), { once: true });
	});

/** Opens a session. Throws what the host throws; an abort while extensions start is not an error, `prompt` says it. */
export async function openChild(options: ChildOptions): Promise<Child> {
	const { host, agentDir, cwd, manager, signal, clock, log } = options;
	const settingsManager = settingsOf(options);
	// Before anything of the session runs: an extension asks by this whether it is in one.
	markChild(manager);
	const model = host.model();
	const { session } = await createAgentSession({
		cwd,
		agentDir,
		...(model ? { model } : {}),
		thinkingLevel: host.thinkingLevel(),
		settingsManager,
		resourceLoader: await loaderOf(options, settingsManager),
		sessionManager: manager,
		customTools: [...options.tools] as ToolDefinition[],
		sessionStartEvent: { type: "session_start", reason: options.resumed ? "resume" : "startup" },
		...host.auth(),
	});
	const started = session.bindExtensions({
		onError: ({ extensionPath, event, error }) =>
			log.warn(`The extension ${extensionPath} failed at ${event} in a session that serves a peer`, error),
	});
	await Promise.race([started, aborted(signal)]);
	if (!signal.aborted) matchTools(session, options);
	let closed: Promise<void> | undefined;
	return {
		subscribe: (listener) => void session.subscribe(listener),
		prompt: (text, images) =>
			// The text comes from outside: nothing in it is a command or a template of this host.
			session.prompt(text, { expandPromptTemplates: false, source: "extension", images: [...images] }),
		busy: () => session.isStreaming || session.isCompacting,
		drained: () => drained(session),
		abort() {
			const failed = (error: unknown) => log.warn("Could not stop a session that serves a peer", error);
			session.abort().catch(failed);
			session.abortCompaction();
		},
		close() {
			closed ??= (async () => {
				const told = session.extensionRunner.emit({ type: "session_shutdown", reason: "quit" });
				const shutdown = Promise.race([told, clock.sleep(SHUTDOWN_MS)]);
				await attempt("end the extensions of a session that served a peer", () => shutdown, log);
				await attempt("give a session back", () => session.dispose(), log);
			})();
			return closed;
		},
	};
}
