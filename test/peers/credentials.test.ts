import assert from "node:assert/strict";
import { credentialFor, type OwnTokens, ownToken } from "../../src/peers/credentials.ts";
import { createDirectory } from "../../src/peers/directory.ts";
import type { Peer, SourceName } from "../../src/peers/peer.ts";

const own: OwnTokens = { selfIdentity: "", sharedToken: "shared", peerTokens: {} };

const peer = (source: SourceName, url: string, more: Partial<Peer> = {}): Peer => ({
	name: url,
	source,
	address: { via: "http", url: new URL(url) },
	capabilities: [],
	...more,
});

/** The token that a call of `target` carries when the directory knows `known`. */
async function tokenOf(target: string, known: readonly Peer[], tokens = own): Promise<string | undefined> {
	const sources = known.map((each) => ({ name: each.source, list: async () => [each], close: async () => undefined }));
	const directory = createDirectory(sources);
	return credentialFor(await directory.resolve(target), await directory.list(), tokens);
}

describe("peers/credentials", () => {
	it("presents the token of our own identity, else the shared one", () => {
		const peerTokens = { a: "token-a" };
		assert.equal(ownToken({ ...own, selfIdentity: "a", peerTokens }), "token-a");
		assert.equal(ownToken({ ...own, selfIdentity: "b", peerTokens }), "shared");
		assert.equal(ownToken({ ...own, selfIdentity: "constructor", peerTokens }), "shared");
		assert.equal(ownToken({ ...own, sharedToken: "" }), undefined);
	});

	it("sends a configured token to its own origin, by name and by plain URL", async () => {
		const worker = peer("config", "http://10.0.0.5:9900/a2a", { token: "theirs" });
		assert.equal(await tokenOf(worker.name, [worker]), "theirs");
		assert.equal(await tokenOf("http://10.0.0.5:9900/other", [worker]), "theirs");
	});

	it("sends a configured token nowhere else: not to another port, scheme or host", async () => {
		const worker = peer("config", "https://good.example/a2a", { token: "theirs" });
		for (const url of ["https://good.example:444/a2a", "http://good.example/a2a", "https://good.example.evil/a2a"]) {
			assert.equal(await tokenOf(url, [worker]), undefined, url);
		}
	});

	it("gives the session's own token to live sessions of this machine and to configured loopback peers", async () => {
		assert.equal(await tokenOf("http://127.0.0.1:9911/", [peer("local", "http://127.0.0.1:9911/")]), "shared");
		assert.equal(await tokenOf("http://localhost:9911/x", [peer("local", "http://127.0.0.1:9911/")]), "shared");
		assert.equal(await tokenOf("http://[::1]:9912/", [peer("config", "http://[::1]:9912/")]), "shared");
	});

	it("gives a loopback URL that nobody knows no token at all", async () => {
		const known = [
			peer("local", "http://127.0.0.1:9911/"),
			peer("config", "http://10.0.0.5:9999/", { token: "theirs" }),
		];
		for (const url of ["http://127.0.0.1:6666/", "http://localhost:9999/", "https://127.0.0.1:9911/"]) {
			assert.equal(await tokenOf(url, known), undefined, url);
		}
	});

	it("gives a loopback peer that only the network announces no token", async () => {
		assert.equal(await tokenOf("http://127.0.0.1:9911/", [peer("mdns", "http://127.0.0.1:9911/")]), undefined);
		const planted = peer("mdns", "http://127.0.0.1:9911/", { token: "planted" });
		assert.equal(await tokenOf("http://127.0.0.1:9911/", [planted]), undefined);
	});

	it("gives a remote peer without a token of its own none of ours", async () => {
		assert.equal(await tokenOf("http://10.0.0.5:1/", [peer("config", "http://10.0.0.5:1/")]), undefined);
		assert.equal(await tokenOf("http://10.0.0.5:1/", [peer("local", "http://10.0.0.5:1/")]), undefined);
	});

	it("does not guess which of two tokens of one origin a plain URL means", async () => {
		const known = [
			peer("config", "http://h.example/a", { token: "token-a" }),
			peer("config", "http://h.example/b", { token: "token-b" }),
		];
		assert.equal(await tokenOf("http://h.example/c", known), undefined);
		assert.equal(await tokenOf("http://h.example/b", known), "token-b");
	});

	it("leaves a gateway's peers with the gateway's token only", async () => {
		const proxied = peer("gateway", "http://127.0.0.1:9920/peers/x", { token: "gateway" });
		assert.equal(await tokenOf(proxied.name, [proxied]), "gateway");
		const { token: _none, ...bare } = proxied;
		assert.equal(await tokenOf(proxied.name, [bare]), undefined);
	});
});
