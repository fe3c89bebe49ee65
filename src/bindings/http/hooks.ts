/**
 * Webhooks of our own: addresses under `/push/` that peers notify of the tasks which we sent them. What they bring is a
 * hint and nothing more: it says that a task is worth asking for, and is believed in nothing else.
 */
import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { buckets } from "../../guard/buckets.ts";
import type { Clock } from "../../lib/clock.ts";
import { decodeResult } from "../../protocol/decode.ts";
import { A2AError } from "../../protocol/errors.ts";
import { parseJson } from "../../protocol/json.ts";
import { isInterrupted, isTerminal } from "../../protocol/task.ts";
import type { StreamResponse, TaskPushNotificationConfig } from "../../protocol/types.ts";
import { bearerToken, checkMediaType, type Headers, utf8 } from "./gate.ts";
import { type HttpReply, json, problem } from "./reply.ts";
import type { HttpRequest } from "./request.ts";
import { signatures } from "./webhook.ts";

/** Where webhooks are, below the address of the server. */
export const PUSH_BASE = "/push/";

/** A task at a peer. */
export interface Notified {
	readonly peer: string;
	readonly taskId: string;
}

/** `alive`: the first notification came. `settled`: one that says that the task has ended or asks something. `lost`: none will come any more. */
export type HookNews = "alive" | "settled" | "lost";

/** The webhook of one task. */
export interface Hook {
	/** Calls `listener` with news, also with those that came before. One listener; a later one takes its place. */
	listen(listener: (news: HookNews) => void): void;
	/** What comes from now on has no effect. May be called twice. */
	end(): void;
}

/** A webhook whose task is not known yet. */
export interface NewHook {
	/** Goes into the message. Its token is kept nowhere else. */
	readonly config: TaskPushNotificationConfig;
	/** The peer has made this task of the message. */
	bind(taskId: string): void;
	/** As in `Hook`. */
	end(): void;
}

export interface Hooks {
	/** A webhook for a message to `peer`; `base` is the URL at which the peer reaches our server. */
	open(peer: string, base: string): NewHook;
	/** The webhook of a task, unless it has ended. */
	of(task: Notified): Hook | undefined;
	/** Takes a request to `PUSH_BASE` and `id`. Throws `A2AError`. */
	receive(request: HttpRequest, id: string): Promise<HttpReply>;
	/** All of them are lost: the server stops, or answers somewhere else. */
	clear(): void;
}

export interface HooksParts {
	/** Key of the signatures; empty: they are not looked at. Read at each use. */
	readonly secret: () => string;
	readonly clock: Clock;
}

/** Webhooks that are kept; beyond them the oldest is lost. */
const MOST = 400;
/** A dispatch is followed no longer. */
const LIFE_MS = 7 * 24 * 3_600_000;
/** Notifications that were under way at the end are still taken, so that their senders do not complain. */
const GRACE_MS = 3_600_000;
const MAX_BYTES = 1024 * 1024;
/** Requests without a right token from one address, and notifications of one webhook. */
const WRONG_PER_MINUTE = 60;
const TAKEN_PER_MINUTE = 600;
/** Signed longer ago or ahead than this: refused. */
const WINDOW_MS = 5 * 60_000;
/** Bodies that are remembered, to know one that comes again. */
const REMEMBERED = 32;

interface Entry {
	readonly peer: string;
	readonly token: Buffer;
	until: number;
	isOver: boolean;
	taskId?: string;
	/** What came before the task was known, by task: whether it said that it settled. */
	readonly early: Map<string, boolean>;
	readonly seen: Set<string>;
	readonly news: Set<HookNews>;
	listener?: (news: HookNews) => void;
	readonly hook: Hook;
}

const digest = (text: string): Buffer => createHash("sha256").update(text).digest();
const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b));
const NOBODY = randomBytes(32);

/** Of which task an event tells, and whether it says that it has ended or asks something. */
function claimOf(item: StreamResponse): { readonly taskId: string | undefined; readonly settled: boolean } {
	if ("message" in item) return { taskId: item.message.taskId, settled: true };
	if ("artifactUpdate" in item) return { taskId: item.artifactUpdate.taskId, settled: false };
	const taskId = "task" in item ? item.task.id : item.statusUpdate.taskId;
	const { state } = "task" in item ? item.task.status : item.statusUpdate.status;
	return { taskId, settled: isTerminal(state) || isInterrupted(state) };
}

/** Why the signatures among `headers` are not those of `body`; undefined when they are, or there is none. */
function wrongSignature(headers: Headers, body: string, secret: string, now: number): string | undefined {
	const given = headers["x-a2a-signature"];
	const dated = headers["x-a2a-signature-v2"];
	if (given === undefined && dated === undefined) return undefined;
	const time = dated === undefined ? headers["x-a2a-timestamp"] : /^t=(\d{1,12}),v1=/.exec(dated)?.[1];
	const at = time === undefined ? now : Number(time) * 1000;
	if (!(Math.abs(now - at) <= WINDOW_MS)) return "The signature is too old";
	const right = signatures(secret, body, at);
	const isRight =
		same(given ?? "", given === undefined ? "" : (right["x-a2a-signature"] ?? "")) &&
		same(dated ?? "", dated === undefined ? "" : (right["x-a2a-signature-v2"] ?? ""));
	return isRight ? undefined : "The signature is wrong";
}

