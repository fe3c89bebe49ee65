/** The official JavaScript SDK of A2A 1.0 as the client of our server. */
import assert from "node:assert/strict";
import { TaskState } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { TaskNotCancelableError, TaskNotFoundError, UnsupportedOperationError } from "@a2a-js/sdk/errors";
import {
	asking,
	asTask,
	interfacesOf,
	resultOf,
	sdkClient,
	stateOf,
	streamed,
	textIn,
	words,
} from "../support/sdk-client.ts";
import { all, startUs, type Us } from "../support/sdk-us.ts";

const id = (task: { readonly id: string }) => ({ tenant: "", id: task.id });
const everything = {
	tenant: "",
	contextId: "",
	status: TaskState.TASK_STATE_UNSPECIFIED,
	pageToken: "",
	statusTimestampAfter: undefined,
};

for (const binding of ["JSONRPC", "HTTP+JSON"] as const)
	describe(`the official SDK 1.x as our caller, over ${binding}`, () => {
		let us: Us;
		let client: Client;

		before(async () => {
			us = await startUs();
			client = await sdkClient(us.url, undefined, binding);
		});
		after(() => us.close());

		it("finds the card and takes its 1.0 interface", async () => {
			const card = await client.getAgentCard();
			assert.equal(card.name, "pi");
			assert.equal(interfacesOf(card)[0], `JSONRPC 1.0 ${us.url}`);
			assert.equal(client.transport.protocolName, binding);
			assert.equal(client.protocolVersion, "1.0");
			assert.equal((await sdkClient(us.url)).transport.protocolName, "JSONRPC");
			assert.equal(card.capabilities?.streaming, true);
			assert.deepEqual(
				card.skills.map((skill) => skill.id),
				["directives"],
			);
		});

		it("gets the finished task from a blocking send", async () => {
			const task = asTask(await client.sendMessage(asking("echo hello")));
			assert.equal(stateOf(task), "TASK_STATE_COMPLETED");
			assert.equal(resultOf(task), "hello");
			assert.ok(task.id && task.contextId);
			assert.match(task.status?.timestamp ?? "", /^\d{4}-.*Z$/);
		});

		it("gets a file as bytes", async () => {
			const task = asTask(await client.sendMessage(asking("file")));
			const [part] = task.artifacts[0]?.parts ?? [];
			assert.ok(part?.content?.$case === "raw");
			assert.equal(Buffer.from(part.content.value).toString(), "a small file\n");
			assert.deepEqual([part.filename, part.mediaType], ["small.txt", "text/plain"]);
		});

		it("gets a direct message", async () => {
			const answer = await client.sendMessage(asking("message hi there"));
			assert.ok("parts" in answer);
			assert.equal(textIn(answer.parts), "hi there");
		});

		it("gets the live task at once with returnImmediately, and the end by asking again", async () => {
			const task = asTask(await client.sendMessage(asking("slow 200", {}, { returnImmediately: true })));
			assert.match(stateOf(task), /SUBMITTED|WORKING/);
			const events = await all(client.resubscribeTask(id(task)));
			assert.match(words(events[0] ?? {}), /^task (SUBMITTED|WORKING)$/);
			assert.equal(events.map(words).at(-1), "status COMPLETED");
			const done = await client.getTask(id(task));
			assert.equal(stateOf(done), "TASK_STATE_COMPLETED");
			assert.equal(resultOf(done), "slept 200 ms");
		});

		it("gets a stream that begins with the task and ends with its end", async () => {
			const events = await all(client.sendMessageStream(asking("chunks 3")));
			const told = events.map(words);
			assert.match(told[0] ?? "", /^task (SUBMITTED|WORKING)$/);
			assert.equal(told.at(-1), "status COMPLETED");
			assert.deepEqual(
				told.filter((each) => each.startsWith("artifact")),
				["artifact chunks", "artifact chunks+", "artifact chunks+"],
			);
			assert.equal(streamed(events), "chunk-0;chunk-1;chunk-2;");
		});

		it("gets progress while a task works", async () => {
			const events = await all(client.sendMessageStream(asking("slow 20")));
			const notes = events.flatMap(({ payload }) =>
				payload?.$case === "statusUpdate" ? [textIn(payload.value.status?.message?.parts)] : [],
			);
			assert.ok(notes.includes("working half of 20 ms"), notes.join());
		});

		it("answers a question by a second message on the same task", async () => {
			const asked = asTask(await client.sendMessage(asking("ask")));
			assert.equal(stateOf(asked), "TASK_STATE_INPUT_REQUIRED");
			assert.equal(textIn(asked.status?.message?.parts), "What is the answer?");
			const more = { taskId: asked.id, contextId: asked.contextId };
			const done = asTask(await client.sendMessage(asking("forty-two", more)));
			assert.equal(done.id, asked.id);
			assert.equal(stateOf(done), "TASK_STATE_COMPLETED");
			assert.match(resultOf(done), /forty-two/);
			assert.deepEqual(
				done.history.filter(({ role }) => role === 1).map(({ parts }) => textIn(parts)),
				["ask", "forty-two"],
			);
		});

		it("answers a question in a stream", async () => {
			const events = await all(client.sendMessageStream(asking("ask")));
			assert.equal(events.map(words).at(-1), "status INPUT_REQUIRED");
			const first = events[0]?.payload;
			assert.ok(first?.$case === "task");
			const rest = await all(client.sendMessageStream(asking("yes", { taskId: first.value.id })));
			assert.equal(rest.map(words).at(-1), "status COMPLETED");
			assert.match(streamed(rest), /yes/);
		});

		it("keeps a conversation by its context id", async () => {
			const first = asTask(await client.sendMessage(asking("echo one")));
			const second = asTask(await client.sendMessage(asking("echo two", { contextId: first.contextId })));
			assert.equal(second.contextId, first.contextId);
			assert.notEqual(second.id, first.id);
			const listed = await client.listTasks({ ...everything, contextId: first.contextId });
			assert.deepEqual(
				listed.tasks.map((task) => task.id),
				[second.id, first.id],
			);
			assert.equal(listed.totalSize, 2);
		});

		it("pages through its tasks, by state and with artifacts", async () => {
			const { contextId } = asTask(await client.sendMessage(asking("echo one")));
			await client.sendMessage(asking("fail", { contextId }));
			await client.sendMessage(asking("echo three", { contextId }));
			const want = {
				...everything,
				contextId,
				status: TaskState.TASK_STATE_COMPLETED,
				pageSize: 1,
				includeArtifacts: true,
			};
			const first = await client.listTasks(want);
			const second = await client.listTasks({ ...want, pageToken: first.nextPageToken });
			assert.deepEqual([...first.tasks, ...second.tasks].map(resultOf), ["three", "one"]);
			assert.equal(second.nextPageToken, "");
		});

		it("cancels a task that works; its stream ends", async () => {
			const events = client.sendMessageStream(asking("slow 10000"));
			const first = (await events.next()).value?.payload;
			assert.ok(first?.$case === "task");
			const canceled = await client.cancelTask({ ...id(first.value), metadata: undefined });
			assert.equal(stateOf(canceled), "TASK_STATE_CANCELED");
			assert.equal((await all(events)).map(words).at(-1), "status CANCELED");
		});

		it("goes on after it left a stream, by subscribing to the task", async () => {
			const events = client.sendMessageStream(asking("slow 300"));
			const first = (await events.next()).value?.payload;
			await events.return();
			assert.ok(first?.$case === "task");
			const rest = await all(client.resubscribeTask(id(first.value)));
			assert.equal(rest.map(words).at(-1), "status COMPLETED");
			assert.equal(resultOf(await client.getTask(id(first.value))), "slept 300 ms");
		});

		for (const [word, state, reason] of [
			["fail", "TASK_STATE_FAILED", "failed as asked"],
			["reject", "TASK_STATE_REJECTED", "rejected as asked"],
		] as const)
			it(`reads why a task did not go well: ${word}`, async () => {
				const task = asTask(await client.sendMessage(asking(word)));
				assert.equal(stateOf(task), state);
				assert.equal(textIn(task.status?.message?.parts), reason);
			});

		describe("gets errors that it knows by name", () => {
			it("for a task that is not there", async () => {
				await assert.rejects(client.getTask({ tenant: "", id: "nobody" }), TaskNotFoundError);
				await assert.rejects(client.cancelTask({ tenant: "", id: "nobody", metadata: undefined }), TaskNotFoundError);
				await assert.rejects(all(client.resubscribeTask({ tenant: "", id: "nobody" })), TaskNotFoundError);
				await assert.rejects(client.sendMessage(asking("hello", { taskId: "nobody" })), TaskNotFoundError);
			});

			it("for a task that has ended", async () => {
				const task = asTask(await client.sendMessage(asking("echo done")));
				await assert.rejects(client.cancelTask({ ...id(task), metadata: undefined }), TaskNotCancelableError);
				await assert.rejects(all(client.resubscribeTask(id(task))), UnsupportedOperationError);
				await assert.rejects(client.sendMessage(asking("more", { taskId: task.id })), UnsupportedOperationError);
				await assert.rejects(
					all(client.sendMessageStream(asking("more", { taskId: task.id }))),
					UnsupportedOperationError,
				);
			});
		});
	});

