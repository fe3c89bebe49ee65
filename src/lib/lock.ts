/** An advisory lock between processes: a file beside the one that it guards. */
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rm, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "./clock.ts";
import { errorCode } from "./errno.ts";

/** A lock of a process that cannot be asked (another machine, a reused pid) counts as abandoned after this. */
const ABANDONED_MS = 60_000;
/** A lock file without content belongs to a process that died between two calls. */
const EMPTY_MS = 5_000;

interface Holder {
	readonly token: string;
	readonly pid: number;
	readonly host: string;
	readonly ageMs: number;
}

async function create(path: string, text: string): Promise<boolean> {
	try {
		const file = await open(path, "wx", 0o600);
		try {
			await file.writeFile(text);
		} finally {
			await file.close();
		}
		return true;
	} catch (error) {
		// Windows says EPERM or EACCES while a file of that name is being deleted.
		const busy = ["EEXIST", ...(process.platform === "win32" ? ["EPERM", "EACCES"] : [])];
		if (busy.includes(errorCode(error) ?? "")) return false;
		throw error;
	}
}

async function holder(path: string): Promise<Holder | undefined> {
	try {
		const [text, info] = await Promise.all([readFile(path, "utf8"), stat(path)]);
		const [token = "", pid = "", host = ""] = text.split(" ");
		return { token, pid: Number(pid), host, ageMs: Date.now() - info.mtimeMs };
	} catch (error) {
		if (errorCode(error) === "ENOENT") return undefined;
		throw error;
	}
}

/** Whether a process of that id runs on this machine. */
export function isAlive(pid: number): boolean {
	try {
		process.kill(pid, 0);
		return true;
	} catch (error) {
		return errorCode(error) === "EPERM";
	}
}

function abandoned(held: Holder): boolean {
	if (held.token === "") return held.ageMs > EMPTY_MS;
	if (held.host === hostname() && !isAlive(held.pid)) return true;
	return held.ageMs > ABANDONED_MS;
}

/**
 * Removes the abandoned lock that was seen. Two processes may have seen it: only the one that holds the file named
 * after its token may remove it, and only while it is still that lock, so a fresh lock is never removed.
 */
async function breakLock(path: string, seen: Holder, own: string): Promise<void> {
	const permit = `${path}.${seen.token.replace(/[^a-z0-9]/gi, "") || "empty"}`;
	if (!(await create(permit, own))) {
		const other = await holder(permit);
		if (other && other.ageMs > ABANDONED_MS) await rm(permit, { force: true });
		return;
	}
	try {
		const now = await holder(path);
		if (now?.token === seen.token && abandoned(now)) await rm(path, { force: true });
	} finally {
		await rm(permit, { force: true });
	}
}

/** The real time; unlike that of `systemClock`, a wait for a lock keeps the process alive: there is work to finish. */
const patient: Pick<Clock, "now" | "sleep"> = {
	now: Date.now,
	sleep: async (ms, signal) => {
		// An abort ends the wait early; whoever waits asks the signal.
		await pause(ms, undefined, signal ? { signal } : {}).catch(() => undefined);
	},
};

/**
 * Runs `fn` while no other process (or other caller in this one) that locks the same `path` runs its own. Waits up to
 * `waitMs` (default 5000), then throws an error that names the path; throws the reason of `signal` when it aborts. A
 * lock whose process has died is taken over. `fn` should take well under a minute.
 */
export async function withLock<T>(
	path: string,
	fn: () => T | Promise<T>,
	options: {
		readonly clock?: Pick<Clock, "now" | "sleep">;
		readonly signal?: AbortSignal;
		readonly waitMs?: number;
	} = {},
): Promise<T> {
	const { clock = patient, signal, waitMs = 5_000 } = options;
	const lock = `${path}.lock`;
	const token = randomBytes(8).toString("hex");
	const own = `${token} ${process.pid} ${hostname()}`;
	await mkdir(dirname(path), { recursive: true, mode: 0o700 });
	const deadline = clock.now() + waitMs;
	for (let wait = 2; !(await create(lock, own)); wait = Math.min(wait * 2, 50)) {
		signal?.throwIfAborted();
		const held = await holder(lock);
		if (held && abandoned(held)) {
			await breakLock(lock, held, own);
			continue;
		}
		if (clock.now() >= deadline)
			throw new Error(`${path} is locked by another process (pid ${held?.pid ?? "unknown"})`);
		await clock.sleep(wait * (0.5 + Math.random()), signal);
	}
	try {
		signal?.throwIfAborted();
		return await fn();
	} finally {
		// Only our own: a lock that was held for too long may have been taken over.
		if ((await holder(lock))?.token === token) await rm(lock, { force: true });
	}
}
