/** The asking side of a mailbox: requests go into the inboxes of others, answers come into ours. */
import { Channel } from "../../lib/channel.ts";
import { newId } from "../../lib/ids.ts";
import { oneLine } from "../../lib/text.ts";
import { A2AError } from "../../protocol/errors.ts";
import type { JsonObject } from "../../protocol/types.ts";
import { envelope, isAgentId, type Mail, numberIn, repliesTo } from "./messages.ts";
import type { MailRoot } from "./root.ts";
import { agentIn } from "./roster.ts";
import { isBoxFile, startLoop, type WatchFolder } from "./watch.ts";

export interface PostParts {
	readonly root: MailRoot;
	/** Our own id; there is a folder of it. */
	readonly id: string;
	readonly pollMs: number;
	readonly watch: WatchFolder;
}

export interface Asking {
	/** Seconds until a request that nobody has begun expires. */
	readonly ttlSeconds: number;
	readonly contract?: JsonObject;
	/** The id of the request, and members beside those that we know; a new id and none by default. */
	readonly id?: string;
	readonly more?: JsonObject;
	/** Whoever waits gives up; the work goes on. */
	readonly signal: AbortSignal;
}

export interface Post {
	readonly id: string;
	/**
	 * Puts a request into the inbox of `to` and gives the payloads of the answers, in order, up to the last one. Throws
	 * `PeerUnreachableError` when there is no such agent, `PeerTimeoutError` when nobody routes the mail, and the reason of
	 * the signal.
	 */
	ask(to: string, payload: JsonObject, asking: Asking): AsyncGenerator<JsonObject, void, undefined>;
	/** Requests without their last answer. */
	readonly open: number;
	wake(): void;
	/** Ends what waits. May be called twice. */
	close(): Promise<void>;
}

/** An open request. */
interface Waiting {
	readonly channel: Channel<JsonObject>;
	/** Of answers that came before their turn. */
	readonly early: Map<number, JsonObject>;
	next: number;
}

/** How often is looked what became of a request that has no answer, in milliseconds. */
const CHECK_MS = 2_000;
/** How long behind its time a request is still reported expired, and how long an answer may be on its way. */
const SLACK_MS = 5_000;
/** Marks of answers that were read go into one write. */
const MARK_MS = 1_000;

