/** The server half: an agent of the mailbox. Requests that are leased to it are asked of an `Agent`, and answered. */
import { remember } from "../../lib/bounded.ts";
import { newId } from "../../lib/ids.ts";
import type { Agent, Caller } from "../../protocol/agent.ts";
import type { JsonObject } from "../../protocol/types.ts";
import { Job } from "./job.ts";
import { actionOf, type Holder, type Lease, leasePayload, leasesIn } from "./leases.ts";
import { envelope, type Mail, ORCHESTRATOR, textIn } from "./messages.ts";
import type { MailRoot } from "./root.ts";
import { agentIn, type Registration, register, writeCard } from "./roster.ts";
import { isBoxFile, startLoop, type WatchFolder } from "./watch.ts";

/** What an agent says of itself. */
export type Facts = Omit<Registration, keyof Holder | "id">;

export interface ServerParts {
	readonly root: MailRoot;
	readonly agent: Agent;
	/** Who calls: the sender, and whom it speaks for. Throws `A2AError`. */
	readonly identify: (from: string, behalf: string | undefined) => Caller;
	/** The id that is wanted; a living agent of that id keeps it. */
	readonly id: string;
	/** This run. */
	readonly self: Holder;
	readonly facts: () => Facts;
	/** Milliseconds. */
	readonly times: { readonly beatMs: number; readonly deadMs: number; readonly pollMs: number };
	readonly watch: WatchFolder;
}

export interface MailServer {
	/** The id that it has. */
	readonly id: string;
	/** Tells the others what it says of itself now. */
	announce(): Promise<void>;
	/** Requests at work. */
	readonly running: number;
	wake(): void;
	/** Ends what runs, gives leases back, says good-bye. May be called twice. */
	close(): Promise<void>;
}

/** Seconds that an answer waits for its reader. */
const ANSWER_SECONDS = 300;
const BROADCAST_SECONDS = 86_400;
/** Requests that were answered, in case they are given to us again. */
const MAX_DONE = 100;

