/** Our own agent card (§4.4.1), and choosing from a peer's where to call it (§8.3.2). */
import type { AgentCard, AgentExtension, AgentInterface, AgentSkill, JsonObject } from "./types.ts";
import { majorMinor, type ProtocolVersion } from "./version.ts";

/** Identifies the promise that a message sent again is the same message (§3.3.1 leaves that to the agent). */
const SAFE_RETRY = "https://github.com/bacnh85/pi-extensions/pi-a2a/safe-retry/v1";

/** That promise, as it stands on a card. */
export const SAFE_RETRY_EXTENSION: AgentExtension = {
	uri: SAFE_RETRY,
	description:
		"The same messageId from the same caller with the same content gives the same task: it may be sent again.",
};

/** The extensions on a card that our client understands, for its requests to ask for (§3.2.6). */
export function knownExtensions(card: AgentCard | undefined): readonly string[] {
	return retriesSafely(card) ? [SAFE_RETRY] : [];
}

/** Whether an agent with this card does a message's work once, however often it arrives. */
export function retriesSafely(card: AgentCard | undefined): boolean {
	return card?.capabilities.extensions?.some(({ uri }) => uri === SAFE_RETRY) ?? false;
}

/** What the host knows of itself, from which its card is made. */
export interface CardFacts {
	readonly name: string;
	readonly description: string;
	readonly version: string;
	/** Absolute URL of the JSON-RPC endpoint, as callers reach it. */
	readonly url: string;
	/** Absolute base URL of the HTTP+JSON binding, where it is served. */
	readonly restUrl?: string;
	readonly skills: readonly AgentSkill[];
	/** A bearer token is asked for. */
	readonly auth: boolean;
	readonly streaming: boolean;
	readonly push: boolean;
	readonly extended: boolean;
	readonly extensions?: readonly AgentExtension[];
	readonly metadata?: JsonObject;
	/** 0.3 is served as well, at the same addresses. */
	readonly v03: boolean;
	/** Media types taken and given; text and JSON, and text, when not said. */
	readonly inputModes?: readonly string[];
	readonly outputModes?: readonly string[];
}

/** What stands on the card of an agent that names no skill: a card lists at least one (§5.7). */
const GENERAL: AgentSkill = {
	id: "coding",
	name: "Coding",
	description: "Reads, writes and runs code in its workspace and answers questions about it.",
	tags: ["coding"],
};

/** Skills fit for a card (§4.4.5): each id once, no empty text, at least one tag. */
function presentable(skills: readonly AgentSkill[]): readonly AgentSkill[] {
	const byId = new Map<string, AgentSkill>();
	for (const skill of skills) {
		if (skill.id === "" || byId.has(skill.id)) continue;
		const name = skill.name || skill.id;
		const tags = skill.tags.filter((tag) => tag.trim() !== "");
		byId.set(skill.id, {
			...skill,
			name,
			description: skill.description || name,
			tags: tags.length > 0 ? tags : GENERAL.tags,
		});
	}
	return byId.size > 0 ? [...byId.values()] : [GENERAL];
}

/** The name under which the card declares the bearer token. */
const BEARER = "bearer";

/**
 * Our card in the 1.0 form. The first interface is JSON-RPC 1.0; the others follow where they are served. Every
 * capability is said, true or false, and the security scheme stands there when and only when a token is asked for.
 */
export function buildCard(facts: CardFacts): AgentCard {
	const rpc = { url: facts.url, protocolBinding: "JSONRPC" };
	const interfaces: readonly AgentInterface[] = [
		{ ...rpc, protocolVersion: "1.0" },
		...(facts.restUrl ? [{ url: facts.restUrl, protocolBinding: "HTTP+JSON", protocolVersion: "1.0" }] : []),
		...(facts.v03 ? [{ ...rpc, protocolVersion: "0.3" }] : []),
		...(facts.v03 && facts.restUrl
			? [{ url: facts.restUrl, protocolBinding: "HTTP+JSON", protocolVersion: "0.3" }]
			: []),
	];
	return {
		name: facts.name,
		description: facts.description,
		version: facts.version,
		supportedInterfaces: interfaces,
		capabilities: {
			streaming: facts.streaming,
			pushNotifications: facts.push,
			extendedAgentCard: facts.extended,
			...(facts.extensions?.length ? { extensions: facts.extensions } : {}),
		},
		defaultInputModes: facts.inputModes ?? ["text/plain", "application/json"],
		defaultOutputModes: facts.outputModes ?? ["text/plain"],
		skills: presentable(facts.skills),
		...(facts.auth
			? {
					securitySchemes: { [BEARER]: { httpAuthSecurityScheme: { scheme: "Bearer" } } },
					securityRequirements: [{ schemes: { [BEARER]: { list: [] } } }],
				}
			: {}),
		...(facts.metadata ? { metadata: facts.metadata } : {}),
	};
}

/** A way to call a peer. `tenant` goes into every request (§8.3.2). */
export interface ChosenInterface {
	readonly url: string;
	readonly binding: "JSONRPC" | "HTTP+JSON";
	readonly version: ProtocolVersion;
	readonly tenant?: string;
}

function usable({ url, protocolBinding, protocolVersion, tenant }: AgentInterface): ChosenInterface | undefined {
	if (!URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) return undefined;
	const binding = protocolBinding.toUpperCase();
	const version = majorMinor(protocolVersion);
	if ((binding !== "JSONRPC" && binding !== "HTTP+JSON") || (version !== "1.0" && version !== "0.3")) return undefined;
	return { url, binding, version, ...(tenant ? { tenant } : {}) };
}

/**
 * The interfaces of a card that we speak, in the order in which to try them (§8.3.2): as listed, but those of 1.0
 * before those of 0.3. Empty when there is none.
 */
export function pickInterfaces(card: AgentCard): readonly ChosenInterface[] {
	const found = card.supportedInterfaces.map(usable).filter((item) => item !== undefined);
	const of = (version: ProtocolVersion) => found.filter((item) => item.version === version);
	return [...of("1.0"), ...of("0.3")];
}
