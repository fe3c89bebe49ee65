/** Our calls to servers of the official JavaScript SDK, of both versions. */
import assert from "node:assert/strict";
import type { Progress } from "../../src/peers/reply.ts";
import { sdkServer } from "../support/sdk-server.ts";
import { sdkServer03 } from "../support/sdk-server-03.ts";
import { refusal, startUs, type Us } from "../support/sdk-us.ts";
import type { SdkServer, SdkServerOptions } from "../support/sdk-web.ts";

const never = () => new AbortController().signal;

interface Kind {
	readonly name: string;
	readonly start: (options: SdkServerOptions) => Promise<SdkServer>;
	/** What we are to say on the wire. */
	readonly version: string;
	readonly methods: { readonly send: string; readonly stream: string };
}

const NEW = { send: "SendMessage", stream: "SendStreamingMessage" };
const REST = { send: "POST /message:send", stream: "POST /message:stream" };
const OLD = { send: "message/send", stream: "message/stream" };
const KINDS: readonly Kind[] = [
	{ name: "1.x", start: sdkServer, version: "1.0", methods: NEW },
	{
		name: "1.x, which serves 0.3 as well",
		start: (options) => sdkServer({ ...options, legacy: true }),
		version: "1.0",
		methods: NEW,
	},
	{
		name: "1.x, which serves HTTP+JSON",
		start: (options) => sdkServer({ ...options, binding: "HTTP+JSON" }),
		version: "1.0",
		methods: REST,
	},
	{ name: "0.3.x", start: sdkServer03, version: "0.3", methods: OLD },
];

