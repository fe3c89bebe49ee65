import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { piUnderTest } from "../support/pi-host.ts";
import { fixture, openStage, type RunnerHost, type Stage } from "../support/runner-client.ts";

const isNew = () => piUnderTest().version !== "0.73.1";

describe("extensions in the sessions of a real Pi that serve peers", function () {
	this.timeout(60_000);
	let stage: Stage;
	let log: string;
	const notes = async () => (await readFile(log, "utf8").catch(() => "")).split("\n").filter((line) => line !== "");
	/** The notes once they hold `count` lines with `word`; what they are after two seconds otherwise. */
	const notesWith = async (word: string, count: number) => {
		for (let i = 0; i < 100 && (await notes()).filter((line) => line.startsWith(word)).length < count; i++)
			await pause(20);
		return notes();
	};

	describe("of the user's settings", () => {
		let host: RunnerHost;
		beforeEach(async () => {
			stage = await openStage({ settings: { extensions: [fixture("lifecycle.ts")] } });
			log = join(stage.agentDir, "lifecycle.log");
			host = await stage.start({ env: { LIFECYCLE_LOG: log } });
		});
		afterEach(() => stage.end());

		it("start before the model is asked, and what they register can be used", async () => {
			const { text } = await host.turn({ text: "CALL lucky_number {}\nRESULT" });
			assert.match(text, /lucky 4711/);
			const [, child] = await notes();
			assert.equal(child, `start startup child ${stage.cwd}`);
		});

		it("are told the end of every turn before the session is gone, and that a conversation goes on", async () => {
			await host.turn({ text: "SAY one" });
			await host.turn({ text: "SAY two" });
			const seen = (await notesWith("shutdown child", 2)).slice(1).map((line) => line.split(" ").slice(0, 2).join(" "));
			assert.deepEqual(seen, [
				"start startup",
				"agent_end",
				"shutdown child",
				"start resume",
				"agent_end",
				"shutdown child",
			]);
		});

		// R102
		it("leave nothing behind over twenty turns, one of them stopped and one failed", async () => {
			await host.turn({ text: "SAY warm" });
			await notesWith("shutdown child", 1);
			const before = (await host.state()).resources;
			for (let i = 0; i < 20; i++) {
				const stop = new AbortController();
				const text = i === 5 ? "HANG" : i === 9 ? "ERROR 400 no" : 'CALL bash {"command":"true"}\nSAY ok';
				const turn = host.turn({ text, context: `c${i % 7}` }, { signal: stop.signal }).catch(() => undefined);
				if (i === 5) while (stage.llm.inFlight === 0) await pause(5);
				if (i === 5) stop.abort();
				await turn;
			}
			await notesWith("shutdown child", 21);
			// What the host itself was still busy with at the start may be gone by now; nothing may have come.
			const more = async () => {
				const left = [...before];
				return (await host.state()).resources.filter((each: string) => {
					const at = left.indexOf(each);
					if (at >= 0) left.splice(at, 1);
					return at < 0;
				});
			};
			for (let i = 0; i < 100 && (await more()).length > 0; i++) await pause(20);
			assert.deepEqual(await more(), []);
			const all = await notes();
			assert.equal(all.filter((line) => line.startsWith("start") && line.includes(" child ")).length, 21);
			assert.equal(all.filter((line) => line.startsWith("shutdown child")).length, 21);
			assert.deepEqual((await host.state()).said, []);
		});

		it("stay off in a session when the user switched them off for the host", async () => {
			const bare = await stage.start({ args: ["-ne"], env: { LIFECYCLE_LOG: log } });
			const { text } = await bare.turn({ text: "DUMP tools", context: "bare" });
			assert.doesNotMatch(text, /lucky_number/);
		});
	});

	describe("of packages, and tools that the user took away", () => {
		beforeEach(async () => {
			stage = await openStage({ settings: { packages: ["./pack"] } });
			log = join(stage.agentDir, "lifecycle.log");
			const pack = join(stage.agentDir, "pack");
			await mkdir(join(pack, "skills/proof-reading"), { recursive: true });
			await cp(fixture("lifecycle.ts"), join(pack, "index.ts"));
			const manifest = { name: "pack", pi: { extensions: ["./index.ts"], skills: ["./skills"] } };
			await writeFile(join(pack, "package.json"), JSON.stringify(manifest));
			const skill = "---\nname: proof-reading\ndescription: Finds errors\tin prose\n---\nRead twice.\n";
			await writeFile(join(pack, "skills/proof-reading/SKILL.md"), skill);
		});
		afterEach(() => stage.end());

		it("are there with their skills, and the card facts name those", async () => {
			const host = await stage.start({ env: { LIFECYCLE_LOG: log } });
			assert.match((await host.turn({ text: "CALL lucky_number {}" })).text, /4711/);
			assert.match((await host.turn({ text: "DUMP system" })).text, /proof-reading/);
			const { facts } = await host.state();
			const skill = facts.skills.find(({ id }: { id: string }) => id === "proof-reading");
			assert.equal(skill.description, "Finds errors in prose");
			assert.equal(facts.model, "fake/scripted");
			assert.equal(facts.cwd, stage.cwd);
			assert.ok(facts.tools.includes("lucky_number"));
			assert.equal(facts.piVersion, piUnderTest().version);
		});

		it("a peer's session has no tool that the host's user did not leave to the host", async () => {
			const host = await stage.start({ args: ["--tools", "read,grep"] });
			const { text } = await host.turn({ text: "DUMP tools" });
			assert.deepEqual((JSON.parse(text) as string[]).sort(), ["a2a_ask", "a2a_attach", "grep", "read"]);
			const blind = await stage.start({ args: ["--tools", "grep"] });
			const tools = JSON.parse((await blind.turn({ text: "DUMP tools", context: "blind" })).text) as string[];
			assert.deepEqual(tools.sort(), ["a2a_ask", "grep"], "no way around a tool that was taken away");
		});
	});

	describe("of the workspace", () => {
		let other: string;
		beforeEach(async () => {
			stage = await openStage();
			log = join(stage.agentDir, "lifecycle.log");
			other = await mkdtemp(join(tmpdir(), "a2a-other-"));
			for (const place of [stage.cwd, other]) {
				await mkdir(join(place, ".pi/extensions"), { recursive: true });
				await cp(fixture("lifecycle.ts"), join(place, ".pi/extensions/lifecycle.ts"));
				await writeFile(join(place, ".pi/SYSTEM.md"), "I am the project's prompt.\n");
				await writeFile(join(place, ".pi/APPEND_SYSTEM.md"), "And its addition.\n");
			}
		});
		afterEach(async () => {
			await stage.end();
			await rm(other, { recursive: true, force: true });
		});

		it("work when the host trusts the project", async () => {
			const args = isNew() ? ["--approve"] : [];
			const host = await stage.start({ args, env: { LIFECYCLE_LOG: log } });
			assert.equal((await host.state()).host.trusted, true);
			assert.match((await host.turn({ text: "CALL lucky_number {}" })).text, /4711/);
			const system = (await host.turn({ text: "DUMP system" })).text;
			assert.match(system, /project's prompt/);
			assert.match(system, /And its addition[\s\S]*a2a_ask/);
		});

		it("stay out when it is not the host's own folder, or not trusted", async () => {
			const env = { LIFECYCLE_LOG: log, RUNNER_WORKSPACE: other };
			const hosts = [await stage.start({ env, ...(isNew() ? { args: ["--approve"] } : {}) })];
			if (isNew()) hosts.push(await stage.start({ env: { LIFECYCLE_LOG: log } }));
			for (const host of hosts) {
				const { text } = await host.turn({ text: "DUMP tools\nDUMP system", context: host.pi.pid.toString() });
				assert.doesNotMatch(text, /lucky_number|project's prompt|And its addition/);
			}
			assert.deepEqual(
				(await notes()).filter((line) => line.includes(" child ")),
				[],
			);
		});
	});

	it("of the host's own command line come along, and start no second server", async () => {
		stage = await openStage();
		try {
			const loads = join(stage.agentDir, "loads.log");
			const host = await stage.start({ args: ["-e", fixture("lifecycle.ts")], env: { RUNNER_LOG: loads } });
			assert.match((await host.turn({ text: "CALL lucky_number {}" })).text, /4711/);
			// The runner of this test is such an extension too, and knows by the mark that it is in a session of its own.
			assert.deepEqual((await readFile(loads, "utf8")).trim().split("\n"), ["host", "child"]);
			assert.deepEqual((await host.state()).said, []);
		} finally {
			await stage.end();
		}
	});
});
