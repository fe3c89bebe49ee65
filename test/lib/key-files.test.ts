import assert from "node:assert/strict";
import { keysByContent, keysByName } from "../../src/lib/key-files.ts";

describe("files that hold keys", () => {
	it("are known by their names", () => {
		const keys = [
			"a/.env",
			"/x/.env.local",
			".env.production",
			"id_ed25519",
			"x.p12",
			"X.PFX",
			".npmrc",
			"_netrc",
			".htpasswd",
		];
		for (const name of keys) assert.match(String(keysByName(name)), /holds keys/, name);
		const others = [".env.example", ".env.sample", "env.ts", "id_ed25519.pub", "p12.ts", ".environment", "netrc.md"];
		for (const name of others) assert.equal(keysByName(name), undefined, name);
	});

	it("are known by what a private key begins with", () => {
		const pem = ["-----BEGIN EC PRIVATE", "KEY-----\nx"].join(" ");
		assert.match(String(keysByContent(Buffer.from(`\n${pem}`))), /private key/);
		assert.equal(keysByContent(Buffer.from(`A key looks like this: ${pem}`)), undefined);
	});
});
