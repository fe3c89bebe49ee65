/** HTTP requests and replies as they travel over a gateway's channel. Pure. */
import { isObject, parseJson } from "../../protocol/json.ts";

/** A request that came down the channel. */
export interface Envelope {
	/** Decimal digits of an unsigned 64-bit number, exactly as they came. */
	readonly id: string;
	readonly method: string;
	/** With query. */
	readonly path: string;
	/** Lower-case names; only those that a caller of an agent has use for. */
	readonly headers: Readonly<Record<string, string>>;
	readonly body: Uint8Array;
}

/** A request that is answered without being looked at further. */
export interface BadEnvelope {
	readonly id: string;
	/** Why; one sentence. */
	readonly fault: string;
}

/** What goes back. */
export interface Sealed {
	readonly status: number;
	readonly headers: Readonly<Record<string, string>>;
	readonly body: Uint8Array;
}

/** The largest request body, in bytes; the gateway's own limit. */
const MAX_BODY_BYTES = 4 * 1024 * 1024;
const MAX_PATH = 4096;
const MAX_HEADER = 8192;

/**
 * Nothing that says who calls, from where or for whom: down a channel that is known already. The caller's name for
 * itself is shown and no more.
 */
const HEADERS: ReadonlySet<string> = new Set([
	...["accept", "content-type", "content-encoding", "if-none-match"],
	...["a2a-version", "a2a-extensions", "x-a2a-extensions", "x-gateway-caller", "traceparent"],
]);

/** The data of a `request` event; `undefined` for what is no request of the connection with this secret. */
export function openEnvelope(data: string, secret: string): Envelope | BadEnvelope | undefined {
	const value = parsed(data);
	if (!value || value.chan_secret !== secret) return undefined;
	const id = idIn(value.id, data);
	if (id === undefined) return undefined;
	const { method, query } = value;
	const path = typeof value.path === "string" ? value.path : "";
	const target = `${path.startsWith("/") ? "" : "/"}${path}${typeof query === "string" && query ? `?${query}` : ""}`;
	if (typeof method !== "string" || !/^[A-Z]{1,16}$/.test(method)) return { id, fault: "The method is none" };
	if (target.length > MAX_PATH || /[\x00-\x20\x7f]/.test(target)) return { id, fault: "The path is none" };
	const body = bytesOf(value.body_b64);
	if (!body) return { id, fault: "The body is not base64, or too large" };
	return { id, method, path: target, headers: headersIn(value.headers), body };
}

/** The answer to the request `id`, as JSON text. */
export function sealReply(id: string, secret: string, { status, headers, body }: Sealed): string {
	const rest = { status, headers, body_b64: Buffer.from(body).toString("base64"), chan_secret: secret };
	// The id may be larger than a number here can be exact.
	return `{"id":${id},${JSON.stringify(rest).slice(1)}`;
}

function parsed(data: string): Readonly<Record<string, unknown>> | undefined {
	try {
		const value = parseJson(data);
		return isObject(value) ? value : undefined;
	} catch {
		return undefined;
	}
}

/** Beyond 2^53 the digits themselves are needed: `"id"` as a key has no backslash before it, and no text behind it. */
function idIn(value: unknown, data: string): string | undefined {
	if (typeof value !== "number" || value < 0) return undefined;
	if (Number.isSafeInteger(value)) return String(value);
	const digits = /(?<!\\)"id"\s*:\s*(\d{1,20})(?=\s*[,}])/.exec(data)?.[1];
	return digits !== undefined && Number(digits) === value ? digits : undefined;
}

function bytesOf(value: unknown): Uint8Array | undefined {
	if (value === null || value === undefined) return new Uint8Array();
	if (typeof value !== "string" || value.length > Math.ceil(MAX_BODY_BYTES / 3) * 4 + 4) return undefined;
	if (value.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(value)) return undefined;
	return Buffer.from(value, "base64");
}

function headersIn(value: unknown): Readonly<Record<string, string>> {
	const headers: Record<string, string> = Object.create(null);
	if (!isObject(value)) return headers;
	for (const [name, text] of Object.entries(value)) {
		const lower = name.toLowerCase();
		if (HEADERS.has(lower) && typeof text === "string" && text.length <= MAX_HEADER) headers[lower] = text;
	}
	return headers;
}
