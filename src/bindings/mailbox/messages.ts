/**
 * The envelope of the mailbox protocol: read strictly, written with every member, members that nobody knows kept. Pure.
 * Members whose names begin with `_` are marks of whoever handles the file, never part of what an agent says.
 */
import { Mismatch, oneOf } from "../../protocol/decode-base.ts";
import { isDeeperThan, isObject, MAX_DEPTH } from "../../protocol/json.ts";
import type { Json, JsonObject } from "../../protocol/types.ts";

export const MAIL_VERSION = "0.1";
export const MAIL_TYPES = ["request", "response", "broadcast", "lease", "heartbeat"] as const;
export type MailType = (typeof MAIL_TYPES)[number];

/** The defaults of the protocol's text, in its own units. */
export const DEFAULTS = { ttlSeconds: 30, maxToolTurns: 8, maxDurationSeconds: 60 } as const;
/** To everybody. */
export const EVERYBODY = "*";
/** Who signs what the orchestrator says. */
export const ORCHESTRATOR = "orchestrator";

/** A clock of another machine may run ahead by this much, in milliseconds. */
const SKEW_MS = 300_000;
const MAX_ID = 200;

/** What a request asks of whoever does it. */
export interface MailContract {
	/** Tools that may be used; absent: those that the agent has. */
	readonly capabilities?: readonly string[];
	readonly maxToolTurns: number;
	readonly maxDurationMs: number;
}

/** A message as it stands in a box. */
export interface Mail {
	/** The object in the file, with what we do not know of it. */
	readonly raw: JsonObject;
	readonly id: string;
	readonly type: MailType;
	readonly from: string;
	readonly to: string;
	/** Milliseconds since the epoch. */
	readonly at: number;
	/** When its time to live is over, milliseconds since the epoch. */
	readonly until: number;
	readonly contract: MailContract;
	readonly payload: JsonObject;
	/** It has been routed. */
	readonly processed: boolean;
	/** What became of it, in a word. */
	readonly state?: string;
}

/** An id that may name an agent: one line, at most 200 characters, not `*`. */
export function isAgentId(value: unknown): value is string {
	return (
		typeof value === "string" &&
		/^[^\p{Cc}\p{Zl}\p{Zp}]{1,200}$/u.test(value) &&
		value.trim() === value &&
		value !== EVERYBODY
	);
}

function must(condition: boolean, field: string, problem: string): asserts condition {
	if (!condition) throw new Mismatch(problem).under(field);
}

function seconds(value: unknown, field: string, fallback: number): number {
	if (value === undefined || value === null) return fallback;
	must(typeof value === "number" && Number.isFinite(value) && value >= 0, field, "expected a number of seconds");
	return value;
}

function contractOf(value: unknown): MailContract {
	must(value === undefined || value === null || isObject(value), "contract", "expected an object");
	const { capabilities, constraints } = (value ?? {}) as Record<string, unknown>;
	const isList = Array.isArray(capabilities) && capabilities.every((each) => typeof each === "string");
	must(capabilities === undefined || isList, "contract.capabilities", "expected a list of names");
	must(constraints === undefined || isObject(constraints), "contract.constraints", "expected an object");
	const turns = constraints?.max_tool_turns ?? DEFAULTS.maxToolTurns;
	const isTurns = typeof turns === "number" && Number.isInteger(turns) && turns >= 0;
	must(isTurns, "contract.constraints.max_tool_turns", "expected a whole number");
	const at = "contract.constraints.max_duration_seconds";
	return {
		...(isList ? { capabilities: capabilities as string[] } : {}),
		maxToolTurns: turns,
		maxDurationMs: seconds(constraints?.max_duration_seconds, at, DEFAULTS.maxDurationSeconds) * 1000,
	};
}

/**
 * The message in `value`. Throws a `Mismatch` that says what is wrong and where. `now`: milliseconds since the epoch, for
 * messages that pretend to come from the future.
 */
export function readMail(value: unknown, now: number): Mail {
	if (!isObject(value)) throw new Mismatch("expected an object with the members of an envelope");
	must(!isDeeperThan(value, MAX_DEPTH), "payload", `is nested more than ${MAX_DEPTH} levels deep`);
	const { a2a_version = MAIL_VERSION, msg_id, type, from, to, timestamp, payload = {} } = value;
	must(/^0\.\d+$/.test(String(a2a_version)), "a2a_version", `expected ${MAIL_VERSION}`);
	must(typeof msg_id === "string" && msg_id !== "" && msg_id.length <= MAX_ID, "msg_id", "expected an id");
	let kind: MailType;
	try {
		kind = oneOf(MAIL_TYPES)(type);
	} catch (error) {
		throw error instanceof Mismatch ? error.under("type") : error;
	}
	must(isAgentId(from), "from", "expected the id of an agent");
	must(isAgentId(to) || to === EVERYBODY, "to", "expected the id of an agent, or *");
	const at = typeof timestamp === "string" && /^\d{4}-\d\d-\d\dT/.test(timestamp) ? Date.parse(timestamp) : Number.NaN;
	must(!Number.isNaN(at), "timestamp", "expected a time such as 2026-01-31T12:00:00Z");
	must(at <= now + SKEW_MS, "timestamp", "lies in the future");
	must(isObject(payload), "payload", "expected an object");
	const raw = value as JsonObject;
	return {
		raw,
		id: msg_id,
		type: kind,
		from,
		to,
		at,
		until: at + seconds(value.ttl_seconds, "ttl_seconds", DEFAULTS.ttlSeconds) * 1000,
		contract: contractOf(value.contract),
		payload: payload as JsonObject,
		processed: value._processed === true,
		...(typeof value._state === "string" ? { state: value._state } : {}),
	};
}

/** What a new message says; the rest is filled in. */
export interface Draft {
	readonly id: string;
	readonly type: MailType;
	readonly from: string;
	readonly to: string;
	readonly payload: JsonObject;
	readonly ttlSeconds?: number;
	readonly contract?: JsonObject;
}

/** A whole envelope, made at `now`. */
export function envelope(draft: Draft, now: number): JsonObject {
	const contract = draft.contract ?? {};
	const constraints = (contract.constraints ?? {}) as JsonObject;
	return {
		a2a_version: MAIL_VERSION,
		msg_id: draft.id,
		type: draft.type,
		from: draft.from,
		to: draft.to,
		timestamp: new Date(now).toISOString(),
		ttl_seconds: draft.ttlSeconds ?? DEFAULTS.ttlSeconds,
		contract: {
			...contract,
			constraints: {
				max_tool_turns: DEFAULTS.maxToolTurns,
				max_duration_seconds: DEFAULTS.maxDurationSeconds,
				...constraints,
			},
		},
		payload: draft.payload,
	};
}

/** The text member of a payload; undefined for anything else. */
export function textIn(payload: JsonObject, name: string): string | undefined {
	const value: Json | undefined = payload[name];
	return typeof value === "string" ? value : undefined;
}

/** The number member of a payload; undefined for anything else. */
export function numberIn(payload: JsonObject, name: string): number | undefined {
	const value: Json | undefined = payload[name];
	return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** The request that a response answers: named in its payload, or beside it, or by taking its id. */
export function repliesTo({ raw, payload, id }: Mail): string {
	return textIn(payload, "in_reply_to") ?? textIn(payload, "request_id") ?? textIn(raw, "in_reply_to") ?? id;
}
