/** A real Pi that serves, killed in the middle of a task and started again with `server.resumeTasks`. */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { Task } from "../../src/protocol/types.ts";
import { type ExtensionStage, openExtensionStage, type Place, serve } from "../support/extension-stage.ts";
import { freePort } from "../support/free-port.ts";

const SCRIPT = {
	once: 'CALL bash {"command":"echo once >> ran"}',
	half: 'CALL bash {"command":"echo half >> ran; sleep 4"}',
};

describe("a task of a real Pi that was killed", function () {
	this.timeout(120_000);
	let stage: ExtensionStage;
	before(async () => {
		stage = await openExtensionStage();
	});
	after(() => stage.end());

	async function rpc<T>(url: string, method: string, params: object): Promise<T> {
		const response = await fetch(url, {
			method: "POST",
			headers: { "content-type": "application/json", "a2a-version": "1.0" },
			body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
		});
		const { result, error } = (await response.json()) as { readonly result?: T; readonly error?: object };
		assert.ok(result, JSON.stringify(error));
		return result;
	}
	const textOf = (task: Task) => JSON.stringify(task.artifacts ?? []);

	/** Sends the script, kills the host once `isUnderWay`, starts it again; gives the task as it ends. */
	async function killed(script: string, isUnderWay: (task: Task, place: Place) => boolean, more: object = {}) {
		const port = await freePort();
		const settings = { a2a: { server: { port, portFallback: 0, resumeTasks: true, ...more } } };
		const first = await stage.rpc(settings);
		const url = await serve(first);
		const message = { messageId: "m1", role: "ROLE_USER", parts: [{ text: script }] };
		const configuration = { returnImmediately: true };
		const { task } = await rpc<{ task: Task }>(url, "SendMessage", { message, configuration });
		const get = () => rpc<Task>(url, "GetTask", { id: task.id });
		let now = task;
		for (let i = 0; i < 1000 && !isUnderWay(now, first.place); i++) {
			await pause(20);
			now = await get();
		}
		assert.ok(isUnderWay(now, first.place), JSON.stringify(now));
		await first.kill();
		await serve(await stage.rpc({ place: first.place }));
		const isOver = () => /COMPLETED|FAILED/.test(now.status.state);
		now = await get();
		for (let i = 0; i < 1000 && !isOver(); i++) {
			await pause(20);
			now = await get();
		}
		const again = await rpc<{ task: Task }>(url, "SendMessage", { message });
		assert.equal(again.task.id, task.id);
		const ran = join(first.place.cwd, "ran");
		return { task: now, ran: existsSync(ran) ? readFileSync(ran, "utf8") : "" };
	}

	it("goes on from its transcript: what was done is not done again, what was cut off is replaced", async () => {
		const { task, ran } = await killed(`${SCRIPT.once}\nSTREAM 400 20`, (now) => textOf(now).includes("chunk-5 "));
		assert.equal(task.status.state, "TASK_STATE_COMPLETED", JSON.stringify(task.status));
		assert.deepEqual(
			task.artifacts?.map(({ artifactId }) => artifactId),
			["reply"],
		);
		assert.match(textOf(task), /echo: .*interrupted/);
		assert.doesNotMatch(textOf(task), /chunk-/);
		assert.equal(ran, "once\n");
	});

	it("goes on when the model had not said anything yet", async () => {
		const asked = () => stage.llm.requests.filter(({ lastUser }) => lastUser.includes("HANG")).length;
		const before = asked();
		const { task } = await killed("HANG", () => asked() > before);
		assert.equal(task.status.state, "TASK_STATE_COMPLETED", JSON.stringify(task.status));
		assert.match(textOf(task), /echo: .*interrupted/);
	});

	it("ends as FAILED, with what it had produced, when a tool may have been at work", async () => {
		const isRunning = (_: Task, place: Place) => existsSync(join(place.cwd, "ran"));
		const { task, ran } = await killed(`SAY first words\n${SCRIPT.half}\nSAY done`, isRunning);
		assert.equal(task.status.state, "TASK_STATE_FAILED");
		assert.match(JSON.stringify(task.status.message), /host stopped/);
		assert.match(textOf(task), /first /);
		assert.equal(ran, "half\n");
	});

	it("ends as FAILED without a transcript", async () => {
		const isWriting = (now: Task) => textOf(now).includes("chunk-5 ");
		const { task } = await killed("STREAM 400 20", isWriting, { childTranscripts: false });
		assert.equal(task.status.state, "TASK_STATE_FAILED");
		assert.match(textOf(task), /chunk-5 /);
	});
});
