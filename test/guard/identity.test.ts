import assert from "node:assert/strict";
import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import { type Credential, type IdentityOptions, identifier } from "../../src/guard/identity.ts";
import { manualClock } from "../../src/lib/clock.ts";

const clock = manualClock();
const make = (options: Partial<IdentityOptions> = {}) =>
	identifier({ shared: "", peers: {}, clock: manualClock(), ...options });
const from = (token: string | undefined, more: Partial<Credential> = {}): Credential => ({
	scheme: token === undefined ? "none" : "bearer",
	address: "192.0.2.7",
	...(token === undefined ? {} : { token }),
	...more,
});
const unauthorized = { name: "UnauthorizedError" };
const limited = { name: "RateLimitedError" };
const errorOf = (run: () => unknown): string => {
	try {
		run();
	} catch (error) {
		return (error as Error).name;
	}
	return "none";
};

describe("who calls", () => {
	it("is the peer whose token it is, also when that is the shared one", () => {
		const identify = make({ shared: "shared-token", peers: { alice: "token-a", bob: "shared-token" } });
		assert.deepEqual(identify(from("token-a", { asserted: "mallory" })), {
			id: "peer:alice",
			label: "alice",
			authenticated: true,
			loopback: false,
		});
		assert.equal(identify(from("shared-token")).id, "peer:bob");
	});

	it("is the address for the shared token; on this machine under the name it gives itself", () => {
		const identify = make({ shared: "shared-token" });
		const here = { address: "127.0.0.1", asserted: "worker\n\u001b[31m1" };
		assert.deepEqual(identify(from("shared-token", here)), {
			id: "ip:127.0.0.1",
			label: "worker 1",
			authenticated: true,
			loopback: true,
		});
		assert.equal(identify(from("shared-token", { address: "127.0.0.1" })).label, "ip:127.0.0.1");
		assert.equal(identify(from("shared-token", { asserted: "worker" })).label, "ip:192.0.2.7");
	});

	it("has no name of its own choice on a server that others than this machine can reach", () => {
		for (const shared of ["shared-token", ""]) {
			const identify = make({ shared, closed: () => false });
			const { id, label } = identify(from("shared-token", { address: "::1", asserted: "worker" }));
			assert.deepEqual([id, label], ["ip:127.0.0.1", "ip:127.0.0.1"]);
		}
	});

	it("cannot look like a peer that has a token of its own", () => {
		const identify = make({ shared: "shared-token", peers: { Alice: "token-a" } });
		for (const asserted of ["Alice", "alice", "Ａlice", " alice "]) {
			const { id, label } = identify(from("shared-token", { address: "127.0.0.1", asserted }));
			assert.equal(id, "ip:127.0.0.1");
			assert.match(label, / \(unverified\)$/);
		}
	});

	it("is anybody on this machine when there are no tokens, and nobody else", () => {
		const identify = make();
		for (const address of ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"]) {
			assert.deepEqual(identify(from(undefined, { address })), {
				id: "ip:127.0.0.1",
				label: "ip:127.0.0.1",
				authenticated: false,
				loopback: true,
			});
		}
		for (const address of ["192.0.2.7", "", "::2", "::ffff:192.0.2.7", "127.0.0.1.evil"])
			assert.throws(() => identify(from(undefined, { address })), unauthorized);
	});

	it("is nobody without the right token, on this machine too", () => {
		const identify = make({ shared: "shared-token", peers: { alice: "token-a" } });
		for (const token of [undefined, "", "shared", "shared-token ", "Shared-Token", "token-b", "peer:alice"])
			assert.throws(() => identify(from(token, { address: "127.0.0.1" })), unauthorized);
	});

	it("is nobody for empty tokens, which close the server instead of opening it", () => {
		const identify = make({ peers: { alice: "" } });
		assert.throws(() => identify(from("", { address: "127.0.0.1" })), unauthorized);
		assert.throws(() => identify(from(undefined, { address: "127.0.0.1" })), unauthorized);
	});

	it("is a gateway or a mailbox by its key, never by what the request says", () => {
		const identify = make({ shared: "shared-token", minted: () => new Map([["work", "minted-token"]]) });
		assert.equal(identify({ scheme: "gateway", key: "work", address: "", asserted: "x" }).id, "gateway:work");
		assert.equal(identify({ scheme: "mailbox", key: "box", address: "" }).id, "mailbox:box");
		assert.equal(identify(from("minted-token")).id, "gateway:work");
		assert.throws(() => identify({ scheme: "gateway", address: "127.0.0.1" }), unauthorized);
	});

	it("is found by names that are keys of objects elsewhere", () => {
		const identify = make({ peers: JSON.parse('{"__proto__":"token-p","constructor":"token-c"}') });
		assert.equal(identify(from("token-p")).id, "peer:__proto__");
		assert.equal(identify(from("token-c")).id, "peer:constructor");
	});

	it("takes the same number of comparisons of one length for every token", () => {
		const compared: number[] = [];
		const real = crypto.timingSafeEqual;
		crypto.timingSafeEqual = (a, b) => {
			compared.push(a.byteLength);
			return real(a, b);
		};
		// Named imports of Node's modules follow the default export once told so.
		syncBuiltinESMExports();
		try {
			const identify = make({ shared: "shared-token", peers: { a: "token-a", b: "token-b" } });
			for (const token of ["token-a", "token-b", "shared-token", "x", "y".repeat(5000)]) {
				compared.length = 0;
				errorOf(() => identify(from(token)));
				assert.deepEqual(compared, [32, 32, 32], token.slice(0, 20));
			}
		} finally {
			crypto.timingSafeEqual = real;
			syncBuiltinESMExports();
		}
	});
});

