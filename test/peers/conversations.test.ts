import assert from "node:assert/strict";
import { appendFile, mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { manualClock } from "../../src/lib/clock.ts";
import { type Conversations, createConversations, type Turn } from "../../src/peers/conversations.ts";
import { contextId, taskId } from "../../src/protocol/types.ts";

describe("peers/conversations", () => {
	let root: string;
	let dir: string;
	let log: Conversations;
	const clock = manualClock();

	const turn = (context: string, more: Partial<Turn> = {}): Omit<Turn, "time"> => ({
		contextId: contextId(context),
		peer: "worker",
		address: "http://loopback:1",
		role: "agent",
		text: "hello",
		...more,
	});
	const asks = { state: "TASK_STATE_INPUT_REQUIRED", taskId: taskId("t1"), text: "which?" } as const;

	beforeEach(async () => {
		root = await mkdtemp(join(tmpdir(), "conversations-"));
		dir = join(root, "a2a_conversations");
		log = createConversations(dir, clock);
	});
	afterEach(() => rm(root, { recursive: true }));

	it("recalls the newest turns of a context, oldest first", async () => {
		for (let i = 1; i <= 5; i++) await log.append(turn("c1", { text: String(i) }));
		await log.append(turn("c2", { text: "elsewhere" }));
		assert.deepEqual(
			(await log.recall("c1", 3)).map((each) => each.text),
			["3", "4", "5"],
		);
		assert.deepEqual(await log.recall("never"), []);
	});

	it("keeps a file for the owner's eyes only", async () => {
		await log.append(turn("c1"));
		assert.equal((await stat(dir)).mode & 0o777, 0o700);
		assert.equal((await stat(join(dir, "c1.jsonl"))).mode & 0o777, 0o600);
	});

	// R123
	it("keeps ids that no file can be called by, apart and unchanged", async () => {
		const ids = ["c:\\x?1", "../../up", "con", "x".repeat(300), "dot.", "Case", "case", "..", "a\0b"];
		for (const id of ids) await log.append(turn(id, { text: id }));
		for (const id of ids) {
			const turns = await log.recall(id);
			assert.deepEqual(
				turns.map((each) => [each.contextId, turns.length]),
				[[id, 1]],
			);
		}
		assert.deepEqual(await readdir(root), ["a2a_conversations"]);
		assert.equal((await log.list(100)).length, ids.length);
	});

	it("lists conversations newest first, with who took part and what is open", async () => {
		await log.append(turn("old", { role: "user" }));
		await clock.advance(1000);
		await log.append(turn("new", { role: "user", text: "do it" }));
		await log.append(turn("new", asks));
		const [first, second] = await log.list();
		assert.deepEqual(first, {
			contextId: "new",
			peers: ["worker"],
			time: "2026-01-01T00:00:01.000Z",
			text: "which?",
			state: "TASK_STATE_INPUT_REQUIRED",
			taskId: "t1",
			open: true,
		});
		assert.equal(second?.contextId, "old");
		assert.equal(second?.open, false);
		assert.equal((await log.list(1)).length, 1);
	});

	// R044
	it("remembers a peer's open question after a restart, until it was answered", async () => {
		await log.append(turn("c1", asks));
		const restarted = createConversations(dir, clock);
		assert.equal(await restarted.openQuestion("c1", "http://loopback:1"), "t1");
		assert.equal(await restarted.openQuestion("c1", "http://other:1"), undefined);
		await restarted.append(turn("c1", { role: "user", text: "CAD" }));
		assert.equal(await restarted.openQuestion("c1", "http://loopback:1"), undefined);
	});

	it("knows a conversation that a peer has had no part in", async () => {
		await log.append(turn("c1"));
		assert.equal(await log.isOthers("c1", "http://other:1"), true);
		assert.equal(await log.isOthers("c1", "http://loopback:1"), false);
		assert.equal(await log.isOthers("c2", "http://other:1"), false);
	});

	it("keeps the lines of a text and nothing that steers a terminal", async () => {
		await log.append(turn("c1", { text: "a\tb\r\n\x1b[31mred\x1b[0m \u202eevil\x00 北京 🧪" }));
		assert.equal((await log.recall("c1"))[0]?.text, "a\tb\nred evil 北京 🧪");
	});

	it("bounds the text of one turn", async () => {
		await log.append(turn("c1", { text: "x".repeat(1_000_000) }));
		assert.equal((await log.recall("c1"))[0]?.text.length, 65_536);
	});

	it("reads past lines that are torn or something else", async () => {
		await log.append(turn("c1"));
		await appendFile(join(dir, "c1.jsonl"), '{"time":"x"}\n[]\n7\n{"contextId":{}}\n{"torn');
		await log.append(turn("c1", { text: "after" }));
		assert.deepEqual(
			(await log.recall("c1")).map((each) => each.text),
			["hello", "after"],
		);
	});
});
