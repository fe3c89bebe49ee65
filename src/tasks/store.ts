/** The tasks that this process has served or serves, each visible to its owner alone. */
import type { Clock } from "../lib/clock.ts";
import { type Log, nullLog } from "../lib/log.ts";
import { A2AError } from "../protocol/errors.ts";
import { isInterrupted, isTerminal } from "../protocol/task.ts";
import type { Json, ListTasksRequest, ListTasksResponse, Message, Task, TaskId } from "../protocol/types.ts";
import type { Journal } from "./journal.ts";
import { listPage } from "./list.ts";
import { type Opening, type Reader, TaskLog } from "./log.ts";
import { Order } from "./order.ts";
import { forget, newest, Residents, reading } from "./residents.ts";
import { type SentLimits, SentMessages, slack } from "./sent.ts";

/** A message that was sent again: one id, one content, no other task or context. Clients that reuse ids differ here. */
function isSame(sent: Message, again: Message): boolean {
	const { taskId = sent.taskId, contextId = sent.contextId } = again;
	if (sent.messageId !== again.messageId || sent.taskId !== taskId || sent.contextId !== contextId) return false;
	return JSON.stringify([sent.parts, sent.metadata]) === JSON.stringify([again.parts, again.metadata]);
}

/** How many ended tasks are remembered, and for how long; read at each use. */
export interface StoreLimits {
	/** Ended tasks held in memory. */
	readonly maxFinished: number;
	/** Characters of ended tasks held in memory. */
	readonly maxCharacters?: number;
	/** Ended tasks that can be asked for; those beyond `maxFinished` are read from the journal. */
	readonly maxKept?: number;
	/** Bytes of ended tasks in the journal. */
	readonly maxBytes?: number;
	/** Milliseconds since its end after which a task is forgotten. */
	readonly maxAgeMs?: number;
	/** How a message that is sent again is known. */
	readonly sent?: SentLimits;
}

/** Ended tasks whose latest events are kept, for readers whose connection broke at the end. */
const REJOINED = 64;
/** Some hundred megabytes at most, whatever files came with the tasks. */
const MAX_CHARACTERS = 64 * 1024 * 1024;
const FOR_EVER: SentLimits = { windowMs: Number.POSITIVE_INFINITY, size: 10_000 };

export class TaskStore {
	readonly #limits: StoreLimits;
	readonly #clock: Clock;
	readonly #log: Log;
	readonly #logs = new Map<TaskId, TaskLog>();
	readonly #orders = new Map<string, Order<TaskLog>>();
	/** By owner, oldest end first. */
	readonly #finished = new Map<string, Set<TaskLog>>();
	#ended = 0;
	readonly #resident = new Residents();
	readonly #rejoined: TaskLog[] = [];
	readonly #sent: SentMessages;
	readonly #openers = new Set<(log: TaskLog) => void>();
	#journal: Journal | undefined;

	/**
	 * Beyond `maxFinished` (with a journal: `maxKept`), of the owner that has most ended tasks the one that ended first is
	 * forgotten, so that nobody crowds out the tasks of others.
	 */
	constructor(parts: { readonly limits: StoreLimits; readonly clock: Clock; readonly log?: Log }) {
		this.#limits = parts.limits;
		this.#clock = parts.clock;
		this.#log = parts.log ?? nullLog;
		this.#sent = new SentMessages(parts.limits.sent ?? FOR_EVER, parts.clock);
	}

