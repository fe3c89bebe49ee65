import assert from "node:assert/strict";
import { createSecureContext } from "node:tls";
import { lifetimeOf } from "../../src/bindings/http/card-age.ts";
import { connectHttp, type HttpTarget } from "../../src/bindings/http/client.ts";
import { manualClock } from "../../src/lib/clock.ts";
import type { FaultyPeer, Wire } from "../support/faulty-peer.ts";
import { Bench, cardFor } from "./client-support.ts";
import { until } from "./contract.ts";

describe("the cards that a client keeps", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.close());

	/** A peer whose card comes with these headers; `answer` may do something else first. */
	const served = async (headers: () => Record<string, string>, answer?: (wire: Wire, count: number) => unknown) => {
		let count = 0;
		const peer = await bench.bare(
			(_request, wire) => answer?.(wire, count++) ?? wire.json(cardFor(peer.url), 200, headers()),
		);
		return peer;
	};
	const from = async (url: string, more: Partial<HttpTarget>) => (await bench.connect(url, more)).found?.()?.from;

	it("live as long as their headers say", () => {
		const at = (headers: Record<string, string>) => {
			const { keep, freshUntil, staleUntil } = lifetimeOf({ headers }, 1_000_000);
			return [keep, (freshUntil - 1_000_000) / 1000, (staleUntil - freshUntil) / 1000];
		};
		const date = (seconds: number) => new Date(seconds * 1000).toUTCString();
		const cases: readonly (readonly [Record<string, string>, readonly [boolean, number, number]])[] = [
			[{}, [true, 60, 3600]],
			[{ "cache-control": "public, Max-Age=30" }, [true, 30, 3600]],
			[{ "cache-control": 'max-age="30"', age: "10" }, [true, 20, 3600]],
			[{ "cache-control": "max-age=30", age: "40" }, [true, 0, 3600]],
			[{ "cache-control": "max-age=999999999" }, [true, 3600, 3600]],
			[{ "cache-control": "max-age=soon" }, [true, 60, 3600]],
			[{ "cache-control": "no-cache, max-age=30" }, [true, 0, 0]],
			[{ "cache-control": "no-store" }, [false, 0, 0]],
			[{ "cache-control": "max-age=30, must-revalidate" }, [true, 30, 0]],
			[{ "cache-control": "max-age=30, stale-if-error=5" }, [true, 30, 5]],
			[{ "cache-control": "stale-if-error=9999999" }, [true, 60, 86_400]],
			[{ date: date(5000), expires: date(5040) }, [true, 40, 3600]],
			[{ expires: "never" }, [true, 0, 3600]],
			[{ expires: date(5000), "cache-control": "max-age=7" }, [true, 7, 3600]],
		];
		for (const [headers, expected] of cases) assert.deepEqual(at(headers), expected, JSON.stringify(headers));
	});

	it("are asked for once by many callers, and one who leaves takes nothing from the others", async () => {
		let wire: Wire | undefined;
		const peer = await served(
			() => ({}),
			(each) => {
				wire = each;
				return true;
			},
		);
		const leaving = new AbortController();
		const gone = connectHttp(bench.target(peer.url), leaving.signal).catch((error) => error.message);
		const staying = [bench.connect(peer.url), bench.connect(peer.url)];
		await until(() => wire !== undefined);
		leaving.abort(new Error("left"));
		assert.equal(await gone, "left");
		await wire?.json(cardFor(peer.url));
		for (const each of await Promise.all(staying)) assert.equal(each.card()?.name, "peer");
		assert.equal(peer.requests.length, 1);
	});

	it("are no longer waited for when the last caller has left", async () => {
		const peer = await served(
			() => ({}),
			() => true,
		);
		const leaving = new AbortController();
		const gone = connectHttp(bench.target(peer.url), leaving.signal).catch((error) => error.message);
		await until(() => peer.requests.length === 1);
		leaving.abort(new Error("left"));
		assert.equal(await gone, "left");
		await until(() => peer.open === 0);
	});

	it("are not kept, or asked for each time, where the peer says so", async () => {
		for (const [control, asksWithTag] of [
			["no-store", undefined],
			["no-cache", '"t"'],
			["max-age=0", '"t"'],
		] as const) {
			const peer = await served(() => ({ "cache-control": control, etag: '"t"' }));
			assert.deepEqual([await from(peer.url, {}), await from(peer.url, {})], ["peer", "peer"], control);
			assert.equal(peer.requests[1]?.headers["if-none-match"], asksWithTag, control);
		}
	});

	it("are not handed from one way of calling a peer to another that is trusted more, or less", async () => {
		const peer = await served(() => ({}));
		const trust = () => ({ secureContext: createSecureContext() });
		const [one, other] = [trust(), trust()];
		const ways: readonly Partial<HttpTarget>[] = [
			{ verifySsl: false },
			{ verifySsl: true },
			{ trust: one },
			{ trust: other },
			{ token: "a" },
			{ token: "b" },
		];
		for (const way of ways) assert.equal(await from(peer.url, way), "peer", Object.keys(way)[0]);
		for (const way of ways) assert.equal(await from(peer.url, way), "cache");
		assert.equal(peer.requests.length, ways.length);
	});

	it("are confirmed by the place that they came from, and by no other of the same origin", async () => {
		let moved = false;
		const peer: FaultyPeer = await bench.bare(({ path, headers }, wire) => {
			if (!path.startsWith("/agent/")) return wire.send(headers["if-none-match"] === undefined ? 404 : 304, "");
			return moved
				? wire.send(404, "")
				: wire.json(cardFor(peer.url), 200, { "cache-control": "no-cache", etag: '"t"' });
		});
		const url = `${peer.url}agent/`;
		assert.equal((await bench.connect(url)).card()?.name, "peer");
		moved = true;
		assert.equal((await bench.connect(url)).card(), undefined);
		const asked = peer.requests.map((request) => [
			request.path.startsWith("/agent/"),
			request.headers["if-none-match"],
		]);
		assert.ok(asked.every(([isOwn, tag]) => isOwn || tag === undefined));
	});

	it("are asked for by their date where they have no tag", async () => {
		const date = "Tue, 01 Dec 2026 00:00:00 GMT";
		const peer = await served(() => ({ "cache-control": "no-cache", "last-modified": date }));
		await bench.connect(peer.url);
		await bench.connect(peer.url);
		assert.equal(peer.requests[1]?.headers["if-modified-since"], date);
	});

	it("stand in for a while when their server fails, and are asked for anew in good time", async () => {
		const clock = manualClock();
		let broken = false;
		let fault = (wire: Wire): unknown => wire.send(503, "down");
		const peer = await served(
			() => ({ "cache-control": "max-age=10, stale-if-error=100" }),
			(wire) => (broken ? fault(wire) : undefined),
		);
		const read = () => from(peer.url, { clock, retryAttempts: 3 });
		assert.deepEqual([await read(), await read()], ["peer", "cache"]);
		broken = true;
		await clock.advance(10_000);
		assert.deepEqual([await read(), await read()], ["stale", "stale"]);
		assert.equal(peer.requests.length, 2, "asked once, without further tries");
		await clock.advance(30_000);
		assert.equal(await read(), "stale");
		assert.equal(peer.requests.length, 3);
		for (const failing of [(wire: Wire) => wire.send(408, ""), (wire: Wire) => wire.cut()]) {
			fault = failing;
			await clock.advance(30_000);
			assert.equal(await read(), "stale");
		}
		fault = (wire) => wire.send(503, "down");
		await clock.advance(10_000);
		await assert.rejects(from(peer.url, { clock }), /HTTP 503/);
		broken = false;
		assert.equal(await read(), "peer");
	});

	it("that do not exist are not looked for with every call", async () => {
		const clock = manualClock();
		const peer = await bench.bare((_request, wire) => wire.send(404, "nothing"));
		await bench.connect(peer.url, { clock });
		await bench.connect(peer.url, { clock });
		assert.equal(peer.requests.length, 2, "the new name and the old one, once");
		await clock.advance(30_000);
		await bench.connect(peer.url, { clock });
		assert.equal(peer.requests.length, 4);
	});

	it("are at most 200: the oldest goes", async () => {
		const kept = { card: undefined, freshUntil: 1 } as const;
		for (let i = 0; i <= 200; i++) bench.pool.cards.set(String(i), kept);
		assert.deepEqual([bench.pool.cards.get("0"), bench.pool.cards.get("1")], [undefined, kept]);
	});
});
