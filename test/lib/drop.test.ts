import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { cleanName, writeNew } from "../../src/lib/drop.ts";

describe("a file that somebody else named", () => {
	/** The same sequence at every run. */
	function* names(count: number): Generator<string> {
		const pieces = [
			"../",
			"..\\",
			"%2e%2e/",
			"\0",
			"con",
			"LPT1",
			"nul",
			".",
			"-",
			"a",
			"Ü",
			"x".repeat(300),
			" ",
			":",
			"\n",
			"~",
		];
		let seed = 7;
		for (let i = 0; i < count; i++) {
			let name = "";
			for (let n = 0; n < 1 + (i % 6); n++) {
				seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
				name += pieces[seed % pieces.length] ?? "";
			}
			yield name + (i % 3 === 0 ? ".txt" : "");
		}
	}

	it("gets a name that is one clean word on every system", () => {
		for (const name of names(2000)) {
			const clean = cleanName(name, "application/pdf");
			assert.match(clean, /^[a-z0-9_][a-z0-9_~-]*\.(txt|[a-z0-9]{1,12})$/, JSON.stringify(name));
			assert.ok(clean.length < 110 && !/^(con|prn|aux|nul|com\d|lpt\d)\./.test(clean), clean);
		}
	});

	it("never takes the place of another, and stays in its folder", async () => {
		const folder = await mkdtemp(join(tmpdir(), "a2a-drop-"));
		try {
			const asked = [...names(150)];
			for (const [i, name] of asked.entries()) {
				const path = await writeNew(folder, cleanName(name, ""), Buffer.from(String(i)));
				assert.equal(dirname(path), folder);
				assert.equal(await readFile(path, "utf8"), String(i));
			}
			const found = await readdir(folder);
			assert.equal(new Set(found.map((name) => basename(name).toLowerCase())).size, asked.length);
		} finally {
			await rm(folder, { recursive: true, force: true });
		}
	});
});
