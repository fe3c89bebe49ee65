import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { JsonlFile, readLines } from "../../src/lib/jsonl.ts";

describe("a JSONL file", () => {
	let root = "";
	let path = "";
	beforeEach(async () => {
		root = await mkdtemp(join(tmpdir(), "pi-a2a-jsonl-"));
		path = join(root, "deep", "log.jsonl");
	});
	afterEach(() => rm(root, { recursive: true, force: true }));

	it("keeps what is appended, in order, for its user alone", async () => {
		const file = new JsonlFile(path);
		for (let n = 0; n < 100; n++) void file.append({ n, text: "a\nb" });
		await file.close();
		assert.deepEqual(
			await readLines(path),
			Array.from({ length: 100 }, (_, n) => ({ n, text: "a\nb" })),
		);
		assert.equal((await stat(path)).mode & 0o777, 0o600);
		assert.equal((await stat(join(root, "deep"))).mode & 0o777, 0o700);
		await assert.rejects(file.append({}), /has been closed/);
		await file.close();
	});

	it("is written when append says so", async () => {
		const file = new JsonlFile(path);
		await file.append({ n: 1 });
		assert.equal(await readFile(path, "utf8"), '{"n":1}\n');
	});

	it("says when it could not be written, and goes on", async () => {
		const file = new JsonlFile(root);
		await assert.rejects(file.append({ n: 1 }));
		await rm(root, { recursive: true });
		await file.append({ n: 2 });
		assert.deepEqual(await readLines(root), [{ n: 2 }]);
	});

	it("turns over at its size and keeps so many old ones, with no line lost at the turn", async () => {
		const file = new JsonlFile(path, { maxBytes: 200, keep: 3 });
		for (let n = 0; n < 100; n++) await file.append({ n: 1_000 + n });
		await file.close();
		assert.deepEqual((await readdir(join(root, "deep"))).sort(), [
			"log.jsonl",
			"log.jsonl.1",
			"log.jsonl.2",
			"log.jsonl.3",
		]);
		const all = (await Promise.all([".3", ".2", ".1", ""].map((end) => readLines(path + end)))).flat();
		assert.deepEqual(
			all,
			Array.from({ length: all.length }, (_, n) => ({ n: 1_100 - all.length + n })),
		);
		for (const name of await readdir(join(root, "deep"))) {
			const info = await stat(join(root, "deep", name));
			assert.ok(info.size <= 200 && (info.mode & 0o777) === 0o600);
		}
	});

	it("turns over when it was begun too long ago, also under limits that change meanwhile", async () => {
		const day = 86_400_000;
		let now = Date.now();
		const limits = { maxAgeMs: 2 * day, keep: 5 };
		const file = new JsonlFile(path, limits, () => now);
		await file.append({ n: 1 });
		now += day;
		await file.append({ n: 2 });
		now += 2 * day;
		await file.append({ n: 3 });
		assert.deepEqual(await readLines(`${path}.1`), [{ n: 1 }, { n: 2 }]);
		limits.maxAgeMs = 100 * day;
		await file.append({ n: 4 });
		assert.deepEqual(await readLines(path), [{ n: 3 }, { n: 4 }]);
		await file.close();
	});

	it("keeps nothing old when asked to", async () => {
		const file = new JsonlFile(path, { maxBytes: 30, keep: 0 });
		for (let n = 0; n < 10; n++) await file.append({ n });
		await file.close();
		assert.deepEqual(await readdir(join(root, "deep")), ["log.jsonl"]);
		assert.deepEqual((await readLines(path)).at(-1), { n: 9 });
	});

	it("is shared by processes without a torn or lost line, also at the turns", async function () {
		this.timeout(60_000);
		const child = new URL("../support/jsonl-child.ts", import.meta.url).pathname;
		const run = (name: string) =>
			new Promise<void>((resolve, reject) => {
				const forked = fork(child, [path, name, "500"], { execArgv: ["--import", "tsx"], stdio: "inherit" });
				forked.once("error", reject);
				forked.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`exit ${code}`))));
			});
		await Promise.all([run("a"), run("b")]);
		const names = (await readdir(join(root, "deep"))).sort((a, b) => b.localeCompare(a, "en", { numeric: true }));
		const found: { name: string; n: number }[] = [];
		for (const name of names) {
			const text = await readFile(join(root, "deep", name), "utf8");
			assert.ok(text.endsWith("\n"));
			// Who sees the line of another in the making takes it for one that was cut short, and leaves an empty line behind it.
			for (const line of text.split("\n").filter(Boolean)) found.push(JSON.parse(line));
		}
		for (const name of ["a", "b"]) {
			const mine = found.filter((each) => each.name === name).map((each) => each.n);
			assert.deepEqual(
				[...mine].sort((a, b) => a - b),
				Array.from({ length: 500 }, (_, n) => n),
			);
		}
		assert.ok(names.length > 2, "it turned over"); // R142
	});

	it("goes on after a line that a crash cut short", async () => {
		await new JsonlFile(path).append({ n: 1 });
		await appendFile(path, '{"n":2,"text":"cut');
		await new JsonlFile(path).append({ n: 3 });
		assert.deepEqual(await readLines(path), [{ n: 1 }, { n: 3 }]);
	});

	it("gives its last lines without being read from the beginning", async () => {
		await new JsonlFile(path).append({ n: 0 });
		const text = Array.from({ length: 30_000 }, (_, n) => JSON.stringify({ n, text: "ü🐢" })).join("\n");
		await writeFile(path, `${text}\n`);
		const last = (await readLines(path, { last: 3 })) as { n: number; text: string }[];
		assert.deepEqual(last, [
			{ n: 29_997, text: "ü🐢" },
			{ n: 29_998, text: "ü🐢" },
			{ n: 29_999, text: "ü🐢" },
		]);
		assert.equal((await readLines(path, { last: 20_000 })).length, 20_000);
		assert.equal((await readLines(path, { last: 1e9 })).length, 30_000);
		assert.deepEqual(await readLines(path, { last: 0 }), []);
	});

	it("gives its last whole lines when the very last is torn", async () => {
		await new JsonlFile(path).append({ n: 1 });
		await new JsonlFile(path).append({ n: 2 });
		await appendFile(path, '{"n":3');
		assert.deepEqual(await readLines(path, { last: 1 }), [{ n: 2 }]);
	});

	it("has no lines when it does not exist", async () => {
		assert.deepEqual(await readLines(join(root, "none")), []);
		assert.deepEqual(await readLines(join(root, "none"), { last: 5 }), []);
	});
});
