/** Agent cards of 0.3 (0.3 §5.5) and 1.0 (§4.4.1), each from the other. */
import { isObject } from "../json.ts";
import type { AgentCard, AgentInterface, AgentSkill, SecurityRequirement } from "../types.ts";
import { majorMinor } from "../version.ts";

type Loose = Readonly<Record<string, unknown>>;
const items = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** Security schemes: the `type` of 0.3 and the member of 1.0 that stands for it (§4.5.1). */
const SCHEMES = [
	["apiKey", "apiKeySecurityScheme"],
	["http", "httpAuthSecurityScheme"],
	["oauth2", "oauth2SecurityScheme"],
	["openIdConnect", "openIdConnectSecurityScheme"],
	["mutualTLS", "mtlsSecurityScheme"],
] as const;

/** One scheme in the 1.0 form, whatever it came as; `{"scheme":{"$case":…}}` is what one SDK writes. */
function upcastScheme(value: unknown): unknown {
	if (!isObject(value)) return undefined;
	if (isObject(value.scheme) && typeof value.scheme.$case === "string") {
		const kind = value.scheme.$case;
		return { [kind]: value.scheme.value ?? value.scheme[kind] };
	}
	const member = SCHEMES.find(([type]) => type === value.type)?.[1];
	// A card for both versions has the 1.0 member beside the type.
	if (member === undefined || isObject(value[member])) return value;
	const { type, in: location, ...rest } = value;
	return { [member]: type === "apiKey" ? { ...rest, location } : rest };
}

function upcastRequirement(value: unknown): unknown {
	if (!isObject(value) || isObject(value.schemes)) return value;
	return {
		schemes: Object.fromEntries(Object.entries(value).map(([name, scopes]) => [name, { list: items(scopes) }])),
	};
}

const upcastRequirements = (value: unknown) => (Array.isArray(value) ? value.map(upcastRequirement) : undefined);

/** What the card says at its top (0.3 §5.6): the main URL and the additional interfaces. */
function topInterfaces(card: Loose): unknown[] {
	// Cards of 0.2 are called as those of 0.3; a draft of 1.0 had its version here as well.
	const said = typeof card.protocolVersion === "string" ? majorMinor(card.protocolVersion) : undefined;
	const protocolVersion = said === undefined || said.startsWith("0.") ? "0.3" : said;
	const main = typeof card.url === "string" ? [{ url: card.url, transport: card.preferredTransport ?? "JSONRPC" }] : [];
	return [...main, ...items(card.additionalInterfaces).filter(isObject)].map(({ url, transport }) => ({
		url,
		protocolBinding: transport,
		protocolVersion,
	}));
}

function upcastInterfaces(card: Loose): unknown[] {
	const all = [...items(card.supportedInterfaces).filter(isObject), ...topInterfaces(card).filter(isObject)];
	const keyOf = (item: Loose) => JSON.stringify([item.url, item.protocolBinding, item.protocolVersion]);
	return [...new Map(all.map((item) => [keyOf(item), item])).values()];
}

/**
 * A card of either version, or one for both, with everything where 1.0 has it; not yet validated. 1.0 members win, so
 * a 1.0 card comes out as it is, and what only 0.3 members say is added: interfaces, schemes, the extended card.
 */
export function upcastCard(card: Loose): Loose {
	const capabilities = isObject(card.capabilities) ? card.capabilities : {};
	const extended = card.supportsAuthenticatedExtendedCard ?? card.supportsExtendedAgentCard;
	const schemes = isObject(card.securitySchemes) ? Object.entries(card.securitySchemes) : undefined;
	return {
		...card,
		supportedInterfaces: upcastInterfaces(card),
		capabilities: { extendedAgentCard: extended === true ? true : undefined, ...capabilities },
		securitySchemes: schemes && Object.fromEntries(schemes.map(([name, scheme]) => [name, upcastScheme(scheme)])),
		securityRequirements: upcastRequirements(card.securityRequirements ?? card.security),
		skills: items(card.skills).map((skill) =>
			isObject(skill)
				? { ...skill, securityRequirements: upcastRequirements(skill.securityRequirements ?? skill.security) }
				: skill,
		),
	};
}

function downcastScheme(value: object): object {
	for (const [type, member] of SCHEMES) {
		const inner = (value as Loose)[member];
		if (!isObject(inner)) continue;
		const { location, ...rest } = inner;
		return { type, ...rest, ...(location === undefined ? {} : { in: location }) };
	}
	return value;
}

const downcastRequirement = ({ schemes }: SecurityRequirement) =>
	Object.fromEntries(Object.entries(schemes).map(([name, scopes]) => [name, scopes.list ?? []]));

function downcastSkill({ securityRequirements, ...skill }: AgentSkill): object {
	return { ...skill, ...(securityRequirements ? { security: securityRequirements.map(downcastRequirement) } : {}) };
}

const transport = ({ url, protocolBinding }: AgentInterface) => ({ url, transport: protocolBinding });

/**
 * The card for a 0.3 reader (0.3 §5.5): its main URL is the first 0.3 interface, JSON-RPC before others. Without a 0.3
 * interface it names the first of any version, for a reader that knows no better.
 */
export function downcastCard(card: AgentCard): object {
	const { supportedInterfaces, capabilities, securitySchemes, securityRequirements, skills, signatures, ...rest } =
		card;
	const old = supportedInterfaces.filter((item) => majorMinor(item.protocolVersion) === "0.3");
	const usable = old.length > 0 ? old : supportedInterfaces;
	const main = usable.find((item) => item.protocolBinding === "JSONRPC") ?? usable[0];
	const { extendedAgentCard, ...abilities } = capabilities;
	return {
		...rest,
		protocolVersion: "0.3.0",
		url: main?.url ?? "",
		preferredTransport: main?.protocolBinding ?? "JSONRPC",
		additionalInterfaces: usable.map(transport),
		capabilities: abilities,
		...(extendedAgentCard ? { supportsAuthenticatedExtendedCard: true } : {}),
		...(securitySchemes
			? {
					securitySchemes: Object.fromEntries(
						Object.entries(securitySchemes).map(([name, scheme]) => [name, downcastScheme(scheme)]),
					),
				}
			: {}),
		...(securityRequirements ? { security: securityRequirements.map(downcastRequirement) } : {}),
		skills: skills.map(downcastSkill),
	};
}
