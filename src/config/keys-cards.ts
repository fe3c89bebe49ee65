/** Keys of our own agent card's signature, and what a peer's entry says of its card. */
import type { JsonObject } from "../protocol/types.ts";
import { isObject } from "./json.ts";
import { httpUrl, type Kind, line, word, wrong } from "./key-kinds.ts";
import { type KeyTable, rows } from "./row.ts";

const ABSOLUTE = /^(?:~?[/\\]|[A-Za-z]:[/\\])[^\x00-\x1f]{0,4095}$/;
const PATH_RULE = "an absolute path, or one that starts with ~/";

const path = word(ABSOLUTE, PATH_RULE, "file");

/** A card as it stands there, or the file that it is in. */
export function cardSource(): Kind<JsonObject | string> {
	return {
		expected: `an agent card (an object), or the file that it is in (${PATH_RULE})`,
		takes: "object or file",
		read(value, report) {
			if (value === null || value === "") return undefined;
			if (isObject(value)) return value as JsonObject;
			if (typeof value === "string" && ABSOLUTE.test(value)) return value;
			return void report(wrong(value, this));
		},
		parse: (text) => text,
		show: (value) => (typeof value === "string" ? value : "an object"),
	};
}

/** What stands for keys that could not be read: none fits, so that a mistake does not let every card pass. */
const NO_KEYS = "";

/** Public keys: a JWK, a JWKS, PEM text, or the file that they are in. */
export function cardKeySource(): Kind<JsonObject | string> {
	return {
		expected: `a JWK or JWKS (an object), PEM text, or the file that they are in (${PATH_RULE})`,
		takes: "object, PEM or file",
		read(value, report) {
			if (value === null || value === "") return undefined;
			if (isObject(value)) return value as JsonObject;
			if (typeof value === "string" && (ABSOLUTE.test(value) || value.trim().startsWith("-----BEGIN "))) return value;
			report(wrong(value, this));
			return NO_KEYS;
		},
		parse: (text) => text,
		show: (value) => (typeof value === "string" && ABSOLUTE.test(value) ? value : "keys"),
	};
}

const card = rows("Agent card", "server", "it decides in whose name this session's card is signed");

export const CARD_KEYS = {
	cardKey: card("server.cardKey", path, "", {
		env: "A2A_CARD_KEY",
		help: "File with the private key (PEM, P-256 or Ed25519) that signs the Agent Card; nobody else may be able to read it",
		guards: true,
	}),
	cardKeyId: card("server.cardKeyId", line(200), "", {
		env: "A2A_CARD_KEY_ID",
		help: "Name of that key in the signature (`kid`); without one it is the thumbprint of the key",
	}),
	cardKeyUrl: card("server.cardKeyUrl", httpUrl(), "", {
		env: "A2A_CARD_KEY_URL",
		help: "Where its public half is published as a JWKS (`jku`), for readers who do not have it",
	}),
} as const satisfies KeyTable;
