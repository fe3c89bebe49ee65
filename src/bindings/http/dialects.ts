/** The two forms that HTTP+JSON is spoken in here: that of 1.0 (§11) and that of 0.3 (0.3 §3.2.3, §3.5.6). */
import { A2AError } from "../../protocol/errors.ts";
import type { OperationName } from "../../protocol/operations.ts";
import { type Match, match, REST_MEDIA_TYPE, restError } from "../../protocol/rest.ts";
import { endsProtoStream, protoError, protoParams, protoResult, V03_PREFIX } from "../../protocol/v03/index.ts";
import { type ProtocolVersion, readVersion } from "../../protocol/version.ts";

/** One form of the binding. */
export interface Dialect {
	readonly version: ProtocolVersion;
	/** Content type of its replies. */
	readonly type: string;
	/** What a verb and a path below the base mean; `undefined`: nothing. Throws `InvalidRequestError`. */
	readonly match: (verb: string, path: string) => Match | undefined;
	/** Parameters as 1.0 has them, not decoded. Throws `InvalidParamsError`. */
	readonly params: (operation: OperationName, params: unknown) => unknown;
	/** A result, or one item of a stream, as it goes out. */
	readonly result: (operation: OperationName, result: unknown) => unknown;
	/** Whether a stream ends with this item, as it goes out. */
	readonly isLast: (item: unknown) => boolean;
	readonly error: (error: A2AError) => { readonly status: number; readonly body: object };
}

/** §11 */
export const REST_1_0: Dialect = {
	version: "1.0",
	type: REST_MEDIA_TYPE,
	match,
	params: (_, params) => params,
	result: (_, result) => result,
	isLast: () => false,
	error: restError,
};

/** 0.3 §3.5.6. It knows no tenants, and its extended card has a path of its own. */
export const REST_0_3: Dialect = {
	version: "0.3",
	type: "application/json",
	match(verb, path) {
		const below = path.slice(V03_PREFIX.length);
		const found =
			below === "/extendedAgentCard" ? undefined : match(verb, below.replace(/^\/card$/, "/extendedAgentCard"));
		return found && "operation" in found && "tenant" in found.params ? undefined : found;
	},
	params: protoParams,
	result: protoResult,
	isLast: (item) => endsProtoStream(item as object),
	error: protoError,
};

/**
 * The form of a request by its path and the version that it names: `/v1/…` is 0.3, which is also what no version means
 * (§3.6.2), but for a caller of 1.0 `v1` is a tenant. A path of 1.0 without a version is refused.
 */
export function dialectOf(path: string, version: string | undefined): Dialect {
	if (!path.startsWith(`${V03_PREFIX}/`)) return REST_1_0;
	const named = /^\s*1\./.test(version ?? "");
	return named ? REST_1_0 : REST_0_3;
}

/** Throws `VersionNotSupportedError` when a request names another version than its form is of, or needs one. */
export function checkVersion(dialect: Dialect, version: string | undefined): void {
	const asked = readVersion(version) ?? "0.3";
	if (asked === dialect.version) return;
	const text = "The paths of 1.0 are for requests with A2A-Version: 1.0 (none means 0.3); those of 0.3 begin with /v1/";
	throw new A2AError("VersionNotSupportedError", text, { metadata: { supported: dialect.version } });
}
