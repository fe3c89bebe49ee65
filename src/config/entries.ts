/** The entries that operators write into maps and lists: peers, gateways, skills. */
import type { AgentSkill, JsonObject } from "../protocol/types.ts";
import { flag, httpUrl, line, list, MASK, token, whole, word } from "./key-kinds.ts";
import { cardKeySource, cardSource } from "./keys-cards.ts";
import { pemFile } from "./keys-tls.ts";
import { entry, type FieldsOf } from "./map-kinds.ts";

/** A peer that the operator wrote down. */
export interface PeerConfig {
	/** Where its card is found: origin, endpoint or the card itself. */
	readonly url: string;
	/** Bearer token to present to it. */
	readonly token?: string;
	/** How long a call to it may take, instead of `timeouts.send`. */
	readonly timeoutMs?: number;
	/** What it is asked for by `a2a_orchestrate`. */
	readonly capabilities: readonly string[];
	readonly description?: string;
	/** Where its card is, when that is not one of the usual places. */
	readonly cardUrl?: string;
	/** Its card, or the file that it is in: the peer is not asked for one. */
	readonly card?: JsonObject | string;
	/** Files in PEM form for https: whose certificate it has, and what we show to it. */
	readonly tls?: { readonly caFile?: string; readonly cert?: string; readonly key?: string };
	/** Public keys that may sign its card, or the file that they are in: no other card is taken. */
	readonly cardKeys?: JsonObject | string;
}

/** Longest time that can be asked for, 23 days in seconds: a timer cannot run longer. */
export const LONGEST_SEC = 2_000_000;

const capability = line(100);

/** `{ url, auth: { type, token }, timeout, capabilities, description, cardUrl, card, cardKeys, caFile, cert, key }`; timeout in seconds. */
export const peer = entry(
	{
		url: httpUrl(),
		"auth.type": word(/^bearer$/i, '"bearer"'),
		"auth.token": token(),
		timeout: whole(1, LONGEST_SEC),
		capabilities: list(capability, "list"),
		description: line(500),
		cardUrl: httpUrl(),
		card: cardSource(),
		cardKeys: cardKeySource(),
		caFile: pemFile(),
		cert: pemFile(),
		key: pemFile(),
	},
	{
		expected:
			"an object with url, auth, timeout, capabilities, description, cardUrl, card, cardKeys, caFile, cert, key",
		show: (value: PeerConfig) =>
			[httpUrl().show(value.url), value.token ? `token ${MASK}` : "", value.capabilities.join(" ")]
				.filter((part) => part !== "")
				.join(", "),
	},
	(values, report): PeerConfig | undefined => {
		const { cardUrl, card, cardKeys, caFile, cert, key, url = cardUrl } = values;
		const tls = { ...(caFile ? { caFile } : {}), ...(cert ? { cert } : {}), ...(key ? { key } : {}) };
		if (url === undefined) return void report({ at: "url", expected: "the URL of the peer, or it cannot be called" });
		if (card !== undefined && cardUrl !== undefined)
			report({ at: "cardUrl", found: cardUrl, expected: "nothing, because card is set and is used" });
		return {
			url,
			...(values["auth.token"] ? { token: values["auth.token"] } : {}),
			...(values.timeout ? { timeoutMs: values.timeout * 1000 } : {}),
			capabilities: values.capabilities ?? [],
			...(values.description ? { description: values.description } : {}),
			...(cardUrl === undefined ? {} : { cardUrl }),
			...(card === undefined ? {} : { card }),
			...(cardKeys === undefined ? {} : { cardKeys }),
			...(Object.keys(tls).length > 0 ? { tls } : {}),
		};
	},
);

/** An upstream a2a-switchboard gateway. */
export interface GatewayConfig {
	/** Register there. */
	readonly enabled: boolean;
	readonly url: string;
	/** The gateway's own token. */
	readonly token?: string;
	/** Name to register under; the server's default is `<agentName>-<port>`. */
	readonly name?: string;
	/** What the gateway presents when it proxies to us. */
	readonly upstreamToken?: string;
	/** Seconds between two registrations. */
	readonly heartbeatSec: number;
	/** Hold the reverse channel open, so that peers reach us behind a firewall. */
	readonly channel: boolean;
}

/** The fields of a gateway, also those of the single block. */
export const GATEWAY = {
	enabled: flag(),
	url: httpUrl(),
	token: token(),
	name: word(/^[A-Za-z0-9._-]{1,64}$/, "1 to 64 letters, digits, dots, dashes and underscores"),
	// The gateway's own limit.
	upstreamToken: token(512),
	heartbeatSec: whole(5, 3600),
	channel: flag(),
};

/** A gateway of these fields; `undefined` without a URL, which is only a fault when it was switched on. */
export function gatewayOf(
	values: FieldsOf<typeof GATEWAY>,
	report: (fault: { readonly at: string; readonly expected: string }) => void,
): GatewayConfig | undefined {
	const { url, token: secret, enabled, heartbeatSec = 60, channel = true, ...rest } = values;
	if (url === undefined) {
		if (enabled) report({ at: "url", expected: "the URL of the gateway, because enabled is true" });
		return undefined;
	}
	return {
		...rest,
		url,
		...(secret ? { token: secret } : {}),
		enabled: enabled ?? secret !== undefined,
		heartbeatSec,
		channel,
	};
}

/** `{ enabled, url, token, name, upstreamToken, heartbeatSec, channel }` */
export const gateway = entry(
	GATEWAY,
	{
		expected: `an object with ${Object.keys(GATEWAY).join(", ")}`,
		show: (value: GatewayConfig) =>
			[
				httpUrl().show(value.url),
				value.enabled ? "on" : "off",
				value.token ? `token ${MASK}` : "no token",
				value.channel ? "with channel" : "without channel",
			].join(", "),
	},
	gatewayOf,
);

const lines = list(line(2000), "list");

/** `{ id, name, description, tags, examples, inputModes, outputModes }`; a name is enough. */
export const skill = entry(
	{
		id: line(100),
		name: line(100),
		description: line(2000),
		tags: lines,
		examples: lines,
		inputModes: lines,
		outputModes: lines,
	},
	{ expected: "an object with name, description, tags", show: (value: AgentSkill) => value.name },
	({ id, name, description, tags, ...rest }, report): AgentSkill | undefined => {
		const known = name ?? id;
		if (known === undefined) return void report({ at: "name", expected: "the name of the skill" });
		return { id: id ?? known, name: known, description: description ?? known, tags: tags ?? [], ...rest };
	},
);
