import assert from "node:assert/strict";
import { makeRoot, type Root } from "./root.ts";

describe("config: the cards of peers", () => {
	let root: Root;
	beforeEach(() => {
		root = makeRoot();
	});
	afterEach(() => root.remove());

	const peer = async (entry: object) => {
		root.put(root.user, { peers: { bob: entry } });
		const { config, problems } = await root.load();
		return { bob: config.peers.bob, texts: problems.map(({ text }) => text) };
	};
	const url = "https://h.example/";

	it("are an object or a file, and so are their keys, which may be PEM text as well", async () => {
		const pem = "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n";
		for (const [card, cardKeys] of [
			[{ name: "bob" }, { keys: [] }],
			["~/bob.json", "/srv/bob.pem"],
			["C:\\cards\\bob.json", pem],
		] as const) {
			const { bob, texts } = await peer({ url, card, cardKeys });
			assert.deepEqual([bob?.card, bob?.cardKeys, texts], [card, cardKeys, []]);
		}
	});

	it("may be all that is said of where a peer is", async () => {
		const cardUrl = "https://h.example/card";
		assert.deepEqual((await peer({ cardUrl })).bob, { url: cardUrl, cardUrl, capabilities: [] });
	});

	it("that cannot be used are said, and keys that cannot be used let no card pass", async () => {
		const { bob, texts } = await peer({ url, card: "bob.json", cardKeys: ["k"] });
		assert.equal(bob?.card, undefined);
		assert.equal(bob?.cardKeys, "");
		assert.match(texts.join("\n"), /peers\.bob\.card is "bob\.json", expected an agent card/);
		assert.match(texts.join("\n"), /peers\.bob\.cardKeys is a list, expected a JWK or JWKS/);
		const both = await peer({ url, card: { name: "b" }, cardUrl: url });
		assert.match(both.texts.join(), /peers\.bob\.cardUrl is .*expected nothing, because card is set/);
	});
});
