import assert from "node:assert/strict";
import { isAllowed, originOf, rangeOf, type UrlContext, urlCheck } from "../../src/guard/urls.ts";
import { rows } from "./corpora.ts";

interface Row {
	readonly id: string;
	readonly url: string;
	readonly verdict: "allow" | "block";
	readonly configured: "allow" | "block";
	readonly webhook: "allow" | "block";
	readonly resolves?: readonly string[];
	readonly base?: string;
	readonly chain?: readonly string[];
	readonly optional?: boolean;
}

const PUBLIC = ["93.184.215.14"];
const resolveTo = (addresses: readonly string[]) => async () => addresses;
const refused = { name: "ForbiddenError" };

describe("the address policy", () => {
	for (const context of ["direct", "configured", "webhook"] as const) {
		it(`judges every address of the corpus rightly (${context})`, async () => {
			for (const row of rows<Row>("ssrf.dev.jsonl").filter(({ optional }) => !optional)) {
				const { url, resolves = PUBLIC, base, chain } = row;
				const options = {
					context,
					resolve: resolveTo(resolves),
					...(base ? { base } : {}),
					...(chain ? { chain } : {}),
				};
				const wanted = context === "direct" ? row.verdict : row[context];
				assert.equal((await isAllowed(url, options)) ? "allow" : "block", wanted, `${row.id} ${url}`);
			}
		});
	}

	const check = (context: UrlContext, url: string, more: object = {}) =>
		urlCheck({ context, resolve: resolveTo(PUBLIC), ...more })(new URL(url));

	it("gives the addresses that were checked, so that a second lookup cannot change them", async () => {
		const answers = [["93.184.215.14", "2606:4700:4700::1111"], ["169.254.169.254"]];
		const resolve = async () => answers.shift() ?? [];
		assert.deepEqual(await check("direct", "http://peer.example.org/", { resolve }), [
			{ address: "93.184.215.14", family: 4 },
			{ address: "2606:4700:4700::1111", family: 6 },
		]);
		assert.equal(answers.length, 1, "the name was resolved once");
		await assert.rejects(check("direct", "http://peer.example.org/", { resolve }), refused);
	});

	it("does not ask a resolver about this machine or about literal addresses", async () => {
		const resolve = () => assert.fail("resolved");
		assert.deepEqual(await check("direct", "http://localhost:9910/", { resolve }), [
			{ address: "127.0.0.1", family: 4 },
			{ address: "::1", family: 6 },
		]);
		assert.deepEqual(await check("direct", "http://[::1]:9910/", { resolve }), [{ address: "::1", family: 6 }]);
		assert.deepEqual(await check("configured", "http://10.1.2.3/", { resolve }), [{ address: "10.1.2.3", family: 4 }]);
	});

	it("lets a name lead to this machine only when the operator wrote it down", async () => {
		const resolve = resolveTo(["127.0.0.1"]);
		await check("configured", "http://devbox.test/", { resolve });
		await assert.rejects(check("direct", "http://devbox.test/", { resolve }), refused);
	});

	it("opens loopback and private webhooks by their own switches", async () => {
		await assert.rejects(check("webhook", "http://127.0.0.1:1234/"), refused);
		await assert.rejects(check("webhook", "http://localhost:1234/"), refused);
		await assert.rejects(check("webhook", "http://10.0.0.5/"), refused);
		await check("webhook", "http://127.0.0.1:1234/", { loopback: true });
		await check("webhook", "http://localhost:1234/", { loopback: true });
		await check("webhook", "http://10.0.0.5/", { private: true });
		await assert.rejects(check("webhook", "http://169.254.169.254/", { loopback: true, private: true }), refused);
	});

	it("passes on what a resolver throws, and refuses a name without an address", async () => {
		const resolve = async () => {
			throw new Error("ENOTFOUND");
		};
		await assert.rejects(check("direct", "http://nobody.example.org/", { resolve }), /ENOTFOUND/);
		await assert.rejects(check("direct", "http://nobody.example.org/", { resolve: resolveTo([]) }), refused);
		assert.equal(await isAllowed("http://nobody.example.org/", { context: "direct", resolve }), false);
	});

	it("says why, without a word of what answers there", async () => {
		await assert.rejects(check("direct", "http://192.168.1.1/"), /private, and the operator has not written it down/);
		await assert.rejects(check("direct", "http://peer.example.org:22/"), /port 22/);
		await assert.rejects(check("direct", "http://u:p@peer.example.org/"), /user or a password/);
	});

	it("refuses answers that are no addresses", async () => {
		await assert.rejects(
			check("configured", "http://x.example.org/", { resolve: resolveTo(["fe80::1%eth0"]) }),
			refused,
		);
		await assert.rejects(check("configured", "http://x.example.org/", { resolve: resolveTo(["bogus"]) }), refused);
	});

	it("knows the range of an address in any spelling", () => {
		assert.equal(rangeOf("::ffff:127.0.0.1"), "loopback");
		assert.equal(rangeOf("::ffff:a00:1"), "private");
		assert.equal(rangeOf("64:ff9b::a9fe:a9fe"), "never");
		assert.equal(rangeOf("2001:db8::1"), "never");
		assert.equal(rangeOf("2a00:1450:4001:82a::200e"), "public");
		assert.equal(rangeOf("fd00:ec2::254"), "never");
		assert.equal(rangeOf("fd12::1"), "private");
		assert.equal(rangeOf("203.0.114.1"), "public");
		assert.equal(rangeOf(""), "never");
	});

	it("compares origins with all names of this machine as one", () => {
		const origin = (url: string) => originOf(new URL(url));
		assert.equal(origin("http://localhost:9910/a"), origin("http://127.0.0.1:9910/b"));
		assert.equal(origin("http://[::1]:9910/"), origin("http://localhost.:9910"));
		assert.equal(origin("https://PEER.example.org"), origin("https://peer.example.org:443/"));
		assert.notEqual(origin("http://peer.example.org"), origin("https://peer.example.org"));
		assert.notEqual(origin("http://localhost:1"), origin("http://localhost:2"));
	});
});
