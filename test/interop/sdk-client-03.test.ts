/** The official JavaScript SDK of A2A 0.3 as the client of our server. */
import assert from "node:assert/strict";
import {
	type Client,
	TaskNotCancelableError,
	TaskNotFoundError,
	UnsupportedOperationError,
} from "a2a-js-sdk-03/client";
import {
	asking03 as asking,
	asTask03 as asTask,
	resultOf03 as resultOf,
	sdkClient03,
	streamed03 as streamed,
	textIn03 as textIn,
	words03 as words,
} from "../support/sdk-client-03.ts";
import { all, startUs, type Us } from "../support/sdk-us.ts";

// It sends no version, so old names and old data are all there is to know it by. Others of 0.3 do send one.
for (const version of [false, true])
	describe(`the official SDK 0.3.x as our caller, ${version ? "saying" : "not saying"} its version`, () => {
		let us: Us;
		let client: Client;

		before(async () => {
			us = await startUs();
			client = await sdkClient03(us.url, { version });
		});
		after(() => us.close());

		it("reads a card of 0.3", async () => {
			const card = await client.getAgentCard();
			assert.equal(card.name, "pi");
			assert.equal(card.url, us.url);
			assert.equal(card.preferredTransport, "JSONRPC");
			assert.match(card.protocolVersion, /^0\.3/);
			assert.equal(card.capabilities.streaming, true);
			assert.equal(card.skills[0]?.id, "directives");
		});

		it("gets the finished task from a blocking send", async () => {
			const task = asTask(await client.sendMessage(asking("echo hello")));
			assert.equal(task.status.state, "completed");
			assert.equal(resultOf(task), "hello");
			assert.equal(task.history?.[0]?.kind, "message");
			assert.equal(task.history?.[0]?.role, "user");
		});

		it("gets a file", async () => {
			const task = asTask(await client.sendMessage(asking("file")));
			const bytes = Buffer.from("a small file\n").toString("base64");
			assert.deepEqual(task.artifacts?.[0]?.parts, [
				{ kind: "file", file: { bytes, name: "small.txt", mimeType: "text/plain" } },
			]);
		});

		it("gets a direct message", async () => {
			const answer = await client.sendMessage(asking("message hi there"));
			assert.equal(answer.kind, "message");
			assert.equal(textIn(answer.parts as never), "hi there");
		});

		it("gets the live task at once when it does not block, and the end by asking again", async () => {
			const task = asTask(await client.sendMessage(asking("slow 200", {}, false)));
			assert.match(task.status.state, /^(submitted|working)$/);
			const events = await all(client.resubscribeTask({ id: task.id }));
			assert.match(words(events[0] as never), /^task (submitted|working)$/);
			assert.equal(events.map(words).at(-1), "status completed.");
			const done = await client.getTask({ id: task.id });
			assert.equal(done.kind, "task");
			assert.equal(done.status.state, "completed");
			assert.equal(resultOf(done), "slept 200 ms");
		});

		it("gets a stream that begins with the task and ends with its final update", async () => {
			const events = await all(client.sendMessageStream(asking("chunks 3")));
			const told = events.map(words);
			assert.match(told[0] ?? "", /^task (submitted|working)$/);
			assert.equal(told.at(-1), "status completed.");
			assert.equal(told.filter((each) => each.endsWith(".")).length, 1);
			assert.deepEqual(
				told.filter((each) => each.startsWith("artifact")),
				["artifact chunks", "artifact chunks+", "artifact chunks+"],
			);
			assert.equal(streamed(events), "chunk-0;chunk-1;chunk-2;");
		});

		it("answers a question by a second message on the same task", async () => {
			const asked = asTask(await client.sendMessage(asking("ask")));
			assert.equal(asked.status.state, "input-required");
			assert.equal(textIn(asked.status.message?.parts), "What is the answer?");
			const more = { taskId: asked.id, contextId: asked.contextId };
			const done = asTask(await client.sendMessage(asking("forty-two", more)));
			assert.equal(done.id, asked.id);
			assert.equal(done.status.state, "completed");
			assert.match(resultOf(done), /forty-two/);
		});

		it("answers a question in a stream, which the question ended", async () => {
			const events = await all(client.sendMessageStream(asking("ask")));
			assert.equal(events.map(words).at(-1), "status input-required.");
			const [first] = events;
			assert.ok(first?.kind === "task");
			const rest = await all(client.sendMessageStream(asking("yes", { taskId: first.id })));
			assert.equal(rest.map(words).at(-1), "status completed.");
			assert.match(streamed(rest), /yes/);
		});

		it("keeps a conversation by its context id", async () => {
			const first = asTask(await client.sendMessage(asking("echo one")));
			const second = asTask(await client.sendMessage(asking("echo two", { contextId: first.contextId })));
			assert.equal(second.contextId, first.contextId);
			assert.notEqual(second.id, first.id);
		});

		it("cancels a task that works; its stream ends", async () => {
			const events = client.sendMessageStream(asking("slow 10000"));
			const first = (await events.next()).value;
			assert.ok(first?.kind === "task");
			const canceled = await client.cancelTask({ id: first.id });
			assert.equal(canceled.status.state, "canceled");
			assert.equal((await all(events)).map(words).at(-1), "status canceled.");
		});

		for (const [word, state, reason] of [
			["fail", "failed", "failed as asked"],
			["reject", "rejected", "rejected as asked"],
		] as const)
			it(`reads why a task did not go well: ${word}`, async () => {
				const task = asTask(await client.sendMessage(asking(word)));
				assert.equal(task.status.state, state);
				assert.equal(textIn(task.status.message?.parts), reason);
			});

		it("gets errors that it knows by name", async () => {
			await assert.rejects(client.getTask({ id: "nobody" }), TaskNotFoundError);
			await assert.rejects(client.cancelTask({ id: "nobody" }), TaskNotFoundError);
			await assert.rejects(client.sendMessage(asking("hello", { taskId: "nobody" })), TaskNotFoundError);
			const task = asTask(await client.sendMessage(asking("echo done")));
			await assert.rejects(client.cancelTask({ id: task.id }), TaskNotCancelableError);
			await assert.rejects(client.sendMessage(asking("more", { taskId: task.id })), UnsupportedOperationError);
			// In a stream it hides the error that it knows behind one of its own.
			const inStream = (error: Error) => error.cause instanceof UnsupportedOperationError;
			await assert.rejects(all(client.sendMessageStream(asking("more", { taskId: task.id }))), inStream);
			await assert.rejects(all(client.resubscribeTask({ id: task.id })), inStream);
		});
	});