for (const { name, start, version, methods } of KINDS)
	for (const streaming of [true, false])
		describe(`our calls to a server of the official SDK ${name}${streaming ? "" : ", which does not stream"}`, () => {
			let peer: SdkServer;
			let us: Us;
			const call = (text: string, more: object = {}) => us.outbound.call("peer", text, { signal: never(), ...more });

			before(async () => {
				peer = await start({ streaming });
				us = await startUs({ peers: { peer: { url: peer.url } } });
			});
			after(async () => {
				await us.close();
				await peer.close();
			});

			it("find its card", async () => {
				const card = await us.outbound.discover("peer", never());
				assert.equal(card.name, "Directive agent on the official SDK");
				assert.equal(card.version, "1.2.3");
				assert.deepEqual(
					card.skills.map((skill) => skill.id),
					["directives"],
				);
			});

			it("speak its version and names, where its card says", async () => {
				const before = peer.received.length;
				const reply = await call("echo hello");
				assert.equal(reply.state, "TASK_STATE_COMPLETED");
				assert.equal(reply.text, "hello");
				assert.ok(reply.taskId && reply.contextId);
				assert.deepEqual(reply.notes, []);
				const [request] = peer.received.slice(before);
				assert.equal(request?.method, streaming ? methods.stream : methods.send);
				assert.equal(request?.headers["a2a-version"], version);
			});

			it("put an artifact of many chunks together", async () => {
				const seen: Progress[] = [];
				const reply = await call("chunks 5", { onProgress: (progress: Progress) => void seen.push(progress) });
				assert.equal(reply.text, "chunk-0;chunk-1;chunk-2;chunk-3;chunk-4;");
				assert.deepEqual(
					reply.artifacts.map((artifact) => artifact.artifactId),
					["chunks"],
				);
				if (streaming) assert.ok(seen.some((progress) => progress.text === "chunk-0;chunk-1;"));
			});

			it("keep two artifacts apart", async () => {
				const reply = await call("two");
				assert.deepEqual(
					reply.artifacts.map((artifact) => artifact.artifactId),
					["first", "second"],
				);
				assert.match(reply.text, /one\s+two/);
			});

			it("take a message for an answer", async () => {
				const reply = await call("message hi there");
				assert.equal(reply.state, "MESSAGE");
				assert.equal(reply.text, "hi there");
				assert.equal(reply.running, false);
			});

			it("take the words of the last status where there is no artifact", async () => {
				assert.equal((await call("quiet all is well")).text, "all is well");
			});

			it("hand on a question, and answer it in the same conversation", async () => {
				const asked = await call("ask");
				assert.equal(asked.state, "TASK_STATE_INPUT_REQUIRED");
				assert.equal(asked.question, "Which colour?");
				const reply = await call("blue", { contextId: asked.contextId });
				assert.equal(reply.taskId, asked.taskId);
				assert.equal(reply.contextId, asked.contextId);
				assert.equal(reply.state, "TASK_STATE_COMPLETED");
				assert.equal(reply.text, "You said: blue");
			});

			it("hand on that a login is wanted", async () => {
				const asked = await call("auth");
				assert.equal(asked.state, "TASK_STATE_AUTH_REQUIRED");
				assert.equal(asked.question, "Please log in.");
			});

			for (const [word, state, reason] of [
				["fail", "TASK_STATE_FAILED", /failed: It did not work\./],
				["reject", "TASK_STATE_REJECTED", /was rejected: I will not do this\./],
				["give-up", "TASK_STATE_CANCELED", /was canceled: I was told to stop\./],
			] as const)
				it(`say why a task did not go well: ${word}`, async () => {
					const error = await refusal(call(word));
					assert.equal(error.state, state);
					assert.match(error.message, reason);
				});

			it("return at once when detached, and find the result later", async () => {
				const sent = await call("slow 300", { detached: true });
				assert.equal(sent.running, true);
				assert.ok(sent.taskId);
				const now = await us.outbound.status("peer", sent.taskId, { signal: never() });
				assert.equal(now.running, true);
				const reply = await us.outbound.status("peer", sent.taskId, { signal: never(), waitMs: 5_000 });
				assert.equal(reply.state, "TASK_STATE_COMPLETED");
				assert.equal(reply.text, "slept 300");
			});

			it("ask for a task that is not there in vain", async () => {
				const error = await refusal(us.outbound.status("peer", "nobody", { signal: never() }));
				assert.match(error.message, /not found/i);
				assert.match(error.hint ?? "", /does not know this task/);
			});

			it("outlive our own limit: the task goes on and is found again", async () => {
				const context = "a-conversation-of-ours";
				const reply = await call("slow 600", { timeoutMs: 250, contextId: context });
				assert.equal(reply.running, true);
				if (!reply.taskId) {
					// Nothing of a blocking reply has come yet, and 0.3 has no list of tasks to look into.
					assert.ok(!streaming && version === "0.3");
					assert.match(reply.notes.join(), /no task id/);
					return;
				}
				const done = await us.outbound.status("peer", reply.taskId, { signal: never(), waitMs: 5_000 });
				assert.equal(done.text, "slept 600");
			});

			it("cancel the task when the caller stops", async () => {
				const controller = new AbortController();
				const before = peer.canceled.length;
				const calling = call("slow 20000", {
					signal: controller.signal,
					onProgress: () => controller.abort(),
				});
				// Where nothing is streamed there is no progress by which to stop.
				const timer = setTimeout(() => controller.abort(), 300);
				const error = await refusal(calling);
				clearTimeout(timer);
				assert.match(error.message, /was stopped/);
				if (!streaming && version === "0.3") return assert.match(error.message, /not named its task/);
				assert.deepEqual(peer.canceled.slice(before), [error.taskId]);
				assert.match(error.message, /was told to stop task/);
			});

			it("orchestrate by the skills on its card", async () => {
				const outcome = await us.outbound.orchestrate("directives", "echo by skill", {
					signal: never(),
					mode: "first",
				});
				assert.equal(outcome.replies[0]?.text, "by skill");
			});
		});

for (const { name, start } of KINDS)
	describe(`our calls to a server of the official SDK ${name} that wants a token`, () => {
		let peer: SdkServer;
		let us: Us;

		before(async () => {
			peer = await start({ token: "token-of-ours" });
			us = await startUs({
				peers: {
					known: { url: peer.url, auth: { type: "bearer", token: "token-of-ours" } },
					wrong: { url: peer.url, auth: { type: "bearer", token: "token-of-others" } },
					none: { url: peer.url },
				},
			});
		});
		after(async () => {
			await us.close();
			await peer.close();
		});

		it("present the one of its entry", async () => {
			assert.equal((await us.outbound.call("known", "echo let in", { signal: never() })).text, "let in");
		});

		for (const peerName of ["wrong", "none"])
			it(`say that one is wanted: ${peerName}`, async () => {
				const error = await refusal(us.outbound.call(peerName, "echo hello", { signal: never() }));
				assert.match(error.message, /401|unauthori[sz]ed|credentials|token/i);
				assert.match(error.hint ?? "", /auth\.token/);
			});

		it("say on the summary of the card that one is wanted", async () => {
			const card = await us.outbound.discover("none", never());
			assert.match(JSON.stringify(card), /bearer/i);
		});
	});
