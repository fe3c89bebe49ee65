/** Hermes and we, both ways. */
import assert from "node:assert/strict";
import type { AgentCard } from "../../src/protocol/types.ts";
import {
	type Hermes,
	type HermesCaller,
	type HermesOptions,
	hermesCaller,
	startHermes,
} from "../support/hermes-peer.ts";
import { refusal, startUs, type Us } from "../support/sdk-us.ts";

const never = () => new AbortController().signal;

describe("Hermes as our caller", () => {
	let us: Us;
	let hermes: HermesCaller;

	before(async () => {
		us = await startUs();
		hermes = hermesCaller(us.url);
	});
	after(() => us.close());

	it("reads the card by its new and its old name", async () => {
		for (const name of ["agent-card.json", "agent.json"]) {
			const card = (await (await fetch(`${us.url}.well-known/${name}`)).json()) as AgentCard;
			assert.equal(card.name, "pi");
			assert.equal(card.supportedInterfaces[0]?.protocolVersion, "1.0");
		}
	});

	it("sends 1.0 messages by the old name, and gets a bare task in 1.0 shapes", async () => {
		const task = await hermes.ask("echo hello");
		assert.equal(task.kind, undefined);
		assert.equal(task.status.state, "TASK_STATE_COMPLETED");
		assert.deepEqual(task.artifacts[0].parts, [{ text: "hello" }]);
		assert.equal(task.history[0].role, "ROLE_USER");
	});

	it("sends by the new name just as well, and gets the 1.0 wrapper", async () => {
		const message = { messageId: "m-new", role: "ROLE_USER", parts: [{ text: "echo hello" }] };
		const { task } = await hermes.call("SendMessage", { message });
		assert.equal(task.status.state, "TASK_STATE_COMPLETED");
		assert.equal((await hermes.call("tasks/get", { id: task.id })).status.state, "TASK_STATE_COMPLETED");
	});

	it("need not give a message an id", async () => {
		const message = { role: "ROLE_USER", parts: [{ text: "echo no id" }] };
		const task = await hermes.call("message/send", { message });
		assert.deepEqual(task.artifacts[0].parts, [{ text: "no id" }]);
	});

	for (const spelling of ["returnImmediately", "return_immediately"])
		it(`gets an early acknowledgement with ${spelling}, and polls for the end`, async () => {
			const began = Date.now();
			const configuration = { [spelling]: true };
			const message = { messageId: spelling, role: "ROLE_USER", parts: [{ text: "slow 400" }] };
			const task = await hermes.call("message/send", { message, configuration });
			assert.match(task.status.state, /SUBMITTED|WORKING/);
			assert.ok(Date.now() - began < 300);
			const same = await hermes.ask("slow 400", { messageId: spelling }, { configuration });
			assert.equal(same.id, task.id);
			assert.equal(same.status.state, "TASK_STATE_COMPLETED");
			assert.deepEqual(same.artifacts[0].parts, [{ text: "slept 400 ms" }]);
		});

	it("keeps a conversation by a context id, in the message or beside it", async () => {
		const first = await hermes.ask("echo one", { contextId: "talk-1" });
		const second = await hermes.ask("echo two", {}, { contextId: "talk-1" });
		assert.deepEqual([first.contextId, second.contextId], ["talk-1", "talk-1"]);
	});

	it("reads our question in the message of the status, and answers it", async () => {
		const asked = await hermes.ask("ask");
		assert.equal(asked.status.state, "TASK_STATE_INPUT_REQUIRED");
		assert.deepEqual(asked.status.message.parts, [{ text: "What is the answer?" }]);
		assert.equal(asked.status.message.role, "ROLE_AGENT");
		const done = await hermes.ask("forty-two", { taskId: asked.id, contextId: asked.contextId });
		assert.equal(done.id, asked.id);
		assert.equal(done.status.state, "TASK_STATE_COMPLETED");
	});

	it("streams and subscribes by old names, in 1.0 events", async () => {
		const message = { messageId: "m-stream", role: "ROLE_USER", parts: [{ text: "chunks 3" }] };
		const events = await hermes.stream("message/stream", { message });
		assert.ok(events[0].task);
		const said = events.flatMap((event) => event.artifactUpdate?.artifact.parts ?? []).map(({ text }) => text);
		assert.equal(said.join(""), "chunk-0;chunk-1;chunk-2;");
		assert.equal(events.at(-1).statusUpdate.status.state, "TASK_STATE_COMPLETED");
		const slow = { messageId: "m-slow", role: "ROLE_USER", parts: [{ text: "slow 200" }] };
		const task = await hermes.call("message/send", { message: slow, configuration: { returnImmediately: true } });
		const rest = await hermes.stream("tasks/subscribe", { id: task.id });
		assert.equal(rest.at(-1).statusUpdate.status.state, "TASK_STATE_COMPLETED");
	});

	it("cancels, and lists stubs", async () => {
		const message = { messageId: "m-cancel", role: "ROLE_USER", parts: [{ text: "slow 9000" }] };
		const task = await hermes.call("message/send", { message, configuration: { returnImmediately: true } });
		assert.equal((await hermes.call("tasks/cancel", { id: task.id })).status.state, "TASK_STATE_CANCELED");
		const { tasks } = await hermes.call("tasks/list", {});
		assert.deepEqual(
			tasks.find((each: { id: string }) => each.id === task.id),
			{ id: task.id, state: "TASK_STATE_CANCELED" },
		);
	});

	it("is shown under the name that it says it has", async () => {
		await hermes.ask("echo who am I");
		const entries = (await us.app.audit.tail(5)) as { peer?: string }[];
		assert.match(JSON.stringify(entries.at(-1)), /hermes/);
	});

	it("gets the errors of its range", async () => {
		const locked = await startUs({ token: "token-of-ours" });
		try {
			await assert.rejects(hermesCaller(locked.url).ask("echo hello"), (error: Error) => {
				assert.equal((error.cause as { code: number }).code, -32050);
				return true;
			});
			const task = await hermesCaller(locked.url, "token-of-ours").ask("echo let in");
			assert.equal(task.status.state, "TASK_STATE_COMPLETED");
		} finally {
			await locked.close();
		}
	});
});

