import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WrittenPolicy } from "../../src/guard/peer-policy.ts";
import { openStage, type RunnerHost, type Stage, type Told } from "../support/runner-client.ts";

const POLICIES: { readonly [caller: string]: WrittenPolicy } = {
	reader: { tools: "read-only" },
	full: { tools: "full" },
	few: { tools: ["ls"] },
	asker: { tools: "read-only", ask: true },
	writer: { ask: true },
	short: { maxTurns: 2 },
	quick: { maxSeconds: 1 },
	poor: { maxTokens: 100 },
};

const call = (tool: string, input: object) => `CALL ${tool} ${JSON.stringify(input)}`;
const look = call("read", { path: "notes.txt" });

describe("what a peer may do in a real Pi", function () {
	this.timeout(60_000);
	let stage: Stage;
	let host: RunnerHost;
	let other: string;
	before(async () => {
		stage = await openStage();
		other = await mkdtemp(join(tmpdir(), "a2a-other-"));
		await writeFile(join(other, "where.txt"), "elsewhere");
		await writeFile(join(stage.cwd, "notes.txt"), "plain words");
		await mkdir(join(stage.cwd, ".pi"));
		await mkdir(join(stage.cwd, ".git", "hooks"), { recursive: true });
		await symlink(join(stage.cwd, ".pi"), join(stage.cwd, "harmless"));
		// Leads to what is only to be made.
		await symlink(join(stage.cwd, ".pi", "later.ts"), join(stage.cwd, "later.txt"));
		host = await stage.start({
			env: {
				RUNNER_POLICIES: JSON.stringify({ ...POLICIES, placed: { workspace: other } }),
				A2A_BEARER_TOKEN: ["not", "for", "tools"].join("-"),
				KEPT_VARIABLE: "still here",
			},
		});
	});
	after(async () => {
		await stage.end();
		await rm(other, { recursive: true, force: true });
	});

	let count = 0;
	const turn = (caller: string, text: string, more: { readonly taskId?: string } = {}): Promise<Told> =>
		host.turn({ caller: `peer:${caller}`, text, context: `ctx-${++count}`, ...more });
	const refusals = ({ events }: Told) =>
		events.flatMap((event) =>
			event.type === "activity" && event.activity.type === "refused" ? [event.activity.detail ?? ""] : [],
		);
	const offered = async (caller: string) => (await turn(caller, "DUMP tools")).text;

	/** Answers what the host's user is asked during `work`; gives the questions. */
	async function asked<T>(answer: object, work: () => Promise<T>): Promise<{ questions: string[]; result: T }> {
		const questions: string[] = [];
		host.pi.onUi = (request) => {
			questions.push(String(request.message));
			return answer;
		};
		try {
			return { questions, result: await work() };
		} finally {
			host.pi.onUi = undefined;
		}
	}

	it("gives a read-only peer the tools that read, and no other", async () => {
		const tools = await offered("reader");
		for (const tool of ["read", "grep", "find", "ls"]) assert.match(tools, new RegExp(`\\b${tool}\\b`));
		for (const tool of ["write", "edit", "bash"]) assert.doesNotMatch(tools, new RegExp(`\\b${tool}\\b`));
		assert.match((await turn("reader", call("read", { path: "notes.txt" }))).text, /plain words/);
		assert.match((await turn("reader", call("ls", {}))).text, /notes\.txt/);
	});

	it("lets a read-only peer neither write nor run a command", async () => {
		await turn("reader", call("write", { path: "made.txt", content: "x" }));
		await turn("reader", call("bash", { command: "touch made.txt" }));
		assert.equal(existsSync(join(stage.cwd, "made.txt")), false);
	});

	it("keeps a read-only peer in the workspace", async () => {
		for (const path of [join(other, "where.txt"), `../${other.split("/").at(-1)}/where.txt`]) {
			const told = await turn("reader", call("read", { path }));
			assert.match(refusals(told).join(), /paths outside the workspace/);
			assert.doesNotMatch(told.text, /elsewhere/);
		}
	});

	it("gives a peer the tools that its list names, and no other", async () => {
		const tools = await offered("few");
		assert.match(tools, /\bls\b/);
		assert.doesNotMatch(tools, /\b(read|bash|write)\b/);
	});

	it("lets a peer work as usual where nothing is written down for it", async () => {
		await turn("nobody", call("write", { path: "src/made.ts", content: "x" }));
		assert.equal(await readFile(join(stage.cwd, "src/made.ts"), "utf8"), "x");
		assert.match((await turn("nobody", call("bash", { command: "echo one > two.txt; cat two.txt" }))).text, /one/);
	});

	const protectedPaths = [
		".pi/extensions/x.ts",
		"src/../.pi/extensions/x.ts",
		"harmless/extensions/x.ts",
		"later.txt",
		"@.pi/extensions/x.ts",
		"deep/.pi/settings.json",
		".git/hooks/pre-commit",
		".git/config",
		"AGENTS.md",
	];
	for (const path of protectedPaths) {
		it(`does not let it write ${path}, which would load later`, async () => {
			const told = await turn("nobody", call("write", { path, content: "export default () => {}" }));
			assert.match(refusals(told).join(), /load into this host/);
			assert.match(JSON.stringify(told.ending), /"failed".*does not allow writing files that load/);
			for (const made of [".pi/extensions", ".pi/later.ts", "deep", "AGENTS.md", ".git/config", "@.pi"])
				assert.equal(existsSync(join(stage.cwd, made)), false, made);
		});
	}

	it("does not let it write into the agent directory, nor redirect into what loads later", async () => {
		const path = join(stage.agentDir, "extensions", "x.ts");
		assert.equal(refusals(await turn("nobody", call("write", { path, content: "x" }))).length, 1);
		const command = `echo x >> "${stage.cwd}/.pi/settings.json"`;
		assert.equal(refusals(await turn("nobody", call("bash", { command }))).length, 1);
		assert.equal(existsSync(join(stage.agentDir, "extensions")), false);
		assert.equal(existsSync(join(stage.cwd, ".pi/settings.json")), false);
	});

	it("lets a peer with the policy `full` write there", async () => {
		const told = await turn("full", call("write", { path: ".pi/notes.md", content: "x" }));
		assert.deepEqual(refusals(told), []);
		assert.equal(existsSync(join(stage.cwd, ".pi/notes.md")), true);
	});

	it("puts a peer into the workspace of its policy", async () => {
		assert.match((await turn("placed", call("read", { path: "where.txt" }))).text, /elsewhere/);
	});

	it("goes on when a refusal was not the last word", async () => {
		const steps = [call("write", { path: "AGENTS.md", content: "x" }), look, "SAY done without"];
		assert.equal((await turn("nobody", steps.join("\n"))).ending?.type, "completed");
	});

	it("asks the host's user and goes on once it is allowed", async () => {
		const work = () => turn("asker", call("bash", { command: "echo made > allowed.txt; echo ran" }));
		const { questions, result } = await asked({ confirmed: true }, work);
		assert.match(result.text, /ran/);
		assert.equal(result.ending?.type, "completed");
		assert.equal(questions.length, 1);
		assert.match(questions[0] ?? "", /alice \(peer:asker\).*read-only.*\nbash \{"command":"echo made/s);
		assert.match(JSON.stringify(result.events), /waiting.*for the user of this host to allow bash.*"type":"allowed"/);
	});

	it("asks again for each call, and once denied the turn ends in wait for the permission", async () => {
		const work = () => turn("asker", call("bash", { command: "touch denied.txt" }));
		const { questions, result } = await asked({ confirmed: false }, work);
		assert.equal(questions.length, 1);
		assert.equal(existsSync(join(stage.cwd, "denied.txt")), false);
		assert.match(JSON.stringify(result.ending), /"auth-required".*denied it.*touch denied\.txt/);
	});

	it("asks about files that would load later as well", async () => {
		const work = () => turn("writer", call("write", { path: ".pi/asked.md", content: "x" }));
		assert.equal((await asked({ confirmed: true }, work)).questions.length, 1);
		assert.equal(existsSync(join(stage.cwd, ".pi/asked.md")), true);
	});

	it("refuses at once where nobody can be asked", async () => {
		const env = { RUNNER_POLICIES: JSON.stringify(POLICIES), RUNNER_NOBODY: "1" };
		const alone = await stage.start({ env });
		const text = call("bash", { command: "touch alone.txt" });
		const told = await alone.turn({ caller: "peer:asker", text, context: "alone" });
		assert.match(JSON.stringify(told.ending), /"failed".*nobody is at this host/);
		assert.equal(existsSync(join(stage.cwd, "alone.txt")), false);
		await alone.stop();
	});

	it("keeps our own variables from the shell, and takes none from the host", async () => {
		const told = await turn("nobody", call("bash", { command: "env" }));
		assert.match(told.text, /KEPT_VARIABLE=still here/);
		assert.doesNotMatch(told.text, /A2A_|not-for-tools/);
		const own = await turn("nobody", call("bash", { command: "tr '\\0' '\\n' < /proc/$$/environ | grep -c ^A2A_" }));
		assert.match(own.text, /^0/);
		await host.pi.command({ type: "bash", command: "echo =$A2A_BEARER_TOKEN=" }).then((result) => {
			assert.match(JSON.stringify(result), /=not-for-tools=/);
		});
	});

	it("ends a task that wants more turns than it may have", async () => {
		const told = await turn("short", [look, look, look, "SAY late"].join("\n"));
		assert.match(JSON.stringify(told.ending), /"failed".*2 turns; they are used up/);
		assert.equal((await turn("short", `${look}\nSAY in time`)).ending?.type, "completed");
	});

	it("counts a task through all its turns", async () => {
		const first = `${look}\nSAY [INPUT_REQUIRED] which?`;
		assert.equal((await turn("short", first, { taskId: "task-counted" })).ending?.type, "input-required");
		const told = await turn("short", "SAY more", { taskId: "task-counted" });
		assert.match(JSON.stringify(told.ending), /"failed".*2 turns/);
	});

	it("ends a task that takes longer than it may, and what it runs", async () => {
		const began = Date.now();
		const told = await turn("quick", call("bash", { command: "sleep 30" }));
		assert.match(JSON.stringify(told.ending), /"failed".*1 seconds; they are used up/);
		assert.ok(Date.now() - began < 8_000);
	});

	it("ends a task that uses more tokens than it may", async () => {
		const told = await turn("poor", `USAGE 90 20\n${call("bash", { command: "touch poor.txt" })}`);
		assert.match(JSON.stringify(told.ending), /"failed".*100 tokens; they are used up/);
		assert.equal(existsSync(join(stage.cwd, "poor.txt")), false);
	});

	it("leaves the host without a complaint", async () => {
		const { said } = await host.state();
		assert.deepEqual(said, []);
		assert.equal(host.pi.stderr, "");
	});
});