describe("guessing tokens", () => {
	const identify = make({ shared: "shared-token", clock });

	it("is slowed down from the eleventh wrong one, for the whole network of an IPv6 address", () => {
		for (let n = 0; n < 10; n++) assert.throws(() => identify(from(`wrong-${n}`)), unauthorized);
		assert.throws(() => identify(from("wrong-10")), limited);
		for (let n = 0; n < 10; n++)
			assert.throws(() => identify(from(`wrong-${n}`, { address: `2001:db8:1:2::${n}` })), unauthorized);
		assert.throws(() => identify(from("wrong-10", { address: "2001:db8:1:2:ffff::1" })), limited);
		assert.throws(() => identify(from("wrong-10", { address: "2001:db8:1:3::1" })), unauthorized);
	});

	it("does not lock out who has the right token, from there or elsewhere", () => {
		assert.equal(identify(from("shared-token")).authenticated, true);
		assert.equal(identify(from("shared-token", { address: "192.0.2.8" })).authenticated, true);
	});

	it("may go on after a while", async () => {
		await clock.advance(60_000);
		assert.throws(() => identify(from("wrong-11")), unauthorized);
	});

	it("is not what a client with one stale token does", () => {
		const stale = make({ shared: "shared-token" });
		for (let n = 0; n < 100; n++) assert.throws(() => stale(from("stale-token")), unauthorized);
	});

	it("does not lock out who was let in before, while others behind the same address flood", () => {
		const flooded = make({ shared: "shared-token", peers: { alice: "token-a" } });
		assert.equal(flooded(from("token-a")).id, "peer:alice");
		for (let n = 0; n < 400; n++) errorOf(() => flooded(from(`wrong-${n}`)));
		assert.equal(flooded(from("token-a")).id, "peer:alice");
		assert.throws(() => flooded(from("shared-token")), limited, "a token that has not come from there before");
		assert.throws(() => flooded(from("wrong-0")), limited);
		assert.throws(() => flooded(from(undefined)), limited);
	});

	it("ends in nothing being looked at any more", async () => {
		const time = manualClock();
		const flooded = make({ shared: "shared-token", clock: time });
		for (let n = 0; n < 300; n++) errorOf(() => flooded(from(`wrong-${n}`)));
		assert.throws(() => flooded(from("shared-token")), limited);
		assert.equal(flooded(from("shared-token", { address: "192.0.2.8" })).authenticated, true);
		await time.advance(1000);
		assert.equal(flooded(from("shared-token")).authenticated, true);
	});
});
