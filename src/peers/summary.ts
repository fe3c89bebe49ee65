/** An Agent Card as people and models read it: text of a stranger, cleaned, shortened and counted. */
import { oneLine } from "../lib/text.ts";
import type { AgentCard, AgentSkill, Json } from "../protocol/types.ts";

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
	readonly streaming: boolean;
	readonly push: boolean;
	/** Security schemes by name; empty when the card asks for none. */
	readonly auth: readonly string[];
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

/** `card` as read from `url`. */
export function summarize(card: AgentCard, url: string): CardSummary {
	return {
		name: oneLine(card.name, 100),
		description: oneLine(card.description, 500),
		version: oneLine(card.version, 40),
		url: oneLine(url, 300),
		interfaces: card.supportedInterfaces
			.slice(0, ENTRIES)
			.map((each) => oneLine(`${each.protocolBinding} ${each.protocolVersion} at ${each.url}`, 300)),
		streaming: card.capabilities.streaming === true,
		push: card.capabilities.pushNotifications === true,
		auth: Object.keys(card.securitySchemes ?? {})
			.slice(0, ENTRIES)
			.map((name) => oneLine(name, 60)),
		skills: card.skills.slice(0, SKILLS).map(skill),
		moreSkills: Math.max(0, card.skills.length - SKILLS),
		metadata: Object.fromEntries(
			Object.entries(card.metadata ?? {})
				.slice(0, ENTRIES)
				.map(([key, value]) => [oneLine(key, 40), shown(value)]),
		),
	};
}
