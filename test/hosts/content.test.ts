/** Files, structured answers, use and trace between the official SDK's client and a real Pi, over HTTP. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Part, Role, type Task } from "@a2a-js/sdk";
import type { Client } from "@a2a-js/sdk/client";
import { type ExtensionStage, openExtensionStage, serve, until } from "../support/extension-stage.ts";
import type { PiRpc } from "../support/pi-host.ts";
import { made, startPeer, task } from "../support/scripted-peer.ts";
import { all } from "../support/scripted-runner.ts";
import { asking, asTask, type Binding, resultOf, said, sdkClient, stateOf } from "../support/sdk-client.ts";

const file = (bytes: Uint8Array, filename: string, mediaType: string): Part => ({
	content: { $case: "raw", value: Buffer.from(bytes) },
	metadata: undefined,
	filename,
	mediaType,
});
/** Files of a task, by name. */
const filesOf = (task: Task) =>
	new Map(
		task.artifacts
			.flatMap(({ parts }) => parts)
			.flatMap(({ content, filename }) =>
				content?.$case === "raw" ? [[filename, Buffer.from(content.value)] as const] : [],
			),
	);
const PNG = Buffer.from(
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
	"base64",
);

describe("content over HTTP with a real Pi", function () {
	this.timeout(60_000);
	let stage: ExtensionStage;
	let pi: PiRpc & { readonly place: { readonly agentDir: string; readonly cwd: string } };
	let url: string;
	before(async () => {
		stage = await openExtensionStage();
		pi = await stage.rpc({
			a2a: { server: { port: 0, maxPingpongTurns: 20, rateLimitPerMin: 1000, files: { maxBytes: 2_000_000 } } },
		});
		url = await serve(pi);
	});
	after(() => stage.end());

	for (const binding of ["JSONRPC", "HTTP+JSON"] as const satisfies readonly Binding[])
		describe(`for the official SDK's client, by ${binding}`, () => {
			let client: Client;
			before(async () => {
				client = await sdkClient(url, undefined, binding);
			});

			const send = async (text: string, parts: readonly Part[] = [], acceptedOutputModes: string[] = []) => {
				const { parts: words } = said(text);
				const message = { parts: [...words, ...parts], role: Role.ROLE_USER };
				return asTask(await client.sendMessage(asking(text, message, { acceptedOutputModes })));
			};

			it("a file and a picture arrive as they were sent, are read by tools, and come back the same", async () => {
				const bytes = randomBytes(1_000_000);
				const steps = [
					'CALL bash {"command":"cp \\"$(ls -td $PI_CODING_AGENT_DIR/a2a_files/*/ | head -1)\\"in/* ."}',
					'CALL a2a_attach {"path":"some-data.bin"}',
					'CALL a2a_attach {"path":"p.png","name":"picture.png"}',
					"DUMP images",
				];
				const parts = [file(bytes, "../Some Data.bin", "application/octet-stream"), file(PNG, "p.png", "image/png")];
				const task = await send(steps.join("\n"), parts);
				assert.equal(stateOf(task), "TASK_STATE_COMPLETED", JSON.stringify(task.status));
				assert.match(resultOf(task), /"mime":"image\/png"/);
				const back = filesOf(task);
				assert.deepEqual([...back.keys()], ["some-data.bin", "picture.png"]);
				assert.ok(back.get("some-data.bin")?.equals(bytes));
				assert.ok(back.get("picture.png")?.equals(PNG));
				const asked = await client.getTask({ tenant: "", id: task.id });
				assert.ok(filesOf(asked).get("some-data.bin")?.equals(bytes));
				assert.ok((await readFile(join(pi.place.cwd, "some-data.bin"))).equals(bytes));
			});

			it("a file over the limit is refused before any work, by the name of its part", async () => {
				await assert.rejects(
					send("SAY x", [file(Buffer.alloc(2_000_001), "b", "")]),
					/message\.parts\[1\]\.raw: the file has 2\.00 MB/,
				);
			});

			it("who takes nothing that can be made is told so; who takes JSON gets data", async () => {
				await assert.rejects(send("SAY x", [], ["application/x-unheard-of"]), /acceptedOutputModes/);
				const task = await send('SAY {"answer":\\n42}', [], ["application/json"]);
				const [part, ...more] = task.artifacts.flatMap(({ parts }) => parts);
				assert.deepEqual(more, []);
				assert.deepEqual(part?.content, { $case: "data", value: { answer: 42 } });
			});

			it("the task says what it used", async () => {
				const task = await send("USAGE 1000 20\nSAY x");
				const usage = task.metadata?.["pi/usage"] as { [key: string]: unknown } | undefined;
				assert.equal(usage?.model, "fake/scripted");
				assert.equal(usage?.turns, 1);
				assert.ok(Number(usage?.inputTokens) >= 1000, JSON.stringify(usage));
				const stream = await all(client.sendMessageStream(asking("USAGE 10 2\nSAY x")));
				const last = stream.at(-1)?.payload;
				assert.ok(last?.$case === "statusUpdate" && last.value.metadata?.["pi/usage"], JSON.stringify(last));
			});
		});

	it("a trace that arrives is in the calls made for its task, and in the audit log at each step of it", async () => {
		const third = await startPeer({
			answers: { SendMessage: () => ({ task: task("COMPLETED", made("from the third")) }) },
		});
		const text = `CALL a2a_call ${JSON.stringify({ agent: third.url, message: "go on" })}\nSAY traced`;
		const trace = randomBytes(16).toString("hex");
		const body = {
			jsonrpc: "2.0",
			id: 1,
			method: "SendMessage",
			params: { message: { messageId: "traced", role: "ROLE_USER", parts: [{ text }] } },
		};
		const answer = await fetch(url, {
			method: "POST",
			headers: {
				"content-type": "application/json",
				"a2a-version": "1.0",
				traceparent: `00-${trace}-00f067aa0ba902b7-01`,
			},
			body: JSON.stringify(body),
		});
		assert.equal(answer.status, 200);
		assert.match(await answer.text(), /traced/);
		const passed = third.received.find(({ method }) => method === "SendMessage")?.headers.traceparent;
		await third.close();
		assert.match(String(passed), new RegExp(`^00-${trace}-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$`));
		const audit = join(pi.place.agentDir, "a2a_audit.jsonl");
		let lines: { operation: string; trace?: string }[] = [];
		const look = setInterval(async () => {
			lines = (await readFile(audit, "utf8"))
				.trim()
				.split("\n")
				.map((line) => JSON.parse(line));
		}, 30);
		const found = () => lines.filter((line) => line.trace === trace).map(({ operation }) => operation);
		await until(() => found().includes("task"), "the end of the task in the audit log").finally(() =>
			clearInterval(look),
		);
		assert.equal(found()[0], "SendMessage");
		assert.ok(found().length >= 3, `${found()}: the call out is missing`);
	});
});
