/**
 * The caller token on disk, and who may use it. The gateway discloses it once, so it outlives the process; two sessions
 * that run at the same time must not share it, for each would move the other's registration to itself. A claim beside
 * the token says whose it is.
 */
import { randomBytes } from "node:crypto";
import { rm, stat, utimes } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { errorCode } from "../../lib/errno.ts";
import { privateFolder, readJson, safeName, withLock, writeJson } from "../../lib/files.ts";
import { isAlive } from "../../lib/lock.ts";
import { attempt, type Log } from "../../lib/log.ts";
import { isObject } from "../../protocol/json.ts";
import { isToken } from "./api.ts";

export interface CallerTokenOptions {
	/** `<agentDir>/a2a_gateways` */
	readonly dir: string;
	/** The gateway's key. */
	readonly key: string;
	/** The name we are registered under. */
	readonly name: string;
	readonly clock: Clock;
	readonly log: Log;
}

/** No method throws: a folder that cannot be written costs the memory of the token, not the registration. */
export interface CallerToken {
	/** Takes the name for this session; false when another live session has it. */
	claim(): Promise<boolean>;
	/** The stored token, if there is a usable one. */
	read(): Promise<string | undefined>;
	write(token: string): Promise<void>;
	/** Removes the token, unless it is another by now. */
	forget(token: string): Promise<void>;
	/** Says that the claim is still held. */
	touch(): Promise<void>;
	/** Gives the claim back. May be called twice. */
	release(): Promise<void>;
}

/**
 * A claim that nobody touched for this long is void, whatever process has its number now. Longer than the longest
 * pause between two heartbeats (an hour).
 */
const VOID_MS = 2 * 3_600_000;
const LOCK_MS = 2_000;

export function callerToken({ dir, key, name, clock, log }: CallerTokenOptions): CallerToken {
	// `~` marks names that had to be changed; a claim ends otherwise than any token file.
	const file = join(dir, safeName(key), `${safeName(name)}.json`);
	const claimed = file.replace(/\.json$/, ".claim");
	const own = randomBytes(8).toString("hex");
	const host = hostname();
	const best = <T>(what: string, work: () => Promise<T>) => attempt(`${what} for the gateway ${key}`, work, log);
	async function locked<T>(work: () => Promise<T>): Promise<T> {
		for (const folder of [dir, dirname(file)]) await privateFolder(folder);
		return withLock(claimed, work, { waitMs: LOCK_MS });
	}

	async function holder(): Promise<Record<string, unknown> | undefined> {
		// Half-written by somebody who died: nobody's.
		const value = await readJson(claimed).catch(() => undefined);
		return isObject(value) ? value : undefined;
	}

	async function isFree(): Promise<boolean> {
		const held = await holder();
		if (!held || held.owner === own) return true;
		const { mtimeMs } = await stat(claimed);
		if (Math.abs(clock.now() - mtimeMs) > VOID_MS) return true;
		return held.host === host && typeof held.pid === "number" && !isAlive(held.pid);
	}

	async function touch(): Promise<void> {
		const now = clock.now() / 1000;
		await utimes(claimed, now, now);
	}

	async function claim(): Promise<boolean> {
		if (!(await isFree())) return false;
		await writeJson(claimed, { owner: own, pid: process.pid, host });
		await touch();
		return true;
	}

	async function stored(): Promise<string | undefined> {
		const value = await readJson(file);
		return isObject(value) && value.name === name && isToken(value.callerToken) ? value.callerToken : undefined;
	}

	return {
		claim: async () => (await best("claim a name", () => locked(claim))) ?? true,
		read: () => best("read the caller token", stored),
		write: async (token) =>
			void (await best("store the caller token", () => writeJson(file, { name, callerToken: token }))),
		forget: async (token) =>
			void (await best("remove the caller token", async () => {
				if ((await stored()) === token) await rm(file, { force: true });
			})),
		touch: async () =>
			void (await best("keep the claim on a name", async () => {
				await touch().catch(async (error: unknown) => {
					if (errorCode(error) !== "ENOENT") throw error;
					await locked(claim);
				});
			})),
		release: async () =>
			void (await best("give back a name", () =>
				locked(async () => {
					if ((await holder())?.owner === own) await rm(claimed, { force: true });
				}),
			)),
	};
}
