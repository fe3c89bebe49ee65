/** The name and the card under which a session appears at a gateway. Pure but for the random marks. */
import { randomBytes } from "node:crypto";
import type { AgentCard } from "../../protocol/types.ts";
import { MAX_CARD_BYTES } from "./api.ts";

/** The longest name that a gateway takes. */
const LONGEST = 64;

/** `name` with `ending`, in the letters that a gateway takes and not longer than it takes. */
function fitted(name: string, ending: string): string {
	const plain = name.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[.-]+/, "") || "pi";
	return `${plain.slice(0, LONGEST - ending.length)}${ending}`;
}

/** The name to register: the operator's, else one that no other session of this machine has at the same time. */
export function nameFor(wanted: string | undefined, agentName: string, port: number): string {
	return wanted === undefined || wanted === "" ? fitted(agentName, `-${port}`) : fitted(wanted, "");
}

/** `name` with a mark that nobody else has. */
export function uniqueName(name: string): string {
	return fitted(name, `-${randomBytes(3).toString("hex")}`);
}

/** A name that can stand in a path: a gateway's own rule, and no name that means a folder. */
export const isPeerName = (value: unknown): value is string =>
	typeof value === "string" && /^[A-Za-z0-9._-]{1,64}$/.test(value) && !/^\.+$/.test(value);

const fits = (card: AgentCard): boolean => Buffer.byteLength(JSON.stringify(card)) <= MAX_CARD_BYTES;

/** The card as the gateway takes it: with the details of its skills, without them, or none at all. */
export function cardThatFits(card: AgentCard): AgentCard | undefined {
	if (fits(card)) return card;
	const skills = card.skills.map(({ id, name, tags }) => ({ id, name, description: name, tags }));
	const short = { ...card, skills };
	return fits(short) ? short : undefined;
}
