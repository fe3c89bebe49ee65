import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Listening } from "../../src/bindings/http/listen.ts";
import { createHttpPool } from "../../src/bindings/http/pool.ts";
import { createTrusts, loadServerTls } from "../../src/bindings/http/tls.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { nullLog } from "../../src/lib/log.ts";
import { createConnect, openHttp } from "../../src/peers/connect.ts";
import { createDirectory } from "../../src/peers/directory.ts";
import type { Peer } from "../../src/peers/peer.ts";
import { type ConfiguredPeer, fromConfig } from "../../src/peers/sources/config.ts";
import { selfSigned } from "./certificate.ts";
import { serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

describe("encryption", () => {
	let root: string;
	let pool: ReturnType<typeof createHttpPool>;
	const servers: Listening[] = [];
	beforeEach(() => {
		root = mkdtempSync(join(tmpdir(), "tls-"));
		pool = createHttpPool();
	});
	afterEach(async () => {
		pool.close();
		for (const server of servers.splice(0)) await server.close();
		rmSync(root, { recursive: true, force: true });
	});

	/** A fresh key and its certificate as files. */
	function files(name: string, named = true): { readonly cert: string; readonly key: string } {
		const made = selfSigned(named);
		const paths = { cert: join(root, `${name}-cert.pem`), key: join(root, `${name}-key.pem`) };
		writeFileSync(paths.cert, made.cert);
		writeFileSync(paths.key, made.key, { mode: 0o600 });
		return paths;
	}
	async function serving(own: { readonly cert: string; readonly key: string }, clientCa = "") {
		const server = await serve({ agent: new ScriptedAgent(), tls: await loadServerTls({ ...own, clientCa }) });
		servers.push(server);
		return server;
	}
	const NONE = { cert: "", key: "" };

	/** The name on the card of a peer, or why it could not be called. */
	async function called(
		peer: ConfiguredPeer | Peer,
		{
			caFile = "",
			own = NONE,
			others = {},
		}: { caFile?: string; own?: typeof NONE; others?: Record<string, ConfiguredPeer> } = {},
	): Promise<string> {
		const configured = "source" in peer ? others : { ...others, tester: peer };
		const directory = createDirectory([fromConfig(configured, nullLog)], { self: () => [], log: nullLog });
		const connect = createConnect({
			open: {
				http: openHttp({
					identity: "",
					sendTimeoutMs: 10_000,
					streamTimeoutMs: 10_000,
					retryAttempts: 0,
					verifySsl: true,
					check: () => async () => undefined,
					trusts: createTrusts(caFile, own),
					// Connections are shared, and no card is remembered: each call shows what it needs.
					pool: { ...pool, cards: { get: () => undefined, set: () => undefined, delete: () => undefined } },
					clock: systemClock,
				}),
			},
			directory,
			own: { selfIdentity: "", sharedToken: "", peerTokens: {} },
			clock: systemClock,
			redact: (text) => text,
			exchange: () => undefined,
		});
		try {
			const found = "source" in peer ? peer : (await directory.list()).find(({ name }) => name === "tester");
			assert.ok(found);
			const connection = await connect(found, new AbortController().signal);
			return connection.card()?.name ?? "no card";
		} catch (error) {
			return error instanceof Error ? error.message : String(error);
		}
	}
	const at = (url: string, tls: ConfiguredPeer["tls"] = undefined): ConfiguredPeer => ({ url, capabilities: [], tls });
	const plainUrl = (url: string): Peer => ({
		name: "url",
		source: "url",
		address: { via: "http", url: new URL(url) },
		capabilities: [],
	});

	it("is what our server speaks with a certificate, and its address says so", async () => {
		const own = files("server");
		const { url } = await serving(own);
		assert.match(url, /^https:\/\/127\.0\.0\.1:\d+\/$/);
		assert.equal(await called(at(url, { caFile: own.cert })), "tester");
		assert.match(await called(at(url.replace("https", "http"))), /Could not reach|connection/i);
	});

	it("needs a certificate that we trust: by the peer's entry, by the general setting, or not at all", async () => {
		const own = files("server");
		const other = files("other");
		const { url } = await serving(own);
		assert.match(await called(at(url)), /its certificate is not accepted/);
		assert.match(await called(at(url, { caFile: other.cert })), /its certificate is not accepted/);
		assert.equal(await called(at(url), { caFile: own.cert }), "tester");
		assert.equal(await called(at(url, { caFile: other.cert }), { caFile: own.cert }), "tester");
		// What was trusted for one peer is not for another over the same pool.
		assert.match(await called(at(url)), /its certificate is not accepted/);
		assert.equal(process.env.NODE_TLS_REJECT_UNAUTHORIZED, undefined);
	});

	it("holds what an entry says for a plain URL of the same origin", async () => {
		const own = files("server");
		const { url } = await serving(own);
		assert.match(await called(plainUrl(url)), /its certificate is not accepted/);
		assert.equal(await called(plainUrl(url), { others: { alice: at(url, { caFile: own.cert }) } }), "tester");
	});

	it("lets in only clients with a certificate of the right authority, where one is asked for", async () => {
		const own = files("server");
		const client = files("client");
		const stranger = files("stranger");
		const { url } = await serving(own, client.cert);
		const caFile = own.cert;
		assert.equal(await called(at(url, { caFile, ...client })), "tester");
		assert.match(await called(at(url, { caFile, ...stranger })), /Could not reach|was cut/);
		assert.match(await called(at(url, { caFile })), /Could not reach|was cut/);
	});

	it("works between sessions of this machine with one certificate, whatever name it is for", async () => {
		const own = files("server", false);
		const { url } = await serving(own, own.cert);
		const session: Peer = { ...plainUrl(url), source: "local" };
		assert.equal(await called(session, { own }), "tester");
		assert.match(await called(session, { own: files("other") }), /its certificate is not accepted/);
		// A name that is not on the certificate is not trusted elsewhere.
		assert.match(await called(at(url, { caFile: own.cert, ...own })), /its certificate is not accepted/);
	});

	it("says which setting cannot be used and sends nothing, for us and for the server", async () => {
		const own = files("server");
		const { url } = await serving(own);
		const missing = join(root, "none.pem");
		const junk = join(root, "junk.pem");
		writeFileSync(junk, "junk");
		assert.match(await called(at(url, { caFile: missing })), /^a2a\.peers\.tester\.caFile: .*Nothing was sent$/);
		assert.match(await called(at(url, { caFile: junk })), /a2a\.peers\.tester\.caFile: .*not in PEM form/);
		assert.match(await called(at(url, { cert: own.cert })), /a2a\.peers\.tester\.key is not set/);
		assert.match(await called(at(url), { caFile: missing }), /^tls\.caFile: /);
		const starts = (tls: { cert?: string; key?: string; clientCa?: string }) =>
			loadServerTls({ cert: "", key: "", clientCa: "", ...tls });
		assert.equal(await starts({}), undefined);
		await assert.rejects(starts({ cert: own.cert }), /server\.tls\.key is not set/);
		await assert.rejects(starts({ clientCa: own.cert }), /server\.tls\.cert is not set/);
		await assert.rejects(starts({ cert: missing, key: own.key }), /server\.tls\.cert: .*none\.pem/);
		await assert.rejects(starts({ ...own, key: files("other").key }), /server\.tls\.cert and server\.tls\.key cannot/);
	});
});
