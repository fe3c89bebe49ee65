import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newestFiles } from "../../src/lib/folder.ts";

describe("lib/folder", () => {
	let dir: string;
	beforeEach(async () => {
		dir = await mkdtemp(join(tmpdir(), "folder-"));
	});
	afterEach(() => rm(dir, { recursive: true }));

	it("gives the files with the ending, newest first, and no folders", async () => {
		for (const [name, time] of [
			["old.jsonl", 1],
			["new.jsonl", 3],
			["mid.jsonl", 2],
			["other.txt", 4],
		] as const) {
			await writeFile(join(dir, name), "");
			await utimes(join(dir, name), time, time);
		}
		await mkdir(join(dir, "folder.jsonl"));
		assert.deepEqual(
			(await newestFiles(dir, ".jsonl")).map(({ path, modified }) => [path.slice(dir.length + 1), modified]),
			[
				["new.jsonl", 3000],
				["mid.jsonl", 2000],
				["old.jsonl", 1000],
			],
		);
	});

	it("gives nothing for a folder that is not there", async () => {
		assert.deepEqual(await newestFiles(join(dir, "absent"), ""), []);
	});
});
