/** Who is here: what agents write down of themselves, and when they last gave a sign of life. */
import { hostname } from "node:os";
import { safeName } from "../../lib/files.ts";
import { isAlive, withLock } from "../../lib/lock.ts";
import { oneLine } from "../../lib/text.ts";
import { isObject } from "../../protocol/json.ts";
import type { JsonObject } from "../../protocol/types.ts";
import { readFound, replaceIf } from "./box-file.ts";
import type { Holder } from "./leases.ts";
import { isAgentId, type Mail } from "./messages.ts";
import type { MailRoot } from "./root.ts";

/** What an agent says of itself in `agent.json`. */
export interface Registration extends Holder {
	readonly id: string;
	readonly name: string;
	readonly description: string;
	readonly capabilities: readonly string[];
	/** Requests that it does at the same time; none for one that only asks. */
	readonly slots: number;
	/** It is here for one command; when its process is gone, so is its folder. */
	readonly passing?: boolean;
	/** Its Agent Card, undecoded. */
	readonly card?: JsonObject;
}

/** An agent of the mailbox, as its files tell. */
export interface Listed {
	readonly id: string;
	/** Absent for one that is no program of ours: a folder that a script made. */
	readonly registration?: Registration;
	/** Milliseconds since the epoch; 0 for none. */
	readonly seen: number;
	readonly alive: boolean;
	readonly capabilities: readonly string[];
}

const MAX_BYTES = 256 * 1024;
const MAX_ITEMS = 200;

const words = (value: unknown): readonly string[] =>
	Array.isArray(value)
		? value.slice(0, MAX_ITEMS).flatMap((each) => (typeof each === "string" ? oneLine(each, 80) || [] : []))
		: [];
const whole = (value: unknown): number => (Number.isInteger(value) ? Number(value) : 0);
const line = (value: unknown, max: number): string => (typeof value === "string" ? oneLine(value, max) : "");

/** A registration as it stands in the file. */
export function registrationText({ id, ...facts }: Registration): string {
	return `${JSON.stringify({ agent_id: id, ...facts }, undefined, 2)}\n`;
}

/** The registration in a text; undefined for anything else. */
export function readRegistration(text: string): Registration | undefined {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return undefined;
	}
	if (!isObject(value) || !isAgentId(value.agent_id)) return undefined;
	return {
		id: value.agent_id,
		instance: line(value.instance, 100),
		pid: whole(value.pid),
		host: line(value.host, 255),
		name: line(value.name, 80) || value.agent_id,
		description: line(value.description, 300),
		capabilities: words(value.capabilities),
		slots: Math.max(0, whole(value.slots)),
		...(value.passing === true ? { passing: true } : {}),
		...(isObject(value.card) ? { card: value.card as JsonObject } : {}),
	};
}

/** Whether a process is known not to run any more. That of another machine never is. */
export function isDead({ pid, host }: Pick<Holder, "pid" | "host">): boolean {
	return host === hostname() && pid > 0 && !isAlive(pid);
}

/** The newest sign of life among messages, milliseconds since the epoch; a time ahead of us counts as now. */
export function lastBeat(mails: readonly Mail[], id: string, now: number): number {
	let last = 0;
	for (const { type, from, at } of mails) if (type === "heartbeat" && from === id) last = Math.max(last, at);
	return Math.min(last, now);
}

/** What an agent announced last, by broadcast. */
export function lastBroadcast(mails: readonly Mail[], id: string): Mail | undefined {
	return mails.findLast((mail) => mail.type === "broadcast" && mail.from === id);
}

/** The registration and id of the agent in a folder; undefined when the folder is not an agent's. */
export async function agentIn(
	root: MailRoot,
	name: string,
): Promise<{ readonly id: string; readonly registration?: Registration } | undefined> {
	const { text } = await readFound(root.named(name).card, MAX_BYTES);
	const registration = text ? readRegistration(text) : undefined;
	if (registration) return safeName(registration.id) === name ? { id: registration.id, registration } : undefined;
	return isAgentId(name) && safeName(name) === name ? { id: name } : undefined;
}

/** Every agent of the mailbox, by id. One whose files cannot be read is left out. `deadMs`: silence that means death. */
export async function listAgents(root: MailRoot, deadMs: number): Promise<readonly Listed[]> {
	const now = root.parts.clock.now();
	const found = (await root.folders()).map(async (name): Promise<Listed[]> => {
		try {
			const agent = await agentIn(root, name);
			if (!agent) return [];
			const { mails } = await root.box(agent.id, "outbox").read();
			const said = lastBroadcast(mails, agent.id)?.payload.capabilities;
			const seen = lastBeat(mails, agent.id, now);
			const { registration } = agent;
			const alive = now - seen <= deadMs && !(registration && isDead(registration));
			const capabilities = registration?.capabilities ?? words(said);
			return [{ ...agent, seen, alive, capabilities }];
		} catch (error) {
			root.parts.log.warn(`The mailbox of ${oneLine(name, 80)} cannot be read`, error);
			return [];
		}
	});
	return (await Promise.all(found)).flat().sort((a, b) => (a.id < b.id ? -1 : 1));
}

/**
 * Writes a registration down under `wanted`, or under `wanted-2`, `wanted-3` … when an agent that lives has that id; gives
 * what was written.
 */
export async function register(
	root: MailRoot,
	wanted: string,
	facts: Omit<Registration, "id">,
	deadMs: number,
): Promise<Registration> {
	for (let n = 1; n < 1000; n++) {
		const registration = { ...facts, id: n === 1 ? wanted : `${wanted}-${n}` };
		const place = await root.make(registration.id);
		const taken = await withLock(place.card, async () => {
			const before = await agentIn(root, place.name);
			const other = before?.registration;
			if (other && other.instance !== facts.instance && !isDead(other)) {
				const { mails } = await root.box(registration.id, "outbox").read();
				const now = root.parts.clock.now();
				if (now - lastBeat(mails, other.id, now) <= deadMs) return true;
			}
			await writeCard(root, registration);
			return false;
		});
		if (!taken) return registration;
	}
	throw new Error(`every id like ${wanted} is taken in ${root.path}`);
}

/** Writes the registration of an agent anew. */
export async function writeCard(root: MailRoot, registration: Registration): Promise<void> {
	const { card } = root.place(registration.id);
	for (;;) {
		const { stamp } = await readFound(card, MAX_BYTES);
		if (await replaceIf(card, stamp, registrationText(registration))) return;
	}
}
