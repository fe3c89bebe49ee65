import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { documents, TABLES, tablesIn, withTables } from "../docs/generate.ts";

describe("the documents", () => {
	for (const document of documents())
		it(`the tables of ${basename(document.pathname)} are those that the code has (npm run docs)`, () => {
			const text = readFileSync(document, "utf8");
			assert.equal(text, withTables(text));
		});

	it("every table stands once in the documents, between markers", () => {
		const texts = documents().map((document) => readFileSync(document, "utf8"));
		assert.deepEqual(texts.flatMap(tablesIn).sort(), Object.keys(TABLES).sort());
		const ends = texts.map((text) => text.split("<!-- /table -->").length - 1);
		assert.equal(
			ends.reduce((sum, each) => sum + each),
			Object.keys(TABLES).length,
		);
	});

	it("a stale table is replaced, other text stays, and an unknown table is an error", () => {
		const stale = "a\n<!-- table:env -->\n| old |\n<!-- /table -->\nb\n<!-- table:errors -->\n<!-- /table -->\n";
		const fresh = withTables(stale);
		assert.ok(fresh.startsWith("a\n<!-- table:env -->\n\n| Variable |"));
		assert.ok(!fresh.includes("| old |"));
		assert.ok(fresh.includes("\nb\n<!-- table:errors -->\n\n| Error |"));
		assert.equal(withTables(fresh), fresh);
		assert.throws(() => withTables("<!-- table:nothing -->\n<!-- /table -->"), /there is no table "nothing"/);
	});

	it("no table has a row whose cells do not fit its head", () => {
		for (const [name, make] of Object.entries(TABLES)) {
			const widths = make()
				.split("\n")
				.map((line) => line.split(/(?<!\\)\|/).length);
			assert.equal(new Set(widths).size, 1, name);
		}
	});
});
