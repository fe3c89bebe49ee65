/** Dispatches whose peers notify us: whole apps over HTTP, scripted peers, and the official SDK's servers. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { Settled } from "../../src/peers/homecoming.ts";
import { type OwnServer, ownAddressFor } from "../../src/peers/own-address.ts";
import type { Peer, SourceName } from "../../src/peers/peer.ts";
import { type PeerOptions, RpcError, type ScriptedPeer, startPeer } from "../support/scripted-peer.ts";
import { sdkServer } from "../support/sdk-server.ts";
import { sdkServer03 } from "../support/sdk-server-03.ts";
import { startUs, type Us, type UsOptions } from "../support/sdk-us.ts";
import { until } from "./rig.ts";

const PUSHES = { capabilities: { streaming: true, pushNotifications: true } };
const working = (id: string) => ({ id, contextId: "c1", status: { state: "TASK_STATE_WORKING" } });
const completed = (id: string, text: string) => ({
	...{ id, contextId: "c1", status: { state: "TASK_STATE_COMPLETED" } },
	artifacts: [{ artifactId: "a", parts: [{ text }] }],
});

describe("dispatches that come home by a webhook", function () {
	this.timeout(40_000);
	const ends: (() => Promise<unknown>)[] = [];
	afterEach(async () => {
		for (const end of ends.splice(0).reverse()) await end();
	});

	async function us(options: UsOptions = {}): Promise<Us & { readonly told: Settled[] }> {
		const started = await startUs(options);
		ends.push(started.close);
		const told: Settled[] = [];
		started.app.homecoming.onSettled((settled) => void told.push(settled));
		return { ...started, told };
	}
	async function scripted(answers: PeerOptions["answers"], card: object = PUSHES): Promise<ScriptedPeer> {
		const peer = await startPeer({ streaming: true, card, answers });
		ends.push(peer.close);
		return peer;
	}
	async function dispatch({ app }: Us, agent: string, message: string, more: object = {}) {
		const options = { signal: new AbortController().signal, detached: true, webhook: true, ...more };
		const reply = await app.outbound.call(agent, message, options);
		assert.ok(reply.running && reply.taskId, JSON.stringify(reply));
		app.homecoming.follow({ agent, peer: reply.peer, taskId: reply.taskId, at: Date.now() });
		return reply;
	}
	const settledText = (told: readonly Settled[]) =>
		told.map((each) => ("reply" in each ? each.reply.text : each.error));
	/** How often each operation was asked of that server. */
	function asked({ app }: Us): Record<string, number> {
		const inbound = (app.metrics.snapshot().inbound ?? {}) as Record<string, { total: number }>;
		return Object.fromEntries(Object.entries(inbound).map(([operation, { total }]) => [operation, total]));
	}

	it("cost one question between two of us, and no stream", async () => {
		const token = ["t", "worker"].join("-");
		const worker = await us({ token });
		const peers = { worker: { url: worker.url, auth: { token } } };
		// Whoever calls the host needs a token; its webhook lets the worker in without.
		const host = await us({ token: ["t", "host"].join("-"), peers });
		await dispatch(host, "worker", "slow 600");
		await until(() => host.told.length > 0, "the result");
		assert.deepEqual(settledText(host.told), ["slept 600 ms"]);
		assert.deepEqual(asked(worker), { SendMessage: 1, GetTask: 1 });
		assert.deepEqual(host.app.homecoming.pending(), []);
	});

	it("tell of a question, and of the end once it has been answered in the same task", async () => {
		const peer = await sdkServer({ whole: true });
		ends.push(peer.close);
		const host = await us({ peers: { peer: { url: peer.url } } });
		const { contextId, taskId } = await dispatch(host, "peer", "ask");
		await until(() => host.told.length === 1, "the question");
		const [first] = host.told;
		assert.ok(first && "reply" in first && first.reply.question === "Which colour?");
		assert.equal((await dispatch(host, "peer", "blue", { contextId })).taskId, taskId);
		await until(() => host.told.length === 2, "the result");
		assert.equal(settledText(host.told)[1], "You said: blue");
		assert.equal(peer.received.length, 4, peer.received.map(({ method }) => method).join());
	});

	it("are asked of a peer that refuses the webhook, which gets the same message again without it", async () => {
		const refusals = [
			new RpcError(-32003, "no push"),
			new RpcError(-32602, "configuration.taskPushNotificationConfig.url: This address is not called"),
		];
		for (const refusal of refusals) {
			const peer = await scripted({
				SendMessage: (_, nth) => {
					if (nth === 0) throw refusal;
					return { task: working("t1") };
				},
				GetTask: () => completed("t1", "all of it"),
			});
			const host = await us({ peers: { peer: { url: peer.url } } });
			await dispatch(host, "peer", "do it");
			await until(() => host.told.length > 0, "the result");
			const [first, second, ...more] = peer.of("SendMessage");
			assert.equal(more.length, 0);
			assert.equal(first.message.messageId, second.message.messageId);
			assert.match(first.configuration.taskPushNotificationConfig.url, new RegExp(`^${host.url}push/[\\w-]{22}$`));
			assert.match(first.configuration.taskPushNotificationConfig.token, /^[\w-]{43}$/);
			assert.equal(second.configuration.taskPushNotificationConfig, undefined);
			assert.equal(second.configuration.returnImmediately, true);
		}
		const other = await scripted({
			SendMessage: () => {
				throw new RpcError(-32602, "message.parts: too many");
			},
		});
		const host = await us({ peers: { other: { url: other.url } } });
		await assert.rejects(dispatch(host, "other", "do it"), /too many/);
		assert.equal(other.received.length, 1);
	});

	it("get no webhook where the peer cannot push, nobody follows, or our server does not run", async () => {
		const answers = { SendMessage: () => ({ task: working("t1") }), GetTask: () => completed("t1", "done") };
		const plain = await scripted(answers, { capabilities: { streaming: true } });
		const peer = await scripted(answers);
		const host = await us({ peers: { plain: { url: plain.url }, peer: { url: peer.url } } });
		await dispatch(host, "plain", "do it");
		await dispatch(host, "peer", "do it", { webhook: false });
		await host.app.server.stop();
		await dispatch(host, "peer", "do it");
		const sent = [...plain.of("SendMessage"), ...peer.of("SendMessage")];
		assert.equal(sent.length, 3);
		for (const { configuration } of sent) assert.equal(configuration.taskPushNotificationConfig, undefined);
	});

	it("believe what the peer says when it is asked, not what the webhook brings", async () => {
		let task: object = working("t1");
		const peer = await scripted({ SendMessage: () => ({ task: working("t1") }), GetTask: () => task });
		const host = await us({ peers: { peer: { url: peer.url } } });
		await dispatch(host, "peer", "do it");
		const { url, token } = peer.of("SendMessage")[0].configuration.taskPushNotificationConfig;
		const post = async (body: object) => {
			const headers = { "content-type": "application/json", "x-a2a-notification-token": token };
			return (await fetch(url, { method: "POST", headers, body: JSON.stringify(body) })).status;
		};
		assert.equal(await post({ task: working("t1") }), 200);
		assert.equal(await post({ task: completed("t2", "of another task") }), 400);
		assert.equal(peer.of("GetTask").length, 0);
		assert.equal(await post({ task: completed("t1", "forged") }), 200);
		await until(() => peer.of("GetTask").length === 1, "a question");
		assert.equal(await post({ task: completed("t1", "forged") }), 200);
		await pause(50);
		assert.deepEqual([host.told.length, peer.of("GetTask").length], [0, 1]);
		task = completed("t1", "the truth");
		assert.equal(await post({ task: completed("t1", "forged again") }), 200);
		await until(() => host.told.length > 0, "the result");
		assert.deepEqual(settledText(host.told), ["the truth"]);
		assert.equal(peer.of("SubscribeToTask").length, 0);
	});

	it("are followed as usual once the server has stopped", async () => {
		const peer = await scripted({
			SendMessage: () => ({ task: working("t1") }),
			GetTask: () => completed("t1", "found out"),
		});
		const host = await us({ peers: { peer: { url: peer.url } } });
		await dispatch(host, "peer", "do it");
		await pause(50);
		assert.equal(peer.of("GetTask").length, 0);
		await host.app.server.stop();
		await until(() => host.told.length > 0, "the result");
	});

	for (const [name, start] of [
		["1.x", sdkServer],
		["0.3.x", sdkServer03],
	] as const) {
		it(`come home from a server of the official SDK ${name}`, async () => {
			const peer = await start({ whole: true });
			ends.push(peer.close);
			const host = await us({ peers: { peer: { url: peer.url } } });
			await dispatch(host, "peer", "slow 600");
			await until(() => host.told.length > 0, "the result");
			assert.deepEqual(settledText(host.told), ["slept 600"]);
			assert.equal(peer.received.length, 2, peer.received.map(({ method }) => method).join());
		});
	}
});

