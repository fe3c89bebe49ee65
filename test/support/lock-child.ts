/** A process that adds one to the number in a file, so many times, under its lock. Arguments: path, times. */
import { readJson, withLock, writeJson } from "../../src/lib/files.ts";

const [path = "", times = "0"] = process.argv.slice(2);
for (let n = 0; n < Number(times); n++) {
	await withLock(path, async () => writeJson(path, ((await readJson(path)) as number) + 1), { waitMs: 30_000 });
}
