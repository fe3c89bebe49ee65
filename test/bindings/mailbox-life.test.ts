import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { connectMailbox } from "../../src/bindings/mailbox/client.ts";
import { termOf } from "../../src/bindings/mailbox/election.ts";
import { envelope } from "../../src/bindings/mailbox/messages.ts";
import { overview } from "../../src/bindings/mailbox/overview.ts";
import { listAgents, register } from "../../src/bindings/mailbox/roster.ts";
import { fileEvents, noEvents, startLoop, type WatchFolder } from "../../src/bindings/mailbox/watch.ts";
import { manualClock } from "../../src/lib/clock.ts";
import type { Agent, Call } from "../../src/protocol/agent.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import type { JsonObject } from "../../src/protocol/types.ts";
import { say, until } from "./contract.ts";
import { FACTS, type MailboxStage, mailboxStage, TIMES } from "./mailbox-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const never = new AbortController().signal;
const median = (all: readonly number[]): number => [...all].sort((a, b) => a - b)[Math.floor(all.length / 2)] ?? 0;

/** Waits for what files will say. */
async function eventually(what: string, test: () => Promise<boolean>, withinMs = 5_000): Promise<void> {
	const end = Date.now() + withinMs;
	while (!(await test())) {
		assert.ok(Date.now() < end, `did not happen: ${what}`);
		await new Promise((resolve) => setTimeout(resolve, 10));
	}
}

