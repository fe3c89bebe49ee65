import assert from "node:assert/strict";
import { createHmac, createPublicKey, generateKeyPairSync, type KeyObject, sign } from "node:crypto";
import { generateAgentCardSignature, verifyAgentCardSignature } from "@a2a-js/sdk";
import { type CardKey, readCardKeys, readCardSigner, thumbprint } from "../../src/guard/card-keys.ts";
import { keyUrlOf, signCard, verifyCard } from "../../src/guard/card-signatures.ts";
import { buildCard } from "../../src/protocol/card.ts";
import { signedForms } from "../../src/protocol/card-content.ts";
import type { AgentCard, JsonObject } from "../../src/protocol/types.ts";

const pair = (kind: "P-256" | "P-384" | "ed25519" | "rsa", modulusLength = 2048) =>
	kind === "ed25519"
		? generateKeyPairSync(kind)
		: kind === "rsa"
			? generateKeyPairSync(kind, { modulusLength })
			: generateKeyPairSync("ec", { namedCurve: kind });
const pem = (key: KeyObject) =>
	key.export({ type: key.type === "private" ? "pkcs8" : "spki", format: "pem" }).toString();
const jwk = (key: KeyObject, more: object = {}) => ({ ...key.export({ format: "jwk" }), ...more });
const b64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

const CARD = buildCard({
	name: "sïgned 😀",
	description: "",
	version: "1",
	url: "https://h.example/",
	skills: [],
	auth: true,
	streaming: true,
	push: false,
	extended: true,
	v03: true,
});

/** A signature by hand, with any header. */
function handMade(key: KeyObject, header: object, hash: string | null, card: AgentCard = CARD): JsonObject {
	const head = b64(header);
	const payload = Buffer.from(signedForms({ ...card }).exact).toString("base64url");
	const bytes = sign(hash, Buffer.from(`${head}.${payload}`), { key, dsaEncoding: "ieee-p1363" });
	return { protected: head, signature: bytes.toString("base64url") };
}

