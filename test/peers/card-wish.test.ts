import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { nullLog } from "../../src/lib/log.ts";
import { cardWish } from "../../src/peers/card-wish.ts";
import type { Peer } from "../../src/peers/peer.ts";
import { type ConfiguredPeer, fromConfig } from "../../src/peers/sources/config.ts";

describe("what is written down of a peer's card", () => {
	const { publicKey } = generateKeyPairSync("ed25519");
	const jwk = { ...publicKey.export({ format: "jwk" }), kid: "k" } as Record<string, string>;
	const pem = publicKey.export({ type: "spki", format: "pem" }).toString();
	let folder: string;
	beforeEach(async () => {
		folder = await mkdtemp(join(tmpdir(), "cards-"));
	});
	afterEach(() => rm(folder, { recursive: true }));

	const peersOf = (entries: Readonly<Record<string, Partial<ConfiguredPeer>>>) => {
		const full = Object.entries(entries).map(([name, each]) => [
			name,
			{ url: "https://h.example/", capabilities: [], ...each },
		]);
		return fromConfig(Object.fromEntries(full), nullLog).list();
	};
	const wishOf = async (entry: Partial<ConfiguredPeer>) => {
		const [peer] = await peersOf({ bob: entry });
		assert.ok(peer);
		return cardWish(peer, [peer]);
	};

	it("is nothing for most peers", async () => {
		assert.equal(await wishOf({}), undefined);
	});

	it("is a card as an object or in a file, its address, and keys as JWK, JWKS, PEM or in a file", async () => {
		const file = join(folder, "it.json");
		await writeFile(file, JSON.stringify({ name: "bob" }));
		for (const card of [file, { name: "bob" }]) assert.equal((await wishOf({ card }))?.text, '{"name":"bob"}');
		assert.equal((await wishOf({ cardUrl: "https://h.example/card" }))?.url?.href, "https://h.example/card");
		await writeFile(file, pem);
		for (const cardKeys of [jwk, { keys: [jwk] }, pem, file])
			assert.deepEqual(
				(await wishOf({ cardKeys }))?.keys?.map(({ alg }) => alg),
				["EdDSA"],
			);
	});

	it("that cannot be used is an error of one line that names the setting", async () => {
		const file = join(folder, "it.json");
		await writeFile(file, "x".repeat(300_000));
		const cases: readonly (readonly [Partial<ConfiguredPeer>, RegExp])[] = [
			[{ card: join(folder, "none") }, /^a2a\.peers\.bob\.card cannot be used: ENOENT.*Nothing was sent$/],
			[{ card: folder }, /peers\.bob\.card cannot be used: .* is no file/],
			[{ cardKeys: file }, /peers\.bob\.cardKeys cannot be used: .* is larger than 262144 bytes/],
			[{ cardKeys: { kty: "oct", k: "AAAA" } }, /proves nothing/],
			[{ cardKeys: "" }, /no public key/],
		];
		for (const [entry, why] of cases) {
			await assert.rejects(wishOf(entry), (error: Error) => {
				assert.match(error.message, why);
				assert.doesNotMatch(error.message, /\n/);
				return true;
			});
		}
	});

	it("holds for every URL of the same server that is not written down itself", async () => {
		const known = await peersOf({ bob: { cardKeys: jwk }, eve: { url: "https://other.example/" } });
		const plain = (url: string, source: Peer["source"] = "url"): Peer => ({
			name: url,
			source,
			address: { via: "http", url: new URL(url) },
			capabilities: [],
		});
		assert.equal((await cardWish(plain("https://h.example/x?y"), known))?.keys?.length, 1);
		for (const peer of [
			plain("https://h.example:444/"),
			plain("http://h.example/"),
			plain("https://h.example/p", "gateway"),
		])
			assert.equal(await cardWish(peer, known), undefined, peer.name);
		assert.equal(known[1] && (await cardWish(known[1], known)), undefined);
	});
});
