/** The lock that the host takes to write its settings. */
import { mkdir, rmdir, stat } from "node:fs/promises";
import type { Clock } from "../lib/clock.ts";
import { errorCode } from "../lib/errno.ts";

/** The host holds its lock for milliseconds; one that is older than this was left behind. */
const STALE_MS = 10_000;
const WAIT_MS = 3_000;

/**
 * Runs `fn` under the lock that the host itself takes to write this file: a folder `settings.json.lock`. A lock of our
 * own would not keep the host from writing at the same time. Throws when the lock is held for seconds.
 */
export async function withHostLock(file: string, clock: Clock, fn: () => Promise<void>): Promise<void> {
	const lock = `${file}.lock`;
	const deadline = clock.now() + WAIT_MS;
	for (;;) {
		try {
			await mkdir(lock);
			break;
		} catch (error) {
			if (errorCode(error) !== "EEXIST") throw error;
		}
		if (await isStale(lock, clock)) await removeLock(lock);
		else if (clock.now() >= deadline) throw new Error(`${file} is locked by another process`);
		else await clock.sleep(20);
	}
	try {
		await fn();
	} finally {
		await removeLock(lock);
	}
}

async function isStale(lock: string, clock: Clock): Promise<boolean> {
	try {
		return clock.now() - (await stat(lock)).mtimeMs > STALE_MS;
	} catch (error) {
		if (errorCode(error) === "ENOENT") return false;
		throw error;
	}
}

async function removeLock(lock: string): Promise<void> {
	try {
		await rmdir(lock);
	} catch (error) {
		// Somebody else found it stale.
		if (errorCode(error) !== "ENOENT") throw error;
	}
}