describe("guard/card-signatures", () => {
	const es256 = pair("P-256");
	const signer = readCardSigner(pem(es256.privateKey), { kid: "k1", jku: "" });
	const signed = signCard(CARD, signer);
	const known = readCardKeys({ keys: [jwk(es256.publicKey, { kid: "k1", alg: "ES256", use: "sig" })] });
	const [first = {}] = signed.signatures ?? [];
	const verdict = (card: object, keys: readonly CardKey[] = known) => verifyCard(JSON.stringify(card), keys);
	const withSignature = (signature: unknown) => ({ ...signed, signatures: [signature] });

	it("tries no more keys than are ever needed: who serves the card may publish hundreds that do not fit", () => {
		const stranger = pair("ed25519");
		const many = Array.from({ length: 50 }, () => jwk(pair("ed25519").publicKey, { kid: "k" }));
		const signature = handMade(stranger.privateKey, { alg: "EdDSA", kid: "k" }, null);
		const card = { ...CARD, signatures: Array.from({ length: 10 }, () => signature) };
		const found = verdict(card, readCardKeys({ keys: many }));
		assert.deepEqual(found, { state: "bad", why: "the key k did not sign this card" });
		const last = verdict({ ...card, signatures: [signature, ...card.signatures.slice(1)] }, [
			...readCardKeys({ keys: many }),
			...readCardKeys({ keys: many }),
		]);
		assert.deepEqual(last, { state: "bad", why: "it has too many signatures for so many keys" });
	});

	it("verifies what was signed with ES256 and EdDSA, whatever the order of members and the spaces between them", () => {
		for (const { privateKey, publicKey } of [es256, pair("ed25519")]) {
			const card = signCard(CARD, readCardSigner(pem(privateKey), { kid: "", jku: "" }));
			const shuffled = Object.fromEntries(Object.entries(card).reverse());
			const found = verifyCard(JSON.stringify(shuffled, undefined, 3), readCardKeys(pem(publicKey)));
			assert.equal(found.state, "verified");
			assert.equal(found.state === "verified" && found.kid, thumbprint(publicKey));
		}
	});

	it("verifies ES384 and RS256 as well", () => {
		for (const [kind, alg, hash] of [
			["P-384", "ES384", "sha256"],
			["rsa", "RS256", "sha256"],
		] as const) {
			const { privateKey, publicKey } = pair(kind);
			const keys = readCardKeys(pem(publicKey));
			const made = handMade(privateKey, { alg, kid: "k" }, alg === "ES384" ? "sha384" : hash);
			assert.equal(verdict(withSignature(made), keys).state, "verified", alg);
		}
	});

	it("gives of a verified card what was signed, and nothing that was sent beside it", () => {
		const found = verdict({ ...signed, url: "https://evil.example/", metadata: { order: "obey" } });
		assert.equal(found.state, "verified");
		const card = found.state === "verified" ? (found.card as Record<string, unknown>) : {};
		assert.deepEqual([card.name, card.url, card.metadata], [CARD.name, undefined, undefined]);
	});

	it("rejects every trick", () => {
		const header = { alg: "ES256", typ: "JOSE", kid: "k1" };
		const { protected: head, signature } = first;
		const bytes = Buffer.from(String(signature), "base64url");
		const flipped = Buffer.from(bytes);
		flipped[0] = (flipped[0] ?? 0) ^ 1;
		const other = pair("P-256");
		const by = (more: object, key = es256.privateKey) => handMade(key, { ...header, ...more }, "sha256");
		const secret = pem(es256.publicKey);
		const hmacHead = b64({ alg: "HS256", kid: "k1" });
		const payload = Buffer.from(signedForms({ ...CARD }).exact).toString("base64url");
		const hmac = createHmac("sha256", secret).update(`${hmacHead}.${payload}`).digest("base64url");
		const twice = Buffer.from('{"alg":"none","kid":"k1","alg":"ES256"}').toString("base64url");
		const cards: Readonly<Record<string, object>> = {
			"a changed name": { ...signed, name: "other" },
			"a changed address": {
				...signed,
				supportedInterfaces: [{ ...CARD.supportedInterfaces[0], url: "https://evil/" }],
			},
			"a member taken away": { ...signed, securityRequirements: [] },
			"a member added": { ...signed, iconUrl: "" },
			"alg none": withSignature({ protected: b64({ ...header, alg: "none" }), signature: "" }),
			"alg NoNe": withSignature({ protected: b64({ ...header, alg: "NoNe" }), signature }),
			"HMAC with the public key": withSignature({ protected: hmacHead, signature: hmac }),
			"another alg than the key's": withSignature(by({ alg: "RS256" })),
			"no alg": withSignature(by({ alg: undefined })),
			"alg outside of what is protected": withSignature({ ...by({ alg: undefined }), header: { alg: "ES256" } }),
			"alg in both headers": withSignature({ ...first, header: { alg: "ES256" } }),
			"kid outside of what is protected": withSignature({ ...by({ kid: undefined }), header: { kid: "k1" } }),
			"no kid": withSignature(by({ kid: undefined })),
			"unknown crit": withSignature(by({ crit: ["exp"], exp: 1 })),
			"empty crit": withSignature(by({ crit: [] })),
			"crit outside of what is protected": withSignature({ ...first, header: { crit: ["x"] } }),
			"a payload that is not encoded": withSignature(by({ b64: false })),
			"a header that says a thing twice": withSignature({ protected: twice, signature }),
			"a signature of zeros": withSignature({ protected: head, signature: Buffer.alloc(64).toString("base64url") }),
			"a flipped bit": withSignature({ protected: head, signature: flipped.toString("base64url") }),
			"a short signature": withSignature({ protected: head, signature: bytes.subarray(0, 63).toString("base64url") }),
			"an empty signature": withSignature({ protected: head, signature: "" }),
			"no signature": withSignature({ protected: head }),
			"a signature in DER": withSignature({
				protected: head,
				signature: sign("sha256", Buffer.from(`${head}.${payload}`), es256.privateKey).toString("base64url"),
			}),
			"padded base64": withSignature({ protected: head, signature: `${signature}==` }),
			"base64 with bits that stand for nothing": withSignature({
				protected: head,
				signature: `${signature}`.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1)),
			}),
			"another key under the same name": withSignature(by({}, other.privateKey)),
			"a header that is no object": withSignature({ protected: b64(["ES256"]), signature }),
			"a header that is no JSON": withSignature({ protected: "e30e", signature }),
			"a bad one beside a good one": { ...signed, signatures: [first, { ...first, signature: `${"A".repeat(86)}` }] },
			"a signature that is no object": withSignature("x"),
			"signatures that are no list": { ...signed, signatures: first },
			"eleven signatures": { ...signed, signatures: Array.from({ length: 11 }, () => first) },
			"half a character": { ...signed, description: "\ud800" },
		};
		for (const [what, card] of Object.entries(cards)) assert.equal(verdict(card).state, "bad", what);
		assert.ok(Object.keys(cards).length >= 14);
		assert.equal(verdict(signed).state, "verified");
	});

	it("rejects a card that says a thing twice, whichever was signed", () => {
		const text = JSON.stringify(signed).replace("{", '{"name":"evil",');
		const found = verifyCard(text, known);
		assert.deepEqual(found, { state: "bad", why: "it says name twice" });
	});

	it("tells a card without signatures, and one that no known key can tell of", () => {
		assert.deepEqual(verdict(CARD), { state: "unsigned" });
		assert.deepEqual(verdict({ ...CARD, signatures: [] }), { state: "unsigned" });
		assert.deepEqual(verdict(signed, []), { state: "unverified", why: "no key known" });
		const others = readCardKeys(jwk(pair("P-256").publicKey, { kid: "k2" }));
		assert.deepEqual(verdict(signed, others), { state: "unverified", why: "no key known that is called k1" });
		const mixed = {
			...signed,
			signatures: [handMade(pair("P-256").privateKey, { alg: "ES512", kid: "x" }, "sha256"), first],
		};
		assert.equal(verdict(mixed).state, "verified");
	});

	it("signs so that the official JavaScript SDK verifies it, and verifies what that signs", async () => {
		for (const [alg, { privateKey, publicKey }] of [
			["ES256", es256],
			["EdDSA", pair("ed25519")],
		] as const) {
			const own = signCard(CARD, readCardSigner(pem(privateKey), { kid: "k1", jku: "" }));
			// Its verifier logs every signature that does not fit; the last one is of the form that it takes.
			const last = own.signatures?.slice(-1) ?? [];
			const asTheirs = { ...own, signatures: last } as unknown as Parameters<
				ReturnType<typeof verifyAgentCardSignature>
			>[0];
			await verifyAgentCardSignature(async () => publicKey)(asTheirs);
			const generate = generateAgentCardSignature(privateKey, { alg, kid: "k1", typ: "JOSE" });
			const theirs = await generate(structuredClone(CARD) as unknown as Parameters<typeof generate>[0]);
			assert.equal(verdict(theirs, readCardKeys(pem(publicKey))).state, "verified", alg);
		}
	});

	it("finds where a signer publishes its keys, in what is protected only", () => {
		const named = signCard(CARD, { ...signer, jku: "https://h.example/jwks.json" });
		assert.equal(keyUrlOf(named.signatures ?? []), "https://h.example/jwks.json");
		assert.equal(keyUrlOf([{ ...first, header: { jku: "https://evil.example/" } }]), undefined);
	});
});

