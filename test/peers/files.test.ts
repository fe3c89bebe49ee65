import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { link, mkdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { PeerError } from "../../src/peers/reply.ts";
import { serve } from "../bindings/http-support.ts";
import { made, task } from "../support/scripted-peer.ts";
import { bench as agentBench } from "../support/scripted-runner.ts";
import { sdkServer } from "../support/sdk-server.ts";
import { Bench, forever, type RigOptions } from "./rig.ts";

const refusal = (pattern: RegExp) => (error: unknown) => error instanceof PeerError && pattern.test(error.message);

describe("peers/files-out", () => {
	let bench: Bench;
	beforeEach(() => {
		bench = new Bench();
	});
	afterEach(() => bench.end());

	/** A rig whose working directory holds these files, and what its peer was sent. */
	async function sender(files: Readonly<Record<string, Uint8Array | string>>, more: RigOptions = {}) {
		const peer = await bench.peer({ answers: { SendMessage: () => ({ task: task("COMPLETED", made("done")) }) } });
		const rig = await bench.rig({ config: { worker: peer.url }, ...more });
		for (const [name, content] of Object.entries(files)) await writeFile(join(rig.work, name), content);
		const send = (paths: readonly string[], within?: readonly string[]) =>
			rig.outbound.call("worker", "look", { signal: forever(), files: { paths, within } });
		return { ...rig, peer, send, parts: () => peer.of("SendMessage").at(-1).message.parts };
	}

	it("sends files byte by byte behind the text, with their names and types, and data behind them", async () => {
		const picture = randomBytes(70_000);
		const { outbound, work, parts, peer } = await sender({ "a b.png": picture, "notes.md": "# hi", data: "x" });
		const paths = ["a b.png", join(work, "notes.md"), "./data"];
		const reply = await outbound.call("worker", "look", { signal: forever(), files: { paths }, data: { n: [1] } });
		const [text, ...rest] = parts();
		assert.deepEqual(text, { text: "look" });
		assert.deepEqual(
			rest.slice(0, 3).map(({ filename, mediaType }: Record<string, string>) => [filename, mediaType]),
			[
				["a b.png", "image/png"],
				["notes.md", "text/markdown"],
				["data", "application/octet-stream"],
			],
		);
		assert.ok(Buffer.from(rest[0].raw, "base64").equals(picture));
		assert.deepEqual(rest[3], { data: { n: [1] } });
		assert.deepEqual(reply.sent?.[0], { name: "a b.png", bytes: 70_000 });
		assert.deepEqual(peer.of("SendMessage")[0].configuration.acceptedOutputModes.at(-1), "*/*");
	});

	it("takes secrets out of text files and says so; what is no text goes as it is", async () => {
		const token = ["ghp", "1234567890abcdefghijklmnopqrstuvwxyz"].join("_");
		const binary = Buffer.concat([Buffer.from([0, 255]), Buffer.from(token)]);
		const { send, parts } = await sender({ "run.sh": `TOKEN=${token}\nB=${token}\n`, "x.bin": binary });
		const reply = await send(["run.sh", "x.bin"]);
		assert.doesNotMatch(Buffer.from(parts()[1].raw, "base64").toString(), /ghp_/);
		assert.ok(Buffer.from(parts()[2].raw, "base64").equals(binary));
		assert.deepEqual(reply.notes, ["2 secrets were taken out of run.sh before it was sent."]);
	});

	it("sends nothing when one file cannot go, and names that one", async () => {
		const limits = { maxBytes: 100, maxTotalBytes: 150, maxCount: 3 };
		const key = ["-----BEGIN OPENSSH PRIVATE", "KEY-----\nabc\n"].join(" ");
		const small = { "a.txt": "a", "b.txt": "b", "c.txt": "c", "d.txt": "d", "big.bin": Buffer.alloc(101) };
		const files = { ...small, "h1.bin": Buffer.alloc(90), "h2.bin": Buffer.alloc(90), key, id_rsa: "x", ".env": "A=b" };
		const { send, peer, root, work } = await sender(files, { limits });
		for (const name of ["settings.json", "auth.json"]) await writeFile(join(root, name), "{}");
		await symlink(join(root, "auth.json"), join(work, "link.json"));
		await link(join(root, "auth.json"), join(work, "hard.json"));
		// Variables of a process are no text for a redactor: there are zeros between them.
		const hasProc = await stat("/proc/self/environ").catch(() => undefined);
		const made = hasProc ? [[["/proc/self/environ"], /environ: it has not the size that it says/] as const] : [];
		for (const [paths, why] of [
			[["a.txt", "none.txt"], /none\.txt: there is no such file\. Nothing was sent/],
			[["."], /\.: it is not a file/],
			[["/dev/null"], /\/dev\/null: it is not a file/],
			[["big.bin"], /big\.bin: 101 bytes are too many, 100 are allowed/],
			[["h1.bin", "h2.bin"], /h2\.bin: with it the files have 180 bytes, 150 are allowed/],
			[["a.txt", "b.txt", "c.txt", "d.txt"], /4 files are too many, 3 may go/],
			[["key"], /key: it is a private key/],
			[[".env"], /\.env: by its name it holds keys/],
			[["id_rsa"], /id_rsa: by its name it holds keys/],
			[[join(root, "settings.json")], /settings\.json: files of this agent's own/],
			[[`../${basename(root)}/auth.json`], /auth\.json: files of this agent's own/],
			[["link.json"], /link\.json: files of this agent's own/],
			[["a\0b"], /is no path of a file/],
			[["hard.json"], /hard\.json: it is another name of a file/],
			...made,
		] as const)
			await assert.rejects(send(paths), refusal(why), String(paths));
		assert.equal(peer.received.length, 0);
	});

	it("lets a session that serves a peer send what lies in its own folders, and nothing else", async () => {
		const { send, root, work, peer } = await sender({ "a.txt": "a" });
		const own = join(root, "a2a_files", "task-1", "in");
		const other = join(root, "a2a_files", "task-2", "in");
		for (const folder of [own, other]) await mkdir(folder, { recursive: true });
		for (const folder of [own, other]) await writeFile(join(folder, "x.txt"), "x");
		const within = [join(root, "a2a_files", "task-1")];
		await send([join(own, "x.txt")], within);
		await assert.rejects(send([join(other, "x.txt")], within), refusal(/files of its workspace only/));
		await assert.rejects(send(["/etc/hostname"], within), refusal(/files of its workspace only/));
		await symlink("/etc/passwd", join(own, "link"));
		await assert.rejects(send([join(own, "link")], within), refusal(/files of its workspace only/));
		await assert.rejects(send([join(work, "a.txt")], within), refusal(/files of its workspace only/));
		assert.equal(peer.received.length, 1);
	});

	it("passes files through a server of ours and back, byte by byte, and the conversation keeps names and sizes", async () => {
		const back = agentBench(async function* ({ message }) {
			for (const [n, part] of message.parts.entries())
				if ("raw" in part) yield { type: "artifact", artifact: { artifactId: `f${n}`, parts: [part] } };
		});
		const server = await serve({ agent: back.agent });
		try {
			const rig = await bench.rig({ config: { worker: server.url } });
			const bytes = randomBytes(3_000_000);
			await writeFile(join(rig.work, "big.bin"), bytes);
			const files = { paths: ["big.bin"] };
			const reply = await rig.outbound.call("worker", "back", { signal: forever(), files });
			const [saved] = reply.content?.files ?? assert.fail("nothing was received");
			assert.ok((await readFile(saved?.path ?? "")).equals(bytes));
			const turns = await rig.outbound.history(reply.contextId ?? "");
			assert.deepEqual(
				turns.map((turn) => [turn.role, turn.files]),
				["user", "agent"].map((role) => [role, [{ name: "big.bin", bytes: 3_000_000 }]]),
			);
		} finally {
			await server.close();
		}
	});

	it("is understood by a server of the official SDK", async () => {
		const server = await sdkServer();
		try {
			const rig = await bench.rig({ config: { worker: server.url } });
			await writeFile(join(rig.work, "a.bin"), randomBytes(20_000));
			const files = { paths: ["a.bin"] };
			const reply = await rig.outbound.call("worker", "message hello", { signal: forever(), files });
			assert.equal(reply.text, "hello");
			assert.match(String(server.received.at(-1)?.headers.traceparent), /^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/);
		} finally {
			await server.close();
		}
	});

	it("carries one trace through all requests of a call, a span for each call, and tells it of each exchange", async () => {
		const { outbound, peer, exchanges } = await sender({});
		const trace = `00-${"ab".repeat(16)}-${"cd".repeat(8)}-00`;
		for (let n = 0; n < 2; n++) await outbound.call("worker", "x", { signal: forever(), trace });
		await outbound.call("worker", "x", { signal: forever() });
		const sent = peer.received.map(({ headers }) => String(headers.traceparent));
		assert.equal(new Set(sent).size, 3);
		assert.ok(sent.slice(0, 2).every((each) => each.startsWith(trace.slice(0, 36)) && each.endsWith("-00")));
		assert.ok(!sent.includes(trace));
		assert.deepEqual(
			exchanges.map((each) => each.trace),
			sent.map((each) => each.slice(3, 35)),
		);
	});
});
