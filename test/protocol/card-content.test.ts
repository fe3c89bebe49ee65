import assert from "node:assert/strict";
import { signedForms } from "../../src/protocol/card-content.ts";

describe("protocol/card-content", () => {
	it("leaves defaults out as the example of the specification does", () => {
		const { exact } = signedForms({
			name: "Example Agent",
			description: "",
			capabilities: { streaming: false, pushNotifications: false, extensions: [] },
			skills: [],
		});
		const expected =
			'{"capabilities":{"pushNotifications":false,"streaming":false},"description":"","name":"Example Agent","skills":[]}';
		assert.equal(exact, expected);
	});

	it("does so in every message of a card, and keeps messages that are set and empty", () => {
		const { exact } = signedForms({
			name: "n",
			supportedInterfaces: [{ url: "", protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" }],
			iconUrl: "",
			provider: { url: "", organization: "" },
			capabilities: { extensions: [{ uri: "u", required: false, description: "", params: { a: "", b: [], c: null } }] },
			securitySchemes: {
				m: { mtlsSecurityScheme: { description: "" } },
				o: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: "t", refreshUrl: "", scopes: {} } } } },
			},
			securityRequirements: [{ schemes: { m: { list: [] }, o: { list: ["s"] } } }],
			skills: [{ id: "s", name: "", description: "", tags: [], examples: [], inputModes: ["a"] }],
			documentationUrl: null,
			signatures: [{ protected: "p" }],
		});
		assert.deepEqual(JSON.parse(exact), {
			name: "n",
			supportedInterfaces: [{ url: "", protocolBinding: "JSONRPC", protocolVersion: "1.0" }],
			iconUrl: "",
			provider: { url: "", organization: "" },
			capabilities: { extensions: [{ uri: "u", params: { a: "", b: [], c: null } }] },
			securitySchemes: {
				m: { mtlsSecurityScheme: {} },
				o: { oauth2SecurityScheme: { flows: { clientCredentials: { tokenUrl: "t", scopes: {} } } } },
			},
			securityRequirements: [{ schemes: { m: {}, o: { list: ["s"] } } }],
			skills: [{ id: "s", name: "", description: "", tags: [], inputModes: ["a"] }],
		});
	});

	it("knows members of other versions in the whole form only, and nothing empty in the bare one", () => {
		const forms = signedForms({
			name: "n",
			description: "",
			skills: [{ id: "s", tags: [""] }],
			url: "http://h/",
			later: 0,
		});
		assert.equal(forms.exact, '{"description":"","name":"n","skills":[{"id":"s","tags":[""]}]}');
		assert.equal(forms.bare, '{"name":"n","skills":[{"id":"s"}]}');
		assert.match(forms.whole, /"later":0,"name":"n",.*"url":"http:\/\/h\/"/);
	});

	it("takes names that every object has for what they are", () => {
		const card = JSON.parse('{"name":"n","constructor":1,"securitySchemes":{"__proto__":{"toString":1}}}');
		assert.equal(signedForms(card).exact, '{"name":"n","securitySchemes":{"__proto__":{}}}');
	});
});
