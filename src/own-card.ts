/** Our own card as it goes out: signed when there is a key, and one object for as long as it says the same. */
import { readFile, stat } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import type { Config } from "./config/keys.ts";
import { type CardSigner, readCardSigner } from "./guard/card-keys.ts";
import { signCard } from "./guard/card-signatures.ts";
import { fromHome } from "./lib/home.ts";
import { oneLine } from "./lib/text.ts";
import type { AgentCard } from "./protocol/types.ts";

type KeySettings = Pick<Config, "cardKey" | "cardKeyId" | "cardKeyUrl">;

/** Rights of others than the owner in a file's mode. */
const OTHERS = 0o077;
const MAX_BYTES = 64 * 1024;

/**
 * The key that signs our card; `undefined` when none is configured. Throws an error of one line when it cannot be used:
 * whoever wants a signed card does not want an unsigned one.
 */
export async function loadCardSigner(config: KeySettings): Promise<CardSigner | undefined> {
	const { cardKey, cardKeyId, cardKeyUrl } = config;
	if (cardKey === "") return undefined;
	const path = fromHome(cardKey);
	try {
		return readCardSigner(await privateText(path), { kid: cardKeyId, jku: cardKeyUrl });
	} catch (cause) {
		const why = oneLine(cause instanceof Error ? cause.message : String(cause), 300);
		throw new Error(`server.cardKey (${path}) cannot be used: ${why}`, { cause });
	}
}

async function privateText(path: string): Promise<string> {
	const info = await stat(path);
	if (!info.isFile()) throw new Error("it is no file");
	if (info.size > MAX_BYTES) throw new Error(`it is larger than ${MAX_BYTES} bytes`);
	// Windows keeps its rights elsewhere.
	if (process.platform !== "win32" && (info.mode & OTHERS) !== 0) {
		const mode = (info.mode & 0o777).toString(8);
		throw new Error(`others than you have rights to it (mode ${mode}); take them away with chmod 600`);
	}
	return readFile(path, "utf8");
}

/** The card to send for a card as it was made; the same object again for an equal one. */
export type OwnCards = (card: AgentCard) => AgentCard;

/** Each address by which we are reached has its card. */
const MAX_CARDS = 64;

/** Signs each distinct card once. What is made of a card, its JSON and tag, can then be kept by the object. */
export function createOwnCards(signer: CardSigner | undefined): OwnCards {
	const known = new Map<string, { readonly made: AgentCard; readonly sent: AgentCard }>();
	return (made) => {
		const url = made.supportedInterfaces[0]?.url ?? "";
		const last = known.get(url);
		if (last && isDeepStrictEqual(last.made, made)) return last.sent;
		const sent = signer ? signCard(made, signer) : made;
		known.delete(url);
		known.set(url, { made, sent });
		const [oldest] = known.keys();
		if (known.size > MAX_CARDS && oldest !== undefined) known.delete(oldest);
		return sent;
	};
}