export function startPost({ root, id, pollMs, watch }: PostParts): Post {
	const { clock, log } = root.parts;
	const inbox = root.box(id, "inbox");
	const waiting = new Map<string, Waiting>();
	let marks = new Set<string>();
	let markedAt = 0;
	let closed = false;

	function take(open: Waiting, { payload }: Mail): void {
		const seq = numberIn(payload, "seq");
		// What has no number is the only answer, or the end of all.
		if (seq === undefined) {
			finish(open, payload);
			return;
		}
		if (seq < open.next || open.early.has(seq)) return;
		open.early.set(seq, payload);
		for (let next = open.early.get(open.next); next; next = open.early.get(open.next)) {
			open.early.delete(open.next);
			open.next += 1;
			if (next.last === false) open.channel.push(next);
			else finish(open, next);
		}
	}

	function finish({ channel }: Waiting, payload: JsonObject): void {
		channel.push(payload);
		channel.end();
	}

	async function tick(): Promise<void> {
		const { mails } = await inbox.read();
		for (const mail of mails) {
			if (mail.type !== "response" || mail.processed || marks.has(mail.id)) continue;
			// Others may read the same inbox; what is not ours is left to them.
			const open = waiting.get(repliesTo(mail));
			if (!open) continue;
			take(open, mail);
			marks.add(mail.id);
		}
		if (marks.size > 0 && clock.now() - markedAt >= MARK_MS) await markRead();
	}

	async function markRead(): Promise<void> {
		markedAt = clock.now();
		const read = [...marks];
		await inbox.update(read.map((mark) => ({ mark, fields: { _processed: true, _state: "read" } })));
		const still = new Set((await inbox.read()).mails.flatMap((mail) => (mail.processed ? [] : [mail.id])));
		// One that a writer without a lock brought back is marked again, not read again.
		marks = new Set([...marks].filter((mark) => !read.includes(mark) || still.has(mark)));
	}

	async function checkThere(to: string): Promise<void> {
		const shown = oneLine(to, 80);
		const { name } = root.place(to);
		if (isAgentId(to) && (await root.folders()).includes(name) && (await agentIn(root, name))) return;
		throw new A2AError("PeerUnreachableError", `There is no agent ${shown} in the mailbox`);
	}

	/** Looks what became of a request. Throws when no answer can come any more; writes it anew when it was lost. */
	async function check(to: string, raw: JsonObject, asked: { until: number; closedAt: number }): Promise<void> {
		const now = clock.now();
		const { mails } = await root.box(to, "inbox").read();
		const mail = mails.find((each) => each.id === raw.msg_id);
		if (!mail) {
			// A writer without a lock has written over it.
			if (now <= asked.until) return root.box(to, "inbox").update([{ put: raw }]);
			if (now > asked.until + SLACK_MS) throw new A2AError("PeerTimeoutError", `The request to ${to} was lost`);
			return;
		}
		const isOpen = mail.state === undefined || mail.state === "waiting";
		if (isOpen && now > asked.until + SLACK_MS) {
			throw new A2AError("PeerTimeoutError", `Nobody routes the mail: the request to ${to} expired unseen`);
		}
		if (isOpen || mail.state === "leased" || mail.state === "moved") {
			asked.closedAt = Number.POSITIVE_INFINITY;
			return;
		}
		asked.closedAt = Math.min(asked.closedAt, now);
		if (now - asked.closedAt > SLACK_MS) throw new A2AError("PeerTimeoutError", `The answer of ${to} was lost`);
	}

	async function* ask(to: string, payload: JsonObject, asking: Asking): AsyncGenerator<JsonObject, void, undefined> {
		const { signal, ttlSeconds, contract, more } = asking;
		signal.throwIfAborted();
		if (closed) throw new A2AError("PeerUnreachableError", "The mailbox is closed");
		await checkThere(to);
		const draft = { id: asking.id ?? newId("request"), type: "request", from: id, to, payload, ttlSeconds } as const;
		const raw = { ...more, ...envelope({ ...draft, ...(contract ? { contract } : {}) }, clock.now()) };
		const open: Waiting = { channel: new Channel(), early: new Map(), next: 0 };
		waiting.set(draft.id, open);
		// From now on looks are frequent.
		loop.wake();
		const asked = { until: clock.now() + ttlSeconds * 1000, closedAt: Number.POSITIVE_INFINITY };
		const over = new AbortController();
		const leave = () => open.channel.end(signal.reason ?? new Error("aborted"));
		signal.addEventListener("abort", leave, { once: true });
		let ended = false;
		try {
			await root.box(to, "inbox").update([{ put: raw }]);
			void checks(to, raw, asked, open, over.signal);
			for await (const answer of open.channel) {
				ended = answer.last !== false;
				yield answer;
			}
		} catch (error) {
			// What another one threw ends the request as well.
			ended ||= error instanceof A2AError;
			throw error;
		} finally {
			signal.removeEventListener("abort", leave);
			over.abort();
			waiting.delete(draft.id);
			if (!ended) await sayLeave(to, draft.id);
		}
	}

	async function checks(
		to: string,
		raw: JsonObject,
		asked: { until: number; closedAt: number },
		open: Waiting,
		signal: AbortSignal,
	): Promise<void> {
		for (;;) {
			await clock.sleep(CHECK_MS, signal);
			if (signal.aborted) return;
			try {
				await check(to, raw, asked);
			} catch (error) {
				open.channel.end(error);
				return;
			}
		}
	}

	/** Tells the worker that nobody listens any more. Not being able to is no failure of the call. */
	async function sayLeave(to: string, request: string): Promise<void> {
		const payload = { action: "leave", request_id: request };
		const draft = { id: newId("lease"), type: "lease", from: id, to, payload } as const;
		try {
			await root.box(to, "inbox").update([{ put: envelope(draft, clock.now()) }]);
		} catch (error) {
			log.warn(`Could not tell ${to} that nobody waits for ${request}`, error);
		}
	}

	const loop = startLoop(
		clock,
		() => (waiting.size > 0 ? pollMs : Math.max(pollMs, MARK_MS)),
		tick,
		(error) => log.warn("The inbox could not be read", error),
	);
	const stopWatching = watch(
		root.place(id).folder,
		(file) => {
			if (isBoxFile(file) && file !== "outbox.json") loop.wake();
		},
		(error) => log.warn("File events of the mailbox failed; it is polled instead", error),
	);
	let closing: Promise<void> | undefined;
	return {
		id,
		ask,
		get open() {
			return waiting.size;
		},
		wake: () => loop.wake(),
		close() {
			closed = true;
			closing ??= (async () => {
				for (const { channel } of waiting.values()) {
					channel.end(new A2AError("PeerUnreachableError", "The mailbox was closed"));
				}
				stopWatching();
				await loop.close();
				if (marks.size > 0) await markRead();
			})();
			return closing;
		},
	};
}
