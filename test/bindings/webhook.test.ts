import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createWebhooks, type WebhookParts } from "../../src/bindings/http/webhook.ts";
import { manualClock, systemClock } from "../../src/lib/clock.ts";
import { A2AError } from "../../src/protocol/errors.ts";

const SECRET = ["push", "key", "one"].join("-");
const forever = new AbortController().signal;

interface Seen {
	readonly headers: IncomingMessage["headers"];
	readonly body: string;
}

describe("webhooks over HTTP", () => {
	const ends: (() => void)[] = [];
	afterEach(() => {
		for (const end of ends.splice(0)) end();
	});

	/** A receiver on this machine. */
	async function hook(answer: (response: ServerResponse, request: IncomingMessage) => void = (out) => out.end()) {
		const seen: Seen[] = [];
		const server = createServer((request, response) => {
			const chunks: Buffer[] = [];
			request.on("data", (chunk: Buffer) => chunks.push(chunk));
			request.on("end", () => {
				seen.push({ headers: request.headers, body: Buffer.concat(chunks).toString("utf8") });
				answer(response, request);
			});
		});
		await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
		ends.push(() => {
			server.closeAllConnections();
			server.close();
		});
		return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`, seen };
	}

	function webhooks(over: Partial<WebhookParts> = {}) {
		const made = createWebhooks({ secret: () => "", private: () => false, clock: systemClock, ...over });
		ends.push(() => made.close());
		return made;
	}

	const post = (url: string, loopback = true, body = '{"é":1}') => ({
		...{ url, loopback, body },
		headers: { "content-type": "application/a2a+json" },
	});

	it("sign the very bytes of the body, and its time with it, when there is a key", async () => {
		const { url, seen } = await hook();
		const clock = { ...systemClock, now: () => 1_700_000_000_500 };
		const made = webhooks({ secret: () => SECRET, clock });
		assert.deepEqual(await made.deliver(post(url), forever), { outcome: "taken" });
		const [got] = seen;
		assert.ok(got);
		const expected = (text: string) => createHmac("sha256", SECRET).update(Buffer.from(text, "utf8")).digest("hex");
		assert.equal(got.headers["x-a2a-signature"], `sha256=${expected('{"é":1}')}`);
		assert.equal(got.headers["x-a2a-timestamp"], "1700000000");
		assert.equal(got.headers["x-a2a-signature-v2"], `t=1700000000,v1=${expected('1700000000.{"é":1}')}`);
	});

	it("do not sign without a key", async () => {
		const { url, seen } = await hook();
		await webhooks().deliver(post(url), forever);
		assert.equal(seen[0]?.headers["x-a2a-signature"], undefined);
	});

	it("tell what another try may help against from what it may not", async () => {
		for (const [status, outcome] of [
			[204, "taken"],
			[408, "again"],
			[429, "again"],
			[503, "again"],
			[400, "refused"],
			[410, "refused"],
		] as const) {
			const { url } = await hook((out) => void out.writeHead(status, { "retry-after": "7" }).end());
			const result = await webhooks().deliver(post(url), forever);
			assert.equal(result.outcome, outcome, String(status));
			if (result.outcome === "again") assert.equal(result.afterMs, 7000);
		}
		const { url } = await hook((_out, request) => void request.socket.destroy());
		assert.equal((await webhooks().deliver(post(url), forever)).outcome, "again");
	});

	it("do not wait for an answer longer than ten seconds", async () => {
		const clock = manualClock();
		let arrived: () => void = () => undefined;
		const asked = new Promise<void>((resolve) => {
			arrived = resolve;
		});
		const { url } = await hook(() => arrived());
		const result = webhooks({ clock }).deliver(post(url), forever);
		await asked;
		await clock.advance(10_000);
		assert.deepEqual(await result, { outcome: "again", why: "it did not answer in time", afterMs: 0 });
		assert.equal(clock.pending, 0);
	});

	it("follow no redirect", async () => {
		const inside = await hook();
		const outside = await hook((out) => void out.writeHead(302, { location: inside.url }).end());
		assert.equal((await webhooks().deliver(post(outside.url), forever)).outcome, "refused");
		assert.equal(inside.seen.length, 0);
	});

	it("are asked two at a time", async () => {
		let open = 0;
		let most = 0;
		const { url, seen } = await hook((out) => {
			open += 1;
			most = Math.max(most, open);
			setImmediate(() => {
				open -= 1;
				out.end();
			});
		});
		const made = webhooks();
		await Promise.all(Array.from({ length: 12 }, () => made.deliver(post(url), forever)));
		assert.equal(seen.length, 12);
		assert.ok(most <= 2, `${most} at once`);
	});

	it("are refused inside: this machine for callers from elsewhere, private networks, metadata", async () => {
		const { check } = webhooks();
		const refused = (url: string, loopback: boolean) =>
			assert.rejects(
				check(url, loopback),
				(error) => error instanceof A2AError && error.name === "ForbiddenError",
				url,
			);
		for (const url of ["http://127.0.0.1:9910/", "http://localhost/", "http://[::1]/"]) await refused(url, false);
		for (const loopback of [true, false]) {
			for (const url of ["http://169.254.169.254/latest/", "http://10.0.0.5/", "http://u:p@hook.example/"]) {
				await refused(url, loopback);
			}
		}
		await check("http://127.0.0.1:9910/", true);
		await webhooks({ private: () => true }).check("http://10.0.0.5/", false);
	});

	it("are checked at each delivery: a name that has come to lead inside is not called", async () => {
		const { url, seen } = await hook();
		const answers = ["93.184.216.34", "127.0.0.1"];
		const made = webhooks({ resolve: async () => [answers.shift() ?? "127.0.0.1"] });
		const named = url.replace("127.0.0.1", "hook.example");
		await made.check(named, false);
		const result = await made.deliver(post(named, false), forever);
		assert.deepEqual(result, { outcome: "refused", why: "its address is not called any more" });
		assert.equal(seen.length, 0);
	});
});
