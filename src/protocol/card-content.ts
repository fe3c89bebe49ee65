/**
 * What a signature of an agent card covers (§8.4.1): the members of the card, without those that only say what is the
 * default anyway, in canonical form.
 */
import { canonicalize } from "./canonical.ts";
import { isObject } from "./json.ts";

/** A member of a message, as the proto has it. */
interface Member {
	/** REQUIRED or `optional` in the proto: said even where it says the default. */
	readonly keep?: boolean;
	/** The message that it is, or that its elements or values are. */
	readonly of?: Shape;
	/** A map from names to values. */
	readonly map?: boolean;
	/** Free JSON (`google.protobuf.Struct`). */
	readonly free?: boolean;
}
type Shape = { readonly [member: string]: Member };

const PLAIN: Member = {};
const KEEP: Member = { keep: true };
const SCOPES: Member = { keep: true, map: true };

const REQUIREMENT: Shape = { schemes: { map: true, of: { list: PLAIN } } };
const OLD_FLOW: Shape = { authorizationUrl: PLAIN, tokenUrl: PLAIN, refreshUrl: PLAIN, scopes: { map: true } };
const FLOWS: Shape = {
	authorizationCode: {
		of: { authorizationUrl: KEEP, tokenUrl: KEEP, refreshUrl: PLAIN, scopes: SCOPES, pkceRequired: PLAIN },
	},
	clientCredentials: { of: { tokenUrl: KEEP, refreshUrl: PLAIN, scopes: SCOPES } },
	implicit: { of: OLD_FLOW },
	password: { of: OLD_FLOW },
	deviceCode: { of: { deviceAuthorizationUrl: KEEP, tokenUrl: KEEP, refreshUrl: PLAIN, scopes: SCOPES } },
};
const SCHEME: Shape = {
	apiKeySecurityScheme: { of: { description: PLAIN, location: KEEP, name: KEEP } },
	httpAuthSecurityScheme: { of: { description: PLAIN, scheme: KEEP, bearerFormat: PLAIN } },
	oauth2SecurityScheme: { of: { description: PLAIN, flows: { keep: true, of: FLOWS }, oauth2MetadataUrl: PLAIN } },
	openIdConnectSecurityScheme: { of: { description: PLAIN, openIdConnectUrl: KEEP } },
	mtlsSecurityScheme: { of: { description: PLAIN } },
};
const EXTENSION: Shape = { uri: PLAIN, description: PLAIN, required: PLAIN, params: { free: true } };
const SKILL: Shape = {
	id: KEEP,
	name: KEEP,
	description: KEEP,
	tags: KEEP,
	examples: PLAIN,
	inputModes: PLAIN,
	outputModes: PLAIN,
	securityRequirements: { of: REQUIREMENT },
};
/** `signatures` is not among them: it cannot sign itself. */
const CARD: Shape = {
	name: KEEP,
	description: KEEP,
	supportedInterfaces: {
		keep: true,
		of: { url: KEEP, protocolBinding: KEEP, tenant: PLAIN, protocolVersion: KEEP },
	},
	provider: { of: { url: KEEP, organization: KEEP } },
	version: KEEP,
	documentationUrl: KEEP,
	capabilities: {
		keep: true,
		of: { streaming: KEEP, pushNotifications: KEEP, extensions: { of: EXTENSION }, extendedAgentCard: KEEP },
	},
	securitySchemes: { map: true, of: SCHEME },
	securityRequirements: { of: REQUIREMENT },
	defaultInputModes: KEEP,
	defaultOutputModes: KEEP,
	skills: { keep: true, of: SKILL },
	iconUrl: KEEP,
};

type Loose = Readonly<Record<string, unknown>>;

/** An object whose members are made of those of `from`; a member that becomes `undefined` is left out. */
function mapped(from: Loose, make: (value: unknown, name: string) => unknown): Loose {
	const entries = Object.entries(from).map(([name, value]) => [name, make(value, name)] as const);
	return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

const isEmpty = (value: unknown): boolean =>
	value === "" || (Array.isArray(value) ? value.length === 0 : isObject(value) && Object.keys(value).length === 0);
const isDefault = (value: unknown, { of, map }: Member): boolean =>
	value === false || value === 0 || (isEmpty(value) && (map === true || of === undefined || Array.isArray(value)));

function message(from: Loose, shape: Shape, unknown: boolean): Loose {
	return mapped(from, (value, name) => {
		const member = Object.hasOwn(shape, name) ? shape[name] : undefined;
		if (!member) return unknown ? value : undefined;
		// `null` says in JSON what a missing member says.
		if (value === null || value === undefined) return undefined;
		if (member.free) return value;
		return isDefault(value, member) && !member.keep ? undefined : inside(value, member, unknown);
	});
}

function inside(value: unknown, { of, map }: Member, unknown: boolean): unknown {
	if (!of) return value;
	const each = (inner: unknown) => (isObject(inner) ? message(inner, of, unknown) : inner);
	if (Array.isArray(value)) return value.map(each);
	return map && isObject(value) ? mapped(value, each) : each(value);
}

/** `value` without any text, list or object that is empty, at whatever depth; `undefined` when nothing is left. */
function withoutEmpty(value: unknown): unknown {
	const rest = Array.isArray(value)
		? value.map(withoutEmpty).filter((each) => each !== undefined)
		: isObject(value)
			? mapped(value, withoutEmpty)
			: value;
	return isEmpty(rest) ? undefined : rest;
}

/** The ways to read §8.4.1 that signers are known to have taken. */
export interface SignedForms {
	/** Members of A2A 1.0 only; defaults are left out but where the proto has REQUIRED or `optional`. */
	readonly exact: string;
	/** The same, without any empty text, list or object, REQUIRED ones included. */
	readonly bare: string;
	/** As `exact`, with whatever else the card has: members of a later version. */
	readonly whole: string;
}

/**
 * What may have been signed of `card`, a card as it is sent. Whoever finds a signature to fit one of the forms must
 * take that form for the card, since what else stood in it was not signed. Throws as `canonicalize`.
 */
export function signedForms(card: Loose): SignedForms {
	const { signatures: _signatures, ...rest } = card;
	const exact = message(rest, CARD, false);
	return {
		exact: canonicalize(exact),
		bare: canonicalize(withoutEmpty(exact) ?? {}),
		whole: canonicalize(message(rest, CARD, true)),
	};
}
