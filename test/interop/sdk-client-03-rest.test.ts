/** The official JavaScript SDK of A2A 0.3 as our caller over HTTP+JSON, led by our card alone. */
import assert from "node:assert/strict";
import { type Client, TaskNotFoundError } from "a2a-js-sdk-03/client";
import { asking03, asTask03, resultOf03, sdkClient03, words03 } from "../support/sdk-client-03.ts";
import { all, startUs, type Us } from "../support/sdk-us.ts";

for (const version of [false, true])
	describe(`the official SDK 0.3.x over HTTP+JSON, ${version ? "saying" : "not saying"} its version`, () => {
		let us: Us;
		let client: Client;

		before(async () => {
			us = await startUs();
			client = await sdkClient03(us.url, { version, binding: "HTTP+JSON" });
		});
		after(() => us.close());

		it("finds the interface on the card", async () => {
			const { additionalInterfaces } = await client.getAgentCard();
			assert.deepEqual(
				additionalInterfaces?.filter(({ transport }) => transport === "HTTP+JSON").map(({ url }) => url),
				[`${us.url}rest`],
			);
		});

		it("gets the finished task from a blocking send, and finds it again", async () => {
			const task = asTask03(await client.sendMessage(asking03("echo hello")));
			assert.deepEqual([task.status.state, resultOf03(task)], ["completed", "hello"]);
			assert.deepEqual(
				[task.history?.[0]?.role, task.history?.[0]?.parts],
				["user", [{ kind: "text", text: "echo hello" }]],
			);
			assert.equal(resultOf03(await client.getTask({ id: task.id })), "hello");
		});

		it("gets a file, and a direct message", async () => {
			const task = asTask03(await client.sendMessage(asking03("file")));
			const bytes = Buffer.from("a small file\n").toString("base64");
			assert.deepEqual(task.artifacts?.[0]?.parts, [{ kind: "file", file: { bytes, mimeType: "text/plain" } }]);
			assert.equal((await client.sendMessage(asking03("message hi"))).kind, "message");
		});

		it("need not wait, cancels, and sees that it is canceled", async () => {
			const begun = asTask03(await client.sendMessage(asking03("slow 60000", {}, false)));
			assert.notEqual(begun.status.state, "completed");
			assert.equal((await client.cancelTask({ id: begun.id })).status.state, "canceled");
		});

		it("reads a stream to its final event", async () => {
			const items = (await all(client.sendMessageStream(asking03("chunks 3")))).map(words03);
			assert.equal(items.at(-1), "status completed.");
		});

		it("joins the stream of a task that is at work", async () => {
			const begun = asTask03(await client.sendMessage(asking03("slow 300", {}, false)));
			const items = (await all(client.resubscribeTask({ id: begun.id }))).map(words03);
			assert.equal(items.at(-1), "status completed.");
		});

		it("knows our errors, before and at the start of a stream", async () => {
			await assert.rejects(client.getTask({ id: "nobody" }), TaskNotFoundError);
			await assert.rejects(all(client.resubscribeTask({ id: "nobody" })), TaskNotFoundError);
		});
	});
