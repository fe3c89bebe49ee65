/** All that differs between the hosts we run in: Pi 0.73 and Pi 1.x, each started in its own way. */
import { resolve } from "node:path";
import { type ExtensionAPI, type ExtensionContext, VERSION } from "@mariozechner/pi-coding-agent";
import { type Mode, modeOf } from "./ui.ts";

export type PiModel = NonNullable<ExtensionContext["model"]>;
export type ThinkingLevel = ReturnType<ExtensionAPI["getThinkingLevel"]>;

/** What the user asked of this host on its command line, as far as a session that serves a peer must follow. */
export interface HostFlags {
	/** Extension files and folders of `-e`. Absolute. */
	readonly extensions: readonly string[];
	/** Skill files and folders of `--skill`. Absolute. */
	readonly skills: readonly string[];
	readonly noExtensions: boolean;
	readonly noSkills: boolean;
	readonly noContextFiles: boolean;
	/** The user chose which tools there are: any other is out of bounds. */
	readonly choosesTools: boolean;
}

/** The live session of the host. Its functions read the session as it is now; they throw once it has been replaced. */
export interface PiHost {
	readonly mode: Mode;
	readonly version: string;
	readonly cwd: string;
	/** Whether the host trusts the project in its folder. Pi before 1.0 knows no trust and loads every project. */
	readonly trusted: boolean;
	readonly flags: HostFlags;
	model(): PiModel | undefined;
	thinkingLevel(): ThinkingLevel;
	/** Options of `createAgentSession` that share this host's credentials and providers. */
	auth(): object;
	/** Names of the tools that the host's own model has. */
	activeTools(): readonly string[];
	/** Names of all tools that the host knows, active or not. */
	allTools(): readonly string[];
}

/** What Pi 1.x adds to the context of 0.73. */
interface NewerContext {
	readonly isProjectTrusted?: () => boolean;
}

/** What Pi 1.x keeps behind its model registry; private there in name only. */
interface NewerRegistry {
	readonly runtime?: object;
}

const VALUES: ReadonlyMap<string, "extensions" | "skills"> = new Map([
	["-e", "extensions"],
	["--extension", "extensions"],
	["--skill", "skills"],
]);

const TOOL_FLAGS = ["--tools", "-t", "--no-tools", "-nt", "--no-builtin-tools", "-nbt", "--exclude-tools", "-xt"];

/** Packages by registry or repository are left to the host: a session that serves a peer installs nothing. */
const isLocal = (source: string) => !/^(npm|git|https?|ssh|builtin):/i.test(source) && !source.startsWith("git@");

/** Reads the host's arguments (without the program's name); paths are taken relative to `cwd`. */
export function flagsOf(args: readonly string[], cwd: string): HostFlags {
	const has = (...names: string[]) => names.some((name) => args.includes(name));
	const found: { extensions: string[]; skills: string[] } = { extensions: [], skills: [] };
	args.forEach((name, i) => {
		const value = args[i + 1];
		const list = VALUES.get(name);
		if (list && value !== undefined && isLocal(value)) found[list].push(resolve(cwd, value));
	});
	return {
		...found,
		noExtensions: has("--no-extensions", "-ne"),
		noSkills: has("--no-skills", "-ns"),
		noContextFiles: has("--no-context-files", "-nc"),
		choosesTools: has(...TOOL_FLAGS),
	};
}

/**
 * Options that share the host's own registry with a session: keys of its command line and providers that extensions
 * registered come along. 1.x ignores `modelRegistry` without a word and wants its runtime.
 */
function authOf(ctx: ExtensionContext): object {
	const registry = ctx.modelRegistry;
	const { runtime } = registry as unknown as NewerRegistry;
	return runtime ? { modelRuntime: runtime } : { modelRegistry: registry, authStorage: registry.authStorage };
}

/** The host behind an extension's API and the context of its live session. */
export function hostOf(pi: ExtensionAPI, ctx: ExtensionContext): PiHost {
	return {
		mode: modeOf(ctx),
		version: VERSION,
		cwd: ctx.cwd,
		trusted: (ctx as NewerContext).isProjectTrusted?.() ?? true,
		flags: flagsOf(process.argv.slice(2), process.cwd()),
		model: () => ctx.model,
		thinkingLevel: () => pi.getThinkingLevel(),
		auth: () => authOf(ctx),
		activeTools: () => pi.getActiveTools(),
		allTools: () => pi.getAllTools().map((tool) => tool.name),
	};
}