describe("guard/card-keys", () => {
	const { publicKey, privateKey } = pair("P-256");

	it("reads JWK, JWKS and PEM, several of them as well, as objects and as text", () => {
		const set = { keys: [jwk(publicKey, { kid: "a" }), jwk(pair("ed25519").publicKey, { kid: "b" })] };
		const algs = (source: unknown) => readCardKeys(source).map(({ alg, kid }) => [alg, kid]);
		assert.deepEqual(algs(jwk(publicKey)), [["ES256", undefined]]);
		assert.deepEqual(algs(JSON.stringify(set)), [
			["ES256", "a"],
			["EdDSA", "b"],
		]);
		assert.deepEqual(algs(pem(publicKey) + pem(pair("P-384").publicKey)).flat(), [
			"ES256",
			undefined,
			"ES384",
			undefined,
		]);
	});

	it("says in one line why keys do not do", () => {
		const rsa = pair("rsa", 1024).publicKey;
		const cases: readonly (readonly [unknown, RegExp])[] = [
			["", /no public key/],
			["hello", /no public key/],
			[7, /expected PEM/],
			[pem(privateKey), /private key/],
			[jwk(privateKey), /private key/],
			[{ kty: "oct", k: "AAAA" }, /proves nothing/],
			[jwk(rsa), /RSA key of 1024 bits does not do/],
			[pem(generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey), /secp256k1 does not do/],
			[jwk(publicKey, { use: "enc" }), /not meant for signatures/],
			[jwk(publicKey, { key_ops: ["encrypt"] }), /not meant to verify/],
			[jwk(publicKey, { alg: "ES384" }), /meant for ES384/],
			[{ keys: [] }, /none of its keys/],
			[{ keys: [{ kty: "oct", k: "AAAA" }] }, /none of its keys does: a secret/],
		];
		for (const [source, why] of cases) assert.throws(() => readCardKeys(source), why);
		const some = readCardKeys({ keys: [{ kty: "oct", k: "AAAA" }, jwk(publicKey)] });
		assert.equal(some.length, 1);
	});

	it("signs with P-256 and Ed25519 only, and says what is wrong with other keys", () => {
		const names = { kid: "", jku: "" };
		assert.equal(readCardSigner(pem(privateKey), names).kid, thumbprint(createPublicKey(pem(publicKey))));
		assert.equal(readCardSigner(pem(pair("ed25519").privateKey), { kid: "k", jku: "" }).kid, "k");
		for (const kind of ["P-384", "rsa"] as const)
			assert.throws(() => readCardSigner(pem(pair(kind).privateKey), names), /P-256 or an Ed25519/);
		assert.throws(() => readCardSigner(pem(publicKey), names), /no private key/);
		const locked = privateKey
			.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "p" })
			.toString();
		assert.throws(() => readCardSigner(locked, names), /passphrase/);
	});

	it("names a key by its thumbprint as RFC 7638 does", () => {
		// The example of RFC 8037, appendix A.3.
		const key = { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" };
		const print = thumbprint(createPublicKey({ key, format: "jwk" }));
		assert.equal(print, "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
	});
});
