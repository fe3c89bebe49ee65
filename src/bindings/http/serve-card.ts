/** Serving the public agent card (§8): in the form its reader knows, with validators. */
import { createHash } from "node:crypto";
import type { AgentCard } from "../../protocol/types.ts";
import { downcastCard } from "../../protocol/v03/index.ts";
import { majorMinor } from "../../protocol/version.ts";
import type { HttpReply } from "./reply.ts";

/** Where the card is (§8.2): under its name, and under the one it had before 0.3. */
export const CARD_PATHS = ["/.well-known/agent-card.json", "/.well-known/agent.json"] as const;

/** Seconds for which a reader may keep the card. */
const MAX_AGE = 60;

/** The version whose members it has. */
type Form = "1.0" | "0.3" | "both";

/** A card as it goes out. */
interface Page {
	readonly body: string;
	readonly etag: string;
}

/** The reply to a reader that sent these two headers. What was made of a card is kept for as long as the card is. */
export type CardReplies = (card: AgentCard, version: string | undefined, ifNoneMatch: string | undefined) => HttpReply;

/** Replies with cards. */
export function createCardReplies(): CardReplies {
	const pages = new WeakMap<AgentCard, Map<Form, Page>>();
	return (card, version, ifNoneMatch) => {
		const asked = majorMinor(version ?? "") ?? "";
		const form: Form = asked === "1.0" || asked === "0.3" ? asked : "both";
		const made = pages.get(card) ?? new Map<Form, Page>();
		const page = made.get(form) ?? pageOf(card, form);
		pages.set(card, made.set(form, page));
		const headers = { etag: page.etag, "cache-control": `public, max-age=${MAX_AGE}`, vary: "A2A-Version" };
		if (matches(ifNoneMatch, page.etag)) return { status: 304, headers, body: "" };
		return { status: 200, headers: { "content-type": "application/json", ...headers }, body: page.body };
	};
}

function pageOf(card: AgentCard, form: Form): Page {
	const body = JSON.stringify(formFor(card, form));
	return { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"` };
}

/** Whoever names a version gets its form. Whoever names none may be of either, and gets a card that both can read. */
function formFor(card: AgentCard, form: Form): object {
	if (form === "1.0" || !speaksV03(card)) return card;
	const old = downcastCard(card);
	return form === "0.3" ? old : forBoth(old, card);
}

const speaksV03 = (card: AgentCard) =>
	card.supportedInterfaces.some((each) => majorMinor(each.protocolVersion) === "0.3");

/** The members of both forms in one object; the security schemes, which have one name and two forms, are merged. */
function forBoth(old: object, card: AgentCard): object {
	const before: Readonly<Record<string, unknown>> =
		"securitySchemes" in old ? { ...(old.securitySchemes as object) } : {};
	const schemes = Object.entries(card.securitySchemes ?? {}).map(([name, scheme]) => [
		name,
		{ ...(before[name] as object | undefined), ...scheme },
	]);
	return { ...old, ...card, ...(schemes.length > 0 ? { securitySchemes: Object.fromEntries(schemes) } : {}) };
}

/** RFC 9110 §13.1.2, by weak comparison. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
	if (ifNoneMatch === undefined) return false;
	return ifNoneMatch.split(",").some((tag) => ["*", etag].includes(tag.trim().replace(/^W\//, "")));
}
