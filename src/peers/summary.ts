/** An Agent Card as people and models read it: text of a stranger, cleaned, shortened and counted. */

import type { FoundCard } from "../bindings/binding.ts";
import { oneLine } from "../lib/text.ts";
import type { AgentCard, AgentSkill, Json, SecurityScheme } from "../protocol/types.ts";

export interface SkillSummary {
	readonly id: string;
	readonly name: string;
	readonly description: string;
	readonly tags: readonly string[];
}

/** Every text is one clean line. */
export interface CardSummary {
	readonly name: string;
	readonly description: string;
	readonly version: string;
	/** The address that was asked. */
	readonly url: string;
	/** Ways to reach it, `JSONRPC 1.0 at http://…`. */
	readonly interfaces: readonly string[];
	/** Where the card is from: `read just now from http://…`. */
	readonly source: string;
	/** What came of its signature. */
	readonly signature: string;
	readonly streaming: boolean;
	readonly push: boolean;
	/** Ways to say who one is, `bearer (http Bearer)`; empty when the card asks for none. */
	readonly auth: readonly string[];
	/** Extensions by their URI, `… (required)`. */
	readonly extensions: readonly string[];
	/** The first ones; `moreSkills` counts the rest. */
	readonly skills: readonly SkillSummary[];
	readonly moreSkills: number;
	/** What a Pi session says about itself: working folder, model, tools. */
	readonly metadata: { readonly [key: string]: string };
}

/** More skills than this are counted, not shown: a card must not fill a model's context. */
const SKILLS = 40;
const ENTRIES = 12;

function skill(from: AgentSkill): SkillSummary {
	return {
		id: oneLine(from.id, 80),
		name: oneLine(from.name, 80),
		description: oneLine(from.description, 200),
		tags: from.tags.slice(0, ENTRIES).map((tag) => oneLine(tag, 40)),
	};
}

function shown(value: Json): string {
	if (typeof value === "string") return oneLine(value, 200);
	if (Array.isArray(value)) return oneLine(value.map((each) => shown(each)).join(", "), 300);
	return oneLine(JSON.stringify(value), 200);
}

/** What a scheme is, in the words of its members (§4.5.1). */
function scheme([name, value]: readonly [string, SecurityScheme]): string {
	const [kind = "", inner] = Object.entries(value).find(([, each]) => typeof each === "object") ?? [];
	const facts = (["scheme", "location", "name", "openIdConnectUrl"] as const).flatMap((each) => {
		const fact = (inner as { readonly [member: string]: unknown } | undefined)?.[each];
		return typeof fact === "string" ? fact : [];
	});
	const said = [kind.replace(/(Auth)?SecurityScheme$/, ""), ...facts].filter(Boolean).join(" ");
	return oneLine(said ? `${name} (${said})` : name, 120);
}

/** Where a card is from, in words. */
function sourceOf(found: FoundCard | undefined): string {
	const at = found?.url ? ` from ${found.url.origin}${found.url.pathname}` : "";
	if (found?.from === "settings") return "written down in the settings (a2a.peers)";
	if (found?.from === "cache") return oneLine(`kept, still fresh,${at}`, 300);
	if (found?.from === "stale") return oneLine(`kept, no longer fresh: its server fails to give a newer one,${at}`, 300);
	return oneLine(`read just now${at}`, 300);
}

/** What came of the signature of a card, in words; `extended`: what is shown is not the card that it stands on. */
export function signatureText(found: FoundCard | undefined, extended: boolean): string {
	const signature = found?.signature ?? { state: "unsigned" };
	if (signature.state === "unsigned") return "not signed";
	if (signature.state === "unverified") return oneLine(`signed, not verified: ${signature.why}`, 300);
	if (signature.state === "bad") return oneLine(`not valid: ${signature.why}`, 300);
	const whose = signature.published ? "a key that its own server publishes" : "a key in the settings";
	const beyond = extended ? "; what follows is its extended card, which was not looked at" : "";
	return oneLine(`verified with ${whose} (${signature.alg}, ${signature.kid})${beyond}`, 300);
}

/** `card` of the peer at `url`; `found` is its public card, and where that is from. */
export function summarize(card: AgentCard, url: string, found?: FoundCard): CardSummary {
	const extended = found !== undefined && found.card !== card;
	return {
		name: oneLine(card.name, 100),
		description: oneLine(card.description, 500),
		version: oneLine(card.version, 40),
		url: oneLine(url, 300),
		source: sourceOf(found),
		signature: signatureText(found, extended),
		interfaces: card.supportedInterfaces
			.slice(0, ENTRIES)
			.map((each) => oneLine(`${each.protocolBinding} ${each.protocolVersion} at ${each.url}`, 300)),
		streaming: card.capabilities.streaming === true,
		push: card.capabilities.pushNotifications === true,
		auth: Object.entries(card.securitySchemes ?? {})
			.slice(0, ENTRIES)
			.map(scheme),
		extensions: (card.capabilities.extensions ?? [])
			.slice(0, ENTRIES)
			.map(({ uri, required }) => oneLine(uri, 200) + (required ? " (required)" : "")),
		skills: card.skills.slice(0, SKILLS).map(skill),
		moreSkills: Math.max(0, card.skills.length - SKILLS),
		metadata: Object.fromEntries(
			Object.entries(card.metadata ?? {})
				.slice(0, ENTRIES)
				.map(([key, value]) => [oneLine(key, 40), shown(value)]),
		),
	};
}