describe("peers/own-address", () => {
	const at = (url: string, source: SourceName = "config", pin?: string): Peer => ({
		...{ name: "p", source, capabilities: [] },
		address: { via: "http", url: new URL(url), ...(pin ? { pin } : {}) },
	});
	const server = (host: string, publicUrl = ""): OwnServer => ({
		...{ host, publicUrl },
		url: `http://${host === "0.0.0.0" ? "127.0.0.1" : host}:9910/`,
	});
	const PUBLIC = "https://pi.example/a2a/";

	it("is one at which that peer reaches us, or none", () => {
		const local = "http://127.0.0.1:9910/";
		const far = "https://peer.example/";
		const rows: readonly (readonly [Peer, OwnServer, string | undefined])[] = [
			[at("http://localhost:1/"), server("127.0.0.1"), local],
			[at("http://[::1]:1/"), server("0.0.0.0"), local],
			[at("http://127.0.0.1:1/"), server("0.0.0.0", PUBLIC), local],
			[at(far), server("127.0.0.1"), undefined],
			[at(far), server("0.0.0.0"), undefined],
			[at(far), server("0.0.0.0", PUBLIC), PUBLIC],
			[at(far), server("192.168.1.5"), "http://192.168.1.5:9910/"],
			[at("http://127.0.0.1:8/p/x", "gateway", "http://127.0.0.1:8"), server("127.0.0.1"), undefined],
			[at("http://127.0.0.1:8/p/x", "gateway", "http://127.0.0.1:8"), server("127.0.0.1", PUBLIC), PUBLIC],
			[{ ...at(far), address: { via: "mailbox", id: "m" } }, server("127.0.0.1", PUBLIC), undefined],
		];
		for (const [peer, own, expected] of rows) assert.equal(ownAddressFor(peer, own), expected, JSON.stringify(peer));
	});
});
