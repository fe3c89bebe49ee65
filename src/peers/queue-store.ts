/** Messages that wait for their peer, on disk: one private file for each, in a folder that one process holds. */
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { claim } from "../lib/claim.ts";
import type { Clock } from "../lib/clock.ts";
import { errorCode } from "../lib/errno.ts";
import { privateFolder, readJson, safeName, writeJson } from "../lib/files.ts";
import { newId } from "../lib/ids.ts";
import { attempt, type Log } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import { decodeParams } from "../protocol/decode.ts";
import { isObject } from "../protocol/json.ts";
import { type Message, type TaskId, taskId } from "../protocol/types.ts";

/** A message that waits, as it will be sent, and how it was meant. Holds no credential. */
export interface Queued {
	/** How the peer was called: a name or a URL. */
	readonly agent: string;
	/** The peer's name in the directory. */
	readonly peer: string;
	/** When it was queued, and when it is given up; milliseconds since the epoch. */
	readonly at: number;
	readonly until: number;
	readonly message: Message;
	/** It may have been sent. */
	readonly tried?: boolean | undefined;
	/** The task at the peer, once it has the message. */
	readonly task?: TaskId | undefined;
}

export interface QueueStore {
	/** Those that are kept, oldest first. */
	list(): readonly Queued[];
	/** Keeps one, or what has become of it. On disk when it resolves. */
	put(entry: Queued): Promise<void>;
	remove(entry: Queued): Promise<void>;
	/** Takes over what processes have left that are gone; gives it. A file that cannot be used is set aside. */
	adopt(): Promise<readonly Queued[]>;
	/** What is kept stays on disk, for the next process. May be called twice. */
	close(): void;
}

/** Ends the name of a file that was set aside. */
const BAD = ".bad";

const idOf = ({ message }: Queued): string => message.messageId;
const nameOf = (entry: Queued): string => `${String(entry.at).padStart(15, "0")}-${safeName(idOf(entry))}.json`;

/** The message in a file. Throws an error that says what is wrong with it. */
function readEntry(value: unknown): Queued {
	if (!isObject(value)) throw new Error("expected an object");
	const { agent, peer, at, until, message, tried, task } = value;
	for (const [name, text] of Object.entries({ agent, peer }))
		if (typeof text !== "string" || text === "") throw new Error(`${name}: expected a text`);
	for (const [name, time] of Object.entries({ at, until }))
		if (!Number.isSafeInteger(time) || Number(time) < 0) throw new Error(`${name}: expected milliseconds`);
	if (task !== undefined && (typeof task !== "string" || task === "")) throw new Error("task: expected an id");
	return {
		agent: String(agent),
		peer: String(peer),
		at: Number(at),
		until: Number(until),
		message: decodeParams.SendMessage({ message }).message,
		...(tried === true ? { tried } : {}),
		...(task === undefined ? {} : { task: taskId(task) }),
	};
}

/** The store of this process below `root`, which others of the same workspace share. Nothing is made before it is needed. */
export function createQueueStore(root: string, clock: Clock, log: Log): QueueStore {
	const own = join(root, newId("queue"));
	const kept = new Map<string, Queued>();
	let held: Promise<() => void> | undefined;

	/** Makes our folder and holds it. */
	function hold(): Promise<() => void> {
		held ??= (async () => {
			await privateFolder(root);
			await privateFolder(own);
			return claim(own, clock, log);
		})();
		return held;
	}

	async function take(folder: string): Promise<Queued[]> {
		const taken: Queued[] = [];
		for (const name of (await readdir(folder)).sort()) {
			if (!name.endsWith(".json")) continue;
			const path = join(folder, name);
			try {
				const entry = readEntry(await readJson(path));
				await hold();
				await rename(path, join(own, nameOf(entry)));
				kept.set(idOf(entry), entry);
				taken.push(entry);
			} catch (error) {
				const why = oneLine(error instanceof Error ? error.message : String(error), 300);
				log.warn(`A queued message was set aside as ${path}${BAD}: ${why}`);
				await attempt("set a queued message aside", () => rename(path, `${path}${BAD}`), log);
			}
		}
		return taken;
	}

	return {
		list: () => [...kept.values()].sort((a, b) => a.at - b.at),
		async put(entry) {
			await hold();
			await writeJson(join(own, nameOf(entry)), entry);
			kept.set(idOf(entry), entry);
		},
		async remove(entry) {
			kept.delete(idOf(entry));
			await rm(join(own, nameOf(entry)), { force: true });
		},
		async adopt() {
			const folders = await readdir(root).catch((error: unknown) => {
				if (errorCode(error) === "ENOENT") return [];
				throw error;
			});
			const found: Queued[] = [];
			for (const name of folders.sort()) {
				const folder = join(root, name);
				if (folder === own) continue;
				// One that another process holds is that one's business.
				const give = await claim(folder, clock, log).catch((): undefined => undefined);
				if (!give) continue;
				found.push(...((await attempt("take over queued messages", () => take(folder), log)) ?? []));
				give();
			}
			return found;
		},
		close() {
			const giving = held;
			held = undefined;
			void attempt("give the queue back", async () => (await giving)?.(), log);
		},
	};
}
