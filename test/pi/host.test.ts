import assert from "node:assert/strict";
import { resolve } from "node:path";
import { flagsOf } from "../../src/pi/host.ts";

describe("the flags of the host", () => {
	it("are none without arguments", () => {
		assert.deepEqual(flagsOf([], "/w"), {
			extensions: [],
			skills: [],
			noExtensions: false,
			noSkills: false,
			noContextFiles: false,
			choosesTools: false,
		});
	});

	it("give local extensions and skills as absolute paths, and leave packages to the host", () => {
		const args = [
			"-e",
			"./a.ts",
			"--extension",
			"/x/b",
			"-e",
			"npm:c",
			"-e",
			"git:d",
			"--skill",
			"s",
			"-p",
			"hello",
			"-e",
		];
		const { extensions, skills } = flagsOf(args, "/w");
		assert.deepEqual(extensions, [resolve("/w/a.ts"), resolve("/x/b")]);
		assert.deepEqual(skills, [resolve("/w/s")]);
	});

	it("know the short and the long names of what is switched off", () => {
		for (const args of [
			["-ne", "-ns", "-nc"],
			["--no-extensions", "--no-skills", "--no-context-files"],
		]) {
			const flags = flagsOf(args, "/w");
			assert.ok(flags.noExtensions && flags.noSkills && flags.noContextFiles);
		}
		for (const args of [["-t", "read"], ["--exclude-tools", "bash"], ["-nt"], ["--no-builtin-tools"]]) {
			assert.equal(flagsOf(args, "/w").choosesTools, true);
		}
	});
});
