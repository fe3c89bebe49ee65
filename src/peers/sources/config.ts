/** Peers that the operator wrote down. */
import type { TlsFiles } from "../../bindings/http/tls.ts";
import type { Log } from "../../lib/log.ts";
import { oneLine } from "../../lib/text.ts";
import type { JsonObject } from "../../protocol/types.ts";
import { readUrl } from "../address.ts";
import type { CardSettings, Peer, Source } from "../peer.ts";

/** An entry of `peers` in the configuration. */
export interface ConfiguredPeer {
	readonly url: string;
	/** Bearer token that this peer wants. */
	readonly token?: string | undefined;
	/** Limit of one call, in milliseconds. */
	readonly timeoutMs?: number | undefined;
	readonly capabilities: readonly string[];
	readonly description?: string | undefined;
	readonly cardUrl?: string | undefined;
	readonly card?: JsonObject | string | undefined;
	readonly cardKeys?: JsonObject | string | undefined;
	readonly tls?: TlsFiles | undefined;
}

function cardOf({ cardUrl, card: source, cardKeys: keys }: ConfiguredPeer): CardSettings | undefined {
	const url = readUrl(cardUrl);
	const is = url !== undefined || source !== undefined || keys !== undefined;
	return is ? { url, source, keys } : undefined;
}

/** A source over the configured peers. An entry whose URL is not a plain http(s) one is left out, with a warning. */
export function fromConfig(peers: Readonly<Record<string, ConfiguredPeer>>, log: Log): Source {
	const known = Object.entries(peers).flatMap(([name, entry]): Peer[] => {
		const url = readUrl(entry.url);
		if (!url) {
			log.warn(`The peer ${oneLine(name, 80)} is left out: its url is not an http(s) URL without credentials`);
			return [];
		}
		const card = cardOf(entry);
		return [
			{
				name: oneLine(name, 80),
				source: "config",
				address: { via: "http", url, ...(entry.timeoutMs === undefined ? {} : { timeoutMs: entry.timeoutMs }) },
				capabilities: entry.capabilities.map((each) => oneLine(each, 80)),
				...(entry.description ? { description: oneLine(entry.description) } : {}),
				...(entry.token ? { token: entry.token } : {}),
				...(card ? { card } : {}),
				...(entry.tls ? { tls: entry.tls } : {}),
			},
		];
	});
	return { name: "config", list: async () => known, close: async () => undefined };
}
