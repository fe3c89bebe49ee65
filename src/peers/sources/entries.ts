/** One file of the local registry: what it says, when it is believed. */
import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { errorCode } from "../../lib/errno.ts";
import { oneLine } from "../../lib/text.ts";
import type { AgentSkill } from "../../protocol/types.ts";
import { isLoopback, readUrl } from "../address.ts";
import type { Peer } from "../peer.ts";

/** What a session says of itself to the others on this machine. Never a token. */
export interface Announcement {
	readonly name: string;
	/** Where it really listens. */
	readonly url: string;
	readonly cwd: string;
	readonly model?: string | undefined;
	readonly tools: readonly string[];
	readonly skills: readonly Pick<AgentSkill, "id" | "name" | "tags">[];
	/** Milliseconds since the epoch when the session began. */
	readonly startedAt: number;
	/** Id of the Pi session, by which it finds its name again. Not written down for others. */
	readonly sessionId?: string | undefined;
}

/** A file as it was found. */
export interface Found {
	readonly path: string;
	readonly pid: number;
	/** Milliseconds since the epoch of the last heartbeat. */
	readonly modified: number;
	/** Absent when the content is not an entry. */
	readonly entry?: Entry;
}

export interface Entry {
	readonly peer: Peer;
	readonly startedAt?: number;
	/** Start of the process in clock ticks since boot, where the system tells. */
	readonly ticks?: number;
}

/** More is not an entry of ours. */
const MAX_BYTES = 64 * 1024;
const MAX_ITEMS = 64;

/**
 * Reads a registry file; `undefined` when it is not for us to look at or touch: gone, not a plain file, a link, or
 * another user's. Throws nothing; whatever is inside is only text until it has been checked.
 */
export async function readEntry(path: string, pid: number): Promise<Found | undefined> {
	try {
		// Without O_NONBLOCK a named pipe at this place would block the open.
		const file = await open(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
		try {
			const info = await file.stat();
			if (!info.isFile() || (process.getuid && info.uid !== process.getuid())) return undefined;
			const found = { path, pid, modified: info.mtimeMs };
			if (info.size > MAX_BYTES) return found;
			const entry = decode(await file.readFile("utf8"), pid, info.mtimeMs);
			return entry ? { ...found, entry } : found;
		} finally {
			await file.close();
		}
	} catch (error) {
		// Gone, a link, no right to read: in every case nothing that we list.
		if (errorCode(error) !== undefined) return undefined;
		throw error;
	}
}

/** The entry in the text; `undefined` when it is half-written or something else. */
function decode(text: string, pid: number, modified: number): Entry | undefined {
	const value = object(parsed(text));
	const url = readUrl(value?.url);
	if (!value || !url || !isOurs(url) || (value.pid !== undefined && value.pid !== pid)) return undefined;
	const skills = items(value.skills).map(labels);
	const cwd = line(value.cwd, 300);
	const model = line(value.model, 100);
	const startedAt = time(value.startedAt);
	return {
		...(startedAt === undefined ? {} : { startedAt }),
		...(typeof value.ticks === "number" ? { ticks: value.ticks } : {}),
		peer: {
			name: line(value.name, 80) || `pi-${pid}`,
			source: "local",
			address: { via: "http", url },
			capabilities: [...new Set(skills.flatMap((each) => each.all))],
			skills: skills.map((each) => each.name),
			tools: items(value.tools).flatMap((tool) => line(tool, 60) || []),
			...(cwd ? { cwd } : {}),
			...(model ? { model } : {}),
			pid,
			seen: modified,
		},
	};
}

function parsed(text: string): unknown {
	try {
		return JSON.parse(text);
	} catch {
		return undefined;
	}
}

/** A session of this machine listens on this machine: nothing in the folder sends us elsewhere. */
function isOurs(url: URL): boolean {
	if (isLoopback(url.hostname)) return true;
	const host = url.hostname.replace(/^\[|\]$/g, "");
	return Object.values(networkInterfaces()).some((each) => each?.some((address) => address.address === host));
}

function labels(value: unknown): { readonly name: string; readonly all: readonly string[] } {
	const skill = object(value);
	if (!skill) return { name: line(value, 80), all: line(value, 80) ? [line(value, 80)] : [] };
	const id = line(skill.id, 80);
	const name = line(skill.name, 80) || id;
	const tags = items(skill.tags).map((tag) => line(tag, 40));
	return { name, all: [id, name, ...tags].filter(Boolean) };
}

function object(value: unknown): { readonly [key: string]: unknown } | undefined {
	return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
}

function items(value: unknown): readonly unknown[] {
	return Array.isArray(value) ? value.slice(0, MAX_ITEMS) : [];
}

function line(value: unknown, max: number): string {
	return typeof value === "string" ? oneLine(value, max) : "";
}

function time(value: unknown): number | undefined {
	const ms = typeof value === "string" ? Date.parse(value) : value;
	return typeof ms === "number" && Number.isFinite(ms) ? ms : undefined;
}
