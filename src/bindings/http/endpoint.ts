/** From a peer's address and card to the URLs that its calls go to. */
import { oneLine } from "../../lib/text.ts";
import { type ChosenInterface, pickInterfaces } from "../../protocol/card.ts";
import { A2AError } from "../../protocol/errors.ts";
import type { AgentCard } from "../../protocol/types.ts";
import type { ProtocolVersion } from "../../protocol/version.ts";
import { isCardUrl } from "./cards.ts";
import { hostOf, isLoopback } from "./gate.ts";

export interface CallPoint {
	readonly url: URL;
	readonly binding: ChosenInterface["binding"];
	readonly version: ProtocolVersion;
	/** Goes into every request (§8.3.2). */
	readonly tenant?: string;
}

/**
 * Where to call, in the order in which to try: the first, and others for the case that nothing is there. `home` is the
 * address that somebody wrote down or typed: calls, and the credential with them, stay on its origin. A card that names
 * only others is refused with `ForbiddenError`, for whoever serves a card could send our words anywhere. `pinned`: the
 * address itself is called, whatever the card says.
 */
export function callPoints(
	card: AgentCard | undefined,
	home: URL,
	pinned: boolean,
): readonly [CallPoint, ...CallPoint[]] {
	if (!card) return [{ url: home, binding: "JSONRPC", version: "1.0" }];
	const offered = pickInterfaces(card);
	const [best] = offered;
	if (!best) {
		const offers = card.supportedInterfaces.map((each) => `${each.protocolBinding} ${each.protocolVersion}`);
		const said = oneLine(offers.join(", ") || "none", 200);
		const spoken = "JSONRPC or HTTP+JSON, 1.0 or 0.3";
		const text = `The peer offers no interface that can be called here (${spoken}); its card lists: ${said}`;
		throw new A2AError("InvalidAgentResponseError", text);
	}
	// Behind an address of its own, which the card does not know, JSON-RPC is the one whose path is certain.
	if (pinned && !isCardUrl(home)) {
		return [pointOf(offered.find(({ binding }) => binding === "JSONRPC") ?? best, home)];
	}
	const points = offered.flatMap((each) => {
		const url = allowed(new URL(each.url), home);
		return url ? [pointOf(each, url)] : [];
	});
	const [first, ...others] = points.filter(
		({ url, binding }, index) => index === points.findIndex((p) => p.url.href === url.href && p.binding === binding),
	);
	if (first) return [first, ...others];
	const named = new URL(best.url);
	const shown = `${oneLine(named.origin, 100)}, but the peer is known as ${home.origin}`;
	const text = `The peer's card sends calls to ${shown}. Nothing was sent there; if it is right, use that URL for the peer`;
	throw new A2AError("ForbiddenError", text, { metadata: { endpoint: oneLine(named.href, 500) } });
}

function pointOf({ binding, version, tenant }: ChosenInterface, url: URL): CallPoint {
	return { url, binding, version, ...(tenant === undefined ? {} : { tenant }) };
}

/** The address to call for what a card names; `undefined` when it may not be called. */
function allowed(named: URL, home: URL): URL | undefined {
	if (named.origin === home.origin && !named.username && !named.password) return named;
	if (!isAlias(named, home)) return undefined;
	named.host = home.host;
	return named;
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
