/** What a call looks like on the wire of a peer's interface, and how its answer is read: JSON-RPC (§9) or HTTP+JSON (§11). */
import { A2AError } from "../../protocol/errors.ts";
import { request as envelope, readReply } from "../../protocol/jsonrpc.ts";
import { OPERATIONS, type OperationName, type Params } from "../../protocol/operations.ts";
import { buildRest, REST_MEDIA_TYPE, type RestRequest } from "../../protocol/rest.ts";
import { buildProto, downcastParams, fromProtoResult, v03Method } from "../../protocol/v03/index.ts";
import type { ProtocolVersion } from "../../protocol/version.ts";
import { restErrorIn, restResultIn, resultIn } from "./answer.ts";
import type { CallPoint } from "./endpoint.ts";
import type { Answer, Ask } from "./exchange.ts";

/** A call that can be sent, and the way to read what comes back. */
export interface Spoken {
	readonly ask: Ask;
	/** The result in a whole answer, still to be decoded. Throws the error in it. */
	result(answer: Answer, bytes: Buffer): unknown;
	/** The item in the parsed data of one event, still to be decoded. Throws the error in it. */
	item(value: unknown): unknown;
}

export interface Speaking {
	/** Ours, for every request. */
	readonly headers: Readonly<Record<string, string>>;
	/** No two calls that are open at the same time have the same. */
	readonly id: number;
	/** Milliseconds since the epoch. */
	readonly now: () => number;
}

/** The call of an operation at `point`. Throws `InvalidParamsError` for what its form cannot carry. */
export function speak<K extends OperationName>(
	point: CallPoint,
	operation: K,
	params: Params[K],
	how: Speaking,
): Spoken {
	const full = point.tenant === undefined ? params : { ...params, tenant: point.tenant };
	return point.binding === "JSONRPC" ? speakRpc(point, operation, full, how) : speakRest(point, operation, full, how);
}

const STREAM = "text/event-stream";

const accepted = (operation: OperationName, types: string) =>
	OPERATIONS[operation].reply === "many" ? `${STREAM}, ${types}` : types;

function speakRpc<K extends OperationName>(point: CallPoint, operation: K, params: Params[K], how: Speaking): Spoken {
	const { id, now } = how;
	const body =
		point.version === "0.3"
			? envelope(id, v03Method(operation), downcastParams(operation, params))
			: envelope(id, operation, params);
	const isVoid = point.version === "0.3" && operation === "DeleteTaskPushNotificationConfig";
	const headers = {
		...how.headers,
		"content-type": "application/json",
		accept: accepted(operation, "application/json"),
	};
	return {
		ask: { method: "POST", url: point.url, headers, body: JSON.stringify(body) },
		result: (answer, bytes) => resultIn(answer, bytes, { id, isVoid, now: now() }),
		item: (value) => readReply(value, id),
	};
}

/** How the two versions of HTTP+JSON differ for a client. */
interface RestForm {
	readonly type: string;
	build<K extends OperationName>(operation: K, params: Params[K]): RestRequest;
	/** A result, or one item of a stream, for the decoders. */
	read(operation: OperationName, value: unknown): unknown;
}
const FORMS: { readonly [V in ProtocolVersion]: RestForm } = {
	"1.0": { type: REST_MEDIA_TYPE, build: buildRest, read: (_, value) => value },
	"0.3": { type: "application/json", build: buildProto, read: fromProtoResult },
};

function speakRest<K extends OperationName>(point: CallPoint, operation: K, params: Params[K], how: Speaking): Spoken {
	const form = FORMS[point.version];
	const { verb, path, body } = form.build(operation, params);
	const types = [...new Set([form.type, "application/json"])].join(", ");
	const headers = {
		...how.headers,
		accept: accepted(operation, types),
		...(body === undefined ? {} : { "content-type": form.type }),
	};
	return {
		ask: {
			method: verb,
			url: below(point.url, path),
			headers,
			...(body === undefined ? {} : { body: JSON.stringify(body) }),
		},
		result: (answer, bytes) => form.read(operation, restResultIn(answer, bytes, how.now())),
		item(value) {
			const error = restErrorIn(value);
			if (error) throw error;
			return form.read(operation, value);
		},
	};
}

/** `path`, with its query, below a base that may have a query of its own. */
function below(base: URL, path: string): URL {
	const url = new URL(base);
	const [name = "", query] = path.split("?", 2);
	url.pathname = `${base.pathname.replace(/\/$/, "")}${name}`;
	url.search = [base.search.slice(1), query].filter(Boolean).join("&");
	return url;
}

/**
 * Whether an error says that nothing is served at the address of a call: then no work has begun, whatever was asked. A
 * refused connection says no more than it does: all addresses of a peer are on one origin.
 */
export function isNowhere(error: unknown): boolean {
	if (!(error instanceof A2AError)) return false;
	const { status, code } = error.details.metadata ?? {};
	if (status !== "404" && status !== "405") return false;
	// Said by the peer itself (over JSON-RPC that would have no status), or by whatever else is at that address.
	return error.name === "MethodNotFoundError" || (error.name === "InvalidAgentResponseError" && code === undefined);
}
