/** The tasks that this process has served or serves, each visible to its owner alone. */
import type { Clock } from "../lib/clock.ts";
import { type Log, nullLog } from "../lib/log.ts";
import { A2AError } from "../protocol/errors.ts";
import { isInterrupted, isTerminal } from "../protocol/task.ts";
import type { ListTasksRequest, ListTasksResponse, Message, TaskId } from "../protocol/types.ts";
import { listPage } from "./list.ts";
import { type Opening, type Reader, TaskLog } from "./log.ts";
import { Order } from "./order.ts";

/** A message that was sent again: one id, one content, no other task or context. Clients that reuse ids differ here. */
function isSame(sent: Message, again: Message): boolean {
	const { taskId = sent.taskId, contextId = sent.contextId } = again;
	if (sent.messageId !== again.messageId || sent.taskId !== taskId || sent.contextId !== contextId) return false;
	return JSON.stringify([sent.parts, sent.metadata]) === JSON.stringify([again.parts, again.metadata]);
}

const messageKey = (owner: string, messageId: string): string => JSON.stringify([owner, messageId]);

export class TaskStore {
	readonly #maxFinished: number;
	readonly #clock: Clock;
	readonly #log: Log;
	readonly #logs = new Map<TaskId, TaskLog>();
	readonly #orders = new Map<string, Order<TaskLog>>();
	/** By owner, oldest end first. */
	readonly #finished = new Map<string, Set<TaskLog>>();
	#ended = 0;
	readonly #messages = new Map<string, TaskLog>();
	readonly #openers = new Set<(log: TaskLog) => void>();

	/**
	 * `maxFinished`: how many ended tasks are kept; beyond it, of the owner that has most of them the one that ended
	 * first is forgotten, so that nobody crowds out the tasks of others.
	 */
	constructor(parts: { readonly maxFinished: number; readonly clock: Clock; readonly log?: Log }) {
		this.#maxFinished = parts.maxFinished;
		this.#clock = parts.clock;
		this.#log = parts.log ?? nullLog;
	}

	/** A new task in SUBMITTED. Those who asked for it by `onOpen` are told before anything happens to it. */
	open(opening: Opening): TaskLog {
		const log = new TaskLog(opening, this.#clock, this.#log);
		this.#logs.set(log.id, log);
		this.#order(log.owner).touch(log);
		log.on(this.#follow);
		for (const opener of this.#openers) {
			try {
				opener(log);
			} catch (error) {
				this.#log.warn(`A reader of new tasks failed on ${log.id}`, error);
			}
		}
		return log;
	}

	/** The owner's task. Throws TaskNotFoundError, in the same words for a task of somebody else (§13.1). */
	get(owner: string, id: TaskId): TaskLog {
		const log = this.#logs.get(id);
		if (log?.owner !== owner) throw new A2AError("TaskNotFoundError", undefined, { metadata: { taskId: id } });
		return log;
	}

	/** The task that a message of this caller with the same id and content joined before (§3.3.1). */
	withMessage(owner: string, message: Message): TaskLog | undefined {
		const log = this.#messages.get(messageKey(owner, message.messageId));
		return log?.task.history?.some((sent) => isSame(sent, message)) ? log : undefined;
	}

	/** One page of the owner's tasks (§3.1.4), last change of status first. Throws InvalidParamsError. */
	list(owner: string, request: ListTasksRequest): ListTasksResponse {
		return listPage(this.#orders.get(owner) ?? new Order<TaskLog>(), request);
	}

	/** Tasks that somebody works on or that wait for their turn, oldest first. */
	running(): TaskLog[] {
		return this.all().filter((log) => !isTerminal(log.state) && !isInterrupted(log.state));
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

	/** Forgets a task, as if it had never been. */
	drop(log: TaskLog): void {
		this.#logs.delete(log.id);
		const finished = this.#finished.get(log.owner);
		if (finished?.delete(log)) this.#ended -= 1;
		if (finished?.size === 0) this.#finished.delete(log.owner);
		for (const message of log.task.history ?? []) {
			const key = messageKey(log.owner, message.messageId);
			if (this.#messages.get(key) === log) this.#messages.delete(key);
		}
		const order = this.#orders.get(log.owner);
		order?.delete(log);
		if (order?.size === 0) this.#orders.delete(log.owner);
	}

	#order(owner: string): Order<TaskLog> {
		const known = this.#orders.get(owner);
		if (known) return known;
		const order = new Order<TaskLog>();
		this.#orders.set(owner, order);
		return order;
	}

	readonly #follow: Reader = (event, log) => {
		if (!this.#logs.has(log.id)) return;
		if (event.kind === "message" && event.message.role === "ROLE_USER") {
			this.#messages.set(messageKey(log.owner, event.message.messageId), log);
		}
		if (event.kind !== "status") return;
		this.#order(log.owner).touch(log);
		if (!isTerminal(log.state)) return;
		const finished = this.#finished.get(log.owner) ?? new Set();
		this.#finished.set(log.owner, finished.add(log));
		this.#ended += 1;
		if (this.#ended > this.#maxFinished) this.#forget();
	};

	#forget(): void {
		let most: ReadonlySet<TaskLog> = new Set();
		for (const each of this.#finished.values()) if (each.size > most.size) most = each;
		const [oldest] = most;
		if (oldest) this.drop(oldest);
	}
}
