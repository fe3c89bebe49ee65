/** The loop around `route`: one process of all that share a root reads every box, and carries out what is to be done. */
import { rm } from "node:fs/promises";
import { newId } from "../../lib/ids.ts";
import { attempt } from "../../lib/log.ts";
import { oneLine } from "../../lib/text.ts";
import { type Contents, Fallen, type Still } from "./box.ts";
import { stampAt } from "./box-file.ts";
import { candidate } from "./election.ts";
import type { Holder } from "./leases.ts";
import type { MailRoot } from "./root.ts";
import { agentIn, isDead, lastBeat, type Registration } from "./roster.ts";
import { type AgentView, type Move, type Place, type RouteTimes, route } from "./route.ts";
import { isBoxFile, startLoop, type WatchFolder } from "./watch.ts";

export interface OrchestratorParts {
	readonly root: MailRoot;
	/** This process, which stands for the place. */
	readonly self: Holder;
	readonly times: RouteTimes & {
		/** Between two looks at all boxes, in milliseconds. */
		readonly pollMs: number;
		/** Between two signs of life, in milliseconds. */
		readonly beatMs: number;
	};
	readonly watch: WatchFolder;
}

export interface Orchestrator {
	/** We are the orchestrator of the root. */
	readonly leads: boolean;
	/** Looks at the boxes now. */
	wake(): void;
	/** Stops, and leaves the place to somebody else. May be called twice. */
	close(): Promise<void>;
}

/** While something happens, polls are this many times as frequent, and so for this long after, in milliseconds. */
const HASTE = 5;
const HASTE_MS = 2_000;

/** An agent's folder, as it was read last. */
interface Seen {
	readonly id: string;
	readonly card: string;
	readonly registration: Registration | undefined;
	readonly inbox: Contents;
	readonly outbox: Contents;
}

