import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
	chmodSync,
	linkSync,
	mkdirSync,
	mkdtempSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callerToken } from "../../src/bindings/gateway/token.ts";
import { manualClock } from "../../src/lib/clock.ts";
import { openPrivate, privateFolder, writeJson } from "../../src/lib/files.ts";
import { JsonlFile, readLines } from "../../src/lib/jsonl.ts";
import { createConversations } from "../../src/peers/conversations.ts";
import { fromRegistry } from "../../src/peers/sources/registry.ts";
import { contextId } from "../../src/protocol/types.ts";

/** What somebody may have put where a file of ours belongs. */
const PLANTED = {
	"a symbolic link": (path: string, victim: string) => symlinkSync(victim, path),
	"a link to nothing": (path: string) => symlinkSync(`${path}.gone`, path),
	"a hard link": (path: string, victim: string) => linkSync(victim, path),
	"a pipe": (path: string) => void execFileSync("mkfifo", [path]),
	"a folder": (path: string) => mkdirSync(path),
} as const;

describe("what is ours on disk", () => {
	let root: string;
	let victim: string;
	const log = { info: () => undefined, warn: () => undefined };
	beforeEach(() => {
		root = mkdtempSync(join(tmpdir(), "private-"));
		victim = join(root, "victim");
		writeFileSync(victim, "untouched\n", { mode: 0o644 });
	});
	afterEach(() => rmSync(root, { recursive: true, force: true }));
	const isUntouched = () => {
		assert.equal(readFileSync(victim, "utf8"), "untouched\n");
		assert.equal(statSync(victim).mode & 0o777, 0o644);
	};

	for (const [what, plant] of Object.entries(PLANTED))
		it(`is not appended to through ${what}, and the error says so`, async () => {
			const path = join(root, "log.jsonl");
			plant(path, victim);
			await assert.rejects(new JsonlFile(path).append({ n: 1 }), /log\.jsonl is not used: it is/);
			isUntouched();
		});

	it("is not read through a link or from a pipe", async () => {
		symlinkSync(victim, join(root, "link"));
		await assert.rejects(readLines(join(root, "link")), /is not used: it is a symbolic link/);
		execFileSync("mkfifo", [join(root, "pipe")]);
		await assert.rejects(readLines(join(root, "pipe")), /is not used: it is not a file/);
	});

	it("is made private again when others could read or write it", async () => {
		const path = join(root, "log.jsonl");
		writeFileSync(path, "", { mode: 0o600 });
		chmodSync(path, 0o666);
		await (await openPrivate(path, "a")).close();
		assert.equal(statSync(path).mode & 0o777, 0o600);
		const folder = join(root, "folder");
		mkdirSync(folder);
		chmodSync(folder, 0o777);
		await privateFolder(folder);
		assert.equal(statSync(folder).mode & 0o777, 0o700);
	});

	it("is no folder that a link leads to, nor a file in its place", async () => {
		const elsewhere = join(root, "elsewhere");
		mkdirSync(elsewhere, { mode: 0o755 });
		symlinkSync(elsewhere, join(root, "link"));
		for (const name of ["link", "victim"])
			await assert.rejects(privateFolder(join(root, name)), /is in the way: it must be a folder/);
		assert.equal(statSync(elsewhere).mode & 0o777, 0o755);
	});

	it("belongs to us", async function () {
		if (process.getuid?.() !== 0) this.skip();
		const { chownSync } = await import("node:fs");
		mkdirSync(join(root, "folder"));
		for (const name of ["victim", "folder"]) chownSync(join(root, name), 12345, 12345);
		await assert.rejects(openPrivate(victim, "a"), /it belongs to another user/);
		await assert.rejects(privateFolder(join(root, "folder")), /belongs to another user/);
	});

	it("takes the place of a link when it is written whole; what the link led to stays", async () => {
		const path = join(root, "state.json");
		symlinkSync(victim, path);
		await writeJson(path, { a: 1 });
		isUntouched();
		assert.equal(readFileSync(path, "utf8"), '{\n  "a": 1\n}\n');
	});

	const elsewhere = () => {
		const folder = join(root, "elsewhere");
		mkdirSync(folder);
		return folder;
	};
	const announced = (dir: string) => {
		const registry = fromRegistry({ dir, pid: process.pid, clock: manualClock(), heartbeatMs: 1e9, ttlMs: 2e9, log });
		const facts = { name: "me", url: "http://127.0.0.1:1/", cwd: "/", tools: [], skills: [], startedAt: 1 };
		return registry.announce(facts).finally(() => registry.close());
	};
	const turn = { contextId: contextId("c"), peer: "p", address: "http://p/", role: "user", text: "hello" } as const;
	const USES: { readonly [folder: string]: (dir: string) => Promise<unknown> } = {
		a2a_registry: announced,
		a2a_conversations: (dir) => createConversations(dir, manualClock()).append(turn),
	};
	for (const [name, use] of Object.entries(USES)) {
		it(`puts nothing into a folder that stands behind a link at ${name}`, async () => {
			const dir = join(root, name);
			symlinkSync(elsewhere(), dir);
			await assert.rejects(use(dir), /is in the way: it must be a folder/);
		});
		it(`makes ${name} private again`, async () => {
			const dir = join(root, name);
			mkdirSync(dir);
			chmodSync(dir, 0o777);
			await use(dir);
			assert.equal(statSync(dir).mode & 0o777, 0o700);
		});
	}

	it("keeps no token of a gateway in a folder that stands behind a link", async () => {
		const folder = elsewhere();
		const dir = join(root, "a2a_gateways");
		symlinkSync(folder, dir);
		const warned: string[] = [];
		const telling = { ...log, warn: (text: string, error?: unknown) => void warned.push(`${text} ${error}`) };
		const token = callerToken({ dir, key: "gw", name: "me", clock: manualClock(Date.now()), log: telling });
		await token.claim();
		assert.match(warned.join("\n"), /must be a folder/);
	});
});