for (const binding of ["JSONRPC", "HTTP+JSON"] as const)
	describe(`the official SDK 1.x and our bearer tokens, over ${binding}`, () => {
		let us: Us;

		before(async () => {
			us = await startUs({ token: "shared-token", peerTokens: { alice: "token-of-alice", bob: "token-of-bob" } });
		});
		after(() => us.close());

		it("reads from the card that a bearer token is wanted", async () => {
			const card = await (await sdkClient(us.url, "shared-token", binding)).getAgentCard();
			assert.deepEqual(
				Object.values(card.securitySchemes).map((each) => each.scheme?.$case),
				["httpAuthSecurityScheme"],
			);
			assert.equal(card.securityRequirements.length, 1);
			assert.equal(card.capabilities?.extendedAgentCard, true);
		});

		it("is let in with the token, and reads the extended card", async () => {
			const client = await sdkClient(us.url, "shared-token", binding);
			assert.equal(resultOf(asTask(await client.sendMessage(asking("echo let in")))), "let in");
			const events = await all(client.sendMessageStream(asking("echo let in")));
			assert.equal(events.map(words).at(-1), "status COMPLETED");
			const extended = await client.getAgentCard();
			// The one that every card has, and the one that tells of the session.
			assert.equal(extended.capabilities?.extensions.length, 2);
		});

		it("is refused without a token and with a wrong one, with a reason", async () => {
			for (const token of [undefined, "token-of-nobody"]) {
				const client = await sdkClient(us.url, token, binding);
				await assert.rejects(client.sendMessage(asking("echo hello")), /bearer token/);
				await assert.rejects(all(client.sendMessageStream(asking("echo hello"))), /bearer token/);
			}
		});

		it("does not see the tasks of another caller", async () => {
			const alice = await sdkClient(us.url, "token-of-alice", binding);
			const bob = await sdkClient(us.url, "token-of-bob", binding);
			const task = asTask(await alice.sendMessage(asking("ask")));
			await assert.rejects(bob.getTask(id(task)), TaskNotFoundError);
			await assert.rejects(bob.sendMessage(asking("mine now", { taskId: task.id })), TaskNotFoundError);
			assert.deepEqual((await bob.listTasks(everything)).tasks, []);
			assert.equal((await alice.listTasks(everything)).tasks.length, 1);
		});
	});
