/** A folder held by one process for as long as it lives. */
import { readFileSync, rmdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { type Clock, every } from "./clock.ts";
import { errorCode } from "./errno.ts";
import { isAlive, withLock } from "./lock.ts";
import type { Log } from "./log.ts";

/** The sign of life of a holder. Processes of another machine or container cannot be asked, so theirs is all there is. */
const BEAT_MS = 15_000;
const SILENT_MS = 60_000;

interface Holder {
	readonly pid: number;
	readonly born: string;
	readonly host: string;
}

/** Tells a process from a later one that was given the same number; empty where the system does not say. */
export function bornAt(pid: number): string {
	try {
		const text = readFileSync(`/proc/${pid}/stat`, "utf8");
		return text.slice(text.lastIndexOf(")") + 2).split(" ")[19] ?? "";
	} catch {
		return ""; // not Linux, or gone
	}
}

async function holderOf(path: string): Promise<(Holder & { readonly silentMs: number }) | undefined> {
	try {
		const [text, { mtimeMs }] = await Promise.all([readFile(path, "utf8"), stat(path)]);
		const [pid = "", born = "", host = ""] = text.trim().split(" ");
		return { pid: Number(pid), born: born === "-" ? "" : born, host, silentMs: Date.now() - mtimeMs };
	} catch (error) {
		if (errorCode(error) === "ENOENT") return undefined;
		throw error;
	}
}

function holds({ pid, born, host, silentMs }: Holder & { readonly silentMs: number }): boolean {
	if (host !== hostname()) return silentMs < SILENT_MS;
	// What this very process left behind is ours to take up again.
	if (!Number.isInteger(pid) || pid <= 0 || pid === process.pid || !isAlive(pid)) return false;
	return born === "" || bornAt(pid) === born;
}

/**
 * Claims `folder`, which exists, for this process; the result gives it back, and removes it when it is empty. A claim
 * whose process has died is taken over. Throws an error that names the holder when another process has it.
 */
export async function claim(folder: string, clock: Clock, log: Log): Promise<() => void> {
	const path = join(folder, "owner");
	const own = `${process.pid} ${bornAt(process.pid) || "-"} ${hostname()}\n`;
	await withLock(path, async () => {
		const held = await holderOf(path);
		if (held && holds(held)) throw new Error(`${folder} is in use by process ${held.pid} on ${held.host}`);
		// A new file, so that nothing is written through a link that somebody put there.
		rmSync(path, { force: true });
		writeFileSync(path, own, { mode: 0o600, flag: "wx" });
	});
	const over = new AbortController();
	const beat = () => utimesSync(path, new Date(), new Date());
	every(clock, BEAT_MS, beat, over.signal, (error) => log.warn(`Could not renew the claim of ${folder}`, error));
	return () => {
		if (over.signal.aborted) return;
		over.abort();
		try {
			if (readFileSync(path, "utf8") === own) rmSync(path, { force: true });
			rmdirSync(folder);
		} catch (error) {
			// A folder with something in it stays; one that is gone has been given back.
			const isUsual = ["ENOTEMPTY", "EEXIST", "ENOENT"].includes(errorCode(error) ?? "");
			if (!isUsual) log.warn(`Could not give ${folder} back`, error);
		}
	};
}
