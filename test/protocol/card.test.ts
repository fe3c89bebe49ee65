import assert from "node:assert/strict";
import { buildCard, type CardFacts, pickInterfaces } from "../../src/protocol/card.ts";
import { decodeCard } from "../../src/protocol/decode.ts";
import type { AgentCard, AgentInterface } from "../../src/protocol/types.ts";

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

describe("buildCard", () => {
	it("names JSON-RPC 1.0 first, then what else is served", () => {
		// R073
		const rpc = { url: FACTS.url, protocolBinding: "JSONRPC" };
		assert.deepEqual(buildCard({ ...FACTS, restUrl: "http://127.0.0.1:9910/v1" }).supportedInterfaces, [
			{ ...rpc, protocolVersion: "1.0" },
			{ url: "http://127.0.0.1:9910/v1", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" },
			{ ...rpc, protocolVersion: "0.3" },
			{ url: "http://127.0.0.1:9910/v1", protocolBinding: "HTTP+JSON", protocolVersion: "0.3" },
		]);
		assert.deepEqual(buildCard({ ...FACTS, v03: false }).supportedInterfaces, [{ ...rpc, protocolVersion: "1.0" }]);
	});

	it("says each capability as it is", () => {
		// R084
		for (const flag of [true, false])
			assert.deepEqual(buildCard({ ...FACTS, streaming: flag, push: !flag, extended: flag }).capabilities, {
				streaming: flag,
				pushNotifications: !flag,
				extendedAgentCard: flag,
			});
		const extensions = [{ uri: "https://e.example/1", required: false }];
		assert.deepEqual(buildCard({ ...FACTS, extensions }).capabilities.extensions, extensions);
		assert.equal("extensions" in buildCard({ ...FACTS, extensions: [] }).capabilities, false);
	});

	it("asks for a bearer token when and only when there is one", () => {
		// R084
		const open = buildCard(FACTS);
		assert.equal("securitySchemes" in open || "securityRequirements" in open, false);
		const guarded = buildCard({ ...FACTS, auth: true });
		assert.deepEqual(guarded.securitySchemes, { bearer: { httpAuthSecurityScheme: { scheme: "Bearer" } } });
		assert.deepEqual(guarded.securityRequirements, [{ schemes: { bearer: { list: [] } } }]);
	});

	it("always lists a skill that is fit to be listed", () => {
		assert.deepEqual(buildCard(FACTS).skills, [skill]);
		const skills = buildCard({
			...FACTS,
			skills: [
				skill,
				{ ...skill, name: "again" },
				{ id: "x", name: "", description: "", tags: [" "] },
				{ ...skill, id: "" },
			],
		}).skills;
		assert.deepEqual(skills, [skill, { id: "x", name: "x", description: "x", tags: ["coding"] }]);
		const [general, ...none] = buildCard({ ...FACTS, skills: [] }).skills;
		assert.deepEqual(none, []);
		assert.ok(general?.id && general.name && general.description && general.tags.length > 0);
	});

	it("carries metadata when there is some", () => {
		assert.deepEqual(buildCard({ ...FACTS, metadata: { pid: 1 } }).metadata, { pid: 1 });
		assert.equal("metadata" in buildCard(FACTS), false);
	});

	it("is read back by our own decoder as it was built", () => {
		const card = buildCard({
			...FACTS,
			auth: true,
			extended: true,
			restUrl: "http://127.0.0.1:9910/v1",
			metadata: { pid: 1 },
		});
		assert.deepEqual(decodeCard(JSON.parse(JSON.stringify(card))), card);
	});
});

describe("pickInterfaces", () => {
	const card = (...supportedInterfaces: AgentInterface[]): AgentCard => ({ ...buildCard(FACTS), supportedInterfaces });
	const rpc = (protocolVersion: string, url = "https://x.example/rpc") => ({
		url,
		protocolBinding: "JSONRPC",
		protocolVersion,
	});
	const rest = { url: "https://x.example/rest", protocolBinding: "HTTP+JSON", protocolVersion: "1.0" };

	it("gives those that we speak, in the order of the card", () => {
		const urls = (...all: AgentInterface[]) => pickInterfaces(card(...all)).map(({ url }) => url);
		assert.deepEqual(urls({ ...rest, protocolBinding: "GRPC" }, rest, rpc("1.0")), [rest.url, rpc("1.0").url]);
		assert.deepEqual(urls(rpc("1.0"), rest), [rpc("1.0").url, rest.url]);
		assert.deepEqual(pickInterfaces(card(rpc("1.0"))), [
			{ url: "https://x.example/rpc", binding: "JSONRPC", version: "1.0" },
		]);
	});

	it("gives 1.0 before 0.3, and 0.3 when there is no other", () => {
		// R068
		const both = pickInterfaces(card(rpc("0.3"), rest, rpc("1.0", "https://x.example/new")));
		assert.deepEqual(
			both.map(({ url, version }) => `${version} ${url}`),
			["1.0 https://x.example/rest", "1.0 https://x.example/new", "0.3 https://x.example/rpc"],
		);
		assert.deepEqual(
			pickInterfaces(card(rpc("0.3.0"))).map(({ version }) => version),
			["0.3"],
		);
	});

	it("brings the tenant along", () => {
		assert.equal(pickInterfaces(card({ ...rpc("1.0"), tenant: "x" }))[0]?.tenant, "x");
		assert.equal("tenant" in (pickInterfaces(card({ ...rpc("1.0"), tenant: "" }))[0] ?? {}), false);
	});

	it("gives none that it cannot call", () => {
		assert.deepEqual(pickInterfaces(card()), []);
		for (const one of [
			rpc("2.0"),
			rpc("1.1"),
			rpc("1.0", "/relative"),
			rpc("1.0", "file:///etc/passwd"),
			{ ...rest, protocolVersion: "0.4" },
			{ ...rest, protocolBinding: "GRPC" },
		])
			assert.deepEqual(pickInterfaces(card(one)), [], JSON.stringify(one));
	});
});
