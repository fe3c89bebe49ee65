import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

describe("docs/security.md", () => {
	const text = readFileSync(new URL("../docs/security.md", import.meta.url), "utf8");
	const rows = text.split("\n").filter((line) => /^\| \d+ \|/.test(line));

	it("names in every row tests that there are", () => {
		const missing = rows.flatMap((row) => {
			const [number, , , tests = ""] = row.slice(2, -2).split(" | ");
			return tests.split("<br>").filter((each) => {
				const [, file, name = ""] = /^`([\w/-]+)` (.+)$/.exec(each) ?? [];
				if (file === undefined) return `${number}: ${each}`;
				return !readFileSync(new URL(`${file}.test.ts`, import.meta.url), "utf8").includes(name);
			});
		});
		assert.deepEqual(missing, []);
		assert.equal(rows.length, 60);
	});
});
