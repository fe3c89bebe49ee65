/**
 * Sessions of this machine, found through a folder with one file per process. A file counts while its heartbeat (the
 * file's time) is fresh and the process that wrote it lives; nothing is probed over the network.
 */
import { readdir, rm, utimes } from "node:fs/promises";
import { type Clock, every } from "../../lib/clock.ts";
import { errorCode } from "../../lib/errno.ts";
import { privateFolder, writeJson } from "../../lib/files.ts";
import { attempt, type Log } from "../../lib/log.ts";
import { folded } from "../names.ts";
import type { Peer, Source } from "../peer.ts";
import { type Announcement, type Entry, type Found, readEntry } from "./entries.ts";
import { ownName, rememberedNames } from "./own-name.ts";
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
	/**
	 * Writes our entry, or writes it anew with other facts, and keeps it fresh until `withdraw` or `close`. Where another
	 * session has the name already, ours gets a mark, so that a name means one session as long as that lives.
	 */
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
	const remembered = rememberedNames(`${dir}/names.json`);
	let announced: Announcement | undefined;
	/** The name that we have, and the one of the settings that it was made from. */
	let ours: { readonly name: string; readonly from: string } | undefined;
	let beating: AbortController | undefined;
	/** When our heart last beat, and until when others may be late because nobody's did. */
	let beat = 0;
	let awake = 0;
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

	/** Live namesakes that were there before us. */
	async function earlier(name: string, startedAt: number): Promise<readonly Peer[]> {
		const others = (await Promise.all((await found()).map(entryIfLive))).flatMap((each) => each ?? []);
		const isBefore = ({ peer, startedAt: other = 0 }: Entry) =>
			other < startedAt || (other === startedAt && (peer.pid ?? 0) < pid);
		return others.filter((each) => folded(each.peer.name) === folded(name) && isBefore(each)).map(({ peer }) => peer);
	}

	async function nameFor({ name, sessionId }: Announcement): Promise<string> {
		if (ours?.from === name) return ours.name;
		const wish = { name, sessionId, pid };
		const before = sessionId === undefined ? undefined : await remembered.before(wish);
		const taken = (await Promise.all((await found()).map(live))).flat().map((peer) => peer.name);
		return ownName(wish, before, taken);
	}

	/** Two sessions that start at once may have taken one name: the later one gives way. */
	async function write(facts: Announcement): Promise<void> {
		let name = await nameFor(facts);
		await put(facts, name);
		const rivals = await earlier(name, facts.startedAt);
		if (rivals.length > 0) {
			name = ownName({ name: facts.name, sessionId: facts.sessionId, pid }, undefined, [name, facts.name]);
			await put(facts, name);
		}
		ours = { name, from: facts.name };
		const { sessionId } = facts;
		if (name === facts.name || sessionId === undefined) return;
		await attempt("remember the name of this session", () => remembered.keep(sessionId, name), log);
	}

	async function put(facts: Announcement, name: string): Promise<void> {
		const { ticks } = await processFacts(pid);
		const { url, cwd, model, tools, skills, startedAt } = facts;
		const shown = skills.map((skill) => ({ id: skill.id, name: skill.name, tags: skill.tags }));
		await privateFolder(dir);
		await writeJson(own, { name, url, pid, cwd, model, tools, skills: shown, startedAt, ticks });
		await touch();
	}

	async function beats(): Promise<void> {
		const facts = announced;
		if (!facts) return;
		const now = clock.now();
		if (now - beat > ttlMs) awake = now + ttlMs;
		beat = now;
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

	/**
	 * A time far ahead is no heartbeat either: it would stay fresh for ever. After this machine slept all are behind; until
	 * each has had the time to beat again, none counts as silent.
	 */
	function isFresh(file: Found): boolean {
		const now = clock.now();
		return Math.abs(now - file.modified) <= ttlMs || (now < awake && file.modified <= now);
	}

	async function entryIfLive(file: Found): Promise<Entry | undefined> {
		if (!file.entry || file.pid === pid || !isFresh(file)) return undefined;
		return isSameProcess(await processFacts(file.pid), file.entry) ? file.entry : undefined;
	}

	async function live(file: Found): Promise<Peer[]> {
		const entry = await entryIfLive(file);
		return entry ? [entry.peer] : [];
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
		ours = undefined;
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
			beat = clock.now();
			const tick = async () => {
				await inTurn(beats);
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
