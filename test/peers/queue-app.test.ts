/** The queue in the app that users have, over real connections. */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Settled } from "../../src/peers/homecoming.ts";
import { refusal, startUs, type Us } from "../support/sdk-us.ts";

const forever = new AbortController().signal;

/** A port where nobody listens now. */
async function freePort(): Promise<number> {
	const server = createServer();
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	await new Promise((resolve) => server.close(resolve));
	return port;
}

describe("a message to a peer that is away", () => {
	const open: Us[] = [];
	const started = async (options: Parameters<typeof startUs>[0]) => {
		const us = await startUs(options);
		open.push(us);
		return us;
	};
	afterEach(async () => {
		for (const us of open.splice(0)) await us.close();
	});

	it("is kept, shown, delivered when the peer is back, and its result comes home", async function () {
		this.timeout(60_000);
		const port = await freePort();
		const us = await started({ peers: { away: { url: `http://127.0.0.1:${port}/` } }, queue: { enabled: true } });
		const settled = new Promise<Settled>((resolve) => us.app.homecoming.onSettled(resolve));
		const token = ["ghp", "1234567890abcdefghijklmnopqrstuvwxyz"].join("_");
		const reply = await us.outbound.call("away", `echo hello ${token}`, { signal: forever });
		assert.deepEqual([reply.running, reply.taskId], [true, undefined]);
		assert.match(reply.notes.join(" "), /Queued, not delivered yet.*ECONNREFUSED.*number 1 for away/);
		const { queued = [] } = await us.outbound.list();
		assert.deepEqual(
			queued.map(({ peer, place }) => [peer, place]),
			[["away", 1]],
		);
		assert.doesNotMatch(JSON.stringify(queued), new RegExp(token));
		await started({ port });
		const told = await settled;
		assert.ok("reply" in told, "error" in told ? String(told.error) : "");
		assert.match(told.reply.text, /^hello \[redacted/);
		assert.equal(told.dispatch.peer, "away");
		for (let tries = 0; us.app.queue.list().length > 0; tries++) {
			assert.ok(tries < 500, "it is kept no more");
			await new Promise((resolve) => setTimeout(resolve, 2));
		}
	});

	it("is an error where no queue is wanted, and where many are asked at once", async () => {
		const url = `http://127.0.0.1:${await freePort()}/`;
		const off = await started({ peers: { away: { url } } });
		assert.match((await refusal(off.outbound.call("away", "echo x", { signal: forever }))).message, /ECONNREFUSED/);
		const on = await started({ peers: { away: { url } }, queue: { enabled: true } });
		const outcome = await on.outbound.broadcast(["away"], "echo x", { signal: forever });
		assert.equal(outcome.failures.length, 1);
		await refusal(on.outbound.call("away", "echo x", { signal: forever, hops: 1 }));
		assert.deepEqual(on.app.queue.list(), []);
	});
});
