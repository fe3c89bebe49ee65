import assert from "node:assert/strict";
import { A2AError } from "../../src/protocol/errors.ts";
import { majorMinor, readExtensions, readVersion } from "../../src/protocol/version.ts";

describe("readVersion", () => {
	it("takes the versions that we speak, patch numbers and spaces aside", () => {
		for (const header of ["1.0", "1.0.7", " 1.0 ", "1.0.0"]) assert.equal(readVersion(header), "1.0", header);
		for (const header of ["0.3", "0.3.0", "0.3.12"]) assert.equal(readVersion(header), "0.3", header);
	});

	it("leaves the choice to the binding when there is no header or an empty one", () => {
		for (const header of [undefined, "", "  "]) assert.equal(readVersion(header), undefined);
	});

	it("refuses every other version, and what is none, and says which ones there are", () => {
		for (const header of [
			"9.9",
			"2.0",
			"1.99",
			"0.1",
			"1.1",
			"abc",
			"1",
			"v1.0",
			"1.x",
			"-1.0",
			"-1",
			"1.0, 9.9",
			"1.0,1.0",
			"01.0",
		])
			assert.throws(
				() => readVersion(header),
				(error) =>
					error instanceof A2AError &&
					error.name === "VersionNotSupportedError" &&
					/\b1\.0\b.*\b0\.3\b/.test(error.message),
				header,
			);
	});
});

describe("majorMinor", () => {
	it("gives the two numbers that count", () => {
		assert.equal(majorMinor("0.3.0"), "0.3");
		assert.equal(majorMinor("10.2"), "10.2");
		assert.equal(majorMinor("one"), undefined);
	});
});

describe("readExtensions", () => {
	it("splits at commas, trims, and names each once", () => {
		assert.deepEqual(readExtensions(" https://a/1, https://b/2,,https://a/1 "), ["https://a/1", "https://b/2"]);
		assert.deepEqual(readExtensions(undefined), []);
		assert.deepEqual(readExtensions(""), []);
	});

	it("takes no more than a hundred, and none of absurd length", () => {
		const many = Array.from({ length: 10_000 }, (_, i) => `https://x.example/e/${i}`).join(",");
		assert.equal(readExtensions(many).length, 100);
		assert.deepEqual(readExtensions("x".repeat(5000)), []);
	});
});
