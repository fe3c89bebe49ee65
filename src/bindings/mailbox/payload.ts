/**
 * A2A operations as payloads of messages (docs/mailbox-binding.md): `{ operation, params, service }` asks, `{ result }`,
 * `{ item }` or `{ error }` answers. Any other request is a SendMessage of what it says. Pure.
 */

import type { Call, ServiceParameters } from "../../protocol/agent.ts";
import { decodeResult } from "../../protocol/decode.ts";
import { A2AError, ERRORS, type ErrorDetails, type ErrorName } from "../../protocol/errors.ts";
import { isObject } from "../../protocol/json.ts";
import { type OneReply, OPERATIONS, type OperationName, type Params, type Results } from "../../protocol/operations.ts";
import { replyText, textOf } from "../../protocol/parts.ts";
import { eventId, type Json, type JsonObject, type Part, type SendMessageResponse } from "../../protocol/types.ts";
import { readExtensions, readVersion } from "../../protocol/version.ts";
import { type Mail, textIn } from "./messages.ts";

/** The URI of this binding (§5.8, §12.1). */
export const MAILBOX_BINDING = "https://github.com/bacnh85/pi-extensions/pi-a2a/mailbox/v1";

/** What a request asks for. */
export interface Asked {
	readonly operation: OperationName;
	/** Those of 1.0, undecoded. */
	readonly params: unknown;
	readonly service: ServiceParameters;
	readonly after?: string;
	readonly trace?: string;
	/** Whom the sender speaks for. */
	readonly behalf?: string;
	/** It was no operation: the answer says what it has to say in plain members as well. */
	readonly plain: boolean;
}

/** Members of a plain payload that hold its text. */
const TEXTS = ["text", "task", "prompt", "message", "instruction"] as const;

/** What the request in `mail` asks for. Throws `VersionNotSupportedError`, `MethodNotFoundError`. */
export function asked(mail: Mail): Asked {
	const { payload } = mail;
	const service = isObject(payload.service) ? (payload.service as JsonObject) : {};
	// A message without a version is spoken to in the data of 1.0, which is all that this binding has.
	if (readVersion(textIn(service, "A2A-Version")) === "0.3")
		throw new A2AError("VersionNotSupportedError", "Over the mailbox A2A 1.0 is spoken", {
			metadata: { supported: "1.0" },
		});
	const after = textIn(service, "Last-Event-ID");
	const trace = textIn(service, "traceparent");
	const behalf = textIn(payload, "on_behalf_of");
	const common = {
		service: { version: "1.0" as const, extensions: readExtensions(textIn(service, "A2A-Extensions")) },
		...(after === undefined ? {} : { after }),
		...(trace === undefined ? {} : { trace }),
		...(behalf === undefined ? {} : { behalf }),
	};
	const { operation } = payload;
	if (operation === undefined) return { ...common, operation: "SendMessage", params: plainParams(mail), plain: true };
	if (typeof operation !== "string" || !Object.hasOwn(OPERATIONS, operation)) throw new A2AError("MethodNotFoundError");
	return { ...common, operation: operation as OperationName, params: payload.params ?? {}, plain: false };
}

/** A payload that is no operation, as the parameters of SendMessage. The id of the message is that of the request. */
function plainParams({ id, payload }: Mail): unknown {
	const { context_id, task_id, service: _service, on_behalf_of: _behalf, ...said } = payload;
	if (isObject(said.message)) return { ...said, message: { messageId: id, role: "ROLE_USER", ...said.message } };
	const member = TEXTS.find((name) => typeof said[name] === "string");
	const { [member ?? ""]: text, ...rest } = said;
	const parts: Part[] = typeof text === "string" ? [{ text }] : [];
	if (Object.keys(rest).length > 0 || parts.length === 0) parts.push({ data: rest });
	const ids = { ...(context_id ? { contextId: context_id } : {}), ...(task_id ? { taskId: task_id } : {}) };
	return { message: { messageId: id, role: "ROLE_USER", parts, ...ids } };
}

