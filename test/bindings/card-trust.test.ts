import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { CardWish } from "../../src/bindings/http/cards.ts";
import { readCardKeys, readCardSigner } from "../../src/guard/card-keys.ts";
import { signCard } from "../../src/guard/card-signatures.ts";
import { decodeCard } from "../../src/protocol/decode.ts";
import { selfSigned } from "./certificate.ts";
import { Bench, cardFor, send, task } from "./client-support.ts";

const NEW = "/.well-known/agent-card.json";

describe("the signature of a peer's card", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.close());

	const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
	const pem = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
	const jwks = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k" }] };
	const keys = readCardKeys(jwks);
	const signedFor = (url: string, jku = "") =>
		signCard(decodeCard(cardFor(url)), readCardSigner(pem, { kid: "k", jku }));

	/** A peer that answers calls and serves what `card` makes of its URL. */
	const peerWith = async (card: (url: string) => object | undefined) => {
		const peer = await bench.bare((request, wire) => {
			if (request.method === "POST") return wire.result(task("COMPLETED"));
			const found = request.path === NEW ? card(peer.url) : undefined;
			return found ? wire.json(found) : wire.send(404, "");
		});
		return peer;
	};
	const refused = async (url: string, card: CardWish, why: RegExp) => {
		await assert.rejects(bench.connect(url, { card }), (error: Error) => {
			assert.match(error.message, why);
			assert.match(error.message, /Nothing was sent|nothing was sent/);
			assert.doesNotMatch(error.message, /\n/);
			return true;
		});
	};

	it("is looked at with the keys that are written down, and lets the calls through", async () => {
		const peer = await peerWith((url) => ({ ...signedFor(url), metadata: { unsigned: true } }));
		const connection = await bench.connect(peer.url, { card: { keys } });
		await send(connection);
		assert.deepEqual(connection.found?.()?.signature, { state: "verified", alg: "ES256", kid: "k" });
		assert.equal(connection.card()?.metadata, undefined);
	});

	it("must be there and right when keys are written down", async () => {
		const unsigned = await peerWith((url) => cardFor(url));
		await refused(unsigned.url, { keys }, /is not signed, but keys are written down.*cardKeys of this peer/);
		const changed = await peerWith((url) => ({ ...signedFor(url), name: "evil" }));
		await refused(
			changed.url,
			{ keys },
			/signature of the agent card .* is not valid: the key k did not sign this card/,
		);
		const other = readCardKeys({ keys: [{ ...jwks.keys[0], kid: "other" }] });
		const strange = await peerWith((url) => signedFor(url));
		await refused(strange.url, { keys: other }, /cannot be verified \(no key known that is called k\)/);
		const none = await peerWith(() => undefined);
		await refused(none.url, { keys }, /There is no agent card at .*, but keys are written down/);
		for (const peer of [unsigned, changed, strange, none])
			assert.ok(peer.requests.every(({ method }) => method === "GET"));
	});

	it("without a known key is no obstacle, and is said; a trick is one even then", async () => {
		const peer = await peerWith((url) => signedFor(url));
		const connection = await bench.connect(peer.url);
		assert.deepEqual(connection.found?.()?.signature, { state: "unverified", why: "no key known" });
		const none = Buffer.from('{"alg":"none","kid":"k"}').toString("base64url");
		const trick = await peerWith((url) => ({ ...cardFor(url), signatures: [{ protected: none, signature: "" }] }));
		await refused(trick.url, {}, /not valid: its algorithm none proves nothing/);
	});

	it("is not checked with keys from anywhere: https, and the card's own origin", async () => {
		for (const [jku, why] of [
			["http://127.0.0.1:1/jwks.json", /no https URL/],
			["not a url", /no https URL/],
			["https://evil.example/jwks.json", /another origin, https:\/\/evil\.example/],
		] as const) {
			const peer = await peerWith((url) => signedFor(url, jku));
			const status = (await bench.connect(peer.url)).found?.()?.signature;
			assert.ok(status?.state === "unverified");
			assert.match(status.why, why);
			assert.deepEqual(
				peer.requests.map(({ path }) => path),
				[NEW],
			);
		}
	});

	it("is checked with the keys that its own origin publishes over https", async () => {
		const asked: (string | undefined)[] = [];
		let published: object = jwks;
		const server = createServer(selfSigned(), (request, response) => {
			if (request.url === "/jwks.json") asked.push(request.headers.authorization);
			const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
			const body =
				request.url === NEW ? signedFor(url, `${url}jwks.json`) : request.url === "/jwks.json" ? published : {};
			response.end(JSON.stringify(body));
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
		try {
			const first = await bench.connect(url, { verifySsl: false });
			const verified = { state: "verified", alg: "ES256", kid: "k", published: true };
			assert.deepEqual(first.found?.()?.signature, verified);
			await bench.connect(url, { verifySsl: false });
			assert.deepEqual(asked, [undefined], "asked once, without a credential");
			published = { keys: [] };
			const second = await bench.connect(url, { verifySsl: false, token: "tok" });
			const status = second.found?.()?.signature;
			assert.ok(status?.state === "unverified");
			assert.match(status.why, /none of its keys does/);
			const other = generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey;
			published = { keys: [{ ...other.export({ format: "jwk" }), kid: "k" }] };
			await assert.rejects(bench.connect(url, { verifySsl: false, token: "tok2" }), /did not sign this card/);
		} finally {
			bench.pool.close();
			server.closeAllConnections();
			await new Promise((resolve) => server.close(resolve));
		}
	});

	it("counts for a card that is written down as well, which is used without asking the peer", async () => {
		const peer = await peerWith(() => undefined);
		const text = JSON.stringify(signedFor(`${peer.url}rpc`));
		const connection = await bench.connect(peer.url, { card: { text, keys } });
		await send(connection);
		assert.deepEqual(
			peer.requests.map(({ method, path }) => `${method} ${path}`),
			["POST /rpc"],
		);
		assert.equal(connection.found?.()?.from, "settings");
		await refused(peer.url, { text: JSON.stringify(cardFor(peer.url)), keys }, /card in the settings is not signed/);
		await assert.rejects(bench.connect(peer.url, { card: { text: "{" } }), /What is written down is no agent card: /);
	});

	it("a card at an address of its own is read there, and the token goes along to the peer's origin only", async () => {
		const peer = await bench.bare((request, wire) => {
			if (request.method === "POST") return wire.result(task("COMPLETED"));
			if (request.headers.authorization !== "Bearer tok") return wire.send(401, "");
			return wire.json(cardFor(`${peer.url}rpc`));
		});
		const own = { card: { url: new URL("cards/mine", peer.url) }, token: "tok" };
		await send(await bench.connect(peer.url, own));
		assert.deepEqual(
			peer.requests.map(({ path }) => path),
			["/cards/mine", "/cards/mine", "/rpc"],
		);
		const elsewhere = await bench.bare((_request, wire) => wire.send(401, ""));
		await assert.rejects(
			bench.connect(peer.url, { card: { url: new URL("card", elsewhere.url) }, token: "tok" }),
			/credentials.*HTTP 401/,
		);
		assert.deepEqual(
			elsewhere.requests.map(({ headers }) => headers.authorization),
			[undefined],
		);
		const missing = await peerWith(() => undefined);
		await assert.rejects(
			bench.connect(missing.url, { card: { url: new URL("nowhere", missing.url) } }),
			/There is no agent card at .*\/nowhere, its cardUrl/,
		);
	});
});
