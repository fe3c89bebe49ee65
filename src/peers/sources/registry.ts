/**
 * Sessions of this machine, found through a folder with one file per process. A file counts while its heartbeat (the
 * file's time) is fresh and the process that wrote it lives; nothing is probed over the network.
 */
import { chmod, readdir, rm, utimes } from "node:fs/promises";
import { type Clock, every } from "../../lib/clock.ts";
import { errorCode } from "../../lib/errno.ts";
import { writeJson } from "../../lib/files.ts";
import { attempt, type Log } from "../../lib/log.ts";
import type { Peer, Source } from "../peer.ts";
import { type Announcement, type Found, readEntry } from "./entries.ts";
import { isSameProcess, processFacts } from "./processes.ts";

export type { Announcement } from "./entries.ts";

export interface RegistryOptions {
	/** The folder, `<agentDir>/a2a_registry`. */
	readonly dir: string;
	/** Our own process; its file is ours to write and never listed. */
	readonly pid: number;
	readonly clock: Clock;
	readonly heartbeatMs: number;
	/** A file without a heartbeat for this long is stale. */
	readonly ttlMs: number;
	readonly log: Log;
}

export interface Registry extends Source {
	/** Writes our entry, or writes it anew with other facts, and keeps it fresh until `withdraw` or `close`. */
	announce(facts: Announcement): Promise<void>;
	/** Removes our entry. May be called when there is none. */
	withdraw(): Promise<void>;
	/** Removes the files of processes that are gone. The heartbeat does it too. */
	sweep(): Promise<void>;
}

/** No machine runs this many sessions; a flooded folder is read this far. */
const MAX_FILES = 500;

export function fromRegistry(options: RegistryOptions): Registry {
	const { dir, pid, clock, ttlMs, log } = options;
	const own = `${dir}/${pid}.json`;
	let announced: Announcement | undefined;
	let beating: AbortController | undefined;
	let last: Promise<unknown> = Promise.resolve();

	/** One change of our file at a time: a late heartbeat must not bring back what was withdrawn. */
	function inTurn(change: () => Promise<void>): Promise<void> {
		const next = last.then(change);
		last = next.catch(() => undefined);
		return next;
	}

	async function touch(): Promise<void> {
		const now = clock.now() / 1000;
		await utimes(own, now, now);
	}

	async function write(facts: Announcement): Promise<void> {
		const { ticks } = await processFacts(pid);
		const { name, url, cwd, model, tools, skills, startedAt } = facts;
		const shown = skills.map((skill) => ({ id: skill.id, name: skill.name, tags: skill.tags }));
		await writeJson(own, { name, url, pid, cwd, model, tools, skills: shown, startedAt, ticks });
		await chmod(dir, 0o700);
		await touch();
	}

	async function beat(): Promise<void> {
		const facts = announced;
		if (!facts) return;
		try {
			await touch();
		} catch (error) {
			// Another session took it for stale, after this machine slept perhaps.
			if (errorCode(error) !== "ENOENT") throw error;
			await write(facts);
		}
	}

	async function found(): Promise<readonly Found[]> {
		const names = await readdir(dir).catch((error: unknown) => {
			if (errorCode(error) === "ENOENT") return [];
			throw error;
		});
		const files = names.filter((name) => /^[1-9]\d{0,9}\.json$/.test(name)).slice(0, MAX_FILES);
		const read = files.map((name) => readEntry(`${dir}/${name}`, Number.parseInt(name, 10)));
		return (await Promise.all(read)).flatMap((each) => each ?? []);
	}

	/** A time far ahead is no heartbeat either: it would stay fresh for ever. */
	const isFresh = (file: Found) => Math.abs(clock.now() - file.modified) <= ttlMs;

	async function live(file: Found): Promise<Peer[]> {
		if (!file.entry || file.pid === pid || !isFresh(file)) return [];
		return isSameProcess(await processFacts(file.pid), file.entry) ? [file.entry.peer] : [];
	}

	async function sweep(): Promise<void> {
		for (const file of await found()) {
			// What is not an entry was not written by us, and is not ours to remove.
			if (!file.entry || file.pid === pid) continue;
			if (isFresh(file) && (await processFacts(file.pid)).alive) continue;
			await attempt(`remove the stale registry file ${file.path}`, () => rm(file.path, { force: true }), log);
		}
	}

	async function withdraw(): Promise<void> {
		announced = undefined;
		beating?.abort();
		beating = undefined;
		await inTurn(() => rm(own, { force: true }));
	}

	return {
		name: "local",
		async list() {
			return (await Promise.all((await found()).map(live))).flat();
		},
		async announce(facts) {
			announced = facts;
			await inTurn(() => write(facts));
			if (beating || announced !== facts) return;
			beating = new AbortController();
			const tick = async () => {
				await inTurn(beat);
				await sweep();
			};
			every(clock, options.heartbeatMs, tick, beating.signal, (error) =>
				log.warn("Could not keep the registry entry fresh", error),
			);
		},
		withdraw,
		sweep,
		close: withdraw,
	};
}
