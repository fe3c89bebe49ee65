import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { VERSION } from "../src/version.ts";

describe("the version", () => {
	it("is the one of package.json", () => {
		const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
		assert.equal(VERSION, version);
	});
});
