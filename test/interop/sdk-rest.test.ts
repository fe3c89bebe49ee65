/** The official JavaScript SDK's HTTP+JSON client of 1.0, led by our card alone. */
import assert from "node:assert/strict";
import { type Client, ClientFactory, ClientFactoryOptions } from "@a2a-js/sdk/client";
import { asking, asTask, interfacesOf, resultOf, stateOf, streamed } from "../support/sdk-client.ts";
import { all, startUs, type Us } from "../support/sdk-us.ts";

describe("the official SDK 1.x as our caller over HTTP+JSON", () => {
	let us: Us;
	let client: Client;

	before(async () => {
		us = await startUs();
		const options = { preferredTransports: ["HTTP+JSON" as const] };
		const factory = new ClientFactory(ClientFactoryOptions.createFrom(ClientFactoryOptions.default, options));
		client = await factory.createFromUrl(us.url);
	});
	after(() => us.close());

	it("finds the interface on the card, after JSON-RPC", async () => {
		const interfaces = interfacesOf(await client.getAgentCard());
		assert.deepEqual(interfaces.slice(0, 2), [`JSONRPC 1.0 ${us.url}`, `HTTP+JSON 1.0 ${us.url}rest`]);
	});

	it("gets a task, finds it again, and lists it", async () => {
		const task = asTask(await client.sendMessage(asking("echo hello")));
		assert.deepEqual([stateOf(task), resultOf(task)], ["TASK_STATE_COMPLETED", "hello"]);
		assert.equal(resultOf(await client.getTask({ tenant: "", id: task.id })), "hello");
	});

	it("reads a stream, and why there is none", async () => {
		assert.equal(streamed(await all(client.sendMessageStream(asking("chunks 3")))), "chunk-0;chunk-1;chunk-2;");
		await assert.rejects(all(client.sendMessageStream(asking("more", { taskId: "nobody" }))), /Task not found/);
	});
});
