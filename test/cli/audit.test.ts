import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { main } from "../../src/cli/a2a-audit.ts";
import { Exit, type Terminal } from "../../src/cli/args.ts";
import { auditLog } from "../../src/guard/audit.ts";
import { type ManualClock, manualClock } from "../../src/lib/clock.ts";
import { JsonlFile } from "../../src/lib/jsonl.ts";

describe("a2a-audit", () => {
	let home: string;
	let path: string;
	let clock: ManualClock;
	beforeEach(() => {
		home = mkdtempSync(join(tmpdir(), "audit-cli-"));
		path = join(home, "a2a_audit.jsonl");
		clock = manualClock();
	});
	afterEach(() => rmSync(home, { recursive: true, force: true }));

	async function run(...argv: readonly string[]) {
		const lines: string[] = [];
		const terminal: Terminal = {
			out: (line) => void lines.push(line),
			err: (line) => void lines.push(line),
			input: async () => "",
			env: { PI_CODING_AGENT_DIR: home },
			cwd: home,
			signal: new AbortController().signal,
		};
		try {
			return { code: await main(argv, terminal), lines };
		} catch (error) {
			if (!(error instanceof Exit)) throw error;
			return { code: error.code, lines: [...lines, error.message] };
		}
	}

	/** A log of `count` exchanges, an hour between two, every third with an error. */
	async function written(count: number, maxBytes = 1_000_000): Promise<void> {
		const log = { info: () => undefined, warn: (text: string) => assert.fail(text) };
		const audit = auditLog(new JsonlFile(path, { maxBytes, keep: 4 }), clock, log);
		for (let n = 1; n <= count; n++) {
			const failed = n % 3 === 0 ? { error: "it failed" } : {};
			audit.outbound({
				peer: n % 2 === 0 ? "even" : "odd",
				operation: "SendMessage",
				preview: `number ${n}`,
				...failed,
			});
			await audit.tail(1);
			await clock.advance(3_600_000);
		}
		await audit.close();
	}
	/** Room for three lines or four. */
	const SMALL = 750;

	const alter = (file: string, from: string, to: string) =>
		writeFileSync(file, readFileSync(file, "utf8").replace(from, to));

	it("says that a log is whole, and how much of it there is", async () => {
		await written(5);
		assert.deepEqual(await run("verify"), { code: 0, lines: ["5 lines by 1 writer in 1 file", "whole"] });
		assert.deepEqual(await run("verify", path), await run("verify"));
	});

	it("names the file, the line and the fault of a log that is not, and exits with 1", async () => {
		await written(5);
		alter(path, "number 3", "number 8");
		const { code, lines } = await run("verify");
		assert.equal(code, 1);
		assert.match(lines[1] ?? "", /a2a_audit\.jsonl:3: .* is not the line that .* followed$/);
		const { lines: json } = await run("verify", "--json");
		assert.equal(JSON.parse(json[0] ?? "").broken.line, 3);
	});

	it("reads the rotated files first, and finds what was changed in one of them", async () => {
		await written(9, SMALL);
		const { lines } = await run("tail", "--lines", "0");
		assert.deepEqual(
			lines.map((line) => /number \d/.exec(line)?.[0]),
			Array.from({ length: 9 }, (_, n) => `number ${n + 1}`),
		);
		assert.deepEqual((await run("verify")).lines, ["9 lines by 1 writer in 3 files", "whole"]);
		alter(`${path}.1`, "number 5", "number 7");
		assert.match(
			(await run("verify")).lines[1] ?? "",
			/a2a_audit\.jsonl\.1:[12]: .*\.5 is not the line that .*\.6 followed$/,
		);
	});

	it("misses a file that was taken away, also the oldest one as long as none was rotated away", async () => {
		await written(9, SMALL);
		rmSync(`${path}.1`);
		assert.match((await run("verify")).lines[1] ?? "", /a2a_audit\.jsonl:1: lines are missing between/);
		rmSync(`${path}.2`);
		assert.match((await run("verify")).lines[1] ?? "", /a2a_audit\.jsonl:1: the lines before .* are missing/);
	});

	it("takes a log for whole whose oldest files were rotated away", async () => {
		await written(18, SMALL);
		const { code, lines } = await run("verify");
		assert.equal(code, 0);
		assert.match(lines[0] ?? "", /^1[2-7] lines by 1 writer in 5 files$/);
	});

	it("shows the newest lines, those of one peer, those with an error, and those since a time", async () => {
		await written(7);
		const numbers = async (...argv: string[]) =>
			(await run("tail", ...argv)).lines.map((line) => Number(/number (\d)/.exec(line)?.[1]));
		assert.deepEqual(await numbers("--lines", "2"), [6, 7]);
		assert.deepEqual(await numbers("--peer", "even"), [2, 4, 6]);
		assert.deepEqual(await numbers("--errors"), [3, 6]);
		assert.deepEqual(await numbers("--since", "2026-01-01T05:00:00Z"), [6, 7]);
		const { lines } = await run("tail", "--json", "--lines", "1");
		assert.deepEqual(Object.keys(JSON.parse(lines[0] ?? "")), ["time", "direction", "peer", "operation", "preview"]);
	});

	it("exits with 2 and says what was wrong with its arguments", async () => {
		for (const [argv, text] of [
			[[], /^a2a-audit verify/],
			[["prove"], /^a2a-audit verify/],
			[["verify", "--lanes"], /lanes/],
			[["verify"], /There is no log at .*a2a_audit\.jsonl/],
			[["tail", "--lines", "many"], /--lines many: expected a whole number/],
			[["tail", "--since", "tuesday"], /--since tuesday: expected a date/],
		] as const) {
			const { code, lines } = await run(...argv);
			assert.equal(code, 2, argv.join(" "));
			assert.match(lines.join("\n"), text);
		}
		symlinkSync("/dev/null", path);
		assert.match((await run("verify")).lines.join(), /it is not a file/);
	});
});