/** Stands for the place of the orchestrator, and is it when there is no other. */
export function startOrchestrator({ root, self, times, watch }: OrchestratorParts): Orchestrator {
	const { clock, log } = root.parts;
	const standing = candidate(root, self, times);
	const seen = new Map<string, Seen>();
	const watching = new Map<string, () => void>();
	const dirty = new Set<string>();
	/** An agent came or went. */
	let crowd = false;
	let leads = false;
	let busyAt = Number.NEGATIVE_INFINITY;

	function stopWatching(): void {
		for (const stop of watching.values()) stop();
		watching.clear();
		seen.clear();
	}

	function watchFolder(path: string, changed: (file: string | null) => void): void {
		if (watching.has(path)) return;
		const failed = (error: unknown) => log.warn("File events of the mailbox failed; it is polled instead", error);
		// Set first: a watcher that fails at once is not tried again and again.
		watching.set(path, () => undefined);
		watching.set(path, watch(path, changed, failed));
	}

	/** Reads one agent again; whether anything was new. */
	async function look(name: string): Promise<boolean> {
		const before = seen.get(name);
		try {
			const card = await stampAt(root.named(name).card);
			const agent = before?.card === card ? before : await agentIn(root, name);
			if (!agent) return seen.delete(name);
			const { id, registration } = agent;
			const [inbox, outbox] = await Promise.all([root.box(id, "inbox").read(), root.box(id, "outbox").read()]);
			if (before?.card === card && before.inbox === inbox && before.outbox === outbox) return false;
			seen.set(name, { id, card, registration, inbox, outbox });
			return true;
		} catch (error) {
			log.warn(`The mailbox of ${oneLine(name, 80)} cannot be read`, error);
			return seen.delete(name);
		}
	}

	async function lookAtAll(): Promise<void> {
		const names = await root.folders();
		for (const [name, { id }] of seen) {
			if (names.includes(name)) continue;
			seen.delete(name);
			root.forget(id);
		}
		watchFolder(root.agents, () => {
			crowd = true;
			loop.wake();
		});
		for (const name of names) {
			watchFolder(root.named(name).folder, (file) => {
				if (!isBoxFile(file)) return;
				dirty.add(name);
				loop.wake();
			});
		}
		for (const [path, stop] of watching) {
			if (path === root.agents || names.some((name) => root.named(name).folder === path)) continue;
			stop();
			watching.delete(path);
		}
		await Promise.all(names.map(look));
		for (const [name, { id, registration }] of seen) {
			if (!registration?.passing || !isDead(registration)) continue;
			// Killed before it could do so itself.
			await attempt(`remove what ${oneLine(id, 80)} left`, () => rm(root.named(name).folder, { recursive: true }), log);
			root.forget(id);
			seen.delete(name);
		}
	}

	function views(now: number): readonly AgentView[] {
		return [...seen.values()].map(({ id, registration, inbox, outbox }) => ({
			id,
			...(registration ? { holder: holderOf(registration) } : {}),
			slots: registration?.slots ?? 0,
			capabilities: registration?.capabilities ?? [],
			seen: Math.max(lastBeat(inbox.mails, id, now), lastBeat(outbox.mails, id, now)),
			inbox: inbox.mails,
			outbox: outbox.mails,
		}));
	}

	async function tick(woken: boolean): Promise<void> {
		const epoch = await standing.hold();
		if (leads !== (epoch !== undefined)) {
			leads = epoch !== undefined;
			stopWatching();
			if (leads) log.info(`This session routes the mail of ${root.path}`);
		}
		if (epoch === undefined) return;
		const names = [...dirty];
		dirty.clear();
		const partly = woken && !crowd && names.length > 0;
		if (partly) {
			const news = await Promise.all(names.map(look));
			if (!news.includes(true)) return;
		} else {
			crowd = false;
			await lookAtAll();
		}
		const dead = new Map<string, boolean>();
		const isGone = (holder: Holder): boolean => {
			const key = `${holder.pid} ${holder.host}`;
			const known = dead.get(key) ?? isDead(holder);
			dead.set(key, known);
			return known;
		};
		const now = clock.now();
		const decide = () => route({ agents: views(now), epoch, isDead: isGone, newId }, now, times);
		let moves = decide();
		if (partly && moves.some(isForNobody)) {
			// Whoever asks has a folder before it asks; we may not have seen it yet.
			await lookAtAll();
			moves = decide();
		}
		const broken = [...seen.values()].flatMap(({ id, inbox, outbox }) => [
			...(inbox.bad.length > 0 ? [{ agent: id, side: "inbox" } as const] : []),
			...(outbox.bad.length > 0 ? [{ agent: id, side: "outbox" } as const] : []),
		]);
		if (moves.length === 0 && broken.length === 0) return;
		busyAt = now;
		// Stopped for a while, somebody else may have taken over.
		const still = () => standing.holds(epoch);
		if (await still()) await carryOut(moves, broken, still);
		loop.wake();
	}

	/** Writes what is to be written, round by round. */
	async function carryOut(moves: readonly Move[], broken: readonly Place[], still: Still): Promise<void> {
		const failed = new Set<string>();
		let fallen = false;
		const write = async (batch: readonly Move[], also: readonly Place[]) => {
			const boxes = new Map<string, { readonly place: Place; readonly edits: Move["edit"][] }>();
			for (const place of [...also, ...batch]) {
				const key = `${place.side} ${place.agent}`;
				const box = boxes.get(key) ?? { place, edits: [] };
				boxes.set(key, box);
				if ("edit" in place) box.edits.push((place as Move).edit);
			}
			await Promise.all(
				[...boxes.values()].map(async ({ place: { agent, side }, edits }) => {
					try {
						await root.box(agent, side).update(edits, still);
					} catch (error) {
						if (side === "inbox") failed.add(agent);
						fallen ||= error instanceof Fallen;
						log.warn(`Could not write the ${side} of ${oneLine(agent, 80)}`, error);
					}
				}),
			);
		};
		for (const round of [0, 1, 2]) {
			if (fallen) return;
			const isDue = (move: Move) => move.round === round && !move.after?.some((agent) => failed.has(agent));
			await write(moves.filter(isDue), round === 0 ? broken : []);
		}
		for (const { agent } of moves) for (const [name, { id }] of seen) if (id === agent) dirty.add(name);
	}

	const pauseMs = () => (clock.now() - busyAt < HASTE_MS ? times.pollMs / HASTE : times.pollMs);
	const loop = startLoop(clock, pauseMs, tick, (error) => log.warn("The mail could not be routed", error));
	let closing: Promise<void> | undefined;
	return {
		get leads() {
			return leads;
		},
		wake: () => loop.wake(),
		close() {
			closing ??= (async () => {
				await loop.close();
				stopWatching();
				if (leads) await standing.resign();
				leads = false;
			})();
			return closing;
		},
	};
}

/** Something ends here because there is nobody to bring it to. */
const isForNobody = ({ edit, after }: Move): boolean =>
	"mark" in edit && (edit.fields._state === "undelivered" || after?.length === 0);

const holderOf = ({ instance, pid, host }: Registration): Holder => ({ instance, pid, host });