describe("mailbox: workers and orchestrators", () => {
	let stage: MailboxStage;
	beforeEach(() => {
		stage = mailboxStage();
	});
	afterEach(() => stage.close());

	const inbox = async (id: string) => (await stage.root.box(id, "inbox").read()).mails;

	/** An agent that works until it is stopped, and remembers what it was given. */
	function endless(): Agent & { readonly calls: Call[]; readonly stopped: () => number } {
		const calls: Call[] = [];
		let stopped = 0;
		return {
			calls,
			stopped: () => stopped,
			request: (_operation, _params, call) =>
				new Promise((_resolve, reject) => {
					calls.push(call);
					call.limits?.revoked?.addEventListener("abort", () => {
						stopped += 1;
						reject(new A2AError("InternalError", "stopped"));
					});
				}),
			stream: () => {
				throw new A2AError("UnsupportedOperationError");
			},
		};
	}

	it("gives the contract of a request to the work", async () => {
		const agent = endless();
		await stage.serve(agent);
		stage.orchestrate();
		const post = await stage.post("boss");
		const contract = { capabilities: ["read_file"], constraints: { max_tool_turns: 3, max_duration_seconds: 9 } };
		const leave = new AbortController();
		const asking = post.ask("worker", { text: "x" }, { ttlSeconds: 30, contract, signal: leave.signal }).next();
		await until(() => agent.calls.length === 1);
		const { tools, maxTurns, maxMs } = agent.calls[0]?.limits ?? {};
		assert.deepEqual([tools, maxTurns, maxMs], [["read_file"], 3, 9_000]);
		assert.equal(agent.calls[0]?.caller.id, "mailbox:boss");
		leave.abort(new Error("enough"));
		await assert.rejects(asking, /enough/);
		await until(() => agent.calls[0]?.signal.aborted === true);
		assert.equal(agent.stopped(), 0, "leaving stops nothing");
	});

	it("stops when the request is taken back, and says nothing more of it", async () => {
		const agent = endless();
		await stage.serve(agent);
		stage.orchestrate();
		const post = await stage.post("boss");
		const asking = post.ask("worker", { text: "x" }, { ttlSeconds: 30, id: "r", signal: never }).next();
		await until(() => agent.calls.length === 1);
		const payload = { action: "revoke", request_id: "r" };
		const revoke = envelope({ id: "v", type: "lease", from: "boss", to: "worker", payload }, Date.now());
		await stage.root.box("worker", "inbox").update([{ put: revoke }]);
		await until(() => agent.stopped() === 1);
		assert.equal(((await asking).value as JsonObject).state, "revoked");
		const { mails } = await stage.root.box("worker", "outbox").read();
		assert.deepEqual(
			mails.filter(({ type }) => type === "response"),
			[],
		);
	});

	it("stops by itself when its lease runs out, and its late result counts for nothing", async () => {
		const agent = endless();
		await stage.serve(agent);
		const post = await stage.post("boss");
		// Nobody renews: this one grants, and is gone.
		const router = stage.orchestrate({ leaseMs: 400 });
		const asking = post.ask("worker", { text: "x" }, { ttlSeconds: 30, signal: never }).next();
		await until(() => agent.calls.length === 1);
		await router.close();
		await eventually("stopped", async () => agent.stopped() === 1);
		await post.close();
		await assert.rejects(asking, { name: "PeerUnreachableError" });
	});

	it("does the work of an agent that came back once more, not that of one whose answer was lost on the way", async () => {
		const agent = new ScriptedAgent();
		const first = await stage.serve(agent);
		stage.orchestrate();
		const post = await stage.post("boss");
		const leave = new AbortController();
		const asking = post.ask("worker", { text: "hold" }, { ttlSeconds: 30, id: "r", signal: leave.signal });
		const answered = asking.next();
		await until(() => agent.holding === 1);
		await first.close();
		await stage.serve(agent);
		await until(() => agent.holding === 2);
		agent.release();
		assert.equal(((await answered).value as JsonObject).state, "completed");
		assert.equal(agent.seen.length, 2);
		await asking.return();
		await eventually("marked", async () => (await inbox("worker")).some(({ state }) => state === "answered"));
		// A writer without a lock undoes what was marked: the request stands there as if nobody had seen it.
		const { mails } = await stage.root.box("worker", "inbox").read();
		const { _processed, _state, _attempt, _token, ...fresh } = mails.find(({ id }) => id === "r")?.raw ?? {};
		writeFileSync(stage.root.box("worker", "inbox").path, JSON.stringify([fresh]));
		await eventually("answered again", async () => (await inbox("worker")).some(({ state }) => state === "answered"));
		assert.equal(agent.seen.length, 2, "it was not done again");
	});

	it("is routed by one process; when that one goes, another takes its place with a higher number", async () => {
		const routers = [stage.orchestrate(), stage.orchestrate(), stage.orchestrate()];
		await stage.post("boss");
		const leads = () => routers.filter((each) => each.leads);
		await until(() => leads().length === 1);
		const term = () => JSON.parse(readFileSync(join(stage.path, "orchestrator.json"), "utf8")) as { epoch: number };
		assert.equal(term().epoch, 1);
		await leads()[0]?.close();
		await until(() => leads().length === 1);
		assert.equal(term().epoch, 2);
	});

	it("takes the place over from a process that died without a word", async () => {
		await stage.root.open();
		const dead = { epoch: 41, instance: "x", pid: 2 ** 22 + 1, host: hostname() };
		writeFileSync(join(stage.path, "orchestrator.json"), JSON.stringify({ ...dead, at: new Date().toISOString() }));
		const router = stage.orchestrate();
		await until(() => router.leads);
		assert.equal(JSON.parse(readFileSync(join(stage.path, "orchestrator.json"), "utf8")).epoch, 42);
		// And leaves it to one of another machine that gives signs of life.
		const alive = { ...dead, epoch: 50, host: "elsewhere", at: new Date().toISOString() };
		writeFileSync(join(stage.path, "orchestrator.json"), JSON.stringify(alive));
		router.wake();
		await until(() => !router.leads);
	});

	it("gives signs of life, and is presumed dead without them", async () => {
		const worker = await stage.serve(new ScriptedAgent(), { times: { ...TIMES, pollMs: 50, beatMs: 60 } });
		const beat = async () =>
			(await stage.root.box("worker", "outbox").read()).mails.filter((m) => m.type === "heartbeat");
		const [first] = await beat();
		await eventually("another beat", async () => ((await beat())[0]?.at ?? 0) > (first?.at ?? 0));
		assert.equal((await beat()).length, 1, "in the place of the one before");
		const alive = async () => (await listAgents(stage.root, 15_000)).map(({ id, alive }) => [id, alive]);
		assert.deepEqual(await alive(), [["worker", true]]);
		await worker.close();
		assert.deepEqual(await alive(), [["worker", false]]);
	});

	it("tells the others what it can do, those that come later too", async () => {
		stage.orchestrate();
		await stage.serve(new ScriptedAgent(), { id: "one" });
		await stage.serve(new ScriptedAgent(), { id: "two", facts: () => ({ ...FACTS, capabilities: ["paint"] }) });
		const heard = async (id: string) =>
			(await inbox(id))
				.filter(({ type }) => type === "broadcast")
				.map(({ from, payload }) => [from, payload.capabilities]);
		await eventually("told", async () => (await heard("one")).length === 1 && (await heard("two")).length === 1);
		assert.deepEqual(await heard("one"), [["two", ["paint"]]]);
		assert.deepEqual(await heard("two"), [["one", ["read_file", "echo"]]]);
	});

	it("is asked by a script that knows only the text of the protocol: cat, jq, mv", async () => {
		await stage.serve(new ScriptedAgent());
		stage.orchestrate();
		const script = `
			set -eu
			cd "$1/agents"
			mkdir -p script; echo '[]' > script/inbox.json
			cat > message.tmp <<EOF
			{"a2a_version": "0.1", "msg_id": "by-hand-1", "type": "request", "from": "script", "to": "worker",
			 "timestamp": "$(date -u +%Y-%m-%dT%H:%M:%SZ)", "ttl_seconds": 30,
			 "contract": {"capabilities": [], "constraints": {"max_tool_turns": 8, "max_duration_seconds": 60}},
			 "payload": {"text": "echo done by hand"}}
EOF
			jq --slurpfile m message.tmp '. + $m' worker/inbox.json > worker/inbox.tmp
			mv worker/inbox.tmp worker/inbox.json
			rm message.tmp
			n=0
			until jq -e '.[] | select(.payload.in_reply_to == "by-hand-1")' script/inbox.json > answer.tmp 2>/dev/null; do
				n=$((n + 1)); [ $n -lt 100 ] || exit 9
				sleep 0.1
			done
			jq -r '.type + " " + .payload.state + ": " + .payload.text' answer.tmp
			rm answer.tmp`;
		const { stdout } = await promisify(execFile)("sh", ["-c", script, "sh", stage.path], { timeout: 15_000 });
		assert.equal(stdout, "response completed: done by hand\n");
	});

	it("brings an answer to one who came a moment ago, though no event told of it", async () => {
		// Events of files in the folders of agents, and none of a new folder.
		const half: WatchFolder = (folder, changed, failed) =>
			folder.endsWith("/agents") ? () => undefined : fileEvents(folder, changed, failed);
		const deaf = mailboxStage({ watch: half });
		try {
			await deaf.serve(new ScriptedAgent());
			deaf.orchestrate({ pollMs: 60_000 });
			await eventually("routed", async () => (await termOf(deaf.root)) !== undefined);
			await new Promise((resolve) => setTimeout(resolve, 100));
			const post = await deaf.post("new");
			const asking = post.ask("worker", { text: "echo x" }, { ttlSeconds: 30, signal: never }).next();
			assert.equal(((await asking).value as JsonObject).state, "completed");
		} finally {
			await deaf.close();
		}
	});

	it("lets a worker by hand answer", async () => {
		stage.orchestrate();
		const post = await stage.post("boss");
		mkdirSync(join(stage.root.agents, "hand"), { mode: 0o700 });
		const asking = post.ask("hand", { text: "6 × 7" }, { ttlSeconds: 30, id: "q", signal: never }).next();
		await eventually("asked", async () => (await inbox("hand")).length === 1);
		const answer = { type: "response", from: "hand", to: "boss", payload: { in_reply_to: "q", text: "42" } } as const;
		writeFileSync(
			stage.root.box("hand", "outbox").path,
			JSON.stringify([envelope({ id: "a", ...answer }, Date.now())]),
		);
		assert.equal(((await asking).value as JsonObject).text, "42");
	});

	it("says that there is no such agent, and makes none", async () => {
		const post = await stage.post("boss");
		const ask = post.ask("wroker", { text: "x" }, { ttlSeconds: 30, signal: never }).next();
		await assert.rejects(ask, { name: "PeerUnreachableError", message: "There is no agent wroker in the mailbox" });
		await assert.rejects(connectMailbox(stage.target(post, "../boss")), { name: "PeerUnreachableError" });
		assert.equal(existsSync(join(stage.root.agents, "wroker")), false);
	});

	it("removes what a command left that was killed, and nothing of anybody else", async () => {
		await stage.root.open();
		const gone = {
			instance: "x",
			pid: 2 ** 22 + 1,
			host: hostname(),
			name: "x",
			description: "",
			capabilities: [],
			slots: 0,
		};
		await register(stage.root, "a2a-send-1", { ...gone, passing: true }, 0);
		await register(stage.root, "session", gone, 0);
		stage.orchestrate();
		await eventually("removed", async () => !existsSync(stage.root.place("a2a-send-1").folder));
		assert.ok(existsSync(stage.root.place("session").card));
	});

	it("says that nobody routes the mail", async () => {
		const worker = await stage.serve(new ScriptedAgent());
		const clock = manualClock(Date.now());
		const late = mailboxStage({ clock, watch: noEvents, path: join(stage.path, "..") });
		const post = await late.post("boss");
		const asking = post.ask(worker.id, { text: "x" }, { ttlSeconds: 3, signal: never }).next();
		const ended = assert.rejects(asking, { name: "PeerTimeoutError", message: /Nobody routes the mail/ });
		await eventually("asked", async () => (await inbox("worker")).length > 0);
		for (let n = 0; n < 10; n++) {
			await clock.advance(1_100);
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
		await ended;
		await late.close();
	});

	it("puts a request into the box again that a writer without a lock has overwritten", async () => {
		stage.orchestrate();
		const post = await stage.post("boss");
		await stage.root.make("worker");
		const asking = post.ask("worker", { text: "echo x" }, { ttlSeconds: 30, id: "r", signal: never }).next();
		await eventually("asked", async () => (await inbox("worker")).length === 1);
		writeFileSync(stage.root.box("worker", "inbox").path, "[]");
		await stage.serve(new ScriptedAgent());
		assert.equal(((await asking).value as JsonObject).state, "completed");
	});

	it("works without file events, whatever becomes of the watcher, also under a linked path", async () => {
		const dies: WatchFolder = (_folder, _changed, failed) => {
			setTimeout(() => failed(new Error("the watcher died")), 5);
			return () => undefined;
		};
		const throws: WatchFolder = (_folder, _changed, failed) => {
			failed(new Error("no watcher here"));
			return () => undefined;
		};
		for (const [name, watch] of Object.entries({ dies, throws, noEvents })) {
			const linked = join(stage.path, "..", `linked-${name}`);
			mkdirSync(`${linked}-to`);
			symlinkSync(realpathSync(`${linked}-to`), linked);
			const quiet = mailboxStage({ watch, path: linked });
			try {
				await quiet.serve(new ScriptedAgent());
				quiet.orchestrate();
				const { agent, call } = await connectMailbox(quiet.target(await quiet.post("boss"), "worker"));
				const began = performance.now();
				assert.ok("task" in (await agent.request("SendMessage", say("echo x"), call(never))));
				assert.ok(performance.now() - began < 3_000, name);
			} finally {
				await quiet.close();
			}
		}
	});

	it("answers in the blink of an eye with file events, and within one poll without", async function () {
		// Something else may keep this machine busy.
		this.retries(2);
		async function times(of: MailboxStage, count: number): Promise<number> {
			await of.serve(new ScriptedAgent());
			of.orchestrate();
			const { agent, call } = await connectMailbox(of.target(await of.post("boss"), "worker"));
			const all: number[] = [];
			for (let n = 0; n < count; n++) {
				const began = performance.now();
				await agent.request("SendMessage", say("echo x"), call(never));
				all.push(performance.now() - began);
			}
			return median(all);
		}
		const woken = await times(stage, 40);
		const quiet = mailboxStage({ watch: noEvents });
		const polled = await times(quiet, 8).finally(() => quiet.close());
		if (process.env.A2A_MAILBOX_FULL === "1") process.stdout.write(`      p50 ${woken} ms, by polling ${polled} ms\n`);
		assert.ok(woken < 50, `${woken} ms`);
		assert.ok(polled < 600, `${polled} ms`);
	});

	it("leaves what is no message aside, and goes on", async () => {
		const agent = new ScriptedAgent();
		await stage.serve(agent);
		stage.orchestrate();
		const good = envelope(
			{ id: "g", type: "request", from: "boss", to: "worker", payload: { text: "echo" } },
			Date.now(),
		);
		const path = stage.root.box("worker", "inbox").path;
		writeFileSync(path, JSON.stringify([{ ...good, msg_id: "b", type: "reqest" }, good]));
		await until(() => agent.seen.length === 1);
		await eventually("rejected", async () => existsSync(join(stage.root.place("worker").folder, "rejected.json")));
		const { messages } = await overview(stage.root, 15_000);
		assert.ok(messages.some(({ id, status }) => id === "g" && /leased|answered/.test(status)));
	});
});

describe("mailbox: loops", () => {
	it("look again when woken while they look, never twice at a time, and stop", async () => {
		const clock = manualClock();
		let running = 0;
		let looks = 0;
		let open: () => void = () => undefined;
		const loop = startLoop(
			clock,
			() => 100,
			async () => {
				looks += 1;
				running += 1;
				assert.equal(running, 1);
				if (looks === 1) await new Promise<void>((resolve) => (open = resolve));
				running -= 1;
			},
			(error) => assert.fail(String(error)),
		);
		loop.wake();
		loop.wake();
		open();
		await clock.advance(0);
		assert.equal(looks, 2);
		await clock.advance(250);
		assert.equal(looks, 4);
		await loop.close();
		await clock.advance(1_000);
		assert.deepEqual([looks, clock.pending], [4, 0]);
	});
});
