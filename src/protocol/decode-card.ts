/**
 * A peer's agent card (§4.4.1), of 1.0 or 0.3: whatever is missing is filled in or left out, and every text and list is
 * bounded, since a card is the first thing that a stranger sends. What a person or a model sees of it is still the
 * stranger's text: quoting it is the reader's business.
 */
import { Mismatch, member } from "./decode-base.ts";
import { type Loose, some } from "./decode-peer.ts";
import { tolerantly } from "./decode-tolerant.ts";
import { isObject } from "./json.ts";
import type {
	AgentCapabilities,
	AgentCard,
	AgentExtension,
	AgentInterface,
	AgentSkill,
	JsonObject,
	SecurityRequirement,
	SecurityScheme,
} from "./types.ts";
import { upcastCard } from "./v03/card.ts";
import { majorMinor } from "./version.ts";

/** Skills that one card may have; more is refused as hostile. */
export const MAX_SKILLS = 500;
const MAX_ITEMS = 100;
const SHORT = 256;
const LONG = 4096;
const MAX_URL = 2048;

/** A string, cut off at `max` without splitting a character. */
function textIn(value: Loose, name: string, max: number): string | undefined {
	const found = member(value, name);
	if (typeof found !== "string" || found === "") return undefined;
	return found.length <= max ? found : `${found.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** An address: whole or not at all, since half of one is another one. */
function urlIn(value: Loose, name: string): string | undefined {
	const found = member(value, name);
	return typeof found === "string" && found !== "" && found.length <= MAX_URL ? found.trim() : undefined;
}

function listIn(value: Loose, name: string, max = MAX_ITEMS): readonly unknown[] {
	const found = member(value, name);
	return Array.isArray(found) ? found.slice(0, max) : [];
}

const textsIn = (value: Loose, name: string, max = SHORT): string[] =>
	listIn(value, name)
		.map((item) => textIn({ item }, "item", max))
		.filter((item) => item !== undefined);

const objectsIn = (value: Loose, name: string, max?: number): Loose[] => listIn(value, name, max).filter(isObject);
const entriesOf = (value: unknown) => (isObject(value) ? Object.entries(value).slice(0, MAX_ITEMS) : []);

function agentInterface(value: Loose): AgentInterface | undefined {
	const url = urlIn(value, "url");
	if (url === undefined) return undefined;
	const version = textIn(value, "protocolVersion", 32);
	return {
		url,
		protocolBinding: textIn(value, "protocolBinding", SHORT) ?? "JSONRPC",
		// Patch numbers play no part (§3.6).
		protocolVersion: version === undefined ? "1.0" : (majorMinor(version) ?? version),
		...some("tenant", textIn(value, "tenant", SHORT)),
	};
}

function extension(value: Loose): AgentExtension | undefined {
	const uri = urlIn(value, "uri");
	if (uri === undefined) return undefined;
	return {
		uri,
		...some("description", textIn(value, "description", LONG)),
		...(value.required === true ? { required: true } : {}),
		...some("params", isObject(value.params) ? (value.params as JsonObject) : undefined),
	};
}

function capabilities(value: unknown): AgentCapabilities {
	const from = isObject(value) ? value : {};
	const flag = <N extends string>(name: N) => {
		const found = member(from, name);
		return some(name, typeof found === "boolean" ? found : undefined);
	};
	return {
		...flag("streaming"),
		...flag("pushNotifications"),
		...flag("extendedAgentCard"),
		...some(
			"extensions",
			objectsIn(from, "extensions")
				.map(extension)
				.filter((item) => item !== undefined),
		),
	};
}

function requirements(value: Loose): SecurityRequirement[] {
	return objectsIn(value, "securityRequirements").map((requirement) => ({
		schemes: Object.fromEntries(
			entriesOf(requirement.schemes).map(([name, scopes]) => {
				const list = isObject(scopes) ? textsIn(scopes, "list") : [];
				return [name, { list }];
			}),
		),
	}));
}

function skill(value: Loose): AgentSkill | undefined {
	const id = textIn(value, "id", SHORT) ?? textIn(value, "name", SHORT);
	if (id === undefined) return undefined;
	return {
		id,
		name: textIn(value, "name", SHORT) ?? id,
		description: textIn(value, "description", LONG) ?? "",
		tags: textsIn(value, "tags"),
		...some("examples", textsIn(value, "examples", LONG)),
		...some("inputModes", textsIn(value, "inputModes")),
		...some("outputModes", textsIn(value, "outputModes")),
		...some("securityRequirements", requirements(value)),
	};
}

function skills(value: unknown): AgentSkill[] {
	const found = Array.isArray(value) ? value : [];
	if (found.length > MAX_SKILLS) throw new Mismatch(`lists ${found.length} skills, more than ${MAX_SKILLS}`);
	return found
		.filter(isObject)
		.map(skill)
		.filter((item) => item !== undefined);
}

function provider(value: unknown): AgentCard["provider"] {
	if (!isObject(value)) return undefined;
	return { url: urlIn(value, "url") ?? "", organization: textIn(value, "organization", SHORT) ?? "" };
}

function readCard(value: unknown): AgentCard {
	if (!isObject(value)) throw new Mismatch("is no object");
	const name = textIn(value, "name", SHORT);
	if (name === undefined) throw new Mismatch("has no name");
	const card = upcastCard(value);
	const modes = (key: string) => {
		const found = textsIn(card, key);
		return found.length > 0 ? found : ["text/plain"];
	};
	const schemes = entriesOf(card.securitySchemes).filter(([, scheme]) => isObject(scheme));
	return {
		name,
		description: textIn(card, "description", LONG) ?? "",
		version: textIn(card, "version", SHORT) ?? "",
		supportedInterfaces: objectsIn(card, "supportedInterfaces")
			.map(agentInterface)
			.filter((item) => item !== undefined),
		capabilities: capabilities(card.capabilities),
		defaultInputModes: modes("defaultInputModes"),
		defaultOutputModes: modes("defaultOutputModes"),
		skills: skills(card.skills),
		...some("provider", provider(card.provider)),
		...some("documentationUrl", urlIn(card, "documentationUrl")),
		...some("iconUrl", urlIn(card, "iconUrl")),
		...(schemes.length > 0 ? { securitySchemes: Object.fromEntries(schemes) as Record<string, SecurityScheme> } : {}),
		...some("securityRequirements", requirements(card)),
		...some("signatures", objectsIn(card, "signatures") as readonly JsonObject[]),
		...some("metadata", isObject(card.metadata) ? (card.metadata as JsonObject) : undefined),
	};
}

/**
 * The agent card in whatever a peer served as one, 1.0 or 0.3 or both in one. Throws `InvalidAgentResponseError` when
 * it is none (no object, no name), lists more than 500 skills, or is nested too deeply.
 */
export const decodeCard: (value: unknown) => AgentCard = tolerantly("agent card", readCard);
