import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);
const root = new URL("../../src/lib/", import.meta.url).href;

describe("lib/alive", () => {
	it("keeps a process alive through a pause of the clock, and no longer", async () => {
		const code = (sleep: string) => `
			import { keptAlive } from "${root}alive.ts";
			import { systemClock } from "${root}clock.ts";
			const sleep = async () => { await systemClock.sleep(100); console.log("slept"); };
			void ${sleep};`;
		const said = async (sleep: string) => {
			const { stdout } = await run(process.execPath, ["--import", "tsx", "--input-type=module", "-e", code(sleep)]);
			return stdout.trim();
		};
		assert.equal(await said("sleep()"), "");
		assert.equal(await said("keptAlive(sleep)"), "slept");
	});
});
