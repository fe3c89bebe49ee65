/** From what the operator wrote down of a peer's card to what the binding needs: files read, keys parsed. */
import { readFile, stat } from "node:fs/promises";
import type { CardWish } from "../bindings/http/cards.ts";
import { type CardKey, readCardKeys } from "../guard/card-keys.ts";
import { fromHome } from "../lib/home.ts";
import { oneLine } from "../lib/text.ts";
import { A2AError } from "../protocol/errors.ts";
import type { JsonObject } from "../protocol/types.ts";
import { originKey } from "./address.ts";
import type { Peer } from "./peer.ts";

const MAX_BYTES = 256 * 1024;

/**
 * What is known of the card of `peer`; `known` is everybody in the directory. Keys hold for an origin, so that a peer
 * that must sign cannot be called around them by another URL of the same server. Throws `InvalidRequestError` with one
 * line that names the setting when a file or a key cannot be used.
 */
export async function cardWish(peer: Peer, known: readonly Peer[]): Promise<CardWish | undefined> {
	const signed = signers(peer, known);
	const { url, source } = peer.card ?? {};
	const text = source === undefined ? undefined : await inSetting(peer, "card", () => textOf(source));
	const lists = await Promise.all(signed.map((each) => inSetting(each, "cardKeys", () => keysOf(each.card?.keys))));
	if (url === undefined && text === undefined && signed.length === 0) return undefined;
	return { url, text, keys: lists.flat() };
}

/** Those in the settings whose keys hold for `peer`. */
function signers(peer: Peer, known: readonly Peer[]): readonly Peer[] {
	const { address, source } = peer;
	if (peer.card?.keys !== undefined) return [peer];
	// What the operator wrote down is meant as it stands there; behind a gateway's origin there are many peers.
	if (source === "config" || source === "gateway" || address.via !== "http") return [];
	const origin = originKey(address.url);
	return known.filter(
		(each) => each.card?.keys !== undefined && each.address.via === "http" && originKey(each.address.url) === origin,
	);
}

async function keysOf(source: JsonObject | string | undefined): Promise<readonly CardKey[]> {
	if (typeof source !== "string" || source.trim().startsWith("-----BEGIN ")) return readCardKeys(source);
	return readCardKeys(source === "" ? source : await textOf(source));
}

/** The text of a file, or of an object as JSON. */
async function textOf(source: JsonObject | string): Promise<string> {
	if (typeof source !== "string") return JSON.stringify(source);
	const path = fromHome(source);
	const info = await stat(path);
	if (!info.isFile()) throw new Error(`${path} is no file`);
	if (info.size > MAX_BYTES) throw new Error(`${path} is larger than ${MAX_BYTES} bytes`);
	return readFile(path, "utf8");
}

async function inSetting<T>({ name }: Peer, key: string, read: () => Promise<T>): Promise<T> {
	try {
		return await read();
	} catch (cause) {
		const why = oneLine(cause instanceof Error ? cause.message : String(cause), 300);
		const text = `a2a.peers.${name}.${key} cannot be used: ${why}. Nothing was sent`;
		throw new A2AError("InvalidRequestError", text, { cause });
	}
}
