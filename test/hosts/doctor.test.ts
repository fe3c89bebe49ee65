import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { ask, type ExtensionStage, openExtensionStage, serve } from "../support/extension-stage.ts";
import { freePort } from "../support/free-port.ts";

const TOKEN = ["0123456789", "abcdef", "xyz"].join("");

describe("/a2a-doctor in a real Pi", function () {
	this.timeout(90_000);
	let stage: ExtensionStage;
	let url: string;
	before(async () => {
		stage = await openExtensionStage();
		url = await serve(await stage.rpc({ a2a: { server: { port: 0, peerTokens: { me: TOKEN } } } }));
	});
	after(() => stage.end());

	async function privately(a2a: object) {
		const place = await stage.place({ a2a });
		await chmod(join(place.agentDir, "settings.json"), 0o600);
		return place;
	}

	it("finds nothing wrong with a set-up that is well", async () => {
		const a2a = {
			server: { port: 0, peerTokens: { other: `${TOKEN}!` } },
			peers: { worker: { url, auth: { token: TOKEN } } },
		};
		const pi = await stage.rpc({ place: await privately(a2a) });
		await serve(pi);
		assert.match(await ask(pi, "/a2a-doctor", /checks are well/), /^✓ (\d+) of \1 checks are well\.$/);
	});

	it("says how to fix a set-up that is broken, one line each, with the server off", async () => {
		const dead = `http://127.0.0.1:${await freePort()}/`;
		const a2a = {
			server: { sharedToken: "abc", port: "many" },
			peers: { wrong: { url, auth: { token: `${TOKEN}?` } }, dead: { url: dead } },
		};
		const place = await privately(a2a);
		await writeFile(join(place.agentDir, "a2a_audit.jsonl"), "");
		await chmod(join(place.agentDir, "a2a_audit.jsonl"), 0o644);
		const run = await stage.once("/a2a-doctor", { place });
		for (const line of [
			/^✗ peer wrong: it does not take our token → Set a2a\.peers\.wrong\.auth\.token/m,
			/^! peer dead: no answer from .* → Start it, or correct a2a\.peers\.dead\.url/m,
			/^! settings: .*server\.port .* → /m,
			/^! tokens: server\.sharedToken is easy to guess .* → /m,
			/^! files: .*a2a_audit\.jsonl .* → Run: chmod 600/m,
			/^· server: it is off.* → Run \/a2a-server start/m,
			/^✓ \d+ of \d+ checks are well; /m,
		])
			assert.match(run.stderr, line);
		assert.equal(run.stdout, "");
	});

	it("names the port that it climbed to", async () => {
		const taken = createServer();
		const port = await freePort();
		await new Promise<void>((done) => taken.listen(port, "127.0.0.1", done));
		try {
			const pi = await stage.rpc({ place: await privately({ server: { port } }) });
			await serve(pi);
			assert.match(
				await ask(pi, "/a2a-doctor", /checks are well/),
				new RegExp(`^! port: ${port} was taken, .* → End`, "m"),
			);
		} finally {
			await new Promise((done) => taken.close(done));
		}
	});
});
