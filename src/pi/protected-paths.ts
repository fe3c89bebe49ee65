/** Where the file tools of a session that serves a peer may not go. Paths are looked at as the system would open them. */
import { readlinkSync, realpathSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { fromHome } from "../lib/home.ts";

export interface Places {
	/** Where the session works. */
	readonly workspace: string;
	readonly agentDir: string;
	/** The files of the task: its own, wherever they are. */
	readonly taskFolder: string;
	/** Files and folders that may be read besides: the skills that the session was given. */
	readonly readable: readonly string[];
	/** The user's home folder. */
	readonly home?: string;
}

/** Folders whose content runs or is read by itself: by Pi, by git, by the usual managers of git hooks. */
const LOADED = [".pi", ".agents", ".git", ".husky", ".githooks"];
/** Files that Pi puts in front of its model. */
const CONTEXT = ["agents.md", "agents.override.md", "claude.md"];
/** What of that, in the workspace and in the agent directory, Pi and git load from there: what is looked after. */
export const LOADING = {
	workspace: [".pi", ".agents", ".git/hooks", ".git/config", ".husky", ".githooks", "AGENTS.md", "CLAUDE.md"],
	agentDir: ["settings.json", "extensions", "skills", "prompts", "AGENTS.md", "SYSTEM.md", "APPEND_SYSTEM.md"],
} as const;
/** Links that lead to links; more is a circle. */
const MAX_LINKS = 40;

function linkAt(path: string): string | undefined {
	try {
		return readlinkSync(path);
	} catch {
		return undefined; // no link
	}
}

/** The path without links, also where the last of it is not there yet: a link may lead to what is only to be made. */
function real(path: string, links = 0): string {
	try {
		return realpathSync(path);
	} catch {
		const parent = dirname(path);
		if (parent === path) return path;
		const target = links < MAX_LINKS ? linkAt(path) : undefined;
		if (target !== undefined) return real(resolve(real(parent, links + 1), target), links + 1);
		return join(real(parent, links), basename(path));
	}
}

/** File systems that do not tell `.PI` from `.pi` are as common as those that do. */
const folded = (path: string) => path.normalize("NFC").toLowerCase();

/** The names below `folder` on the way to `path`; `undefined` when it is not in there. */
function below(folder: string, path: string): readonly string[] | undefined {
	const way = relative(folded(folder), folded(path));
	if (way === "") return [];
	return way === ".." || way.startsWith(`..${sep}`) || isAbsolute(way) ? undefined : way.split(sep);
}

const isIn = (folder: string, path: string) => below(folder, path) !== undefined;

function fromUrl(text: string): string {
	try {
		return text.startsWith("file:") ? fileURLToPath(text) : text;
	} catch {
		return text; // not a URL of a file
	}
}

/** Every place that a tool could take `text` for: hosts read a leading `@`, `~`, odd spaces and URLs in their own ways. */
function readings(text: string, workspace: string): string[] {
	const spaced = text.replace(/[\u00a0\u2000-\u200a\u202f\u205f\u3000]/g, " ");
	const forms = [text, spaced, spaced.trim()].flatMap((form) => [form, form.replace(/^@/, "")]);
	return [...new Set(forms.map((form) => real(resolve(workspace, fromHome(fromUrl(form))))))];
}

function isLoaded(path: string, { workspace, agentDir, taskFolder, home = homedir() }: Places): boolean {
	const [work, house] = [real(workspace), real(home)];
	if (isIn(real(taskFolder), path)) return false;
	if (isIn(real(agentDir), path)) return true;
	const way = below(work, path) ?? folded(path).split(sep);
	if (way.some((name) => LOADED.includes(name)) || CONTEXT.includes(way.at(-1) ?? "")) return true;
	// What lies in the home folder under a dot is read by shells and other programs when they start.
	const [first = ""] = below(house, path) ?? [];
	return first.startsWith(".") && !isIn(join(house, first), work);
}

/** Whether writing to `path` would change what loads into this host, or into another program, later. */
export const loadsLater = (path: string, places: Places): boolean =>
	readings(path, places.workspace).some((place) => isLoaded(place, places));

/** Whether `path` leads out of the workspace and of what belongs to the task. */
export function leaves(path: string, { workspace, taskFolder, readable }: Places): boolean {
	const roots = [workspace, taskFolder, ...readable].map((root) => real(root));
	return readings(path, workspace).some((place) => !roots.some((root) => isIn(root, place)));
}

/** The targets of plain redirections in a shell command. Far from all ways in which a command can write. */
export function redirections(command: string): string[] {
	const found = command.matchAll(/(?:>>?\|?|\btee\b(?:\s+-a)?)\s*(?:"([^"]+)"|'([^']+)'|([^\s"'<>|&;()]+))/g);
	return [...found].map(([, double, single, bare]) => double ?? single ?? bare ?? "");
}
