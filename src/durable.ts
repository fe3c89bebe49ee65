/** The task journal of the address that is served, put together: which folder, whose, within which limits. */
import { createHash } from "node:crypto";
import { existsSync, renameSync } from "node:fs";
import { readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Config } from "./config/keys.ts";
import { claim } from "./lib/claim.ts";
import type { Clock } from "./lib/clock.ts";
import { privateFolder, safeName } from "./lib/files.ts";
import { newestFiles } from "./lib/folder.ts";
import { attempt, type Log } from "./lib/log.ts";
import { Segments } from "./lib/segments.ts";
import { oneLine } from "./lib/text.ts";
import { Journal } from "./tasks/journal.ts";
import type { StoreLimits, TaskStore } from "./tasks/store.ts";

/** Ended tasks in memory; with a journal older ones are read from it. */
const IN_MEMORY = 1000;
const SEGMENT_BYTES = 8 * 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;
const MEGABYTE = 1024 * 1024;

const orNone = (value: number): number => (value > 0 ? value : Number.POSITIVE_INFINITY);

/** The limits of the store, read from the configuration at each use. */
export function storeLimits(config: () => Config): StoreLimits {
	return {
		maxFinished: IN_MEMORY,
		get maxKept() {
			return config().journalMaxTasks;
		},
		get maxBytes() {
			// The files may be twice as long as what is alive in them.
			return (config().journalMaxMegabytes * MEGABYTE) / 2;
		},
		get maxAgeMs() {
			return orNone(config().journalMaxAgeDays * DAY_MS);
		},
		sent: {
			get windowMs() {
				return orNone(config().retryWindowSec * 1000);
			},
			get size() {
				return config().retryMessages;
			},
		},
	};
}

export interface Durable {
	/**
	 * Opens the journal of an address; the tasks of earlier processes there are in the store then. Never throws: without a
	 * journal tasks live in memory, and `problem` says so.
	 */
	open(config: Config, address: { readonly host: string; readonly port: number }): Promise<void>;
	/** Why tasks are kept in memory alone although they should not be; one line. */
	problem(): string | undefined;
	/** Everything is on disk; the folder is free for the next process. May be called twice. */
	close(): void;
}

export function createDurable(parts: {
	readonly agentDir: string;
	readonly tasks: TaskStore;
	readonly clock: Clock;
	readonly log: Log;
}): Durable {
	const { agentDir, tasks, clock, log } = parts;
	let current: { readonly folder: string; readonly journal: Journal; readonly release: () => void } | undefined;
	let problem: string | undefined;

	function close(): void {
		if (!current) return;
		const { journal, release } = current;
		current = undefined;
		tasks.leave();
		void attempt("close the task journal", () => journal.close(), log);
		release();
	}

	/**
	 * The address has changed: the tasks come along, and nothing of them stays to be taken up at the old one. Gives the
	 * claim of the old folder, and that folder, if it is to be removed once all is written at the new one.
	 */
	function move(folder: string): { readonly release: () => void; readonly rest?: string } | undefined {
		if (!current) return undefined;
		const { journal, release, folder: old } = current;
		const isNew = !existsSync(folder);
		current = undefined;
		tasks.leave(!isNew);
		void attempt("close the task journal", () => journal.close(), log);
		if (!isNew) return { release, rest: old };
		try {
			// The claim goes with it until it is renewed there.
			renameSync(old, folder);
		} catch (error) {
			release();
			throw error;
		}
		return { release };
	}

	/** Deletes the journals of other addresses that nobody has written to for so long that nothing in them is kept. */
	async function sweep(own: string, { journalMaxAgeDays }: Config): Promise<void> {
		if (journalMaxAgeDays === 0) return;
		const before = clock.now() - journalMaxAgeDays * DAY_MS;
		for (const entry of await readdir(dirname(own), { withFileTypes: true })) {
			const folder = join(dirname(own), entry.name);
			if (!entry.isDirectory() || folder === own) continue;
			const [newest] = await newestFiles(folder, ".jsonl");
			if ((newest?.modified ?? (await stat(folder)).mtimeMs) >= before) continue;
			const given = await attempt("claim an old task journal", () => claim(folder, clock, log), log);
			if (given) await rm(folder, { recursive: true, force: true });
			given?.();
		}
	}

	return {
		async open(config, address) {
			const folder = folderOf(agentDir, address, config.workspace);
			if (config.journalEnabled && current?.folder === folder) return;
			problem = undefined;
			if (!config.journalEnabled) {
				close();
				return;
			}
			let release: (() => void) | undefined;
			let left: ReturnType<typeof move>;
			try {
				left = move(folder);
				await privateFolder(folder);
				release = await claim(folder, clock, log);
				// Not looked into before it is ours: whoever had it may have been writing.
				const lines = new Segments(folder, SEGMENT_BYTES);
				const journal = new Journal({ lines, clock, log });
				tasks.adopt(journal);
				current = { folder, journal, release };
				journal.flush();
				if (left?.rest && journal.problem === undefined) await rm(left.rest, { recursive: true, force: true });
				await attempt("delete old task journals", () => sweep(folder, config), log);
			} catch (error) {
				release?.();
				problem = oneLine(error instanceof Error ? error.message : String(error));
				log.warn("The task journal cannot be used; tasks are kept in memory and end with this process", error);
			} finally {
				left?.release();
			}
		},
		problem: () => current?.journal.problem ?? (problem && `tasks are kept in memory only: ${problem}`),
		close,
	};
}

/**
 * Where the tasks of an address are: an address is one process's at a time, and two workspaces that take turns at one do
 * not answer for each other.
 */
function folderOf(agentDir: string, { host, port }: { host: string; port: number }, workspace: string): string {
	const place = createHash("sha256").update(workspace).digest("hex").slice(0, 12);
	return join(agentDir, "a2a_tasks", `${safeName(host.replaceAll(":", "-"))}_${port}_${place}`);
}
