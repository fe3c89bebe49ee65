import assert from "node:assert/strict";
import { lstat, mkdir, readdir, readFile, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { manualClock } from "../../src/lib/clock.ts";
import { nullLog } from "../../src/lib/log.ts";
import { createReceiver } from "../../src/peers/received.ts";
import { PeerError } from "../../src/peers/reply.ts";
import { said, task } from "../support/scripted-peer.ts";
import { Bench, forever, type RigOptions } from "./rig.ts";

const b64 = (content: Uint8Array | string) => Buffer.from(content).toString("base64");
const file = (filename: string | undefined, content: Uint8Array | string, mediaType?: string) => ({
	raw: b64(content),
	...(mediaType === undefined ? {} : { mediaType }),
	...(filename === undefined ? {} : { filename }),
});
const mode = async (path: string) => (await lstat(path)).mode & 0o777;

describe("peers/received", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.end());

	/** A rig, and a peer that gives these parts, each in an artifact of its own. */
	async function receiving(parts: readonly object[], more: RigOptions = {}) {
		const artifacts = parts.map((part, n) => ({ artifactId: `a${n}`, parts: [part] }));
		const done = task("COMPLETED", { artifacts });
		const peer = await bench.peer({ answers: { SendMessage: () => ({ task: done }), GetTask: () => done } });
		const rig = await bench.rig({ config: { worker: peer.url }, ...more });
		const call = () => rig.outbound.call("worker", "go", { signal: forever() });
		return { ...rig, call, folder: join(rig.root, "a2a_received", "worker", "t1") };
	}

	it("puts files down for the user alone, under clean names, and keeps no bytes in the reply", async () => {
		const hostile = [
			"../../x",
			"con",
			"a\0b.txt",
			"n".repeat(300),
			"Twin.txt",
			"twin.txt",
			"..",
			"C:\\dir\\y.exe",
			"-rf",
		];
		const { call, folder, root } = await receiving(hostile.map((name, n) => file(name, `content ${n}`)));
		const { content, artifacts } = await call();
		assert.equal(content?.files.length, hostile.length);
		for (const [n, { path, bytes, artifactId }] of content.files.entries()) {
			assert.ok(path.startsWith(`${folder}/`) && !path.slice(folder.length + 1).includes("/"), path);
			assert.ok(path.length < folder.length + 90, path);
			assert.equal(await readFile(path, "utf8"), `content ${n}`);
			assert.equal(await mode(path), 0o600);
			assert.deepEqual([bytes, artifactId], [9, `a${n}`]);
		}
		const names = (await readdir(folder)).map((name) => name.toLowerCase());
		assert.equal(new Set(names).size, hostile.length);
		assert.ok(!names.includes("con"));
		assert.equal(await mode(folder), 0o700);
		assert.equal(await mode(join(root, "a2a_received")), 0o700);
		assert.ok(artifacts.every(({ parts }) => parts.every((part) => "raw" in part && part.raw === "")));
	});

	it("asked twice how a task stands, keeps each file once; another file of that name gets its own", async () => {
		const { call, outbound, folder } = await receiving([file("a.txt", "one"), file("a.txt", "two")]);
		await call();
		const reply = await outbound.status("worker", "t1", { signal: forever() });
		assert.deepEqual((await readdir(folder)).sort(), ["a-2.txt", "a.txt"]);
		assert.deepEqual(
			reply.content?.files.map(({ path }) => path),
			[join(folder, "a.txt"), join(folder, "a-2.txt")],
		);
	});

	it("never writes through a link that was put in the way, be it the folder or a file, and says so", async () => {
		const { call, root, folder } = await receiving([file("a.txt", "new")]);
		const outside = join(root, "outside");
		await mkdir(outside);
		await symlink(outside, join(root, "a2a_received"));
		const { notes, content } = await call();
		assert.match(notes.join(), /Not kept: a\.txt: .*a2a_received is in the way/);
		assert.deepEqual([content?.files, await readdir(outside)], [[], []]);

		const second = await receiving([file("a.txt", "new")]);
		await mkdir(second.folder, { recursive: true });
		await writeFile(join(second.root, "target"), "old");
		await symlink(join(second.root, "target"), join(second.folder, "a.txt"));
		const reply = await second.call();
		assert.equal(reply.content?.files[0]?.path, join(second.folder, "a-2.txt"));
		assert.equal(await readFile(join(second.root, "target"), "utf8"), "old");
		assert.notEqual(folder, second.folder);
	});

	it("keeps what a task had made before it failed or was rejected, and says where", async () => {
		for (const state of ["FAILED", "REJECTED"]) {
			const artifacts = [{ artifactId: "a", parts: [file("half.txt", "half of it")] }];
			const ended = { task: task(state, { artifacts }, "quota used up") };
			const peer = await bench.peer({ answers: { SendMessage: () => ended } });
			const { outbound, root } = await bench.rig({ config: { worker: peer.url } });
			const path = join(root, "a2a_received", "worker", "t1", "half.txt");
			await assert.rejects(outbound.call("worker", "go", { signal: forever() }), (error) => {
				assert.ok(error instanceof PeerError);
				assert.ok(
					error.message.includes(`quota used up. What it had made is here: half.txt (${path}).`),
					error.message,
				);
				assert.equal(error.state, `TASK_STATE_${state}`);
				return true;
			});
			assert.equal(await readFile(path, "utf8"), "half of it");
		}
	});

	it("says what is over the limits: the size of one, of all, and the number", async () => {
		const limits = { maxBytes: 10, maxTotalBytes: 25, maxCount: 3 };
		const parts = [file("big", "x".repeat(11)), ...["a", "b", "c"].map((name) => file(name, "x".repeat(10)))];
		const { call } = await receiving([...parts, file("d", "1"), file("e", "1")], { limits });
		const { content, notes } = await call();
		assert.deepEqual(
			content?.files.map(({ name }) => name),
			["a", "b", "d"],
		);
		assert.deepEqual(notes, [
			"Not kept: big: at most 10 bytes are kept of one (files.receive.maxBytes).",
			"Not kept: c: at most 25 bytes are kept of all (files.receive.maxTotalBytes).",
			"Not kept: e: 3 files are kept (files.receive.maxCount).",
		]);
	});

	it("bears a thousand artifacts and keeps as many files as it may", async () => {
		const { call, folder } = await receiving(Array.from({ length: 1000 }, (_, n) => file(`f${n}.txt`, `${n}`)));
		const { content, notes } = await call();
		assert.equal(content?.files.length, 100);
		assert.equal((await readdir(folder)).length, 100);
		assert.deepEqual(notes, [
			"Not kept: f100.txt, f101.txt, f102.txt and 897 more: 100 files are kept (files.receive.maxCount).",
		]);
	});

	it("fails a call in one line whose answer has a part of 50 MB, and keeps nothing of it", async () => {
		const { call, root } = await receiving([file("huge", Buffer.alloc(50_000_000))]);
		await assert.rejects(call(), /worker: .*(?:larger|large|more than|limit)/i);
		assert.ok(!(await readdir(root)).includes("a2a_received"));
	});

	it("shows addresses without fetching them, and keeps data whole, as a file too when it is long", async () => {
		const long = { list: Array.from({ length: 20_000 }, (_, n) => n) };
		const { call } = await receiving([
			{ url: "http://127.0.0.1:1/x", filename: "x.pdf" },
			{ data: { a: 1 } },
			{ data: long },
		]);
		const { content } = await call();
		assert.deepEqual(content?.links, [{ url: "http://127.0.0.1:1/x", name: "x.pdf" }]);
		assert.deepEqual(content.data, [{ a: 1 }, long]);
		assert.deepEqual(JSON.parse(await readFile(content.files[0]?.path ?? "", "utf8")), long);
	});

	it("keeps the files of a message without a task, and of a question", async () => {
		const parts = [{ text: "here" }, file("a.txt", "x", "text/plain")];
		const direct = await bench.peer({ answers: { SendMessage: () => ({ message: said("", { parts }) }) } });
		const asking = task("INPUT_REQUIRED") as { status: object };
		const asks = { ...asking, status: { state: "TASK_STATE_INPUT_REQUIRED", message: said("", { parts }) } };
		const question = await bench.peer({ answers: { SendMessage: () => ({ task: asks }) } });
		for (const { url } of [direct, question]) {
			const { outbound } = await bench.rig({ config: { worker: url } });
			const { content } = await outbound.call("worker", "go", { signal: forever() });
			assert.equal(await readFile(content?.files[0]?.path ?? "", "utf8"), "x");
		}
	});

	it("takes a token of ours out of a text file that a peer sends back", async () => {
		const token = "n0-shape-at-all-7";
		const peer = await bench.peer({
			answers: { SendMessage: () => ({ message: said("", { parts: [file("a.txt", `it is ${token}`)] }) }) },
		});
		const { outbound } = await bench.rig({ config: { worker: { url: peer.url, token, capabilities: [] } } });
		const { content } = await outbound.call("worker", "go", { signal: forever() });
		assert.equal(await readFile(content?.files[0]?.path ?? "", "utf8"), "it is [redacted:secret]");
	});

	it("deletes what is older than the days to keep, and nothing that a link leads to", async () => {
		const { root } = await bench.rig();
		const dir = join(root, "a2a_received");
		for (const name of ["p/old", "p/new", "q/old"]) await mkdir(join(dir, name), { recursive: true });
		await mkdir(join(root, "kept"));
		await symlink(join(root, "kept"), join(dir, "link"));
		const clock = manualClock();
		const day = 86_400_000;
		for (const name of ["p/old", "q/old"]) await utimes(join(dir, name), 0, (clock.now() - 2 * day) / 1000);
		const limits = { maxBytes: 1, maxTotalBytes: 1, maxCount: 1 };
		const parts = { dir, limits, withoutKnown: (text: string) => text, clock, log: nullLog };
		await createReceiver({ ...parts, keepDays: 0 }).sweep();
		assert.deepEqual((await readdir(join(dir, "q"))).length, 1);
		await createReceiver({ ...parts, keepDays: 1 }).sweep();
		assert.deepEqual((await readdir(dir)).sort(), ["link", "p"]);
		assert.deepEqual(await readdir(join(dir, "p")), ["new"]);
		assert.deepEqual(await readdir(root).then((names) => names.includes("kept")), true);
	});
});
