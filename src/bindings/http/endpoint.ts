/** From a peer's address and card to the one URL that its calls go to. */
import { oneLine } from "../../lib/text.ts";
import { pickInterface } from "../../protocol/card.ts";
import { A2AError } from "../../protocol/errors.ts";
import type { AgentCard } from "../../protocol/types.ts";
import type { ProtocolVersion } from "../../protocol/version.ts";
import { isCardUrl } from "./cards.ts";
import { hostOf, isLoopback } from "./gate.ts";

export interface CallPoint {
	readonly url: URL;
	readonly version: ProtocolVersion;
	/** Goes into every request (§8.3.2). */
	readonly tenant?: string;
}

/**
 * Where to call. `home` is the address that somebody wrote down or typed: calls, and the credential with them, stay on
 * its origin. A card that names another one is refused with `ForbiddenError`, for whoever serves a card could send our
 * words anywhere. `pinned`: the address itself is called, whatever the card says.
 */
export function callPoint(card: AgentCard | undefined, home: URL, pinned: boolean): CallPoint {
	if (!card) return { url: home, version: "1.0" };
	const rpc = card.supportedInterfaces.filter((each) => each.protocolBinding.toUpperCase() === "JSONRPC");
	const chosen = pickInterface({ ...card, supportedInterfaces: rpc }, "JSONRPC");
	if (!chosen) {
		const offers = card.supportedInterfaces.map((each) => `${each.protocolBinding} ${each.protocolVersion}`);
		const said = oneLine(offers.join(", ") || "none", 200);
		const text = `The peer offers no interface that can be called here (JSONRPC 1.0 or 0.3); its card lists: ${said}`;
		throw new A2AError("InvalidAgentResponseError", text);
	}
	const more = { version: chosen.version, ...(chosen.tenant === undefined ? {} : { tenant: chosen.tenant }) };
	if (pinned && !isCardUrl(home)) return { url: home, ...more };
	const named = new URL(chosen.url);
	if (named.origin === home.origin && !named.username && !named.password) return { url: named, ...more };
	if (isAlias(named, home)) {
		named.host = home.host;
		return { url: named, ...more };
	}
	const shown = `${oneLine(named.origin, 100)}, but the peer is known as ${home.origin}`;
	const text = `The peer's card sends calls to ${shown}. Nothing was sent there; if it is right, use that URL for the peer`;
	throw new A2AError("ForbiddenError", text, { metadata: { endpoint: oneLine(named.href, 500) } });
}

/**
 * Another spelling of the same place: two names of this machine, or a wildcard address, which a server that is bound
 * to all its addresses may print into its card by mistake. The port and the scheme must be the same.
 */
function isAlias(named: URL, home: URL): boolean {
	if (named.protocol !== home.protocol || named.port !== home.port || named.username || named.password) return false;
	const host = hostOf(named.host) ?? "";
	if (host === "0.0.0.0" || host === "::") return true;
	return isLoopback(host) && isLoopback(hostOf(home.host) ?? "");
}
