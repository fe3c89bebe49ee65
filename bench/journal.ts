/**
 * `npm run bench:journal -- [--tasks N]`: what a long journal costs, beside a short one in the same run. Writes N (default
 * 100000) ended tasks through the store that users have, lets go of them, and measures a start with them, a page of
 * `ListTasks`, `GetTask` of the newest and of the oldest, and memory. Prints JSON; exits 1 when a bound is not held.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { systemClock } from "../src/lib/clock.ts";
import { nullLog } from "../src/lib/log.ts";
import { Segments } from "../src/lib/segments.ts";
import { contextId, taskId } from "../src/protocol/types.ts";
import { Journal } from "../src/tasks/journal.ts";
import { TaskStore } from "../src/tasks/store.ts";

const { values: options } = parseArgs({ options: { tasks: { type: "string", default: "100000" } } });
const OWNER = "peer:bench";
const SEGMENT_BYTES = 8 * 1024 * 1024;
const CONTEXTS = 500;
const limits = { maxFinished: 1000, maxKept: 1_000_000 };

const id = (n: number) => taskId(`task-${n.toString(16).padStart(16, "0")}`);

function open(folder: string) {
	const journal = new Journal({ lines: new Segments(folder, SEGMENT_BYTES), clock: systemClock, log: nullLog });
	const tasks = new TaskStore({ limits, clock: systemClock });
	tasks.adopt(journal);
	return { tasks, journal };
}

async function fill(folder: string, count: number): Promise<void> {
	const { tasks, journal } = open(folder);
	for (let n = 0; n < count; n++) {
		const context = contextId(`ctx-${n % CONTEXTS}`);
		const log = tasks.open({ id: id(n), contextId: context, owner: OWNER, label: "bench", v03: false });
		log.append({
			kind: "message",
			message: { messageId: `m-${n}`, role: "ROLE_USER", parts: [{ text: `work ${n}` }] },
		});
		log.append({ kind: "status", status: { state: "TASK_STATE_WORKING" } });
		const artifact = { artifactId: "reply", name: "reply", parts: [{ text: `The answer to ${n}. `.repeat(20) }] };
		log.append({ kind: "artifact", artifact, append: false, lastChunk: true });
		log.append({ kind: "status", status: { state: "TASK_STATE_COMPLETED" } });
		if (n % 50 === 49) await journal.written();
	}
	await journal.written();
	journal.close();
}

/** Median of the microseconds that `work` takes, over `times` goes. */
function micros(times: number, work: (n: number) => unknown): number {
	const took: number[] = [];
	for (let n = 0; n < times; n++) {
		const begun = process.hrtime.bigint();
		work(n);
		took.push(Number(process.hrtime.bigint() - begun) / 1000);
	}
	took.sort((a, b) => a - b);
	return Math.round((took[took.length >> 1] ?? 0) * 10) / 10;
}

const heapMb = (): number => {
	globalThis.gc?.();
	return process.memoryUsage().heapUsed / 1_048_576;
};

async function measure(count: number) {
	const folder = mkdtempSync(join(tmpdir(), "pi-a2a-bench-"));
	try {
		await fill(folder, count);
		const before = heapMb();
		const [begun, used] = [performance.now(), process.cpuUsage()];
		const { tasks, journal } = open(folder);
		const startMs = Math.round(performance.now() - begun);
		const { user, system } = process.cpuUsage(used);
		const memoryMb = Math.round((heapMb() - before) * 10) / 10;
		const context = contextId("ctx-7");
		const result = {
			tasks: count,
			startMs,
			startCpuMs: Math.round((user + system) / 1000),
			memoryMb,
			pageUs: micros(200, () => tasks.list(OWNER, { pageSize: 50 })),
			pageOfContextUs: micros(20, () => tasks.list(OWNER, { pageSize: 50, contextId: context })),
			newUs: micros(1000, (n) => tasks.get(OWNER, id(count - 1 - (n % Math.min(100, count)))).task),
			oldUs: micros(1000, (n) => tasks.get(OWNER, id(n % count)).task),
			oldAgainUs: micros(1000, () => tasks.get(OWNER, id(0)).task),
		};
		journal.close();
		return result;
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

const short = await measure(100);
const long = await measure(Number(options.tasks));
const held = {
	// Of the processor's time, as others may be at work as well.
	"a start takes less than 1 s for each 100000 tasks": long.startCpuMs < 1000 * Math.max(1, long.tasks / 100_000),
	"a page costs at most 3 times that of 100 tasks": long.pageUs <= 3 * short.pageUs,
	// It is looked for among all tasks of the caller.
	"a page of one conversation costs at most 50 ms": long.pageOfContextUs <= 50_000,
	"an old task costs at most 200 times a new one": long.oldUs <= 200 * long.newUs,
	"at most 1 KB of memory for each task": long.memoryMb <= 20 + long.tasks / 1024,
};
process.stdout.write(`${JSON.stringify({ short, long, held }, undefined, "\t")}\n`);
if (Object.values(held).includes(false)) process.exitCode = 1;
