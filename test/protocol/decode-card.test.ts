import assert from "node:assert/strict";
import { buildCard, type CardFacts } from "../../src/protocol/card.ts";
import { decodeCard } from "../../src/protocol/decode.ts";
import { parseJson } from "../../src/protocol/json.ts";
import { downcastCard } from "../../src/protocol/v03/index.ts";
import { refusedReply as refused } from "./refused.ts";

const skill = { id: "s", name: "S", description: "does s", tags: ["a"] };
const FACTS: CardFacts = {
	name: "pi",
	description: "A coding agent",
	version: "1.2.3",
	url: "http://127.0.0.1:9910/",
	skills: [skill],
	auth: false,
	streaming: true,
	push: false,
	extended: false,
	v03: true,
};

describe("decodeCard", () => {
	const minimal = {
		description: "",
		version: "",
		supportedInterfaces: [],
		capabilities: {},
		defaultInputModes: ["text/plain"],
		defaultOutputModes: ["text/plain"],
		skills: [],
	};

	it("gives a complete 1.0 card as it is", () => {
		const card = {
			...minimal,
			name: "Geo",
			description: "d",
			version: "1.2.0",
			supportedInterfaces: [
				{ url: "https://g.example/a2a", protocolBinding: "JSONRPC", protocolVersion: "1.0", tenant: "x" },
			],
			capabilities: {
				streaming: true,
				pushNotifications: false,
				extendedAgentCard: true,
				extensions: [{ uri: "https://e.example", required: true, params: { a: 1 } }],
			},
			skills: [
				{
					...skill,
					examples: ["e"],
					inputModes: ["a/b"],
					outputModes: ["c/d"],
					securityRequirements: [{ schemes: { g: { list: ["r"] } } }],
				},
			],
			provider: { url: "https://p.example", organization: "P" },
			documentationUrl: "https://d.example",
			iconUrl: "https://i.example",
			securitySchemes: { g: { openIdConnectSecurityScheme: { openIdConnectUrl: "https://o.example" } } },
			securityRequirements: [{ schemes: { g: { list: ["openid"] } } }],
			signatures: [{ protected: "p", signature: "s" }],
			metadata: { pid: 1 },
		};
		assert.deepEqual(decodeCard(structuredClone(card)), card);
	});

	it("needs a name and nothing else", () => {
		assert.deepEqual(decodeCard({ name: "n" }), { ...minimal, name: "n" });
		assert.deepEqual(
			decodeCard({ name: "n", skills: null, capabilities: "x", supportedInterfaces: {}, securitySchemes: [] }),
			{
				...minimal,
				name: "n",
			},
		);
		refused(() => decodeCard({}), /agent card is not valid A2A: has no name/);
		for (const value of [null, undefined, "card", 5, []]) refused(() => decodeCard(value), /no object/);
	});

	it("reads a 0.3 card", () => {
		// R068
		const card = decodeCard({
			protocolVersion: "0.3.0",
			name: "old",
			description: "d",
			url: "https://o.example/rpc",
			preferredTransport: "JSONRPC",
			additionalInterfaces: [
				{ url: "https://o.example/rpc", transport: "JSONRPC" },
				{ url: "https://o.example/rest", transport: "HTTP+JSON" },
			],
			version: "2",
			capabilities: { streaming: true, stateTransitionHistory: true },
			supportsAuthenticatedExtendedCard: true,
			securitySchemes: {
				b: { type: "http", scheme: "bearer", bearerFormat: "JWT" },
				k: { type: "apiKey", in: "header", name: "X-Key", description: "d" },
				m: { type: "mutualTLS" },
			},
			security: [{ b: [] }, { k: ["r"] }],
			defaultInputModes: ["text/plain"],
			defaultOutputModes: ["text/plain"],
			skills: [{ ...skill, security: [{ b: ["w"] }] }],
		});
		assert.deepEqual(card.supportedInterfaces, [
			{ url: "https://o.example/rpc", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
			{ url: "https://o.example/rest", protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
		]);
		assert.deepEqual(card.capabilities, { streaming: true, extendedAgentCard: true });
		assert.deepEqual(card.securitySchemes, {
			b: { httpAuthSecurityScheme: { scheme: "bearer", bearerFormat: "JWT" } },
			k: { apiKeySecurityScheme: { location: "header", name: "X-Key", description: "d" } },
			m: { mtlsSecurityScheme: {} },
		});
		assert.deepEqual(card.securityRequirements, [
			{ schemes: { b: { list: [] } } },
			{ schemes: { k: { list: ["r"] } } },
		]);
		assert.deepEqual(card.skills, [{ ...skill, securityRequirements: [{ schemes: { b: { list: ["w"] } } }] }]);
	});

	it("takes the top URL of a card without versions for 0.3, that of a 1.0 draft for 1.0", () => {
		assert.deepEqual(decodeCard({ name: "n", url: "http://x.example" }).supportedInterfaces, [
			{ url: "http://x.example", protocolBinding: "JSONRPC", protocolVersion: "0.3" },
		]);
		assert.equal(
			decodeCard({ name: "n", url: "http://x.example", protocolVersion: "0.2.6" }).supportedInterfaces[0]
				?.protocolVersion,
			"0.3",
		);
		assert.equal(
			decodeCard({ name: "n", url: "http://x.example", protocolVersion: "1.0" }).supportedInterfaces[0]
				?.protocolVersion,
			"1.0",
		);
	});

	it("reads a card for both versions: the 1.0 members count, and the 0.3 interface is one more", () => {
		const built = buildCard({ ...FACTS, auth: true, v03: false });
		const both = { ...downcastCard(buildCard({ ...FACTS, auth: true })), ...built };
		assert.deepEqual(decodeCard(both).supportedInterfaces, [
			{ url: FACTS.url, protocolBinding: "JSONRPC", protocolVersion: "1.0" },
			{ url: FACTS.url, protocolBinding: "JSONRPC", protocolVersion: "0.3" },
		]);
		assert.deepEqual(decodeCard(both).securityRequirements, built.securityRequirements);
		const merged = { bearer: { type: "http", scheme: "Bearer", httpAuthSecurityScheme: { scheme: "Bearer" } } };
		const [scheme] = Object.values(decodeCard({ ...both, securitySchemes: merged }).securitySchemes ?? {});
		assert.deepEqual(scheme?.httpAuthSecurityScheme, { scheme: "Bearer" });
	});

	it("bears with security schemes that are written as a union of one SDK's", () => {
		const scheme = { $case: "httpAuthSecurityScheme", value: { scheme: "Bearer" } };
		assert.deepEqual(decodeCard({ name: "n", securitySchemes: { b: { scheme } } }).securitySchemes, {
			b: { httpAuthSecurityScheme: { scheme: "Bearer" } },
		});
	});

	it("bounds every text without splitting a character", () => {
		// R138
		const card = decodeCard({
			name: "n".repeat(1000),
			description: "\u{1f9ea}".repeat(20_000),
			skills: [
				{
					id: "i".repeat(9999),
					description: "d".repeat(9999),
					tags: ["t".repeat(9999)],
					examples: Array(5000).fill("x"),
				},
			],
			iconUrl: `https://x.example/${"a".repeat(9999)}`,
		});
		assert.equal(card.name.length, 256);
		assert.ok(card.name.endsWith("…"));
		assert.ok(card.description.length <= 4096);
		assert.ok(!/[\uD800-\uDBFF](?![\uDC00-\uDFFF])/.test(card.description), "no half of a character");
		assert.equal(card.skills[0]?.id.length, 256);
		assert.equal(card.skills[0]?.description.length, 4096);
		assert.equal(card.skills[0]?.tags[0]?.length, 256);
		assert.equal(card.skills[0]?.examples?.length, 100);
		assert.equal("iconUrl" in card, false, "a URL is whole or not there");
	});

	it("refuses a card with thousands of skills or bottomless metadata", () => {
		// R095
		refused(() => decodeCard({ name: "n", skills: Array(10_000).fill(skill) }), /10000 skills, more than 500/);
		assert.equal(decodeCard({ name: "n", skills: Array(500).fill(skill) }).skills.length, 500);
		let deep: unknown = 1;
		for (let i = 0; i < 50_000; i += 1) deep = { deep };
		refused(() => decodeCard({ name: "n", metadata: deep }), /levels deep/);
	});

	it("drops what it cannot use and keeps the rest", () => {
		const card = decodeCard({
			name: "n",
			futureHint: 1,
			supportedInterfaces: [null, { protocolBinding: "JSONRPC" }, { url: "https://x.example" }, "x"],
			skills: [null, {}, "x", { name: "only a name" }],
			defaultInputModes: [1, null],
			capabilities: { streaming: "yes", extensions: [{}, { uri: "https://e.example" }] },
			securitySchemes: { a: null, b: { mtlsSecurityScheme: {} } },
		});
		assert.deepEqual(card.supportedInterfaces, [
			{ url: "https://x.example", protocolBinding: "JSONRPC", protocolVersion: "1.0" },
		]);
		assert.deepEqual(card.skills, [{ id: "only a name", name: "only a name", description: "", tags: [] }]);
		assert.deepEqual(card.defaultInputModes, ["text/plain"]);
		assert.deepEqual(card.capabilities, { extensions: [{ uri: "https://e.example" }] });
		assert.deepEqual(Object.keys(card.securitySchemes ?? {}), ["b"]);
	});

	it("keeps a scheme called __proto__ a member", () => {
		const card = decodeCard(
			parseJson(
				'{"name":"n","securitySchemes":{"__proto__":{"type":"http","scheme":"bearer"}},"security":[{"__proto__":[]}]}',
			),
		);
		assert.deepEqual(Object.keys(card.securitySchemes ?? {}), ["__proto__"]);
		assert.equal(Object.getPrototypeOf(card.securitySchemes), Object.prototype);
		assert.deepEqual(Object.keys(card.securityRequirements?.[0]?.schemes ?? {}), ["__proto__"]);
	});
});
