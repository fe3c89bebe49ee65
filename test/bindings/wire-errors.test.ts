/** The errors of §5.4 as callers get them: over both bindings and in both versions. */
import assert from "node:assert/strict";
import type { Listening } from "../../src/bindings/http/listen.ts";
import type { ErrorName } from "../../src/protocol/errors.ts";
import { serve } from "./http-support.ts";
import { ScriptedAgent } from "./scripted-agent.ts";

/** Error, code of JSON-RPC, HTTP status, gRPC status, reason. */
const ROWS: readonly (readonly [ErrorName, number, number, string, string])[] = [
	["TaskNotFoundError", -32001, 404, "NOT_FOUND", "TASK_NOT_FOUND"],
	["TaskNotCancelableError", -32002, 400, "FAILED_PRECONDITION", "TASK_NOT_CANCELABLE"],
	["PushNotificationNotSupportedError", -32003, 400, "FAILED_PRECONDITION", "PUSH_NOTIFICATION_NOT_SUPPORTED"],
	["UnsupportedOperationError", -32004, 400, "FAILED_PRECONDITION", "UNSUPPORTED_OPERATION"],
	["ContentTypeNotSupportedError", -32005, 400, "INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"],
	["InvalidAgentResponseError", -32006, 500, "INTERNAL", "INVALID_AGENT_RESPONSE"],
	["ExtendedAgentCardNotConfiguredError", -32007, 400, "FAILED_PRECONDITION", "EXTENDED_AGENT_CARD_NOT_CONFIGURED"],
	["ExtensionSupportRequiredError", -32008, 400, "FAILED_PRECONDITION", "EXTENSION_SUPPORT_REQUIRED"],
	["VersionNotSupportedError", -32009, 400, "FAILED_PRECONDITION", "VERSION_NOT_SUPPORTED"],
	["ParseError", -32700, 400, "INVALID_ARGUMENT", "PARSE"],
	["InvalidRequestError", -32600, 400, "INVALID_ARGUMENT", "INVALID_REQUEST"],
	["MethodNotFoundError", -32601, 404, "NOT_FOUND", "METHOD_NOT_FOUND"],
	["InvalidParamsError", -32602, 400, "INVALID_ARGUMENT", "INVALID_PARAMS"],
	["InternalError", -32603, 500, "INTERNAL", "INTERNAL"],
];

/** What a request for a message is answered with; `parts` is in the form that the way has. */
interface Way {
	readonly name: string;
	readonly version: "1.0" | "0.3";
	readonly rest: boolean;
	readonly path: (streams: boolean) => string;
	readonly body: (text: unknown, streams: boolean) => object;
	/** The field that is named when a text is no text. */
	readonly field: string;
}

const rpcBody = (method: string, message: object) => ({ jsonrpc: "2.0", id: 7, method, params: { message } });
const message = (text: unknown) => ({ messageId: "m", role: "ROLE_USER", parts: [{ text }] });
const old = (text: unknown) => ({ messageId: "m", role: "user", parts: [{ kind: "text", text }] });

const WAYS: readonly Way[] = [
	{
		name: "1.0 over JSON-RPC",
		version: "1.0",
		rest: false,
		path: () => "/",
		body: (text, streams) => rpcBody(streams ? "SendStreamingMessage" : "SendMessage", message(text)),
		field: "message.parts[0].text",
	},
	{
		name: "0.3 over JSON-RPC",
		version: "0.3",
		rest: false,
		path: () => "/",
		body: (text, streams) => rpcBody(streams ? "message/stream" : "message/send", old(text)),
		field: "message.parts[0].text",
	},
	{
		name: "1.0 over HTTP+JSON",
		version: "1.0",
		rest: true,
		path: (streams) => `/rest/message:${streams ? "stream" : "send"}`,
		body: (text) => ({ message: message(text) }),
		field: "message.parts[0].text",
	},
	{
		name: "0.3 over HTTP+JSON",
		version: "0.3",
		rest: true,
		path: (streams) => `/rest/v1/message:${streams ? "stream" : "send"}`,
		body: (text) => ({ message: { messageId: "m", role: "ROLE_USER", content: [{ text }] } }),
		field: "message.parts[0].text",
	},
];

interface Told {
	readonly code?: number;
	readonly status?: string;
	readonly message?: string;
	readonly type?: string;
	readonly data?: readonly Record<string, unknown>[];
	readonly details?: readonly Record<string, unknown>[];
}

for (const way of WAYS)
	describe(`errors of ${way.name}`, () => {
		let server: Listening;
		before(async () => {
			server = await serve({ agent: new ScriptedAgent() });
		});
		after(() => server.close());

		async function ask(text: unknown, streams = false): Promise<{ readonly http: number; readonly error: Told }> {
			const response = await fetch(new URL(way.path(streams), server.url), {
				method: "POST",
				headers: { "content-type": "application/json", "a2a-version": way.version },
				body: JSON.stringify(way.body(text, streams)),
			});
			const said = (await response.text()).replace(/^data: /, "");
			const value = JSON.parse(said) as Told & { readonly error?: Told };
			return { http: response.status, error: value.error ?? value };
		}

		for (const [name, code, http, grpc, reason] of ROWS)
			for (const streams of [false, true])
				it(`${name} is ${way.rest ? http : code}${streams ? ", where a stream was asked for as well" : ""}`, async () => {
					const { http: got, error } = await ask(`throw ${name} it was so`, streams);
					assert.equal(got, way.rest ? http : 200);
					assert.equal(error.message, name === "InternalError" ? error.message : "it was so");
					const modern = way.rest && way.version === "1.0";
					assert.equal(error.code, modern ? http : code);
					assert.equal(error.status, modern ? grpc : undefined);
					const [info] = (modern ? error.details : error.data) ?? [];
					assert.deepEqual(info, {
						"@type": "type.googleapis.com/google.rpc.ErrorInfo",
						reason,
						domain: "a2a-protocol.org",
					});
					// By this the official Python SDK knows an error of the older form.
					if (way.rest && !modern) assert.equal(error.type, name);
				});

		it("name the field that is wrong", async () => {
			const { error } = await ask(5);
			const [, bad] = error.details ?? error.data ?? [];
			assert.equal(bad?.["@type"], "type.googleapis.com/google.rpc.BadRequest");
			const violations = (bad?.fieldViolations ?? []) as readonly { readonly field: string }[];
			assert.deepEqual(
				violations.map(({ field }) => field),
				[way.field],
			);
		});
	});