/** Registers, and serves until `close`. Rejects when there is no place to be had. */
export async function serveMailbox(parts: ServerParts): Promise<MailServer> {
	const { root, self, times, watch } = parts;
	const { clock, log } = root.parts;
	await root.open();
	let registration = await register(root, parts.id, { ...self, ...parts.facts() }, times.deadMs);
	const { id } = registration;
	const inbox = root.box(id, "inbox");
	const outbox = root.box(id, "outbox");
	const jobs = new Map<string, Job>();
	const done = new Map<string, Job>();
	const handled = new Map<string, true>();
	let broadcast = newBroadcast();
	let beatAt = Number.NEGATIVE_INFINITY;
	let away = false;

	function newBroadcast(): JsonObject {
		const { name, description, capabilities, slots, card } = registration;
		const payload = { name, description, capabilities, slots, ...(card ? { card } : {}) };
		const draft = { id: newId("broadcast"), type: "broadcast", from: id, to: "*", payload } as const;
		return envelope({ ...draft, ttlSeconds: BROADCAST_SECONDS, contract: { capabilities } }, clock.now());
	}

	const heartbeatId = `heartbeat-${self.instance}`;

	/** A sign of life, in the place of the one before; and what we announced, should it be gone. */
	async function beat(): Promise<void> {
		if (clock.now() - beatAt < times.beatMs) return;
		const { name } = root.place(id);
		const now = await agentIn(root, name);
		// This machine slept perhaps, and somebody took the place of one who was silent.
		if (now?.registration && now.registration.instance !== self.instance) {
			if (!away) log.warn(`Another session is ${id} in the mailbox now; this one serves it no more`);
			away = true;
			for (const job of jobs.values()) job.stop();
			return;
		}
		if (!now?.registration) await root.make(id).then(() => writeCard(root, registration));
		beatAt = clock.now();
		const payload = { running: jobs.size, slots: registration.slots };
		const draft = { id: heartbeatId, type: "heartbeat", from: id, to: ORCHESTRATOR, payload } as const;
		const ttlSeconds = Math.ceil(times.deadMs / 1000);
		await outbox.update([
			{ drop: heartbeatId },
			{ put: envelope({ ...draft, ttlSeconds }, clock.now()) },
			{ put: broadcast },
		]);
	}

	const isOurs = (lease: Lease): boolean =>
		lease.open && lease.holder.instance === self.instance && clock.now() < lease.expiresAt && !away;

	/** Writes answers under the lease of a job, if it still is the one: whoever lost it says nothing. */
	async function answer(job: Job, payloads: readonly JsonObject[]): Promise<boolean> {
		const now = leasesIn((await inbox.read()).mails).get(job.mail.id);
		if (now ? now.id !== job.lease.id || !isOurs(now) : clock.now() >= job.lease.expiresAt) return false;
		const { id: lease_id, token } = job.lease;
		await outbox.update(
			payloads.map((payload) => {
				const draft = { id: newId("response"), type: "response", from: id, to: job.mail.from } as const;
				const all = { ...payload, lease_id, token };
				return { put: envelope({ ...draft, payload: all, ttlSeconds: ANSWER_SECONDS }, clock.now()) };
			}),
		);
		return true;
	}

	function begin(mail: Mail, lease: Lease): void {
		const running = jobs.get(mail.id);
		if (running) {
			// One that was stopped comes to its end first; then the request is begun anew.
			if (!running.stopped) running.lease = lease;
			return;
		}
		const before = done.get(mail.id);
		if (before) {
			if (before.lease.id === lease.id) return;
			// Given to us a second time, since word of the answer got lost: it is said again, not done again.
			before.lease = lease;
			void answer(before, before.said).catch((error) => log.warn("An answer could not be repeated", error));
			return;
		}
		const job = new Job(mail, lease, { ...parts, answer, clock, log });
		jobs.set(mail.id, job);
		void job.ended.then(() => {
			if (jobs.get(mail.id) === job) jobs.delete(mail.id);
			if (isAnswered(job)) remember(done, mail.id, job, MAX_DONE);
			loop.wake();
		});
	}

	const isAnswered = ({ said }: Job): boolean => said.at(-1)?.last === true;

	/** What senders say of requests at work: they listen no more, or take it back. */
	function hear(mails: readonly Mail[]): void {
		for (const mail of mails) {
			const action = actionOf(mail);
			if (action !== "leave" && action !== "revoke") continue;
			if (handled.has(mail.id)) continue;
			const job = jobs.get(textIn(mail.payload, "request_id") ?? "");
			if (!job || job.mail.from !== mail.from) continue;
			remember(handled, mail.id, true, 1_000);
			if (action === "leave") job.leave();
			else job.stop();
		}
	}

	async function tick(): Promise<void> {
		await beat();
		if (away) return;
		const { mails } = await inbox.read();
		const leases = leasesIn(mails);
		for (const [request, job] of jobs) {
			const now = leases.get(request);
			if (now?.id === job.lease.id) job.lease = now;
			const lost = now ? !isOurs(now) : clock.now() >= job.lease.expiresAt;
			if (lost && !isAnswered(job)) job.stop();
		}
		if ([...leases.values()].some(isOurs)) {
			for (const mail of mails) {
				const lease = mail.type === "request" ? leases.get(mail.id) : undefined;
				if (lease && isOurs(lease)) begin(mail, lease);
			}
		}
		hear(mails);
	}

	const { folder } = root.place(id);
	await Promise.all([inbox.update([]), beat()]);
	const loop = startLoop(
		clock,
		() => Math.min(times.pollMs, times.beatMs),
		tick,
		(error) => log.warn(`The mailbox of ${id} could not be read`, error),
	);
	const stopWatching = watch(
		folder,
		(file) => {
			if (file === null || (isBoxFile(file) && file !== "outbox.json")) loop.wake();
		},
		(error) => log.warn("File events of the mailbox failed; it is polled instead", error),
	);

	async function close(): Promise<void> {
		stopWatching();
		await loop.close();
		const open = [...jobs.values()].filter((job) => !job.done && !job.stopped);
		for (const job of jobs.values()) job.stop();
		await Promise.all([...jobs.values()].map((job) => job.ended));
		if (away) return;
		const releases = open.map(({ lease }) => {
			const payload = leasePayload("release", lease);
			const draft = { id: newId("lease"), type: "lease", from: id, to: ORCHESTRATOR, payload } as const;
			return { put: envelope(draft, clock.now()) };
		});
		await outbox.update([{ drop: heartbeatId }, { drop: String(broadcast.msg_id) }, ...releases]);
		await writeCard(root, { ...registration, instance: "", pid: 0, slots: 0 });
	}
	let closing: Promise<void> | undefined;
	return {
		id,
		get running() {
			return jobs.size;
		},
		wake: () => loop.wake(),
		async announce() {
			const before = String(broadcast.msg_id);
			registration = { ...registration, ...parts.facts() };
			broadcast = newBroadcast();
			await writeCard(root, registration);
			await outbox.update([{ drop: before }, { put: broadcast }]);
		},
		close() {
			closing ??= close();
			return closing;
		},
	};
}
