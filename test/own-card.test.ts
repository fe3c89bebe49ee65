import assert from "node:assert/strict";
import { generateKeyPairSync } from "node:crypto";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createCardReplies } from "../src/bindings/http/serve-card.ts";
import { readCardKeys } from "../src/guard/card-keys.ts";
import { verifyCard } from "../src/guard/card-signatures.ts";
import { createOwnCards, loadCardSigner } from "../src/own-card.ts";
import { buildCard } from "../src/protocol/card.ts";

describe("our own card", () => {
	const { privateKey, publicKey } = generateKeyPairSync("ed25519");
	const keys = readCardKeys(publicKey.export({ type: "spki", format: "pem" }).toString());
	let folder: string;
	let file: string;
	beforeEach(async () => {
		folder = await mkdtemp(join(tmpdir(), "card-key-"));
		file = join(folder, "card.pem");
		await writeFile(file, privateKey.export({ type: "pkcs8", format: "pem" }), { mode: 0o600 });
	});
	afterEach(() => rm(folder, { recursive: true }));

	const make = (name = "pi", url = "http://127.0.0.1:9910/") =>
		buildCard({
			name,
			description: "d",
			version: "1",
			url,
			skills: [],
			auth: true,
			streaming: true,
			push: false,
			extended: true,
			v03: true,
		});
	const load = (cardKey = file) => loadCardSigner({ cardKey, cardKeyId: "pi-1", cardKeyUrl: "https://h.example/jwks" });

	it("is signed by the configured key, in every form that a reader of 1.0 may get", async () => {
		const card = createOwnCards(await load())(make());
		const replies = createCardReplies();
		for (const version of ["1.0", undefined]) {
			const found = verifyCard(String(replies(card, version, undefined).body), keys);
			assert.deepEqual([found.state, found.state === "verified" && found.kid], ["verified", "pi-1"], version);
		}
		const header = Buffer.from(String(card.signatures?.[0]?.protected), "base64url").toString();
		assert.deepEqual(JSON.parse(header), { alg: "EdDSA", typ: "JOSE", kid: "pi-1", jku: "https://h.example/jwks" });
	});

	it("is made once for each address and state, and then the same object", async () => {
		const cards = createOwnCards(await load());
		const first = cards(make());
		assert.equal(cards(make()), first);
		assert.notEqual(cards(make("pi", "http://h/")), first);
		assert.equal(cards(make()), first);
		const renamed = cards(make("other"));
		assert.notEqual(renamed, first);
		assert.equal(verifyCard(JSON.stringify(renamed), keys).state, "verified");
		for (let i = 0; i < 64; i++) cards(make("pi", `http://h${i}/`));
		assert.notEqual(cards(make("other")), renamed, "the oldest was forgotten");
	});

	it("has no signature without a key", async () => {
		assert.equal(await load(""), undefined);
		assert.equal(createOwnCards(undefined)(make()).signatures, undefined);
	});

	it("is not served with a key that cannot be used: one line says why", async () => {
		await assert.rejects(
			load(join(folder, "none.pem")),
			/^Error: server\.cardKey \(.*none\.pem\) cannot be used: ENOENT/,
		);
		await assert.rejects(load(folder), /is no file/);
		await chmod(file, 0o640);
		if (process.platform !== "win32") await assert.rejects(load(), /mode 640.*chmod 600/);
		await chmod(file, 0o600);
		await writeFile(file, "hello");
		await assert.rejects(load(), /holds no private key in PEM/);
	});
});
