import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { MAILBOX_BINDING } from "../../src/bindings/mailbox/payload.ts";
import { isObject } from "../../src/protocol/json.ts";
import { until } from "./contract.ts";
import { mailboxStage } from "./mailbox-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

const text = readFileSync(new URL("../../docs/mailbox-binding.md", import.meta.url), "utf8");

function block(label: string): Record<string, unknown> {
	const found = new RegExp(`\`\`\`json ${label}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1];
	assert.ok(found, `the document has no example called ${label}`);
	return JSON.parse(found) as Record<string, unknown>;
}

/** `value` with `…` wherever the example has it and some text stands. */
function blurred(value: unknown, example: unknown): unknown {
	if (example === "…" && typeof value === "string") return "…";
	if (Array.isArray(value) && Array.isArray(example)) return value.map((each, at) => blurred(each, example[at]));
	if (!isObject(value) || !isObject(example)) return value;
	return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, blurred(each, example[key])]));
}

describe("the document of the mailbox binding", () => {
	it("names the binding", () => assert.ok(text.includes(MAILBOX_BINDING)));

	it("has an example that is true", async () => {
		const stage = mailboxStage();
		try {
			await stage.serve(new ScriptedAgent());
			stage.orchestrate();
			const inbox = (await stage.post("boss")) && stage.root.box("boss", "inbox");
			const request = { ...block("request"), timestamp: new Date().toISOString() };
			writeFileSync(stage.root.box("worker", "inbox").path, JSON.stringify([request]));
			let answer: Record<string, unknown> | undefined;
			await until(() => {
				void inbox.read().then(({ mails }) => {
					answer = mails.find(({ type }) => type === "response")?.raw;
				});
				return answer !== undefined;
			});
			const { _processed, ...sent } = answer ?? {};
			const example = block("response");
			assert.deepEqual(blurred(sent, example), example);
		} finally {
			await stage.close();
		}
	});
});