export function createHooks({ secret, clock }: HooksParts): Hooks {
	/** By the digest of the id, so that looking one up tells nothing of the others. */
	const entries = new Map<string, Entry>();
	const wrong = buckets({ perMinute: WRONG_PER_MINUTE, clock });
	const taken = buckets({ perMinute: TAKEN_PER_MINUTE, clock });
	const keyOf = (id: string) => digest(id).toString("base64");

	function tell(entry: Entry, news: HookNews): void {
		if (entry.isOver || (news === "alive" && entry.news.has(news))) return;
		entry.news.add(news);
		entry.listener?.(news);
	}
	function end(entry: Entry): void {
		if (entry.isOver) return;
		entry.isOver = true;
		entry.until = Math.min(entry.until, clock.now() + GRACE_MS);
	}
	function lose(key: string, entry: Entry): void {
		entries.delete(key);
		tell(entry, "lost");
		end(entry);
	}
	function heard(entry: Entry, settled: boolean): void {
		tell(entry, "alive");
		if (settled) tell(entry, "settled");
	}

	/** The webhook of that id, for who has its token. An unknown one costs as much as a wrong token. */
	function entered({ headers, remoteAddress }: HttpRequest, key: string): Entry | undefined {
		const token = headers["x-a2a-notification-token"] ?? bearerToken(headers.authorization) ?? "";
		const entry = entries.get(key);
		const isRight = timingSafeEqual(digest(token), entry?.token ?? NOBODY);
		if (entry && isRight && clock.now() < entry.until) return entry;
		const wait = wrong.take(remoteAddress);
		if (wait > 0) throw new A2AError("RateLimitedError", "Too many wrong tokens; wait", { retryAfter: wait });
		return undefined;
	}

	return {
		open(peer, base) {
			const id = randomBytes(16).toString("base64url");
			const token = randomBytes(32).toString("base64url");
			const now = clock.now();
			const entry: Entry = {
				peer,
				token: digest(token),
				until: now + LIFE_MS,
				isOver: false,
				early: new Map(),
				seen: new Set(),
				news: new Set(),
				hook: {
					listen(listener) {
						entry.listener = listener;
						for (const news of entry.news) listener(news);
					},
					end: () => end(entry),
				},
			};
			for (const [key, each] of entries) if (each.until <= now) lose(key, each);
			if (entries.size >= MOST) {
				const oldest = [...entries].find(([, each]) => each.isOver) ?? [...entries][0];
				if (oldest) lose(...oldest);
			}
			entries.set(keyOf(id), entry);
			return {
				config: { url: `${base.replace(/\/+$/, "")}${PUSH_BASE}${id}`, token },
				bind(taskId) {
					entry.taskId = taskId;
					const settled = entry.early.get(taskId);
					entry.early.clear();
					if (settled !== undefined) heard(entry, settled);
				},
				end: () => end(entry),
			};
		},

		of({ peer, taskId }) {
			const ours = (entry: Entry) => !entry.isOver && entry.peer === peer && entry.taskId === taskId;
			return [...entries.values()].findLast(ours)?.hook;
		},

		async receive(request, id) {
			const key = keyOf(id);
			const entry = entered(request, key);
			if (!entry) return problem(404, "NOT_FOUND", "There is nothing at this path");
			const wait = taken.take(key);
			if (wait > 0) throw new A2AError("RateLimitedError", "Too many notifications; wait", { retryAfter: wait });
			checkMediaType(request.headers);
			const body = utf8(await request.body(MAX_BYTES));
			const signing = secret();
			const why = signing === "" ? undefined : wrongSignature(request.headers, body, signing, clock.now());
			if (why !== undefined) return problem(401, "UNAUTHENTICATED", why);
			const claim = claimOf(decoded(body));
			const { taskId } = claim;
			if (taskId !== undefined && entry.taskId !== undefined && taskId !== entry.taskId) {
				return problem(400, "INVALID_ARGUMENT", "This webhook is for another task");
			}
			const mark = digest(body).toString("base64");
			if (entry.seen.has(mark)) return json(200, {});
			if (entry.seen.size >= REMEMBERED) entry.seen.clear();
			entry.seen.add(mark);
			if (entry.taskId !== undefined) heard(entry, claim.settled);
			else if (taskId !== undefined && entry.early.size < REMEMBERED) {
				entry.early.set(taskId, claim.settled || entry.early.get(taskId) === true);
			}
			return json(200, {});
		},

		clear() {
			for (const [key, entry] of entries) lose(key, entry);
		},
	};
}

/** The event in a body, in the shape of either version. Throws `InvalidParamsError`: the fault is the sender's. */
function decoded(text: string): StreamResponse {
	const value = parseJson(text);
	try {
		return decodeResult.SubscribeToTask(value);
	} catch (cause) {
		throw new A2AError("InvalidParamsError", "The body is no event of a task", { cause });
	}
}
