/** What our card says, by the configuration and the live session. */
import type { Listening } from "./bindings/http/listen.ts";
import type { HttpRequest } from "./bindings/http/request.ts";
import { REST_BASE } from "./bindings/http/rest.ts";
import type { Config } from "./config/keys.ts";
import type { Host, HostFacts } from "./host.ts";
import { BYTES, MEDIA_TYPES } from "./lib/media-types.ts";
import { buildCard, SAFE_RETRY_EXTENSION } from "./protocol/card.ts";
import type { AgentCard, AgentExtension } from "./protocol/types.ts";
import { VERSION } from "./version.ts";

/** Identifies what the extended card says of the session (§4.6). */
const SESSION_EXTENSION = "https://github.com/bacnh85/pi-extensions/pi-a2a/session/v1";

const DESCRIPTION =
	"A Pi coding agent: it works on the files of its workspace with tools of its own, and remembers a conversation.";

/** What a session can read: any file that its tools can open. What it answers in, beside the files that it attaches. */
export const INPUT_MODES = [...MEDIA_TYPES, BYTES];
export const OUTPUT_MODES = ["text/plain", "text/markdown", "application/json"];

/** Whether callers must present a token. */
export function needsToken(config: Pick<Config, "sharedToken" | "peerTokens">): boolean {
	return config.sharedToken !== "" || Object.keys(config.peerTokens).length > 0;
}

/** Facts about the session are for callers who said who they are. */
export const isEnriched = (config: Config): boolean => config.enrichCard && needsToken(config);

/**
 * The URL on the card: the public one when there is one; bound to every address, the one by which this reader came
 * (nobody can call 0.0.0.0); else the bound one.
 */
export function addressFor(
	config: Config,
	listening: Pick<Listening, "host" | "url"> | undefined,
	request: HttpRequest | undefined,
): string {
	if (config.publicUrl !== "") return config.publicUrl;
	const bound = listening?.host;
	const asked = request?.headers.host;
	if ((bound === "0.0.0.0" || bound === "::") && asked !== undefined)
		return `${listening?.url.startsWith("https:") ? "https" : "http"}://${asked}/`;
	return listening?.url ?? "";
}

/** The extensions that the card declares (§4.6), for those who need no more of it. */
export function declaredExtensions({ extensions = [] }: Pick<HostFacts, "extensions">): readonly AgentExtension[] {
	return [SAFE_RETRY_EXTENSION, ...extensions];
}

/** The card under a URL; none yet: an empty one. */
export function cardOf(config: Config, host: Host, url: string): AgentCard {
	const facts = host.describe();
	return buildCard({
		name: config.agentName,
		description: DESCRIPTION,
		version: VERSION,
		url,
		...(url === "" ? {} : { restUrl: `${url.replace(/\/$/, "")}${REST_BASE}` }),
		skills: config.skills.length > 0 ? config.skills : facts.skills,
		auth: needsToken(config),
		streaming: true,
		push: config.pushEnabled,
		extended: isEnriched(config),
		extensions: declaredExtensions(facts),
		v03: true,
		inputModes: INPUT_MODES,
		outputModes: OUTPUT_MODES,
	});
}

/** The card with what the requirements call enriched: the folder, model and tools of the live session. */
export function extendedCard(host: Host, card: AgentCard): AgentCard {
	const { pid, cwd, model, tools } = host.describe();
	const metadata = { pid, cwd, tools: [...tools], ...(model === undefined ? {} : { model }) };
	const extensions = [...(card.capabilities.extensions ?? []), { uri: SESSION_EXTENSION, params: metadata }];
	return { ...card, capabilities: { ...card.capabilities, extensions }, metadata };
}
