/** Extensions of a request (§3.2.6, §4.6): those asked for, against those that our card declares. */
import { A2AError } from "../../protocol/errors.ts";
import type { AgentCard } from "../../protocol/types.ts";
import { readExtensions } from "../../protocol/version.ts";

export interface Negotiated {
	/** Asked for and declared; in force for this call. */
	readonly active: readonly string[];
	/** Declared as required and not asked for. */
	readonly missing: readonly string[];
	/** Headers for the reply: what is active. */
	readonly headers: Readonly<Record<string, string>>;
}

/** What comes of `A2A-Extensions` with this value. */
export function negotiate(card: AgentCard, header: string | undefined): Negotiated {
	const declared = card.capabilities.extensions ?? [];
	const asked = readExtensions(header);
	const known = new Set(declared.map(({ uri }) => uri));
	const active = asked.filter((uri) => known.has(uri));
	const missing = declared.filter(({ required, uri }) => required && !asked.includes(uri)).map(({ uri }) => uri);
	return { active, missing, headers: active.length > 0 ? { "a2a-extensions": active.join(", ") } : {} };
}

/** Throws `ExtensionSupportRequiredError` (§3.3.4) that names what a request would have had to ask for. */
export function checkRequired({ missing }: Negotiated): void {
	if (missing.length === 0) return;
	const uris = missing.join(", ");
	const text = `This agent requires extensions that the request does not name in A2A-Extensions: ${uris}`;
	throw new A2AError("ExtensionSupportRequiredError", text, { metadata: { required: uris } });
}
