/** What the host has loaded, found again for sessions that serve a peer. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { DefaultPackageManager, SettingsManager } from "@mariozechner/pi-coding-agent";
import type { HostFlags } from "./host.ts";
import { mergeSettings, type Settings } from "./session-settings.ts";

export interface Resources {
	/** The host's settings; those of the project only when it is trusted. */
	readonly settings: Settings;
	/** Extension and skill files, absolute. */
	readonly extensions: readonly string[];
	readonly skills: readonly string[];
	/** The user's own system prompt and addition to it; used where the project's files must not be. */
	readonly system: string | undefined;
	readonly appendSystem: readonly string[];
	/** Files in the workspace's `.pi` count. */
	readonly trusted: boolean;
}

/** The folder of this package. */
const root = fileURLToPath(new URL("../..", import.meta.url));

function real(path: string): string {
	try {
		return realpathSync(path);
	} catch {
		return resolve(path); // not there (yet)
	}
}

/** Whether there is a folder at `path`. */
export const isFolder = (path: string): Promise<boolean> =>
	stat(path).then(
		(info) => info.isDirectory(),
		() => false,
	);

/** Whether two paths name the same folder. */
export const sameFolder = (a: string, b: string): boolean => real(a) === real(b);

/**
 * Whether a file belongs to our own extension or skill. In a session that serves a peer they have no place: the server
 * is the host's business, and the tools it has are given one by one.
 */
export function isOurs(path: string): boolean {
	const [file, home] = [real(path), real(root)];
	return file === home || ["src", "skills"].some((part) => file.startsWith(join(home, part) + sep));
}

const fileText = (path: string): string | undefined => (existsSync(path) ? readFileSync(path, "utf8") : undefined);

/**
 * Finds what a host with these `flags` loads from the user's settings, packages and folders; from `<cwd>/.pi` only when
 * `trusted`. Installs nothing. Take the result once per host session: it is what the host itself has loaded.
 */
export async function findResources(options: {
	readonly agentDir: string;
	readonly cwd: string;
	readonly trusted: boolean;
	readonly flags: HostFlags;
}): Promise<Resources> {
	const { agentDir, cwd, trusted, flags } = options;
	const files = SettingsManager.create(cwd, agentDir);
	const user = files.getGlobalSettings();
	// In memory there is no project file, so an untrusted project's packages are not even looked at.
	const settingsManager = trusted ? files : SettingsManager.inMemory(user);
	const packages = new DefaultPackageManager({ cwd, agentDir, settingsManager });
	const found = await packages.resolve(async () => "skip");
	const usable = (list: typeof found.extensions) =>
		list
			.filter(({ enabled, metadata }) => enabled && (trusted || metadata.scope === "user"))
			.map(({ path }) => path)
			// 1.x names its built-in extensions by `builtin:`; their code is not reachable from here.
			.filter((path) => !path.startsWith("builtin:") && !isOurs(path));
	const append = fileText(join(agentDir, "APPEND_SYSTEM.md"));
	return {
		settings: trusted ? mergeSettings({ ...user }, { ...files.getProjectSettings() }) : { ...user },
		extensions: [
			...new Set([
				...flags.extensions.filter((path) => !isOurs(path)),
				...(flags.noExtensions ? [] : usable(found.extensions)),
			]),
		],
		skills: [...new Set([...flags.skills, ...(flags.noSkills ? [] : usable(found.skills))])],
		system: fileText(join(agentDir, "SYSTEM.md")),
		appendSystem: append === undefined ? [] : [append],
		trusted,
	};
}
