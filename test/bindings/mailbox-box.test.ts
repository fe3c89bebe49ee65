import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import {
	chmodSync,
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	symlinkSync,
	writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Box, Fallen } from "../../src/bindings/mailbox/box.ts";
import { readFound, replaceIf } from "../../src/bindings/mailbox/box-file.ts";
import { salvage } from "../../src/bindings/mailbox/box-text.ts";
import { envelope } from "../../src/bindings/mailbox/messages.ts";
import { MailRoot } from "../../src/bindings/mailbox/root.ts";
import { manualClock, systemClock } from "../../src/lib/clock.ts";
import { withLock } from "../../src/lib/lock.ts";
import type { JsonObject } from "../../src/protocol/types.ts";
import { remembering } from "./http-support.ts";

const CHILD = fileURLToPath(new URL("mailbox-drop.ts", import.meta.url));

describe("mailbox: boxes", () => {
	let folder: string;
	let log: ReturnType<typeof remembering>;
	let clock: ReturnType<typeof manualClock>;
	let root: MailRoot;
	let box: Box;

	const rootWith = (more: object = {}, time = clock as typeof systemClock) =>
		new MailRoot(join(folder, "root"), {
			clock: time,
			log,
			keep: { forMs: 60_000, atMost: 3 },
			maxBytes: 100_000,
			...more,
		});
	const mail = (id: string, more: object = {}): JsonObject => ({
		...envelope({ id, type: "request", from: "a", to: "w", payload: { text: id } }, clock.now()),
		...more,
	});
	const ids = async (of = box) => (await of.read()).mails.map(({ id }) => id);
	const put = (...all: JsonObject[]) => box.update(all.map((each) => ({ put: each })));
	const beside = (name: string) => join(root.place("w").folder, name);
	const rejected = () => JSON.parse(readFileSync(beside("rejected.json"), "utf8")) as JsonObject[];

	beforeEach(async () => {
		folder = mkdtempSync(join(tmpdir(), "mailbox-box-"));
		log = remembering();
		clock = manualClock(Date.now());
		root = rootWith();
		await root.open();
		await root.make("w");
		box = root.box("w", "inbox");
	});
	afterEach(() => rmSync(folder, { recursive: true, force: true }));

	it("holds what was put in, a list with a message on each line, for its owner alone", async () => {
		await put(mail("1", { x_kept: 1 }), mail("2"));
		const text = readFileSync(box.path, "utf8");
		assert.equal(text.split("\n").length, 5);
		assert.equal((JSON.parse(text) as JsonObject[])[0]?.x_kept, 1);
		assert.equal(statSync(box.path).mode & 0o777, 0o600);
		for (const place of [root.path, root.agents, root.place("w").folder])
			assert.equal(statSync(place).mode & 0o777, 0o700);
		assert.deepEqual(readdirSync(root.place("w").folder), ["inbox.json"], "nothing is left beside it");
	});

	it("takes a message once, whoever brings it again", async () => {
		await put(mail("1"), mail("1", { payload: { text: "other" } }));
		await put(mail("1"));
		await box.update([{ mark: "1", fields: { _processed: true } }]);
		const all = JSON.parse(readFileSync(box.path, "utf8")) as JsonObject[];
		writeFileSync(box.path, JSON.stringify([...all, mail("1")]));
		assert.deepEqual(
			(await box.read()).mails.map(({ id, processed }) => [id, processed]),
			[["1", true]],
		);
	});

	it("loses no letter of twenty processes that drop theirs at the same moment", async () => {
		await root.make("busy");
		const children = Array.from({ length: 20 }, (_, n) =>
			spawn(process.execPath, ["--import", "tsx", CHILD, root.path, "busy", `p${n}`, "5"], { stdio: "inherit" }),
		);
		const reader = rootWith({ keep: { forMs: 60_000, atMost: 1_000 } }, systemClock).box("busy", "inbox");
		let over = false;
		const ended = Promise.all(
			children.map((child) => new Promise<number | null>((resolve) => child.once("exit", resolve))),
		).finally(() => {
			over = true;
		});
		while (!over) {
			const contents = await reader.read();
			assert.ok(!contents.halfway && contents.bad.length === 0, "half a file was read");
			await new Promise((resolve) => setTimeout(resolve, 1));
		}
		assert.deepEqual(new Set(await ended), new Set([0]));
		assert.equal(new Set(await ids(reader)).size, 100);
	}).timeout(60_000);

	it("keeps what a writer without a lock adds between our reading and our writing", async () => {
		await put(mail("1"));
		const add = (id: string) => {
			const all = JSON.parse(readFileSync(box.path, "utf8")) as JsonObject[];
			writeFileSync(beside("new"), JSON.stringify([...all, mail(id)]));
			execFileSync("mv", [beside("new"), box.path]);
		};
		for (let n = 0; n < 20; n++) {
			await box.read();
			add(`hand-${n}`);
			await put(mail(`ours-${n}`));
		}
		assert.equal((await ids()).length, 41);
	});

	it("replaces nothing that has changed since it was read", async () => {
		await put(mail("1"));
		const { stamp } = await readFound(box.path, 100_000);
		const other = JSON.stringify([mail("by hand")]);
		writeFileSync(box.path, other);
		assert.equal(await replaceIf(box.path, stamp, "[]"), undefined);
		assert.equal(readFileSync(box.path, "utf8"), other);
		assert.deepEqual(readdirSync(root.place("w").folder), ["inbox.json"]);
	});

	it("waits for a file that is being written, then takes what is whole and says what was not", async () => {
		await put(mail("1"));
		const text = readFileSync(box.path, "utf8");
		writeFileSync(box.path, `${text.slice(0, -3)},\n${JSON.stringify(mail("2"))},\n{"a2a_version": "0.1", "msg_`);
		assert.equal((await box.read()).halfway, true);
		assert.deepEqual(await ids(), ["1"], "those of before");
		await clock.advance(1_000);
		assert.deepEqual(await ids(), ["1", "2"]);
		await put(mail("3"));
		assert.deepEqual(await ids(), ["1", "2", "3"]);
		const [entry] = rejected();
		assert.match(String(entry?.reason), /not JSON/);
		assert.ok(String(entry?.message).endsWith('"msg_'), "not a byte is lost");
	});

	it("leaves out what somebody decided who was stopped before it could be written, and stands no more", async () => {
		await put(mail("1"));
		let stands = true;
		const edits = [{ mark: "1", fields: { _state: "leased" } }];
		const release = await new Promise<() => void>((held) => {
			void withLock(box.path, () => new Promise<void>((resolve) => held(resolve)));
		});
		const late = assert.rejects(
			box.update(edits, async () => stands),
			Fallen,
		);
		const plain = put(mail("2"));
		await clock.advance(1_500);
		stands = false;
		release();
		await Promise.all([late, plain]);
		assert.deepEqual(
			(await box.read()).mails.map(({ id, state }) => [id, state]),
			[
				["1", undefined],
				["2", undefined],
			],
		);
		stands = true;
		await box.update(edits, async () => assert.fail("nothing held it up"));
		assert.equal((await box.read()).mails[0]?.state, "leased");
	});

	it("finds whole messages behind a cut one, and is not held up by nonsense", () => {
		const [one, two] = [JSON.stringify(mail("1")), JSON.stringify(mail("2"))];
		assert.deepEqual(
			salvage(`[${one.slice(0, 40)}\n${one},{"x": ]},${two}`).map((each) => (each as JsonObject).msg_id),
			["1", "2"],
		);
		for (const text of ["{".repeat(300_000), `${"{".repeat(300_000)}${"}".repeat(300_000)}`, '{"'.repeat(300_000)]) {
			const began = performance.now();
			assert.deepEqual(salvage(text), []);
			assert.ok(performance.now() - began < 2_000);
		}
	});

	it("goes on when the writer has come to the end", async () => {
		await put(mail("1"));
		writeFileSync(box.path, `[${JSON.stringify(mail("1"))},`);
		const writing = put(mail("3"));
		await new Promise((resolve) => setTimeout(resolve, 5));
		writeFileSync(box.path, JSON.stringify([mail("1"), mail("2")]));
		for (let n = 0; n < 20; n++) await clock.advance(25);
		await writing;
		assert.deepEqual(await ids(), ["1", "2", "3"]);
		assert.equal(existsSync(beside("rejected.json")), false);
	});

	it("reads what people write: one object, a list with a byte order mark, an object of messages, nothing", async () => {
		for (const [text, want] of [
			[JSON.stringify(mail("1")), ["1"]],
			[`\ufeff${JSON.stringify([mail("1"), mail("2")])}`, ["1", "2"]],
			[JSON.stringify({ messages: [mail("1")] }), ["1"]],
			["", []],
			["\n", []],
		] as const) {
			writeFileSync(box.path, text);
			assert.deepEqual(await ids(), want, text);
		}
	});

	it("puts what is no message into rejected.json with the reason, and goes on", async () => {
		const stranger = mail("3", { to: "somebody" });
		writeFileSync(box.path, JSON.stringify([mail("1"), { ...mail("2"), type: "reqest" }, 7, stranger]));
		await box.update([]);
		assert.deepEqual(await ids(), ["1"]);
		assert.deepEqual(
			rejected().map(({ box: side, reason, message }) => [side, reason, (message as JsonObject)?.msg_id ?? message]),
			[
				["inbox", "type: expected one of request, response, broadcast, lease, heartbeat", "2"],
				["inbox", "expected an object with the members of an envelope", 7],
				["inbox", "to: this is the inbox of w", "3"],
			],
		);
		assert.match(log.lines.join(), /3 rejected from the inbox of w/);
		const outbox = root.box("w", "outbox");
		writeFileSync(outbox.path, JSON.stringify([mail("4")]));
		await outbox.update([]);
		assert.equal(rejected().at(-1)?.reason, "from: this is the outbox of w");
	});

	it("sets a huge file aside as a whole, and starts anew", async () => {
		writeFileSync(box.path, JSON.stringify([mail("1", { payload: { text: "x".repeat(200_000) } })]));
		assert.deepEqual(await ids(), []);
		await put(mail("2"));
		assert.deepEqual(await ids(), ["2"]);
		const aside = readdirSync(root.place("w").folder).find((name) => name.endsWith(".rejected"));
		assert.ok(aside && statSync(beside(aside)).size > 200_000);
		assert.match(String(rejected()[0]?.reason), /more than 100000/);
	});

	it("follows no link, and reads no folder and no pipe", async () => {
		const outside = join(folder, "outside.json");
		writeFileSync(outside, "[]");
		const before = statSync(outside).mtimeMs;
		symlinkSync(outside, box.path);
		await assert.rejects(box.read(), /is a link/);
		await assert.rejects(put(mail("1")), /is a link/);
		rmSync(box.path);
		mkdirSync(box.path);
		await assert.rejects(put(mail("1")), /EISDIR|not a plain file/);
		rmSync(box.path, { recursive: true });
		execFileSync("mkfifo", [box.path]);
		await assert.rejects(put(mail("1")), /not a plain file/);
		symlinkSync(folder, join(root.agents, "linked"));
		await assert.rejects(root.box("linked", "inbox").update([{ put: mail("1", { to: "linked" }) }]), /not a folder/);
		assert.deepEqual([readFileSync(outside, "utf8"), statSync(outside).mtimeMs], ["[]", before]);
		assert.equal((await root.folders()).includes("linked"), false);
	});

	it("makes no box for somebody who is not there", async () => {
		await assert.rejects(root.box("nobody", "inbox").update([{ put: mail("1") }]), /no mailbox of nobody/);
		assert.deepEqual(readdirSync(root.agents), ["w"]);
	});

	it("gives every id a folder of its own inside the root", async () => {
		const all = ["../../up", "c:\\x?1", "con", "x".repeat(200), "dot.", "Worker", "worker", ".", "..", "a/b", "é"];
		const places = all.map((id) => root.place(id).folder);
		assert.equal(new Set(places.map((place) => place.toLowerCase())).size, all.length);
		for (const place of places) assert.match(place.slice(root.agents.length), /^\/[a-z0-9_~.-]{1,80}$/);
		assert.throws(() => root.place("*"), /no id of an agent/);
	});

	it("refuses a root into which others may write", async () => {
		chmodSync(root.path, 0o777);
		await assert.rejects(root.open(), /others may write/);
	});

	it("keeps routed messages for a time and up to a number, and knows those it dropped until they are over", async () => {
		const done = { _processed: true, _state: "answered" };
		await put(
			...["1", "2", "3", "4", "5"].map((id) => mail(id, done)),
			mail("6", { _processed: true, _state: "leased" }),
		);
		await put(mail("7"));
		const texts = async () => (await box.read()).mails.map(({ id, payload }) => [id, payload.text]);
		assert.deepEqual(await texts(), [
			["1", undefined],
			["2", undefined],
			["3", "3"],
			["4", "4"],
			["5", "5"],
			["6", "6"],
			["7", "7"],
		]);
		await put(mail("1"));
		assert.equal((await box.read()).mails[0]?.state, "answered", "known again: it is not done twice");
		await clock.advance(31_000);
		await box.update([]);
		assert.deepEqual(await ids(), ["3", "4", "5", "6", "7"]);
		await clock.advance(60_000);
		await box.update([]);
		assert.deepEqual(await ids(), ["6", "7"], "what is at work or not yet routed stays");
	});
});