const WAYS: readonly (HermesOptions & { readonly way: string })[] = [
	{ way: "acknowledges at once" },
	{ way: "answers at the end", earlyAck: false },
	{ way: "streams", streaming: true },
	{ way: "has its card under the old name", oldCard: true },
];

for (const { way, ...options } of WAYS)
	describe(`our calls to a Hermes that ${way}`, () => {
		let hermes: Hermes;
		let us: Us;
		const call = (text: string, more: object = {}) => us.outbound.call("hermes", text, { signal: never(), ...more });

		before(async () => {
			hermes = await startHermes({ token: "token-of-ours", ...options });
			const auth = { type: "bearer", token: "token-of-ours" };
			us = await startUs({ peers: { hermes: { url: hermes.url, auth } } });
		});
		after(async () => {
			await us.close();
			await hermes.close();
		});

		it("find its card", async () => {
			const card = await us.outbound.discover("hermes", never());
			assert.deepEqual([card.name, card.skills[0]?.id], ["hermes", "research"]);
		});

		it("wait for the answer, say who calls and in which conversation", async () => {
			const before = hermes.received.length;
			const reply = await call("slow 100");
			assert.equal(reply.state, "TASK_STATE_COMPLETED");
			assert.equal(reply.text, "slept 100");
			const [sent] = hermes.received.slice(before);
			assert.equal(sent?.headers["x-a2a-identity"], "pi");
			assert.equal(sent?.params.message.contextId, reply.contextId);
		});

		it("put chunks together", async () => {
			assert.equal((await call("chunks 3")).text, "chunk-0;chunk-1;chunk-2;");
		});

		it("take the words of the last status where there is no artifact", async () => {
			assert.equal((await call("quiet all is well")).text, "all is well");
		});

		it("hand on its question, and answer it", async () => {
			const asked = await call("ask");
			assert.equal(asked.question, "Which colour?");
			const reply = await call("blue", { contextId: asked.contextId });
			assert.equal(reply.taskId, asked.taskId);
			assert.equal(reply.text, "You said: blue");
		});

		it("say why a task failed", async () => {
			assert.match((await refusal(call("fail"))).message, /failed: It did not work\./);
		});

		it("dispatch a task and ask for it later", async () => {
			const sent = await call("slow 200", { detached: true });
			assert.equal(sent.running, options.earlyAck !== false);
			const reply = await us.outbound.status("hermes", sent.taskId ?? "", { signal: never(), waitMs: 5_000 });
			assert.equal(reply.text, "slept 200");
		});

		it("cancel a task when the caller stops", async () => {
			const controller = new AbortController();
			const stop = setTimeout(() => controller.abort(), 300);
			const error = await refusal(call("slow 20000", { signal: controller.signal }));
			clearTimeout(stop);
			assert.match(error.message, /was stopped/);
			// Until it answers it has not said how the task is called, and its list has no contexts to find it by.
			const isNamed = options.earlyAck !== false;
			assert.equal(hermes.received.at(-1)?.method === "CancelTask", isNamed);
		});
	});

describe("our calls to a Hermes that refuses", () => {
	for (const [code, message, hint] of [
		[-32050, /unauthorized/i, /auth\.token/],
		[-32051, /rate limit/i, /wait/i],
		[-32052, /not trusted/i, /trusted/],
		[-32053, /busy/i, /later|another/],
	] as const)
		it(`say what ${code} means and what to do`, async () => {
			const hermes = await startHermes({ refuses: code });
			const us = await startUs({ peers: { hermes: { url: hermes.url } } });
			try {
				const error = await refusal(us.outbound.call("hermes", "hello", { signal: never() }));
				assert.match(error.message, message);
				assert.match(error.hint ?? "", hint);
			} finally {
				await us.close();
				await hermes.close();
			}
		});
});
