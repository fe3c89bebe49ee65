import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { main as list } from "../../src/cli/a2a-list.ts";
import { main as send } from "../../src/cli/a2a-send.ts";
import { Exit, type Terminal } from "../../src/cli/args.ts";
import type { JsonObject } from "../../src/protocol/types.ts";
import { type MailboxStage, mailboxStage } from "../bindings/mailbox-support.ts";
import { ScriptedAgent } from "../bindings/scripted-agent.ts";

describe("the shell commands of the mailbox", () => {
	let stage: MailboxStage;
	let home: string;
	const stop = new AbortController();

	beforeEach(() => {
		stage = mailboxStage();
		home = mkdtempSync(join(tmpdir(), "mailbox-cli-"));
	});
	afterEach(async () => {
		await stage.close();
		rmSync(home, { recursive: true, force: true });
	});

	interface Said {
		readonly code: number;
		readonly out: string;
		readonly err: string;
	}
	async function run(main: typeof send, argv: readonly string[], input = "", signal = stop.signal): Promise<Said> {
		const out: string[] = [];
		const err: string[] = [];
		const terminal: Terminal = {
			out: (line) => void out.push(line),
			err: (line) => void err.push(line),
			input: async () => input,
			env: { PI_CODING_AGENT_DIR: home, A2A_MAILBOX_ROOT: stage.path },
			cwd: home,
			signal,
		};
		let code: number;
		try {
			code = await main(argv, terminal);
		} catch (error) {
			if (!(error instanceof Exit)) throw error;
			err.push(error.message);
			code = error.code;
		}
		return { code, out: out.join("\n"), err: err.join("\n") };
	}
	const agents = () => readdirSync(stage.root.agents).sort();
	const inbox = (id: string) =>
		JSON.parse(readFileSync(stage.root.box(id, "inbox").path, "utf8")) as (JsonObject & { payload: JsonObject })[];

	it("puts a whole message into the inbox of an agent, with what it does not know kept", async () => {
		await stage.post("worker");
		const text = JSON.stringify({ msg_id: "m-1", payload: { text: "hi" }, contract: { capabilities: ["read"] }, x: 1 });
		const said = await run(send, ["worker", text, "--from", "alice", "--ttl", "9"]);
		assert.deepEqual([said.code, said.out], [0, "Sent m-1 to worker."]);
		assert.match(said.err, /no sign of life; the message waits for 9 s/);
		const [message] = inbox("worker");
		const { timestamp: _time, ...rest } = message as JsonObject;
		assert.deepEqual(rest, {
			x: 1,
			a2a_version: "0.1",
			msg_id: "m-1",
			type: "request",
			from: "alice",
			to: "worker",
			ttl_seconds: 9,
			contract: { capabilities: ["read"], constraints: { max_tool_turns: 8, max_duration_seconds: 60 } },
			payload: { text: "hi" },
		});
	});

	it("takes a payload, also from the standard input, and prints what it sent as JSON", async () => {
		await stage.post("worker");
		const said = await run(send, ["worker", "-", "--json"], '{"text": "hi"}');
		assert.deepEqual([said.code, said.err], [0, ""]);
		assert.deepEqual((JSON.parse(said.out) as JsonObject).payload, { text: "hi" });
		assert.equal(inbox("worker").length, 1);
	});

	it("makes no mailbox for a mistyped name, and says which one was meant", async () => {
		await stage.post("engineer");
		const before = agents();
		for (const [name, near] of [
			["enginer", 'Did you mean "engineer"?'],
			["Engineer", 'Did you mean "engineer"?'],
			["someone", "Agents: engineer."],
			["", "Agents: engineer."],
			["../engineer", ""],
		] as const) {
			const said = await run(send, [name, "{}"]);
			assert.equal(said.code, 3, name);
			assert.ok(said.err.includes(near), said.err);
		}
		assert.deepEqual(agents(), before);
	});

	it("says what is wrong with the arguments, and sends nothing", async () => {
		await stage.post("worker");
		for (const [argv, problem] of [
			[[], /a2a-send \[options\]/],
			[["worker"], /a2a-send \[options\]/],
			[["worker", "{}", "more"], /a2a-send \[options\]/],
			[["worker", "hello"], /not JSON.*'{"text": "…"}'/],
			[["worker", "[1]"], /must be a JSON object/],
			[["worker", "{}", "--type", "reqest"], /type: expected one of request/],
			[["worker", "{}", "--ttl", "soon"], /ttl_seconds: expected a number/],
			[["worker", "{}", "--from", "*"], /from: expected the id/],
			[["worker", "{}", "--colour"], /--colour[\s\S]*a2a-send \[options\]/],
			[["*", "{}"], /Only a broadcast/],
		] as const) {
			const said = await run(send, argv);
			assert.equal(said.code, 2, argv.join(" "));
			assert.match(said.err, problem);
		}
		assert.equal(existsSync(stage.root.box("worker", "inbox").path), false);
		assert.equal((await run(send, ["--help"])).code, 0);
		assert.match((await run(send, ["--completion"])).out, /a2a-list --ids/);
	});

	it("waits for the answer of a worker, prints it, and leaves nothing behind", async () => {
		await stage.serve(new ScriptedAgent());
		const said = await run(send, ["worker", '{"text": "echo hello"}', "--watch"]);
		assert.deepEqual([said.code, said.out, said.err], [0, "hello", ""]);
		assert.deepEqual(agents(), ["worker"]);
		const json = await run(send, ["worker", '{"text": "echo hello"}', "--watch", "--json"]);
		assert.equal((JSON.parse(json.out) as JsonObject).state, "completed");
	});

	it("tells a failure and an expired request by the exit code", async () => {
		await stage.serve(new ScriptedAgent());
		const failed = await run(send, ["worker", '{"text": "throw BusyError later"}', "--watch"]);
		assert.deepEqual([failed.code, failed.out], [1, "later"]);
		const absent = await stage.serve(new ScriptedAgent(), { id: "absent" });
		await absent.close();
		const late = await run(send, ["absent", '{"text": "x"}', "--watch", "--ttl", "0.1"]);
		assert.equal(late.code, 4);
		assert.match(late.out, /^expired: the request expired: absent/);
	});

	it("lists agents and messages with their status, as text and as JSON", async () => {
		await stage.serve(new ScriptedAgent());
		const post = await stage.post("boss");
		stage.orchestrate();
		for await (const answer of post.ask("worker", { text: "echo x" }, { ttlSeconds: 30, signal: stop.signal }))
			assert.equal(answer.state, "completed");
		const said = await run(list, []);
		assert.match(said.out, /worker {2}(idle|busy \(1\)) {2}read_file, echo/);
		assert.match(said.out, /boss {2}no sign of life/);
		assert.match(said.out, /worker\/inbox {2}request {2}request-\w+ {2}boss → worker {2}0 s ago {2}(answered|leased)/);
		const lines = (await run(list, ["--json", "worker"])).out.split("\n").map((line) => JSON.parse(line) as JsonObject);
		assert.equal(lines[0]?.agent, "worker");
		assert.ok(lines.some(({ type, status }) => type === "broadcast" && status !== undefined));
		assert.equal((await run(list, ["--ids"])).out, "boss\nworker");
		assert.equal((await run(list, ["nobody"])).code, 3);
		assert.equal((await run(list, ["a", "b"])).code, 2);
	});

	it("goes on listing what comes, until it is stopped", async () => {
		await stage.post("worker");
		const over = new AbortController();
		const listing = run(list, ["--watch"], "", over.signal);
		await new Promise((resolve) => setTimeout(resolve, 100));
		await run(send, ["worker", '{"msg_id": "seen"}']);
		await new Promise((resolve) => setTimeout(resolve, 700));
		over.abort();
		assert.match((await listing).out, /worker\/inbox {2}request {2}seen/);
	});

	it("lists nothing where there is no mailbox, and makes none", async () => {
		const said = await run(list, ["--root", join(home, "none")]);
		assert.deepEqual([said.code, existsSync(join(home, "none"))], [0, false]);
		assert.match(said.out, /There are no agents/);
	});

	it("is built into programs that Node runs as they are", async () => {
		const dist = join(home, "dist");
		const project = fileURLToPath(new URL("../../", import.meta.url));
		execFileSync("npx", ["tsc", "-p", "tsconfig.build.json", "--outDir", dist], { cwd: project, stdio: "inherit" });
		writeFileSync(join(home, "package.json"), '{"type": "module"}');
		mkdirSync(join(stage.root.agents, "worker"), { recursive: true, mode: 0o700 });
		const env = { ...process.env, A2A_MAILBOX_ROOT: stage.path, PI_CODING_AGENT_DIR: home };
		const program = join(dist, "cli", "a2a-send.js");
		chmodSync(program, 0o755);
		const child = spawn(program, ["worker", "-"], { env, stdio: ["pipe", "pipe", "pipe"] });
		let out = "";
		child.stdout.on("data", (chunk) => (out += chunk));
		child.stdin.end('{"msg_id": "m-9", "payload": {"text": "hi"}}');
		const code = await new Promise((resolve) => child.once("exit", resolve));
		assert.deepEqual([code, out], [0, "Sent m-9 to worker.\n"]);
		const ids = execFileSync(process.execPath, [join(dist, "cli", "a2a-list.js"), "--ids"], { env, encoding: "utf8" });
		assert.equal(ids, "worker\n");
	}).timeout(60_000);
});