/** The payload that asks for an operation. */
export function askingPayload<K extends OperationName>(operation: K, params: Params[K], call: Call): JsonObject {
	const { service, after, trace } = call;
	return {
		operation,
		params: params as unknown as Json,
		service: {
			"A2A-Version": "1.0",
			...(service.extensions.length > 0 ? { "A2A-Extensions": service.extensions.join(", ") } : {}),
			...(after === undefined ? {} : { "Last-Event-ID": after }),
			...(trace === undefined ? {} : { traceparent: trace }),
		},
	};
}

/** The payload of a result, without what says which request it answers. */
export function resultPayload({ plain }: Asked, result: unknown): JsonObject {
	if (!plain) return { result: result as Json };
	const answer = result as SendMessageResponse;
	if ("message" in answer) return { state: "completed", text: textOf(answer.message.parts), result: result as Json };
	const { id, contextId, status, artifacts } = answer.task;
	const state = status.state.replace("TASK_STATE_", "").toLowerCase();
	const said = status.message ? textOf(status.message.parts) : "";
	return { state, text: replyText(artifacts) || said, task_id: id, context_id: contextId, result: result as Json };
}

/** The payload of one item of a stream. */
export function itemPayload(item: unknown): JsonObject {
	const id = isObject(item) ? (item as { readonly [eventId]?: string })[eventId] : undefined;
	return { item: item as Json, ...(id === undefined ? {} : { event_id: id }) };
}

/** The payload of an error: by name, as everywhere (§12.4). */
export function errorPayload({ plain }: Pick<Asked, "plain">, { name, message, details }: A2AError): JsonObject {
	const { violations, metadata, retryAfter } = details;
	const error = {
		name,
		message,
		...(violations ? { violations: violations as unknown as Json } : {}),
		...(metadata ? { metadata } : {}),
		...(retryAfter === undefined ? {} : { retry_after: retryAfter }),
	};
	return plain ? { state: "failed", text: message, error } : { error };
}

/** The error in a payload; undefined when there is none. */
export function errorIn({ error }: JsonObject): A2AError | undefined {
	if (!isObject(error)) return undefined;
	const name = typeof error.name === "string" && Object.hasOwn(ERRORS, error.name) ? error.name : "InternalError";
	const { message, violations, metadata, retry_after } = error;
	const details: ErrorDetails = {
		...(Array.isArray(violations) ? { violations: violations.filter(isViolation) } : {}),
		...(isObject(metadata) ? { metadata: strings(metadata) } : {}),
		...(typeof retry_after === "number" ? { retryAfter: retry_after } : {}),
	};
	return new A2AError(name as ErrorName, typeof message === "string" ? message : undefined, details);
}

const isViolation = (value: unknown): value is { field: string; description: string } =>
	isObject(value) && typeof value.field === "string" && typeof value.description === "string";

const strings = (value: Readonly<Record<string, unknown>>): { [key: string]: string } =>
	Object.fromEntries(Object.entries(value).flatMap(([key, each]) => (typeof each === "string" ? [[key, each]] : [])));

/** The result in a payload. Throws the error in it, and `InvalidAgentResponseError`. A worker by hand may answer in plain text. */
export function resultIn<K extends OneReply>(operation: K, payload: JsonObject): Results[K] {
	const error = errorIn(payload);
	if (error) throw error;
	const { result } = payload;
	const text = textIn(payload, "text") ?? (typeof result === "string" ? result : undefined);
	const byHand = operation === "SendMessage" && !isObject(result) && text !== undefined;
	const said = {
		message: { messageId: textIn(payload, "in_reply_to") ?? "reply", role: "ROLE_AGENT", parts: [{ text }] },
	};
	return decodeResult[operation](byHand ? said : result) as Results[K];
}

/** The item in a payload. */
export function itemIn<K extends "SendStreamingMessage" | "SubscribeToTask">(
	operation: K,
	payload: JsonObject,
): Results[K] {
	const item = decodeResult[operation](payload.item) as Results[K];
	const id = textIn(payload, "event_id");
	return id === undefined ? item : { ...item, [eventId]: id };
}
