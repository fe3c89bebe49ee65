/** Whether the process that wrote something down is still the one that has its number. */
import { readFile } from "node:fs/promises";
import { isAlive } from "../../lib/lock.ts";

/** Clock ticks a second in `/proc`, the same on every Linux (USER_HZ). */
const TICKS = 100;
/** The boot time in `/proc/stat` is whole seconds and follows corrections of the clock. */
const SLACK_MS = 5_000;

/** What the system knows of a process. */
export interface ProcessFacts {
	readonly alive: boolean;
	/** Start of the process in clock ticks since boot: with the pid it names one process. Linux only. */
	readonly ticks?: number;
	/** The same in milliseconds since the epoch, right within a few seconds. */
	readonly startedAt?: number;
}

/** Facts of process `pid`. Never throws: what cannot be read is absent. */
export async function processFacts(pid: number): Promise<ProcessFacts> {
	if (!isAlive(pid)) return { alive: false };
	const [stat, boot] = await Promise.all([readProc(`/proc/${pid}/stat`), readProc("/proc/stat")]);
	// The second field is the program's name in brackets and may hold anything; the start is the 22nd.
	const ticks = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
	if (stat === "" || !Number.isFinite(ticks)) return { alive: true };
	const seconds = Number(/^btime (\d+)$/m.exec(boot)?.[1]);
	if (!Number.isFinite(seconds)) return { alive: true, ticks };
	return { alive: true, ticks, startedAt: seconds * 1000 + (ticks * 1000) / TICKS };
}

/** Empty where there is no such file: another system, or a process that has just ended. */
async function readProc(path: string): Promise<string> {
	return readFile(path, "utf8").catch(() => "");
}

/**
 * Whether the process with these `facts` can be the one that wrote, as `claim`, when its work began and (where it knew)
 * its start in ticks. A process that started after that has only inherited the number.
 */
export function isSameProcess(
	facts: ProcessFacts,
	claim: { readonly ticks?: number | undefined; readonly startedAt?: number | undefined },
): boolean {
	if (!facts.alive) return false;
	if (claim.ticks !== undefined && facts.ticks !== undefined) return claim.ticks === facts.ticks;
	if (claim.startedAt === undefined || facts.startedAt === undefined) return true;
	return facts.startedAt <= claim.startedAt + SLACK_MS;
}
