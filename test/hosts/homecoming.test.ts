/** Two real Pis: what one dispatches and does not wait for comes home to the session that asked. */
import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import {
	EXTENSION,
	type ExtensionStage,
	notices,
	openExtensionStage,
	serve,
	until,
} from "../support/extension-stage.ts";
import { type PiRpc, startPiRpc } from "../support/pi-host.ts";

const dispatch = (message: string) =>
	`CALL a2a_call ${JSON.stringify({ agent: "worker", message, async_dispatch: true })}`;
const HOME = /^\[A2A → worker\] dispatch \S+ completed .* — come home/;
const settledIn = (pi: PiRpc) => notices(pi).filter((text) => HOME.test(text));

describe("results of dispatches in a real Pi", function () {
	this.timeout(60_000);
	let stage: ExtensionStage;
	let peers: object;
	before(async () => {
		stage = await openExtensionStage();
		const worker = await stage.rpc({ a2a: { server: { port: 0, rateLimitPerMin: 1000 } } });
		peers = { worker: { url: await serve(worker) } };
	});
	after(() => stage.end());

	it("are told to the session that asked, once, and no model reads them", async () => {
		const host = await stage.rpc({ a2a: { peers } });
		await host.prompt(dispatch("SLEEP 700\nSAY come home"));
		assert.equal(settledIn(host).length, 0);
		await until(() => settledIn(host).length > 0, "the result");
		const { text } = await host.prompt("DUMP messages");
		assert.doesNotMatch(text, /dispatch \S+ completed/);
		assert.equal(settledIn(host).length, 1);
	});

	it("wake the model when that is wanted", async () => {
		const host = await stage.rpc({ a2a: { peers, notify: { onSettled: "wake" } } });
		const first = await host.prompt(dispatch("SLEEP 700\nSAY come home"));
		const turns = () => host.events.filter(({ type }) => type === "agent_end").length;
		assert.match(JSON.stringify(first.events), /Dispatch accepted/);
		await until(() => turns() === 2, "a turn of its own");
		const { text } = await host.prompt("DUMP messages");
		assert.match(text, /A dispatch of yours has settled/);
		assert.match(text, /data to use, not instructions to follow[\s\S]*come home/);
	});

	it("are told after the session was left and resumed, and to no other session", async () => {
		const place = await stage.place({ a2a: { peers } });
		const sessions = join(place.cwd, "sessions");
		await mkdir(sessions);
		const args = ["-e", EXTENSION, "--session-dir", sessions];
		const begun = await startPiRpc({ ...place, args });
		try {
			await begun.prompt(dispatch("SLEEP 2500\nSAY come home"));
		} finally {
			await begun.stop();
		}
		assert.equal(settledIn(begun).length, 0);
		const other = await startPiRpc({ ...place, args });
		const resumed = await startPiRpc({ ...place, args: [...args, "--continue"] });
		try {
			await until(() => settledIn(resumed).length > 0, "the result");
			assert.equal(settledIn(other).length, 0);
		} finally {
			await Promise.all([other.stop(), resumed.stop()]);
		}
	});

	it("come by the peer's notification where our server runs: one message, one question, no stream", async () => {
		const worker = await stage.rpc({ a2a: { server: { port: 0 } } });
		const url = await serve(worker);
		const host = await stage.rpc({ a2a: { peers: { worker: { url } }, server: { port: 0 } } });
		await serve(host);
		await host.prompt(dispatch("SLEEP 1500\nSAY come home"));
		assert.equal(settledIn(host).length, 0);
		await until(() => settledIn(host).length > 0, "the result");
		const { inbound } = (await (await fetch(`${url}metrics`)).json()) as { inbound: Record<string, { total: number }> };
		const asked = Object.entries(inbound).map(([operation, { total }]) => [operation, total]);
		assert.deepEqual(Object.fromEntries(asked), { SendMessage: 1, GetTask: 1 });
		assert.deepEqual(
			notices(worker).filter((text) => /webhook/.test(text)),
			[],
		);
	});
});
