import assert from "node:assert/strict";
import { checkContent } from "../../src/agent/content.ts";
import { A2AError } from "../../src/protocol/errors.ts";
import type { Message, Part } from "../../src/protocol/types.ts";

const raw = (bytes: number): Part => ({ raw: Buffer.alloc(bytes).toString("base64") });
const message = (...parts: Part[]): Message => ({ messageId: "m", role: "ROLE_USER", parts });
const rules = {
	inputModes: ["image/png", "text/*"],
	outputModes: ["text/plain", "image/png"],
	files: { maxBytes: 10, maxTotalBytes: 25, maxCount: 3 },
};
/** The refusal: name of the error, and field. */
function refused(parts: readonly Part[], accepts?: readonly string[]): string {
	try {
		checkContent(message(...parts), accepts, rules);
		return "taken";
	} catch (error) {
		assert.ok(error instanceof A2AError);
		const { violations, metadata } = error.details;
		return `${error.name} ${violations?.[0]?.field ?? metadata?.field}`;
	}
}

describe("the content of a message", () => {
	it("may be as large as the limits, in bytes and not in base64", () => {
		assert.equal(refused([raw(10), raw(10), raw(5)]), "taken");
		assert.equal(refused([{ text: "x".repeat(1000) }, { data: "y".repeat(1000) }]), "taken");
	});

	it("is refused by the part that is too large, or one too many", () => {
		assert.equal(refused([{ text: "x" }, raw(11)]), "InvalidParamsError message.parts[1].raw");
		assert.equal(refused([raw(10), raw(10), raw(6)]), "InvalidParamsError message.parts[2].raw");
		assert.equal(refused([raw(1), raw(1), raw(1), raw(1)]), "InvalidParamsError message.parts[3].raw");
	});

	it("is refused by the file of a kind that is not read", () => {
		assert.equal(refused([{ ...raw(1), mediaType: "text/x-any; charset=utf-8" }]), "taken");
		assert.equal(
			refused([raw(1), { url: "http://x", mediaType: "a/b" }]),
			"ContentTypeNotSupportedError message.parts[1]",
		);
	});

	it("is refused when its caller takes nothing that can be made", () => {
		for (const accepts of [undefined, [], ["a/b", "text/plain"], ["image/*"], ["*/*"], ["text"]]) {
			assert.equal(refused([{ text: "x" }], accepts), "taken");
		}
		const field = "configuration.acceptedOutputModes";
		assert.equal(refused([{ text: "x" }], ["a/b", "audio/*"]), `ContentTypeNotSupportedError ${field}`);
	});
});