describe("the official SDK 0.3.x and our bearer tokens", () => {
	let us: Us;

	before(async () => {
		us = await startUs({ peerTokens: { alice: "token-of-alice", bob: "token-of-bob" } });
	});
	after(() => us.close());

	it("reads from the card that a bearer token is wanted, and the extended card with it", async () => {
		const client = await sdkClient03(us.url, { token: "token-of-alice" });
		const card = await client.transport.getExtendedAgentCard();
		assert.deepEqual(Object.values(card.securitySchemes ?? {}), [{ type: "http", scheme: "Bearer" }]);
		assert.equal(card.security?.length, 1);
		assert.equal(card.supportsAuthenticatedExtendedCard, true);
		// The one that every card has, and the one that tells of the session.
		assert.equal(card.capabilities.extensions?.length, 2);
	});

	it("is let in with a token, refused without one, and does not see the tasks of another caller", async () => {
		const alice = await sdkClient03(us.url, { token: "token-of-alice" });
		const bob = await sdkClient03(us.url, { token: "token-of-bob" });
		const task = asTask(await alice.sendMessage(asking("ask")));
		assert.equal((await alice.getTask({ id: task.id })).id, task.id);
		await assert.rejects(bob.getTask({ id: task.id }), TaskNotFoundError);
		const nobody = await sdkClient03(us.url);
		await assert.rejects(nobody.sendMessage(asking("echo hello")), /bearer token/);
		await assert.rejects(all(nobody.sendMessageStream(asking("echo hello"))), /bearer token/);
	});
});
