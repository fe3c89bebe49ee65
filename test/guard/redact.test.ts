import assert from "node:assert/strict";
import { Readable } from "node:stream";
import { createRedactor, redact, redacting, redaction } from "../../src/guard/redact.ts";
import type { Agent, Call } from "../../src/protocol/agent.ts";
import type { Part, SendMessageRequest } from "../../src/protocol/types.ts";
import { dice, percent, rows, secret } from "./corpora.ts";

interface Positive {
	readonly id: string;
	readonly text: string;
	readonly secret: string;
	readonly secrets?: readonly string[];
	readonly keep?: readonly string[];
	readonly hard?: boolean;
	readonly chunks?: readonly string[];
}
interface Negative {
	readonly id: string;
	readonly text: string;
	readonly optional?: boolean;
}

const positives = rows<Positive>("redact-positive.dev.jsonl.rev");
const negatives = rows<Negative>("redact-negative.dev.jsonl.rev");

/** Whether half of a secret, at least eight characters of it, can still be read; blanks do not count. */
function leaks(row: Positive, shown: string): boolean {
	const squash = (text: string) => text.replace(/\s+/g, "");
	const out = squash(shown);
	return (row.secrets ?? [row.secret]).map(squash).some((value) => {
		const width = Math.min(value.length, Math.max(8, Math.ceil(value.length / 2)));
		for (let i = 0; i + width <= value.length; i++) if (out.includes(value.slice(i, i + width))) return true;
		return false;
	});
}

function streamed(chunks: Iterable<string>): string {
	const redactor = createRedactor();
	let out = "";
	for (const chunk of chunks) out += redactor.push(chunk);
	return out + redactor.end();
}

function* cut(text: string, next: () => number, most: number): Generator<string> {
	for (let at = 0; at < text.length; ) {
		const length = 1 + Math.floor(next() * most);
		yield text.slice(at, at + length);
		at += length;
	}
}

