/**
 * Looks after what a shell command may have changed of the files that load later: nothing can tell beforehand what a
 * command writes, but before it loads the user of the host can know.
 */
import { lstat, readdir } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { LOADING, type Places } from "./protected-paths.ts";

export interface Watch {
	/** Remembers how the files are now; the first time only. */
	begin(): Promise<void>;
	/** The files that are new, gone or other than they were; none when it has not begun. */
	changes(): Promise<readonly string[]>;
}

/** More files than that are not looked at: packages that somebody installed there, most likely. */
const MOST = 2_000;

/** Adds the files at `path` and below, each with a mark that changes with it. */
async function collect(path: string, marks: Map<string, string>): Promise<void> {
	if (marks.size >= MOST) return;
	const info = await lstat(path).catch(() => undefined); // not there
	if (info === undefined) return;
	if (!info.isDirectory()) {
		// When a file was changed can be set back; when its entry was, cannot.
		marks.set(path, `${info.ctimeMs} ${info.size} ${info.ino}`);
		return;
	}
	const names = await readdir(path).catch((): string[] => []); // not ours to read
	for (const name of names)
		if (name !== "node_modules" && !name.endsWith(".sample")) await collect(join(path, name), marks);
}

/** A watch over the workspace and the agent directory. */
export function watchLoaded({ workspace, agentDir }: Places): Watch {
	const roots = [
		...LOADING.workspace.map((name) => join(workspace, name)),
		...LOADING.agentDir.map((name) => join(agentDir, name)),
	];
	let before: Promise<Map<string, string>> | undefined;
	async function now(): Promise<Map<string, string>> {
		const marks = new Map<string, string>();
		for (const root of roots) await collect(root, marks);
		return marks;
	}
	return {
		async begin() {
			before ??= now();
			await before;
		},
		async changes() {
			const then = await before;
			if (!then) return [];
			const marks = await now();
			const paths = [...new Set([...then.keys(), ...marks.keys()])];
			return paths
				.filter((path) => then.get(path) !== marks.get(path))
				.map((path) => (path.startsWith(agentDir + sep) ? path : relative(workspace, path)));
		},
	};
}
