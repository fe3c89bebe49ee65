import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { bornAt, claim } from "../../src/lib/claim.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { nullLog } from "../../src/lib/log.ts";

describe("the claim of a folder", () => {
	let root: string;
	let folder: string;
	let owner: string;
	const clock = manualClock();
	beforeEach(() => {
		root = mkdtempSync(join(tmpdir(), "pi-a2a-claim-"));
		folder = join(root, "f");
		owner = join(folder, "owner");
		mkdirSync(folder);
	});
	afterEach(() => rmSync(root, { recursive: true, force: true }));
	const take = () => claim(folder, clock, nullLog);
	const held = (pid: number, born: string, host = hostname()) => writeFileSync(owner, `${pid} ${born} ${host}\n`);

	it("names its process, is given back once, and takes an empty folder with it", async () => {
		const release = await take();
		assert.match(readFileSync(owner, "utf8"), new RegExp(`^${process.pid} `));
		release();
		release();
		assert.equal(existsSync(folder), false);
		await clock.advance(0);
		assert.equal(clock.pending, 0);
	});

	it("leaves a folder that holds something", async () => {
		const release = await take();
		writeFileSync(join(folder, "kept"), "");
		release();
		assert.equal(existsSync(join(folder, "kept")), true);
		assert.equal(existsSync(owner), false);
	});

	it("is refused while its process lives, with its number", async () => {
		held(process.ppid, bornAt(process.ppid) || "-");
		await assert.rejects(take(), new RegExp(`in use by process ${process.ppid} on `));
	});

	it("is taken over from a process that died, whose number another one may have now", async () => {
		for (const [pid, born] of [
			[2 ** 22 + 1, "1"],
			...(bornAt(process.ppid) ? [[process.ppid, "1"] as const] : []),
		] as const) {
			held(pid, born);
			(await take())();
			mkdirSync(folder, { recursive: true });
		}
	});

	it("of another machine holds as long as there are signs of life", async () => {
		held(1, "1", "elsewhere");
		await assert.rejects(take(), /process 1 on elsewhere/);
		const long = new Date(Date.now() - 61_000);
		utimesSync(owner, long, long);
		const release = await take();
		utimesSync(owner, long, long);
		await clock.advance(15_000);
		assert.ok(Date.now() - statSync(owner).mtimeMs < 30_000);
		release();
	});
});