describe("redact", () => {
	const leaked = (hard: boolean) =>
		positives.filter((row) => Boolean(row.hard) === hard && leaks(row, redact(row.text)));

	it("takes out 99 % of the credentials that one can know, and 60 % of the hidden ones", () => {
		const core = positives.filter((row) => !row.hard).length;
		const missed = leaked(false);
		assert.ok(percent(missed.length, core) <= 1, missed.map(({ id }) => id).join());
		assert.ok(percent(leaked(true).length, positives.length - core) <= 40);
	});

	it("leaves 99 % of harmless texts as they are", () => {
		const rigid = negatives.filter((row) => !row.optional);
		const changed = rigid.filter(({ text }) => redact(text) !== text);
		assert.ok(percent(changed.length, rigid.length) <= 1, changed.map(({ id }) => id).join());
	});

	it("keeps what stands around a secret", () => {
		for (const { id, text, keep = [] } of positives)
			for (const part of keep) assert.ok(redact(text).includes(part), `${id} lost ${part}`);
	});

	it("leaves a redacted text as it is", () => {
		for (const { id, text } of positives) assert.equal(redact(redact(text)), redact(text), id);
	});

	it("says what kind it took out", () => {
		assert.equal(redact("write to jane.doe@corp.com, please"), "write to [redacted:email], please");
		assert.equal(redact(`password: ${secret(16)}!`), "password: [redacted:password]");
		assert.equal(redact(`db://app:${secret(16)}@host/x`), "db://app:[redacted:password]@host/x");
		assert.equal(redact(`"apiKey": "${secret(32)}",`), '"apiKey": "[redacted:key]",');
	});

	it("replaces a private key by one placeholder between its marks", () => {
		const label = ["PRIVATE", "KEY"].join(" ");
		const lines = [1, 2, 3].map((n) => secret(64, n)).join("\n");
		const text = `x\n-----BEGIN ${label}-----\n${lines}\nabc=\n-----END ${label}-----\ny`;
		assert.equal(redact(text), `x\n-----BEGIN ${label}-----\n[redacted:private-key]\n-----END ${label}-----\ny`);
		assert.equal(
			redact(`starts with "-----BEGIN ${label}-----" and nothing more`),
			`starts with "-----BEGIN ${label}-----" and nothing more`,
		);
	});

	it("does not take for a secret what only stands near a word for one", () => {
		for (const text of [
			"const token = await getToken({ refresh: true });",
			"password: process.env.DB_PASSWORD2 ?? ''",
			"`apiKey` is read from settings.json, `secretName` is not.",
			"fingerprint: 74:31:E5:F4:C3:C1:CE:46:90:77:4F:0B:61:E0:54:40",
			"nextPageToken: MTIzNDU2Nzg5MA",
			'credentials: { expiration: "2024-10-24T23:00:23Z", userCode: "ABCD-1234" }',
			"task-8ba95f78ec536926 ctx-6763eb1c8389f8c5",
			"Nieoczekiwany token: Nieprawidłowy",
			"Authorization: Bearer eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9...",
		])
			assert.equal(redact(text), text);
	});

	it("follows a name to a value on the next line, in a table, a command or a list", () => {
		const value = secret(24);
		for (const text of [
			`password:\n  ${value}`,
			`- name: DB_PASSWORD\n  value: "${value}"`,
			`| API key | ${value} |`,
			`mysql -u root -p${value} shop`,
			`redis-cli -a ${value} ping`,
			`curl -u admin:${value} https://ci.example.net`,
			`A2A_PEER_TOKENS="alice:${value},bob:x"`,
			`{ "peerTokens": { "alice": "${value}" } }`,
			`CREATE USER a IDENTIFIED BY '${value}';`,
			`<add key="ApiKey" value="${value}"/>`,
			`root:${value}@tcp(127.0.0.1:3306)/shop`,
			`**Token:** \`${value}\``,
		])
			assert.ok(!redact(text).includes(value), text);
	});

	it("costs time in proportion to the text, whatever the text", () => {
		const units = [
			"eyJ",
			"a@a.",
			"sk-",
			"Bearer ",
			"password=",
			"-----BEGIN PRIVATE KEY-----",
			"://a:",
			"\n",
			"A",
			"a.",
			" ",
			'{"token":"',
			"key=",
			"a-",
			"%40",
			"a:",
			"<tool",
			"QUJD",
			"'a",
			"\\n",
			"a%",
			"xoxb-",
		];
		const measure = (text: string) => {
			const began = process.cpuUsage();
			redact(text);
			const { user, system } = process.cpuUsage(began);
			return (user + system) / 1000;
		};
		for (const unit of units) {
			const text = (length: number) => `x${unit.repeat(Math.ceil(length / unit.length))}!`;
			measure(text(4000));
			const best = (length: number) => Math.min(measure(text(length)), measure(text(length)), measure(text(length)));
			const small = best(50_000);
			const large = best(200_000);
			// Four times the text; quadratic cost would be sixteen times.
			assert.ok(large < 60 || large < small * 9, `${JSON.stringify(unit)}: ${small} ms, then ${large} ms`);
			assert.ok(large < 2_000, `${JSON.stringify(unit)}: ${large} ms`);
		}
	});

	it("survives any text", () => {
		const next = dice(7);
		const alphabet = `ab1 \n"':=@/%\\{}[]<>-_.,;&?#$|+*\u200b\ud800é漢`;
		for (let n = 0; n < 3000; n++) {
			const length = Math.floor(next() * 80);
			const text = Array.from({ length }, () => alphabet[Math.floor(next() * alphabet.length)]).join("");
			const whole = redact(text);
			assert.equal(redact(whole), whole, JSON.stringify(text));
			assert.equal(streamed(cut(text, next, 5)), whole, JSON.stringify(text));
		}
	});
});

