import assert from "node:assert/strict";
import type { FoundCard } from "../../src/bindings/binding.ts";
import { summarize } from "../../src/peers/summary.ts";
import { decodeCard } from "../../src/protocol/decode.ts";

describe("peers/summary", () => {
	const card = decodeCard({
		name: "a",
		capabilities: { extensions: [{ uri: "https://x/ext", required: true }, { uri: "https://y/\n\u202eext" }] },
		securitySchemes: {
			bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } },
			key: { apiKeySecurityScheme: { location: "header", name: "X-Key" } },
			old: { type: "http", scheme: "basic" },
			mtls: { mtlsSecurityScheme: {} },
		},
	});
	const found = (more: Partial<FoundCard> = {}): FoundCard => ({
		card,
		from: "peer",
		url: new URL("https://h.example/card.json?secret=1"),
		signature: { state: "unsigned" },
		...more,
	});

	it("says how to sign in, and which extensions there are and must be used", () => {
		const { auth, extensions } = summarize(card, "u", found());
		assert.deepEqual(auth, ["bearer (http Bearer)", "key (apiKey header X-Key)", "old (http basic)", "mtls (mtls)"]);
		assert.deepEqual(extensions, ["https://x/ext (required)", "https://y/ ext"]);
	});

	it("says where the card is from", () => {
		const source = (from: FoundCard["from"]) => summarize(card, "u", found({ from })).source;
		assert.equal(source("peer"), "read just now from https://h.example/card.json");
		assert.match(source("cache"), /^kept, still fresh, from https:/);
		assert.match(source("stale"), /^kept, no longer fresh: its server fails/);
		assert.match(source("settings"), /written down in the settings/);
	});

	it("says what came of the signature", () => {
		const text = (signature: FoundCard["signature"], shown = card) =>
			summarize(shown, "u", found({ signature })).signature;
		assert.equal(text({ state: "unsigned" }), "not signed");
		assert.equal(text({ state: "unverified", why: "no key known" }), "signed, not verified: no key known");
		const verified = { state: "verified", alg: "ES256", kid: "k" } as const;
		assert.equal(text(verified), "verified with a key in the settings (ES256, k)");
		assert.match(text({ ...verified, published: true }), /a key that its own server publishes/);
		assert.match(text(verified, { ...card }), /extended card, which was not looked at/);
	});
});
