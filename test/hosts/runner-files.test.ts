import assert from "node:assert/strict";
import { chmod, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { piUnderTest, runPi } from "../support/pi-host.ts";
import { openStage, type Stage } from "../support/runner-client.ts";

describe("the histories of conversations in a real Pi", function () {
	this.timeout(60_000);
	let stage: Stage;
	beforeEach(async () => {
		stage = await openStage();
	});
	afterEach(() => stage.end());

	const folder = () => join(stage.agentDir, "a2a_sessions");
	const sessions = async () => (await readdir(folder())).filter((name) => name.endsWith(".jsonl")).sort();

	it("survive a crash of the host, in the file they were in", async () => {
		const first = await stage.start();
		await first.turn({ text: "SAY the code is kiwi-5", taskId: "task-0a1b" });
		await first.pi.kill();
		const second = await stage.start();
		assert.match((await second.turn({ text: "FIND kiwi-.", taskId: "task-0a1c" })).text, /^FOUND: kiwi-5/);
		const names = await sessions();
		assert.equal(names.length, 1);
		assert.match(names[0] ?? "", /^\d{4}-\d\d-\d\dT[\dZ-]+_task-0a1b\.jsonl$/);
	});

	it("tell what a worker was asked that was killed in its first step", async () => {
		const host = await stage.start();
		const begun = new Promise<void>((resolve) => {
			host.turn({ text: "SAY begun\nHANG" }, { onEvent: () => resolve() }).catch(() => undefined);
		});
		await begun;
		await host.pi.kill();
		const [name = ""] = await sessions();
		assert.match(await readFile(join(folder(), name), "utf8"), /SAY begun/);
		const next = await stage.start();
		assert.match((await next.turn({ text: "FIND SAY begun" })).text, /^FOUND/);
	});

	it("survive a crash in the middle of a tool call", async () => {
		const host = await stage.start();
		const turn = host.turn({ text: 'SAY begun\nCALL bash {"command":"sleep 30; echo x"}' }).catch(() => undefined);
		await new Promise<void>((resolve) => {
			const look = setInterval(async () => {
				const [name] = await sessions().catch(() => []);
				if (!name || !(await readFile(join(folder(), name), "utf8")).includes("toolCall")) return;
				clearInterval(look);
				resolve();
			}, 20);
		});
		await host.pi.kill();
		await turn;
		const next = await stage.start();
		assert.equal((await next.turn({ text: "SAY going on" })).text, "going on");
	});

	it("are readable by their owner alone, and never named by what a caller chose", async () => {
		const host = await stage.start();
		await host.turn({ text: "SAY a", context: "../../up", caller: "peer:../x", taskId: "task-1" });
		await host.turn({ text: "SAY b", context: "c:\\x?1", taskId: "../../evil" });
		assert.equal((await stat(folder())).mode & 0o777, 0o700);
		for (const name of await readdir(folder())) {
			assert.equal((await stat(join(folder(), name))).mode & 0o777, 0o600, name);
			assert.doesNotMatch(name, /evil|up|\\/);
		}
		assert.equal((await sessions()).length, 2);
		assert.deepEqual(
			(await readdir(stage.agentDir)).filter((name) => /evil|up/.test(name)),
			[],
		);
		assert.match((await host.turn({ text: "FIND SAY b", context: "c:\\x?1" })).text, /^FOUND/);
	});

	it("can be opened by Pi", async () => {
		const host = await stage.start();
		await host.turn({ text: "SAY papaya-1" });
		await host.stop();
		const [name = ""] = await sessions();
		const args = ["-p", "--session", join(folder(), name), "FIND papaya-1"];
		const lines = (await readFile(join(folder(), name), "utf8")).trim().split("\n");
		assert.equal(new Set(lines.map((line) => JSON.parse(line).id)).size, lines.length, "an entry stands there twice");
		const run = await runPi({ pi: piUnderTest(), agentDir: stage.agentDir, cwd: stage.cwd, args });
		assert.equal(run.code, 0, run.stderr);
		assert.match(run.stdout, /FOUND: papaya-1/);
	});

	it("are not shared by two live hosts", async () => {
		const [one, two] = [await stage.start(), await stage.start()];
		await one.turn({ text: "SAY fig-1" });
		assert.equal((await two.turn({ text: "FIND fig-1" })).text, "NOT FOUND");
		assert.equal((await sessions()).length, 2);
		assert.match((await one.turn({ text: "FIND fig-1" })).text, /^FOUND/);
	});

	it("stay in memory when transcripts are off", async () => {
		const host = await stage.start({ env: { RUNNER_TRANSCRIPTS: "0" } });
		await host.turn({ text: "SAY plum-1" });
		assert.match((await host.turn({ text: "FIND plum-1" })).text, /^FOUND/);
		assert.deepEqual(await sessions().catch(() => []), []);
	});

	it("begin anew when the file is gone or is no session any more", async () => {
		const first = await stage.start();
		await first.turn({ text: "SAY date-1" });
		const [name = ""] = await sessions();
		await writeFile(join(folder(), name), "this is no session\n");
		assert.equal((await first.turn({ text: "FIND date-1" })).text, "NOT FOUND");
		assert.equal(await readFile(join(folder(), name), "utf8"), "this is no session\n");
		assert.match((await first.turn({ text: "FIND FIND" })).text, /^FOUND/);
	});

	it("are deleted when they are old, at the start of a server, and only then", async () => {
		const first = await stage.start();
		await first.turn({ text: "SAY old-1", context: "old" });
		await first.turn({ text: "SAY new-1", context: "new" });
		await first.stop();
		const [old = ""] = await sessions();
		const before = new Date(Date.now() - 3 * 86_400_000);
		await utimes(join(folder(), old), before, before);
		await writeFile(join(folder(), "notes.jsonl"), "mine\n");
		await utimes(join(folder(), "notes.jsonl"), before, before);
		await (await stage.start({ env: { RUNNER_SWEEP_DAYS: "0" } })).stop();
		assert.equal((await sessions()).length, 3);
		const host = await stage.start({ env: { RUNNER_SWEEP_DAYS: "2" } });
		assert.equal((await sessions()).includes(old), false);
		assert.equal((await sessions()).includes("notes.jsonl"), true);
		assert.equal((await host.turn({ text: "FIND old-1", context: "old" })).text, "NOT FOUND");
		assert.match((await host.turn({ text: "FIND new-1", context: "new" })).text, /^FOUND/);
	});

	it("fail the task, and nothing else, when they cannot be kept", async () => {
		if (process.getuid?.() === 0) await writeFile(folder(), "in the way");
		else await chmod(stage.agentDir, 0o500);
		const host = await stage.start();
		const { ending } = await host.turn({ text: "SAY x" });
		assert.equal(ending?.type, "failed");
		const reason = ending?.type === "failed" ? ending.reason : "";
		assert.equal(reason.includes(stage.agentDir), false, reason);
		assert.equal((await host.state()).said.length, 1);
		if (process.getuid?.() !== 0) await chmod(stage.agentDir, 0o700);
	});

	it("are not begun in a folder that does not exist", async () => {
		const host = await stage.start({ env: { RUNNER_WORKSPACE: join(stage.cwd, "absent") } });
		const { ending } = await host.turn({ text: "SAY x" });
		assert.deepEqual(ending, { type: "failed", reason: "The workspace of this agent is missing." });
		assert.deepEqual(await sessions().catch(() => []), []);
	});
});
