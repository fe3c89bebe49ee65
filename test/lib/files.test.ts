import assert from "node:assert/strict";
import { fork } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "../../src/lib/clock.ts";
import { readJson, safeName, withLock, writeJson, writeText } from "../../src/lib/files.ts";
import { attempt } from "../../src/lib/log.ts";

describe("files", () => {
	let root = "";
	beforeEach(async () => {
		root = await mkdtemp(join(tmpdir(), "pi-a2a-lib-"));
	});
	afterEach(() => rm(root, { recursive: true, force: true }));

	describe("of JSON", () => {
		it("are read as they were written, in folders that are made for them", async () => {
			const path = join(root, "deep", "er", "a.json");
			await writeJson(path, { a: [1, "ü"] });
			assert.deepEqual(await readJson(path), { a: [1, "ü"] });
			assert.equal(await readFile(path, "utf8"), '{\n  "a": [\n    1,\n    "ü"\n  ]\n}\n');
		});

		it("belong to their user alone", async () => {
			const path = join(root, "deep", "a.json");
			await writeJson(path, 1);
			assert.equal((await stat(path)).mode & 0o777, 0o600);
			assert.equal((await stat(join(root, "deep"))).mode & 0o777, 0o700);
		});

		it("that do not exist are undefined; those that are broken name themselves", async () => {
			assert.equal(await readJson(join(root, "none.json")), undefined);
			const path = join(root, "broken.json");
			await writeFile(path, '{"a":');
			await assert.rejects(readJson(path), (error: Error) => error.message.startsWith(`${path} is not valid JSON`));
			await writeFile(path, "\ufeff{}");
			assert.deepEqual(await readJson(path), {});
		});

		it("are seen old or new by a reader, never in part, and leave nothing beside them", async () => {
			const path = join(root, "a.json");
			const value = (n: number) => ({ n, pad: `${n}`.repeat(20_000) });
			await writeJson(path, value(0));
			let reading = true;
			const reader = (async () => {
				while (reading) {
					const read = (await readJson(path)) as { n: number; pad: string };
					assert.deepEqual(read, value(read.n));
				}
			})();
			for (let n = 1; n < 20; n++) await writeJson(path, value(n));
			reading = false;
			await reader;
			assert.deepEqual(await readdir(root), ["a.json"]);
		});

		it("stay behind the link that leads to them where people may have put one", async () => {
			await writeJson(join(root, "real.json"), 1);
			await symlink(join(root, "real.json"), join(root, "link.json"));
			await writeText(join(root, "link.json"), "2", "followed");
			assert.equal(await readJson(join(root, "real.json")), 2);
		});

		it("that cannot be written leave no trace", async () => {
			await writeJson(join(root, "dir", "x.json"), 1);
			await assert.rejects(writeJson(join(root, "dir"), 1));
			assert.deepEqual(await readdir(root), ["dir"]);
		});
	});

	describe("safeName", () => {
		it("keeps what is safe and readable", () => {
			for (const id of ["task-1b4f8d1c30d54819", "a.b_c-d", "x"]) assert.equal(safeName(id), id);
		});

		it("makes of anything a name that every system takes, and two ids never share one", () => {
			const ids = [
				"c:\\x?1", // R123
				"../../up",
				"con",
				"con.txt",
				"CON",
				"x".repeat(300),
				"x".repeat(301),
				"trailing.",
				"trailing",
				"trailing ",
				"Abc",
				"abc",
				"ABC",
				"",
				".",
				"..",
				".hidden",
				"a/b",
				"a\\b",
				"a\u0000b",
				"ünï",
				"abc~def",
			];
			const names = ids.map(safeName);
			for (const name of names) {
				assert.match(name, /^[a-z0-9_~-][a-z0-9._~-]{0,99}$/);
				assert.doesNotMatch(name, /\.$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/);
			}
			assert.equal(new Set(names.map((name) => name.toLowerCase())).size, ids.length);
			assert.deepEqual(ids.map(safeName), names);
		});
	});

	describe("withLock", () => {
		it("lets one at a time do its work, and leaves no lock", async () => {
			const path = join(root, "n.json");
			await writeJson(path, 0);
			const add = () => withLock(path, async () => writeJson(path, ((await readJson(path)) as number) + 1));
			await Promise.all(Array.from({ length: 20 }, add));
			assert.equal(await readJson(path), 20);
			assert.deepEqual(await readdir(root), ["n.json"]);
		});

		it("gives the result, and frees the lock when the work fails", async () => {
			const path = join(root, "x");
			assert.equal(await withLock(path, () => 7), 7);
			await assert.rejects(
				withLock(path, () => {
					throw new Error("work");
				}),
				/work/,
			);
			assert.equal(await withLock(path, () => 8), 8);
		});

		it("holds between processes", async function () {
			this.timeout(60_000);
			const path = join(root, "n.json");
			await writeJson(path, 0);
			const child = new URL("../support/lock-child.ts", import.meta.url).pathname;
			const run = () =>
				new Promise<void>((resolve, reject) => {
					const forked = fork(child, [path, "25"], { execArgv: ["--import", "tsx"], stdio: "inherit" });
					forked.once("error", reject);
					forked.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`exit ${code}`))));
				});
			await Promise.all([run(), run(), run()]);
			assert.equal(await readJson(path), 75); // R116
			assert.deepEqual(await readdir(root), ["n.json"]);
		});

		it("takes over the lock of a process that has died, at once and by one alone", async () => {
			const path = join(root, "n.json");
			await writeJson(path, 0);
			const gone = fork(new URL("../support/lock-child.ts", import.meta.url).pathname, [], {
				execArgv: ["--version"],
				silent: true,
			});
			await new Promise((resolve) => gone.once("exit", resolve));
			await writeFile(`${path}.lock`, `abcd ${gone.pid} ${hostname()}`);
			const add = () => withLock(path, async () => writeJson(path, ((await readJson(path)) as number) + 1));
			const start = Date.now();
			await Promise.all(Array.from({ length: 10 }, add)); // R121
			assert.equal(await readJson(path), 10);
			assert.ok(Date.now() - start < 4_000);
			assert.deepEqual(await readdir(root), ["n.json"]);
		});

		it("takes over a lock that has been left empty, or by another machine, for long", async () => {
			const path = join(root, "x");
			for (const [text, age] of [
				["", 6],
				["abcd 1 elsewhere", 61],
			] as const) {
				await writeFile(`${path}.lock`, text);
				const then = Date.now() / 1000 - age;
				await utimes(`${path}.lock`, then, then);
				assert.equal(await withLock(path, () => 1, { waitMs: 100 }), 1);
			}
		});

		it("waits for a live holder, and says who holds it when the wait is over", async () => {
			const path = join(root, "x");
			const clock = manualClock();
			await writeFile(`${path}.lock`, `abcd ${process.pid} ${hostname()}`);
			const waiting = withLock(path, () => 1, { clock, waitMs: 1_000 });
			const failure = assert.rejects(waiting, new RegExp(`is locked by another process \\(pid ${process.pid}\\)`));
			let over = false;
			void failure.then(() => {
				over = true;
			});
			// File operations take real time, so the clock is moved until they have been seen to the end.
			while (!over) await clock.advance(100);
			await failure;
			assert.deepEqual(await readdir(root), ["x.lock"]);
		});

		it("leaves no lock behind when the wait is canceled", async () => {
			const path = join(root, "x");
			await writeFile(`${path}.lock`, `abcd ${process.pid} ${hostname()}`);
			const giving = new AbortController();
			const waiting = withLock(path, () => 1, { signal: giving.signal });
			setTimeout(() => giving.abort(new Error("gave up")), 20);
			await assert.rejects(waiting, /gave up/);
			assert.equal(await readFile(`${path}.lock`, "utf8"), `abcd ${process.pid} ${hostname()}`);
		});
	});

	it("attempt goes on without the result and says so once", async () => {
		const said: unknown[] = [];
		const log = { warn: (...args: unknown[]) => void said.push(args), info: () => undefined };
		const error = new Error("disk full");
		assert.equal(await attempt("write", () => 5, log), 5);
		assert.equal(await attempt("write the entry", () => Promise.reject(error), log), undefined);
		assert.deepEqual(said, [["Could not write the entry", error]]);
	});
});