	/** A new task in SUBMITTED. Those who asked for it by `onOpen` are told before anything happens to it. */
	open(opening: Opening): TaskLog {
		const log = new TaskLog(opening, this.#clock, this.#log);
		this.#logs.set(log.id, log);
		this.#touch(log);
		this.#follow(log);
		return log;
	}

	/**
	 * Takes over the tasks of a journal, and writes everything into it from now on; tasks that are here already are carried
	 * over. Throws what reading it throws, and then nothing has changed.
	 */
	adopt(journal: Journal): void {
		const here = this.all();
		const loaded = journal.load();
		const unfinished: TaskLog[] = [];
		for (const { opening, kept, messages } of loaded) {
			if (this.#logs.has(opening.id)) continue;
			const log = new TaskLog(opening, this.#clock, this.#log, kept);
			this.#logs.set(log.id, log);
			this.#touch(log, kept.touched);
			for (const id of messages) this.#sent.add(log.owner, id, log.id, kept.changed);
			if (isTerminal(log.state)) {
				log.rest(this.#reading(log, journal));
				this.#end(log);
			} else unfinished.push(log);
		}
		this.#journal = journal;
		const ended = this.all().filter((log) => isTerminal(log.state));
		ended.sort((a, b) => a.changed - b.changed);
		// Those that ended last are asked for most.
		const { maxFinished, maxCharacters = MAX_CHARACTERS } = this.#limits;
		const weigh = (log: TaskLog): number => journal.sizeOf(log);
		this.#recall(newest(ended, { count: maxFinished, weight: maxCharacters, weigh }), journal);
		for (const log of here) if (journal.sizeOf(log) === 0) journal.carry(log);
		for (const log of unfinished) this.#follow(log);
		for (const finished of [...this.#finished.values()]) this.#age(finished);
		this.#bound();
	}

	/**
	 * Writes nothing down any more. What the journal alone has comes into memory, for another journal to take over, when
	 * `keep` says so; else it cannot be asked for from now on.
	 */
	leave(keep = false): void {
		for (const log of this.all()) {
			if (!isTerminal(log.state) || this.#resident.has(log)) continue;
			if (!keep) this.#remove(log);
			else if (this.#journal) this.#recall([log], this.#journal);
		}
		this.#journal = undefined;
	}

	/** Resolves when all that has happened is with the system; undefined when there is nothing to wait for. */
	written(): Promise<void> | undefined {
		return this.#journal?.written();
	}

	/** The owner's task. Throws TaskNotFoundError, in the same words for a task of somebody else (§13.1). */
	get(owner: string, id: TaskId): TaskLog {
		const log = this.#logs.get(id);
		if (log?.owner !== owner) throw new A2AError("TaskNotFoundError", undefined, { metadata: { taskId: id } });
		return log;
	}

	/** The task that a message of this caller with the same id and content joined before (§3.3.1). */
	withMessage(owner: string, message: Message): TaskLog | undefined {
		const id = this.#sent.taskOf(owner, message.messageId);
		const log = id === undefined ? undefined : this.#logs.get(id);
		return log?.task.history?.some((sent) => isSame(sent, message)) ? log : undefined;
	}

	/** One page of the owner's tasks (§3.1.4), last change of status first. Throws InvalidParamsError. */
	list(owner: string, request: ListTasksRequest): ListTasksResponse {
		return listPage(this.#orders.get(owner) ?? new Order<TaskLog>(), request);
	}

	/** Tasks that somebody works on or that wait for their turn, oldest first. */
	running(): TaskLog[] {
		return this.unfinished().filter((log) => !isInterrupted(log.state));
	}

	/** Tasks that have not ended, oldest first. */
	unfinished(): TaskLog[] {
		return this.all().filter((log) => !isTerminal(log.state));
	}

	/** Every task that is kept, oldest first. */
	all(): TaskLog[] {
		return [...this.#logs.values()];
	}

	/** Whether the owner has that task, and an old name without a version means 0.3 when it asks about it. */
	isV03(owner: string, id: TaskId): boolean {
		const log = this.#logs.get(id);
		return log?.owner === owner && log.v03;
	}

	/** Tells `reader` of each new task; the result ends that. */
	onOpen(reader: (log: TaskLog) => void): () => void {
		this.#openers.add(reader);
		return () => void this.#openers.delete(reader);
	}

	/** Keeps `note` with a task, also after a restart, until another or none takes its place. */
	keep(log: TaskLog, note: Json | undefined): void {
		log.note = note;
		this.#journal?.note(log);
	}

	/** Forgets a task, as if it had never been. */
	drop(log: TaskLog): void {
		this.#journal?.forget(log);
		this.#remove(log);
	}

	#remove(log: TaskLog): void {
		this.#logs.delete(log.id);
		this.#resident.delete(log);
		const finished = this.#finished.get(log.owner);
		if (finished?.delete(log)) this.#ended -= 1;
		if (finished?.size === 0) this.#finished.delete(log.owner);
		const order = this.#orders.get(log.owner);
		order?.delete(log);
		if (order?.size !== 0) return;
		this.#orders.delete(log.owner);
		this.#sent.forgetAll(log.owner);
	}

	#touch(log: TaskLog, at?: number): void {
		const order = this.#orders.get(log.owner) ?? new Order<TaskLog>();
		this.#orders.set(log.owner, order);
		order.touch(log, at);
		log.touched = order.now;
	}

	/** Follows a task that has not ended, and tells those who asked for new ones. */
	#follow(log: TaskLog): void {
		log.on(this.#happened);
		for (const opener of this.#openers) {
			try {
				opener(log);
			} catch (error) {
				this.#log.warn(`A reader of new tasks failed on ${log.id}`, error);
			}
		}
	}

	readonly #happened: Reader = (event, log) => {
		if (!this.#logs.has(log.id)) return;
		if (event.kind === "message" && event.message.role === "ROLE_USER") {
			this.#sent.add(log.owner, event.message.messageId, log.id);
		}
		if (event.kind === "status") this.#touch(log);
		this.#journal?.write(log, event);
		if (!isTerminal(log.state)) return;
		this.#resident.add(log);
		this.#rejoined.push(log);
		if (this.#rejoined.length > REJOINED) this.#rejoined.shift()?.forgetPast();
		this.#end(log);
		if (this.#journal) this.#age(this.#finished.get(log.owner) ?? new Set());
		this.#bound();
	};

	#end(log: TaskLog): void {
		const finished = this.#finished.get(log.owner) ?? new Set();
		this.#finished.set(log.owner, finished.add(log));
		this.#ended += 1;
	}

	/** Holds the limits, of counts with some slack: what has to go goes in batches. */
	#bound(): void {
		const { maxFinished, maxKept = maxFinished, maxBytes = Number.POSITIVE_INFINITY } = this.#limits;
		const { maxCharacters = MAX_CHARACTERS } = this.#limits;
		const [journal, resident] = [this.#journal, this.#resident];
		const drop = (log: TaskLog): void => this.drop(log);
		const most = journal ? Math.max(maxKept, maxFinished) : maxFinished;
		if (this.#ended > most + slack(most)) {
			forget(this.#finished, { tooMany: () => this.#ended > most, weigh: () => 1, drop });
		}
		if (!journal) {
			const weigh = (log: TaskLog): number => resident.weightOf(log);
			forget(this.#finished, { tooMany: () => resident.weight > maxCharacters, weigh, drop });
			return;
		}
		// What has just ended is written and counted later: the size is that of the turn before.
		if (journal.bytes > maxBytes) {
			const weigh = (log: TaskLog): number => journal.sizeOf(log);
			forget(this.#finished, { tooMany: () => journal.bytes > maxBytes, weigh, drop });
		}
		if (resident.size <= maxFinished + slack(maxFinished) && resident.weight <= maxCharacters) return;
		journal.flush();
		for (const log of resident) {
			if (resident.size <= maxFinished && resident.weight <= maxCharacters) break;
			this.#rest(log, journal);
		}
	}

	/** Into memory with ended tasks. */
	#recall(ended: readonly TaskLog[], journal: Journal): void {
		for (const log of ended) {
			if (this.#resident.has(log)) continue;
			log.recall(this.#reading(log, journal)());
			this.#resident.add(log);
		}
	}

	#reading(log: TaskLog, journal: Journal): () => Task {
		return reading(log, () => journal.read(log), this.#log);
	}

	/** Out of memory with an ended task, or with the task where the journal does not have it. */
	#rest(log: TaskLog, journal: Journal): void {
		if (journal.sizeOf(log) > 0) {
			this.#resident.delete(log);
			log.rest(this.#reading(log, journal));
		} else this.drop(log);
	}

	/** Forgets those of one owner that ended too long ago. */
	#age(finished: ReadonlySet<TaskLog>): void {
		const { maxAgeMs = Number.POSITIVE_INFINITY } = this.#limits;
		const before = this.#clock.now() - maxAgeMs;
		for (const log of finished) {
			if (log.changed >= before) return;
			this.drop(log);
		}
	}
}
