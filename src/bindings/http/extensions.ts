/** Extensions of a request (§3.2.6, §4.6): those asked for, against those that our card declares. */
import { A2AError } from "../../protocol/errors.ts";
import type { AgentExtension } from "../../protocol/types.ts";
import { type ProtocolVersion, readExtensions } from "../../protocol/version.ts";

const HEADER = "a2a-extensions";
/** Its name before 1.0; clients and servers of 0.3 know no other. */
const OLD_HEADER = "x-a2a-extensions";

export interface Negotiated {
	/** Asked for and declared; in force for this call. */
	readonly active: readonly string[];
	/** Declared as required and not asked for. */
	readonly missing: readonly string[];
	/** Headers for the reply: what is active. */
	readonly headers: Readonly<Record<string, string>>;
}

/** What a request to a peer of this version says of the extensions that it uses: nothing where there are none. */
export function extensionHeaders(uris: readonly string[], version: ProtocolVersion): Readonly<Record<string, string>> {
	if (uris.length === 0) return {};
	const list = uris.join(", ");
	return { [HEADER]: list, ...(version === "0.3" ? { [OLD_HEADER]: list } : {}) };
}

/** What comes of a request with these headers where these are `declared`. The reply names the active as it did. */
export function negotiate(
	declared: readonly AgentExtension[],
	headers: Readonly<Record<string, string | undefined>>,
): Negotiated {
	const { [HEADER]: header, [OLD_HEADER]: old } = headers;
	const asked = readExtensions([header, old].filter(Boolean).join(","));
	const known = new Set(declared.map(({ uri }) => uri));
	const active = asked.filter((uri) => known.has(uri));
	const missing = declared.filter(({ required, uri }) => required && !asked.includes(uri)).map(({ uri }) => uri);
	return { active, missing, headers: extensionHeaders(active, old === undefined ? "1.0" : "0.3") };
}

/** Throws `ExtensionSupportRequiredError` (§3.3.4) that names what a request would have had to ask for. */
export function checkRequired({ missing }: Negotiated): void {
	if (missing.length === 0) return;
	const uris = missing.join(", ");
	const text = `This agent requires extensions that the request does not name in A2A-Extensions: ${uris}`;
	throw new A2AError("ExtensionSupportRequiredError", text, { metadata: { required: uris } });
}
