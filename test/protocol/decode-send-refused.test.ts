import { decodeParams } from "../../src/protocol/decode.ts";
import { refusedParams as refused } from "./refused.ts";

type Loose = { [key: string]: unknown };
const message = (over: Loose = {}): Loose => ({ messageId: "m", role: "ROLE_USER", parts: [{ text: "hi" }], ...over });

describe("decodeParams.SendMessage refuses what is wrong", () => {
	const wrong: readonly [string, unknown, string, RegExp?][] = [
		["no params", undefined, "message"],
		["no message", {}, "message"],
		["a null message", { message: null }, "message"],
		["a message that is a string", { message: "hello" }, "message", /object, got a string/],
		["a message that is an array", { message: [] }, "message", /got an array/],
		["params that are an array", [{ message: message() }], ""],
		["params that are a string", "hello", ""],
		["no messageId", { message: message({ messageId: undefined }) }, "message.messageId"],
		["an empty messageId", { message: message({ messageId: "" }) }, "message.messageId"],
		[
			"a messageId that is a number",
			{ message: message({ messageId: 7 }) },
			"message.messageId",
			/string, got a number/,
		],
		["no role", { message: message({ role: undefined }) }, "message.role"],
		["an unknown role", { message: message({ role: "ROLE_BOSS" }) }, "message.role", /ROLE_USER/],
		["ROLE_UNSPECIFIED", { message: message({ role: "ROLE_UNSPECIFIED" }) }, "message.role"],
		["the agent's role", { message: message({ role: "ROLE_AGENT" }) }, "message.role"],
		["a role that is a member of every object", { message: message({ role: "constructor" }) }, "message.role"],
		["no parts", { message: message({ parts: undefined }) }, "message.parts"],
		["empty parts", { message: message({ parts: [] }) }, "message.parts", /at least one/],
		["parts that are an object", { message: message({ parts: { text: "x" } }) }, "message.parts", /array/],
		[
			"too many parts",
			{ message: message({ parts: Array(100_000).fill({ text: "a" }) }) },
			"message.parts",
			/more than/,
		],
		["a part that is a string", { message: message({ parts: ["text"] }) }, "message.parts[0]"],
		["a part that is null", { message: message({ parts: [{ text: "a" }, null] }) }, "message.parts[1]"],
		["a part that is an array", { message: message({ parts: [["x"]] }) }, "message.parts[0]"],
		[
			"a part without content",
			{ message: message({ parts: [{ mediaType: "x/y" }] }) },
			"message.parts[0]",
			/one of text, raw, url and data/,
		],
		[
			"a part with two contents",
			{ message: message({ parts: [{ text: "a", url: "https://x" }] }) },
			"message.parts[0]",
			/only one/,
		],
		["a part with a text and data", { message: message({ parts: [{ text: "a", data: 1 }] }) }, "message.parts[0]"],
		["a text that is a number", { message: message({ parts: [{ text: 5 }] }) }, "message.parts[0].text"],
		["a text that is an array", { message: message({ parts: [{ text: ["a"] }] }) }, "message.parts[0].text"],
		["raw that is no base64", { message: message({ parts: [{ raw: "***" }] }) }, "message.parts[0].raw", /base64/],
		["raw of an impossible length", { message: message({ parts: [{ raw: "aGkKa" }] }) }, "message.parts[0].raw"],
		["raw with wrong padding", { message: message({ parts: [{ raw: "aGkK=" }] }) }, "message.parts[0].raw"],
		["an empty url", { message: message({ parts: [{ url: "" }] }) }, "message.parts[0].url"],
		["a 0.3 file without content", { message: message({ parts: [{ kind: "file", file: {} }] }) }, "message.parts[0]"],
		[
			"a mediaType that is a number",
			{ message: message({ parts: [{ text: "a", mediaType: 1 }] }) },
			"message.parts[0].mediaType",
		],
		[
			"metadata of a part that is an array",
			{ message: message({ parts: [{ text: "a", metadata: [] }] }) },
			"message.parts[0].metadata",
		],
		["a contextId that is a number", { message: message({ contextId: 12 }) }, "message.contextId"],
		[
			"a contextId that is an object",
			{ message: message({ contextId: { toString: 0, valueOf: 0 } }) },
			"message.contextId",
		],
		[
			"a contextId of absurd length",
			{ message: message({ contextId: "c".repeat(100_000) }) },
			"message.contextId",
			/longer/,
		],
		[
			"a contextId of absurd length beside the message",
			{ message: message(), contextId: "c".repeat(100_000) },
			"contextId",
		],
		["a taskId that is an object", { message: message({ taskId: { a: 1 } }) }, "message.taskId"],
		["extensions that are a string", { message: message({ extensions: "x" }) }, "message.extensions"],
		["an extension that is a number", { message: message({ extensions: ["a", 1] }) }, "message.extensions[1]"],
		["referenceTaskIds that are a string", { message: message({ referenceTaskIds: "x" }) }, "message.referenceTaskIds"],
		["a configuration that is a string", { message: message(), configuration: "fast" }, "configuration"],
		[
			"a flag that is a string",
			{ message: message(), configuration: { returnImmediately: "yes" } },
			"configuration.returnImmediately",
		],
		[
			"modes that are a string",
			{ message: message(), configuration: { acceptedOutputModes: "x/y" } },
			"configuration.acceptedOutputModes",
		],
		[
			"a negative historyLength",
			{ message: message(), configuration: { historyLength: -1 } },
			"configuration.historyLength",
			/at least 0/,
		],
		[
			"a historyLength that is a word",
			{ message: message(), configuration: { historyLength: "many" } },
			"configuration.historyLength",
		],
		[
			"a historyLength that is a fraction",
			{ message: message(), configuration: { historyLength: 1.5 } },
			"configuration.historyLength",
		],
		[
			"a historyLength that is an object",
			{ message: message(), configuration: { historyLength: {} } },
			"configuration.historyLength",
		],
		["metadata that is a string", { message: message(), metadata: "x" }, "metadata"],
		["metadata that is an array", { message: message(), metadata: [] }, "metadata"],
		[
			"a webhook that is no URL",
			{ message: message(), configuration: { taskPushNotificationConfig: { url: "not a url" } } },
			"configuration.taskPushNotificationConfig.url",
		],
		[
			"a webhook without a URL",
			{ message: message(), configuration: { taskPushNotificationConfig: {} } },
			"configuration.taskPushNotificationConfig.url",
		],
	];
	for (const [what, params, field, why] of wrong)
		it(`refuses ${what} and names ${field || "the parameters"}`, () => {
			refused(() => decodeParams.SendMessage(params), field, why);
			refused(() => decodeParams.SendStreamingMessage(params), field, why);
		});
});
