import assert from "node:assert/strict";
import {
	linkSync,
	mkdirSync,
	mkdtempSync,
	renameSync,
	rmSync,
	symlinkSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { lstat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readRegular, real } from "../../src/lib/regular-file.ts";

describe("a file that somebody named", () => {
	let root: string;
	beforeEach(async () => {
		root = await real(mkdtempSync(join(tmpdir(), "regular-")));
	});
	afterEach(() => rmSync(root, { recursive: true, force: true }));
	const read = async (path: string, apart: readonly string[] = []) =>
		(await readRegular(await real(path), "the file", 1000, apart)).toString();
	const at = (name: string, content: string) => {
		writeFileSync(join(root, name), content);
		return join(root, name);
	};

	it("is read to its last byte, also an empty one", async () => {
		assert.equal(await read(at("a", "hello")), "hello");
		assert.equal(await read(at("b", "")), "");
		assert.equal((await read(at("c", "x".repeat(1000)))).length, 1000);
	});

	it("is refused by the size that it has, before a byte of it is read", async () => {
		const path = at("sparse", "");
		truncateSync(path, 20_000_000_000);
		await assert.rejects(read(path), /20000000000 bytes are too many/);
	});

	it("is not one that the system makes up when it is read: variables and memory of processes stay here", async function () {
		const made = ["/proc/self/environ", "/proc/self/status", "/proc/self/maps", "/proc/cpuinfo"];
		if (!(await lstat("/proc/self/environ").catch(() => undefined))) this.skip();
		for (const path of made) await assert.rejects(read(path), /it has not the size that it says/, path);
	});

	it("is not another name of a file in a folder that is kept apart, at any depth", async () => {
		mkdirSync(join(root, "agent", "deep"), { recursive: true });
		const secret = at("agent/deep/auth.json", "secret");
		linkSync(secret, join(root, "innocent.json"));
		await assert.rejects(read(join(root, "innocent.json"), [join(root, "agent")]), /another name of a file/);
		// Other hard links are common: package managers and compilers make them.
		linkSync(at("x", "built"), join(root, "y"));
		assert.equal(await read(join(root, "y"), [join(root, "agent"), join(root, "absent")]), "built");
	});

	it("is not one behind a folder that has become a link since it was checked", async () => {
		for (const name of ["work", "secrets"]) mkdirSync(join(root, name));
		const path = at("work/f", "public");
		at("secrets/f", "SECRET");
		const checked = await real(path);
		renameSync(join(root, "work"), join(root, "before"));
		symlinkSync(join(root, "secrets"), join(root, "work"));
		await assert.rejects(readRegular(checked, "the file", 1000), /exchanged while it was opened/);
	});
});