describe("a redactor of a stream", () => {
	it("gives the same as the whole text, however the text is cut", () => {
		const next = dice(42);
		for (const { id, text } of [...positives, ...negatives])
			for (const most of [1, 7, 40]) assert.equal(streamed(cut(text, next, most)), redact(text), id);
	});

	it("is as safe as the whole text on the streams of the corpus", () => {
		const rowsWithChunks = positives.filter((row) => row.chunks);
		assert.ok(rowsWithChunks.length > 0);
		for (const row of rowsWithChunks) assert.ok(!leaks(row, streamed(row.chunks ?? [])), row.id);
	});

	it("gives a word out as soon as it has ended, and holds back no more than the word that is being written", () => {
		const redactor = createRedactor();
		assert.equal(redactor.push("Hello "), "Hello ");
		assert.equal(redactor.push("wor"), "");
		assert.equal(redactor.push("ld, how"), "world, ");
		assert.equal(redactor.push(" is it? The password is "), "how is it? The password is ");
		assert.equal(redactor.push(secret(16).slice(0, 9)), "");
		assert.equal(redactor.push(`${secret(16).slice(9)} `), "[redacted:password] ");
		assert.equal(redactor.push("漢字は待たない"), "漢字は待たない");
		assert.equal(redactor.end(), "");
	});

	it("holds back a bounded amount of a text without blanks, and lets nothing of a long token through", () => {
		const redactor = createRedactor();
		let shown = 0;
		let most = 0;
		for (let n = 0; n < 2000; n++) {
			shown += redactor.push("QUJDREVGR0hJSktMTU5PUA").length;
			most = Math.max(most, (n + 1) * 22 - shown);
		}
		assert.ok(most < 5000, `${most} characters held back`);
		assert.equal(shown + redactor.end().length, 2000 * 22);

		const long = `ghp_${secret(36)} token=${secret(9000)}`;
		assert.equal(redact(`${long} after`), "[redacted:token] token=[redacted:token] after");
	});

	it("is empty after the end, and can be used again", () => {
		const redactor = createRedactor();
		redactor.push("password: ");
		redactor.end();
		assert.equal(redactor.push(`${secret(16)} `), `${secret(16)} `);
	});
});

describe("known secrets", () => {
	it("are taken out whatever they look like, also encoded", () => {
		const known = "correct-horse-battery-staple";
		const { redact: all, createRedactor: create } = redaction([known, "short", ""]);
		const spellings = [known, Buffer.from(known).toString("base64").replace(/=+$/, ""), encodeURIComponent(known)];
		for (const spelling of spellings) {
			assert.equal(all(`it says ${spelling}, ok`), "it says [redacted:secret], ok");
			const redactor = create();
			assert.equal(
				[...`it says ${spelling} ok`].map((c) => redactor.push(c)).join("") + redactor.end(),
				"it says [redacted:secret] ok",
			);
		}
		assert.equal(all("a short word"), "a short word");
	});

	it("are all that is taken out of what others say", () => {
		const [short, long] = ["first-value", "first-value-and-more"];
		const { withoutKnown } = redaction([short, long]);
		const rest = `password: ${secret(20)} and a@example.com`;
		assert.equal(withoutKnown(`${long}, ${short}: ${rest}`), `[redacted:secret], [redacted:secret]: ${rest}`);
		assert.equal(redaction().withoutKnown(rest), rest);
	});
});

describe("redacting", () => {
	const call = {} as Call;

	function recorder(): { readonly agent: Agent; readonly seen: object[] } {
		const seen: object[] = [];
		const agent = {
			request: async (_operation: string, params: object) => seen.push(params),
			stream: (_operation: string, params: object) => {
				seen.push(params);
				return Readable.from([]);
			},
		} as unknown as Agent;
		return { agent, seen };
	}

	it("scrubs text and data of outgoing messages, and no addresses or files", async () => {
		const { agent, seen } = recorder();
		const token = secret(32);
		const url = `https://files.example/x?token=${token}`;
		const parts: Part[] = [
			{ text: `token: ${token}` },
			{ data: { password: token, note: "mail jane@corp.com", n: 1, list: [null, true] } },
			{ url },
			{ raw: "AAAA" },
		];
		const params = {
			message: { messageId: "m", role: "ROLE_USER", parts },
			configuration: { returnImmediately: true },
		} as const;
		await redacting(agent).request("SendMessage", params, call);
		for await (const _ of redacting(agent).stream("SendStreamingMessage", params, call)) assert.fail();
		const clean = [
			{ text: "token: [redacted:token]" },
			{ data: { password: "[redacted:secret]", note: "mail [redacted:email]", n: 1, list: [null, true] } },
			{ url },
			{ raw: "AAAA" },
		];
		assert.equal(seen.length, 2);
		for (const sent of seen as SendMessageRequest[]) {
			assert.deepEqual(sent.message.parts, clean);
			assert.equal(sent.configuration?.returnImmediately, true);
		}
		assert.equal((parts[0] as { text: string }).text, `token: ${token}`, "the caller's message stays as it was");
	});

	it("passes other operations on untouched", async () => {
		const { agent, seen } = recorder();
		const params = { id: "task-1" } as never;
		await redacting(agent).request("GetTask", params, call);
		assert.equal(seen[0], params);
	});
});
