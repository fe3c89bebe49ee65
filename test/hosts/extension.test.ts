import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { COMMANDS } from "../../src/pi/commands.ts";
import {
	ask,
	type ExtensionStage,
	notices,
	openExtensionStage,
	serve,
	toolResult,
	until,
} from "../support/extension-stage.ts";
import type { PiEvent, PiRpc } from "../support/pi-host.ts";
import { made, startPeer, task } from "../support/scripted-peer.ts";

const call = (args: object) => `CALL a2a_call ${JSON.stringify(args)}`;
/** What a Pi put into its transcript for us: custom messages on 0.73, entries on 1.6. */
const rows = (pi: PiRpc): string[] =>
	pi.events.flatMap((event: PiEvent) => {
		if (event.type === "message_start" && event.message.customType === "a2a") return [String(event.message.content)];
		if (event.type === "entry_appended" && event.entry?.customType === "a2a") return [String(event.entry.data.text)];
		return [];
	});

describe("the extension in a real Pi", function () {
	this.timeout(60_000);
	let stage: ExtensionStage;
	let worker: PiRpc;
	let url: string;
	let host: PiRpc;
	before(async () => {
		stage = await openExtensionStage();
		worker = await stage.rpc({
			a2a: { server: { port: 0, maxPingpongTurns: 20, rateLimitPerMin: 1000 } },
			settings: { compaction: { keepRecentTokens: 10, reserveTokens: 1000 } },
		});
		url = await serve(worker);
		host = await stage.rpc({
			a2a: { peers: { worker: { url, capabilities: ["files"] }, gone: { url: "http://127.0.0.1:9" } } },
		});
	});
	after(() => stage.end());

	describe("its tools", () => {
		it("find the peer and hand it a task; the reply comes back framed, with its ids", async () => {
			const run = await host.prompt(
				`CALL a2a_peers {}\n${call({ agent: "worker", message: "SAY done by the worker" })}`,
			);
			assert.match(toolResult(run.events, "a2a_peers").text, /- worker {2}http:\/\/127/);
			const { text, isError } = toolResult(run.events, "a2a_call");
			assert.equal(isError, false);
			assert.match(text, /^\[A2A → worker · context ctx-[0-9a-f]{16} · task task-[0-9a-f]{16} · completed · /);
			assert.match(
				text,
				/\n--- reply from worker, .* \[([0-9a-f]{8})\] ---\ndone by the worker\n--- end .* \[\1\] ---\n/,
			);
		});

		it("continue a conversation that the peer remembers", async () => {
			const context_id = "ctx-remembered";
			await host.prompt(call({ agent: "worker", message: "SAY noted: blue-42", context_id }));
			const run = await host.prompt(call({ agent: "worker", message: "FIND blue-\\d+", context_id }));
			assert.match(toolResult(run.events, "a2a_call").text, /FOUND: .*blue-42/);
			const recalled = await host.prompt(`CALL a2a_history ${JSON.stringify({ context_id })}`);
			assert.match(toolResult(recalled.events, "a2a_history").text, /noted: blue-42[\s\S]*FIND blue/);
		});

		it("dispatch without waiting, and follow the task to its end", async () => {
			const run = await host.prompt(
				call({ agent: "worker", message: "SLEEP 400\nSAY finished later", async_dispatch: true }),
			);
			const { text } = toolResult(run.events, "a2a_call");
			assert.match(text, /· (working|submitted) · detached\]\nDispatch accepted — task task-\w+ is running/);
			const task_id = /a2a_status\(agent: "worker", task_id: "(task-\w+)"\)/.exec(text)?.[1];
			const polled = await host.prompt(
				`CALL a2a_status ${JSON.stringify({ agent: "worker", task_id, wait_seconds: 20 })}`,
			);
			assert.match(toolResult(polled.events, "a2a_status").text, /completed[\s\S]*finished later/);
		});

		it("report progress while the peer works", async () => {
			const run = await host.prompt(call({ agent: "worker", message: "STREAM 6 80" }));
			const updates = run.events.filter((event) => event.type === "tool_execution_update");
			const texts = updates.map((event) => String(event.partialResult.content[0].text));
			assert.ok(texts.some((text) => /^\[A2A → worker · working · /.test(text) && text.includes("chunk-1")));
			assert.match(toolResult(run.events, "a2a_call").text, /chunk-6/);
		});

		it("fail with the peer's reason, its ids, and never as a success", async () => {
			// R012
			const run = await host.prompt(call({ agent: "worker", message: "ERROR 400 the model said no" }));
			const { text, isError } = toolResult(run.events, "a2a_call");
			assert.equal(isError, true);
			assert.match(text, /^\[A2A → worker · context ctx-\w+ · task task-\w+ · failed\]\n.*the model said no/);
			const unknown = await host.prompt(call({ agent: "worke", message: "x" }));
			assert.match(toolResult(unknown.events, "a2a_call").text, /no peer named "worke".*"worker"/);
			const gone = await host.prompt(call({ agent: "gone", message: "x" }));
			assert.equal(toolResult(gone.events, "a2a_call").isError, true);
		});

		it("stop the peer's task when the user aborts", async () => {
			const aborted = worker.events.length;
			const running = host.prompt(call({ agent: "worker", message: "HANG" }));
			await until(
				() => notices(worker).some((text) => text.includes("dispatch from") && text.includes("HANG")),
				"arrival",
			);
			await host.command({ type: "abort" });
			await running;
			await until(() => notices(worker).some((text) => /A2A dispatch a2a-\w+ canceled/.test(text)), "cancellation");
			assert.ok(worker.events.length >= aborted);
		});

		it("ask every peer with a capability, and let the own model choose the best reply", async () => {
			const all = await host.prompt(
				`CALL a2a_orchestrate ${JSON.stringify({ capability: "files", message: "SAY from a peer" })}`,
			);
			assert.match(toolResult(all.events, "a2a_orchestrate").text, /^\[A2A → all · 1 of 1 completed\]/);
			const second = await serve(await stage.rpc({ a2a: { server: { port: 0 } } }));
			const peers = { one: { url, capabilities: ["x"] }, two: { url: second, capabilities: ["x"] } };
			const best = await stage.rpc({ a2a: { peers } });
			const args = { capability: "x", message: "SAY candidate\nSAY 2", mode: "best" };
			const run = await best.prompt(`CALL a2a_orchestrate ${JSON.stringify(args)}`);
			assert.match(toolResult(run.events, "a2a_orchestrate").text, /Chosen by this session's model among 2 replies/);
		});

		it("list what is configured and stored", async () => {
			const run = await host.prompt("CALL a2a_list {}");
			const { text } = toolResult(run.events, "a2a_list");
			assert.match(text, /- worker {2}http.*files/);
			assert.match(text, /- ctx-\w+ · worker · /);
			const card = await host.prompt(`CALL a2a_discover ${JSON.stringify({ url })}`);
			assert.match(toolResult(card.events, "a2a_discover").text, /interface: JSONRPC 1\.0 at http/);
		});
	});

	describe("its commands", () => {
		it("help, and say how they are used", async () => {
			assert.equal((await ask(host, "/a2a-help")).split("\n").length, Object.keys(COMMANDS).length);
			assert.match(
				await ask(host, "/a2a-server sing"),
				/There is no "sing"\.\nUsage: \/a2a-server start\|stop\|status/,
			);
			assert.match(await ask(host, "/a2a-send worker"), /What is the message\?\nUsage/);
			assert.match(await ask(host, "/a2a-broadcast hello"), /--agents a,b,c/);
		});

		it("show peers, cards, numbers and settings", async () => {
			assert.match(await ask(host, "/a2a-agents"), /- worker {2}http/);
			assert.match(await ask(host, "/a2a-peers"), /2 peers/);
			assert.match(await ask(host, "/a2a-discover worker"), /authentication: none/);
			assert.match(await ask(worker, "/a2a-status"), /A2A server listening on 127\.0\.0\.1:\d+[\s\S]*Metrics:/);
			assert.match(await ask(host, "/a2a-config show"), /peers\.worker = http\S+, files {2}\(user settings\)/);
			// Without a terminal there is no panel.
			assert.match(await ask(host, "/a2a-config"), /server\.port = 9910 {2}\(default\)/);
		});

		it("send by hand to one peer and to several", async () => {
			assert.match(
				await ask(host, '/a2a-send worker "SAY by hand"'),
				/completed[\s\S]*\nby hand\nUsed, as the peer says: .*\nTo follow up: /,
			);
			const many = await ask(host, "/a2a-broadcast SAY to many --agents worker,nobody");
			assert.match(many, /\nto many\n[\s\S]*\[A2A → nobody · failed\]\nThere is no peer/);
		});

		it("start, show and stop the server; a second start changes nothing", async () => {
			const other = await stage.rpc({ a2a: { server: { port: 0 } } });
			assert.match(await ask(other, "/a2a-server status"), /is not running/);
			const first = await serve(other);
			assert.equal(await serve(other), first);
			const card = await fetch(`${first}.well-known/agent-card.json`);
			assert.equal(card.status, 200);
			assert.match(await ask(other, "/a2a-server stop"), /A2A server stopped\./);
			await assert.rejects(fetch(`${first}health`));
			assert.match(await ask(other, "/a2a-server stop"), /is not running/);
		});
	});

	describe("inbound work on its screen", () => {
		it("shows arrival, steps and completion, in notices and in the transcript", async () => {
			const before = rows(worker).length;
			await host.prompt(
				call({ agent: "worker", message: 'SAY Let me look.\nCALL bash {"command":"echo seen"}\nSAY all seen' }),
			);
			await until(
				() =>
					rows(worker)
						.slice(before)
						.some((text) => text.includes("completed")),
				"completion",
			);
			const shown = rows(worker).slice(before);
			assert.match(shown[0] ?? "", /^\[A2A inbound\] dispatch from \S+: SAY Let me look\./);
			assert.ok(
				shown.some((text) => /^\[A2A inbound\] a2a-\w{3} ⚙ bash/.test(text)),
				shown.join("\n"),
			);
			assert.match(shown.at(-1) ?? "", /^\[A2A inbound\] A2A dispatch a2a-\w{3} completed \(\S+s\) — .*all seen$/);
			assert.ok(notices(worker).some((text) => /A2A dispatch .* completed/.test(text)));
			const footers = worker.uiRequests.filter((request) => request.method === "setStatus");
			assert.ok(footers.some((request) => /A2A ⇠ 1 from /.test(request.statusText ?? "")));
		});

		it("never reaches the model, and never steers a turn that is under way", async () => {
			// R062, R105
			await host.prompt(call({ agent: "worker", message: "SAY before the turn" }));
			await until(() => rows(worker).length > 0, "rows");
			const busy = worker.prompt("STREAM 30 60");
			await until(() => worker.events.some((event) => event.type === "agent_start"), "start");
			await host.prompt(call({ agent: "worker", message: "SAY in mid-turn" }));
			const own = (await busy).text;
			assert.match(own, /^chunk-1 .*chunk-30 $/);
			const asked = stage.llm.requests.filter((request) => request.lastUser === "STREAM 30 60");
			assert.equal(asked.length, 1);
			await until(() => rows(worker).some((text) => text.includes("in mid-turn")), "rows after the turn");
			const dump = await worker.prompt("DUMP messages");
			assert.doesNotMatch(dump.text, /A2A inbound/);
			await worker.command({ type: "compact" });
			assert.ok(stage.llm.requests.some((request) => request.lastUser.includes("<conversation>")));
			assert.doesNotMatch(JSON.stringify(stage.llm.requests.map((request) => request.body)), /A2A inbound/);
		});
	});

	describe("in a session that serves a peer", () => {
		it("passes work on, says how often it was handed on, and does not show the host's conversations", async () => {
			// R066
			const third = await startPeer({
				answers: { SendMessage: () => ({ task: task("COMPLETED", made("from the third")) }) },
			});
			try {
				const message = `${call({ agent: third.url, message: "next" })}\nDUMP tools`;
				const run = await host.prompt(call({ agent: "worker", message: call({ agent: third.url, message: "go on" }) }));
				assert.match(toolResult(run.events, "a2a_call").text, /from the third/);
				assert.equal(third.of("SendMessage")[0].message.metadata["pi/hops"], 1);
				const tools = await host.prompt(call({ agent: "worker", message }));
				const { text } = toolResult(tools.events, "a2a_call");
				assert.match(text, /"a2a_call"/);
				assert.doesNotMatch(text, /"a2a_history"|"a2a_list"/);
			} finally {
				await third.close();
			}
		});

		it("ends work that comes back to whoever passed it on, with a reason", async () => {
			// R064, R066
			const short = await stage.rpc({ a2a: { server: { port: 0, maxPingpongTurns: 2, maxConcurrent: 10 } } });
			const address = await serve(short);
			let loop = "SAY the bottom was reached";
			for (let n = 0; n < 4; n++) loop = call({ agent: address, message: loop });
			const run = await host.prompt(call({ agent: address, message: loop }));
			const { text } = toolResult(run.events, "a2a_call");
			assert.match(text, /would go in a circle/);
			assert.doesNotMatch(text, /bottom was reached/);
		});
	});

	describe("sessions of the host", () => {
		it("come and go: one server, running tasks end, nothing stale is touched", async () => {
			// R104
			const other = await stage.rpc({ a2a: { server: { port: 0, enabled: true, portFallback: 0 } } });
			const status = async () => /listening on 127\.0\.0\.1:(\d+)/.exec(await ask(other, "/a2a-server status"))?.[1];
			await until(() => other.uiRequests.some((request) => request.statusText?.startsWith("A2A :")), "auto-start");
			const port = await status();
			const outcome = ask(host, `/a2a-send http://127.0.0.1:${port} HANG`);
			await until(() => notices(other).some((text) => text.includes("dispatch from")), "arrival");
			await other.command({ type: "new_session" });
			assert.match(await outcome, /failed|broke|closed|refused/i);
			let next: string | undefined;
			for (let n = 0; n < 50 && (next === undefined || next === port); n++) {
				next = await status();
				await pause(50);
			}
			assert.ok(next && next !== port, `${next} after ${port}`);
			await assert.rejects(fetch(`http://127.0.0.1:${port}/health`));
			assert.equal((await fetch(`http://127.0.0.1:${next}/health`)).status, 200);
			assert.equal((await other.prompt("SAY fine")).text, "fine");
			assert.doesNotMatch(other.stderr, /stale|unhandled/i);
			assert.equal(await other.stop(), 0);
			await assert.rejects(fetch(`http://127.0.0.1:${next}/health`));
		});

		it("begin with a word about settings that cannot be used, naming file and key", async () => {
			const other = await stage.rpc({ a2a: { server: { port: "many" }, sever: { port: 1 } } });
			const said = await other.waitForUi((request) => /A2A settings/.test(request.message ?? ""));
			assert.match(said.message, /settings\.json: server\.port is "many", expected a whole number/);
			assert.match(said.message, /sever/);
		});
	});
});
