import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { auditLog } from "../../src/guard/audit.ts";
import { type LogFile, verify } from "../../src/guard/audit-chain.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { JsonlFile } from "../../src/lib/jsonl.ts";

describe("the chain of the audit log", () => {
	let root = "";
	let path = "";
	const warnings: string[] = [];
	const log = { info: () => undefined, warn: (text: string) => void warnings.push(text) };
	beforeEach(async () => {
		root = await mkdtemp(join(tmpdir(), "pi-a2a-chain-"));
		path = join(root, "a2a_audit.jsonl");
		warnings.length = 0;
	});
	afterEach(() => rm(root, { recursive: true, force: true }));

	const open = (maxBytes = 1_000_000, keep = 2) =>
		auditLog(new JsonlFile(path, { maxBytes, keep }), manualClock(), log);
	const entry = (n: number) => ({ peer: "worker", operation: "SendMessage", preview: `message ${n}` });

	/** A log of three writers, the first two of whom write at the same time. */
	async function written(): Promise<string[]> {
		const [one, two] = [open(), open()];
		for (let n = 1; n <= 6; n++) {
			one.outbound(entry(n));
			await one.tail(1);
			two.outbound(entry(10 + n));
			await two.tail(1);
		}
		await Promise.all([one.close(), two.close()]);
		const three = open();
		for (let n = 21; n <= 24; n++) three.outbound(entry(n));
		await three.close();
		return (await readFile(path, "utf8")).split("\n").filter(Boolean);
	}
	const check = (lines: readonly string[]) => verify([{ name: "log", text: `${lines.join("\n")}\n` }], true);

	it("is whole as it was written, by several sessions at the same time and one after the other", async () => {
		const lines = await written();
		assert.deepEqual(check(lines), { lines: 16, writers: 3, older: 0, torn: 0 });
	});

	it("names the first line that was altered, wherever it is", async () => {
		const lines = await written();
		for (let at = 0; at < lines.length - 1; at++) {
			const { broken } = check(lines.with(at, (lines[at] ?? "").replace("message", "massage")));
			// The last line of a writer is held by the first of the next; one that nothing follows is not held.
			if (at === 10) continue;
			assert.equal(broken?.line, at === 11 ? 13 : at + 1, `altered at ${at + 1}: ${broken?.why}`);
		}
	});

	it("names the place where a line was taken out", async () => {
		const lines = await written();
		for (let at = 0; at < lines.length - 1; at++) {
			if (at === 10) continue;
			const { broken } = check(lines.toSpliced(at, 1));
			assert.ok(broken && broken.line >= at + 1 && broken.line <= at + 3, `taken out at ${at + 1}: ${broken?.line}`);
		}
	});

	it("names a line that was put in, a copy as well as one without a link", async () => {
		const lines = await written();
		for (let at = 1; at < lines.length; at++) {
			assert.equal(check(lines.toSpliced(at, 0, JSON.stringify(entry(99)))).broken?.line, at + 1);
			assert.equal(check(lines.toSpliced(at, 0, lines[at - 1] ?? "")).broken?.line, at + 1);
		}
	});

	it("names lines that changed places", async () => {
		const lines = await written();
		const [a = "", b = ""] = [lines[12], lines[13]];
		assert.equal(check(lines.with(12, b).with(13, a)).broken?.line, 13);
	});

	it("goes on over rotated files, and does not miss what was rotated away", async () => {
		const audit = open(1_500, 2);
		for (let n = 1; n <= 60; n++) {
			audit.outbound(entry(n));
			await audit.tail(1);
		}
		await audit.close();
		const files: LogFile[] = [];
		for (const name of ["a2a_audit.jsonl.2", "a2a_audit.jsonl.1", "a2a_audit.jsonl"]) {
			files.push({ name, text: await readFile(join(root, name), "utf8") });
		}
		assert.equal((await readdir(root)).length, 3);
		assert.equal(verify(files, false).broken, undefined);
		assert.match(verify(files, true).broken?.why ?? "", /lines before .* are missing/);
		const [oldest, , newest] = files;
		assert.ok(oldest && newest);
		assert.equal(verify([oldest, newest], false).broken?.file, "a2a_audit.jsonl");
	});

	it("begins behind the lines of before there was a chain, and bears with one that a crash cut short", async () => {
		await writeFile(path, `${JSON.stringify(entry(1))}\n${JSON.stringify(entry(2))}\n{"time":"20`);
		const audit = open();
		audit.outbound(entry(3));
		audit.outbound(entry(4));
		await audit.close();
		const text = await readFile(path, "utf8");
		assert.deepEqual(verify([{ name: "log", text }], true), { lines: 2, writers: 1, older: 2, torn: 1 });
		const changed = verify([{ name: "log", text: text.replace("message 2", "massage 2") }], true);
		assert.equal(changed.broken?.line, 4, "the first line of the chain holds the last of those before it");
	});

	it("says how many lines a full disk has cost, and goes on", async () => {
		const file = new JsonlFile(path);
		const audit = auditLog(file, manualClock(), log);
		audit.outbound(entry(1));
		await audit.tail(1);
		const write = file.appendLines.bind(file);
		file.appendLines = () => Promise.reject(new Error("no space left on device"));
		audit.outbound(entry(2));
		audit.outbound(entry(3));
		await audit.tail(1);
		file.appendLines = write;
		audit.outbound(entry(4));
		audit.outbound(entry(5));
		await audit.close();
		assert.deepEqual(warnings, ["Could not write to the audit log"]);
		const text = await readFile(path, "utf8");
		const lines = text.split("\n").filter(Boolean);
		assert.deepEqual(
			lines.map((line) => JSON.parse(line).lost),
			[undefined, 2, undefined],
		);
		assert.equal(verify([{ name: "log", text }], true).broken, undefined);
	});
});
