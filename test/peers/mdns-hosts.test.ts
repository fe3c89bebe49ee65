import assert from "node:assert/strict";
import { Bonjour } from "bonjour-service";
import { ask, type ExtensionStage, openExtensionStage, serve } from "../support/extension-stage.ts";
import { agentRecords } from "./mdns-support.ts";

/** Local sessions are found by the network alone. */
const discovery = { mdns: { enabled: true, serviceType: "a2a-test" }, local: { enabled: false } };

describe("mDNS in Pi, on the real port of this machine", function () {
	this.timeout(90_000);
	let stage: ExtensionStage;
	let announcer: Bonjour;
	const skips = process.env.MDNS_NETWORK_TESTS ? undefined : "MDNS_NETWORK_TESTS is not set";

	before(async function () {
		if (skips) return this.skip();
		stage = await openExtensionStage();
		const url = new URL(await serve(await stage.rpc({ a2a: { server: { port: 0 } } })));
		announcer = new Bonjour({ interface: "127.0.0.1", bind: "0.0.0.0" } as object);
		const { server } = announcer as unknown as { server: { register(records: readonly object[]): void } };
		const txt = ["name=neighbour"];
		server.register(
			agentRecords("one", { port: Number(url.port), address: "127.0.0.1", txt, type: discovery.mdns.serviceType }),
		);
	});
	after(async () => {
		announcer?.destroy();
		await stage?.end();
	});

	it("a session without a person lists a neighbour and does not call it", async () => {
		const listed = await stage.once("/a2a-peers", { a2a: { discovery } });
		assert.match(listed.stderr, /- neighbour {2}http:\/\/127\.0\.0\.1:\d+\/ {2}\(mdns\)/);
		const sent = await stage.once('CALL a2a_call {"agent":"neighbour","message":"SAY hello"}', { a2a: { discovery } });
		assert.equal(sent.code, 0);
		assert.match(
			sent.stdout,
			/neighbour was found on the local network and nobody has confirmed it\. Nothing was sent/,
		);
		assert.match(sent.stdout, /entry under a2a\.peers/);
	});

	it("a person is asked at the first call, and not again", async () => {
		const pi = await stage.rpc({ a2a: { discovery } });
		const questions: string[] = [];
		pi.onUi = ({ method, message }) => {
			if (method === "confirm") questions.push(String(message));
			return { confirmed: true };
		};
		for (const word of ["first", "second"])
			assert.match(await ask(pi, `/a2a-send neighbour SAY ${word}`, /completed|failed/), new RegExp(word));
		assert.equal(questions.length, 1);
		assert.match(questions[0] ?? "", /^Call "neighbour" at http:\/\/127\.0\.0\.1:\d+\/\?/);
	});

	it("a no keeps the call back", async () => {
		const pi = await stage.rpc({ a2a: { discovery } });
		pi.onUi = () => ({ confirmed: false });
		assert.match(await ask(pi, "/a2a-send neighbour SAY x", /completed|failed/), /nobody has confirmed it/);
	});

	it("Pi exits by itself while its server is announced", async () => {
		const server = { enabled: true, host: "0.0.0.0", port: 0, sharedToken: "a-token-of-this-test" };
		const run = await stage.once("SAY ok", { a2a: { server, discovery } });
		assert.equal(run.code, 0, run.stderr);
		assert.equal(run.stdout, "ok\n");
	});
});
