/** Push notification configurations (§3.1.7 to §3.1.10, §4.3): who wants to be told of which task. */
import type { Clock } from "../lib/clock.ts";
import { newId } from "../lib/ids.ts";
import type { Log } from "../lib/log.ts";
import type { Call } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";
import { isObject } from "../protocol/json.ts";
import type { PushConfig, Webhooks } from "../protocol/push.ts";
import { isTerminal } from "../protocol/task.ts";
import type {
	Json,
	ListTaskPushNotificationConfigsRequest,
	ListTaskPushNotificationConfigsResponse,
	TaskPushNotificationConfig,
	TaskPushNotificationConfigRef,
} from "../protocol/types.ts";
import type { TaskLog } from "../tasks/log.ts";
import type { TaskStore } from "../tasks/store.ts";
import { PushSender } from "./push-sender.ts";

/** Receivers of one task: more than anybody has, few enough that a task is no amplifier. */
export const MAX_PER_TASK = 10;
/** How long `close` waits for receivers that have not been told yet how their task ended. */
const GRACE_MS = 2_000;

/** What a header can carry (RFC 9110 §5.5, §5.6.2). */
const VISIBLE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;
const SCHEME = /^[\w!#$%&'*+.^`|~-]+$/;

export interface PushParts {
	readonly tasks: TaskStore;
	readonly webhooks: Webhooks;
	readonly clock: Clock;
	readonly log: Log;
	/** A number from 0 to below 1; chance by default. */
	readonly random?: () => number;
}

interface Kept {
	readonly config: PushConfig;
	/** It was made when the task had ended: it can be read back as long as the task, and does not outlive the process. */
	readonly late: boolean;
	/** Its place in the list. */
	readonly n: number;
	readonly sender: PushSender;
}

const invalid = (field: string, description: string): A2AError =>
	new A2AError("InvalidParamsError", `${field}: ${description}`, { violations: [{ field, description }] });

const isVisible = (text: unknown): boolean => typeof text === "string" && VISIBLE.test(text);

/** Whether `value` is a configuration as `checked` gives it. Its address is checked at each delivery. */
function isKept(value: unknown): value is PushConfig {
	if (!isObject(value)) return false;
	const { id, url, token, authentication, version, loopback } = value;
	if (typeof id !== "string" || typeof url !== "string" || !URL.canParse(url)) return false;
	if ((version !== "1.0" && version !== "0.3") || typeof loopback !== "boolean") return false;
	if (token !== undefined && !isVisible(token)) return false;
	if (authentication === undefined) return true;
	if (!isObject(authentication)) return false;
	const { scheme, credentials } = authentication;
	if (typeof scheme !== "string" || !SCHEME.test(scheme)) return false;
	return credentials === undefined || credentials === "" || isVisible(credentials);
}

/** As it may be read back: secrets never are. */
function shown(log: TaskLog, { id, url, authentication }: PushConfig): TaskPushNotificationConfig {
	return { taskId: log.id, id, url, ...(authentication ? { authentication: { scheme: authentication.scheme } } : {}) };
}

export class PushConfigs {
	/** Notifications that were taken, and those that were given up. */
	readonly counts = { delivered: 0, failed: 0 };
	readonly #parts: PushParts;
	/** The configurations of a task are forgotten with it. */
	readonly #kept = new WeakMap<TaskLog, Map<string, Kept>>();
	readonly #senders = new Set<PushSender>();
	#n = 0;
	#closed = false;

	constructor(parts: PushParts) {
		this.#parts = parts;
	}

	/**
	 * A configuration of this caller, checked but not kept; `at` is the place of its fields. Throws InvalidParamsError
	 * with the field, also for an address that is not called.
	 */
	async checked(given: TaskPushNotificationConfig, { caller, service }: Call, at = ""): Promise<PushConfig> {
		const { url, id = newId("push"), token, authentication } = given;
		const name = (field: string) => (at === "" ? field : `${at}.${field}`);
		const HEADER = "expected visible ASCII characters, as a header can carry";
		if (token && !VISIBLE.test(token)) throw invalid(name("token"), HEADER);
		if (authentication && !SCHEME.test(authentication.scheme)) {
			throw invalid(
				name("authentication.scheme"),
				"expected the name of an HTTP authentication scheme, such as Bearer",
			);
		}
		if (authentication?.credentials && !VISIBLE.test(authentication.credentials)) {
			throw invalid(name("authentication.credentials"), HEADER);
		}
		try {
			await this.#parts.webhooks.check(url, caller.loopback);
		} catch (error) {
			throw error instanceof A2AError ? invalid(name("url"), error.message) : error;
		}
		const secrets = { ...(token ? { token } : {}), ...(authentication ? { authentication } : {}) };
		return { id, url, version: service.version, loopback: caller.loopback, ...secrets };
	}

	/** Throws InvalidParamsError when the task has no room for `config`; one with its id is replaced. */
	admit(log: TaskLog, { id }: PushConfig): void {
		const kept = this.#kept.get(log);
		if (!kept || kept.has(id) || kept.size < MAX_PER_TASK) return;
		throw invalid("id", `a task has at most ${MAX_PER_TASK} push notification configurations; delete one first`);
	}

	/** Keeps a checked configuration and begins to tell its receiver, first of the task as it is. Throws as `admit`. */
	add(log: TaskLog, config: PushConfig): void {
		this.#add(log, config, isTerminal(log.state));
		this.#note(log);
	}

	#add(log: TaskLog, config: PushConfig, late: boolean): void {
		this.admit(log, config);
		const kept = this.#kept.get(log) ?? new Map<string, Kept>();
		this.#kept.set(log, kept);
		const before = kept.get(config.id);
		before?.sender.stop();
		const { random = Math.random, tasks, ...parts } = this.#parts;
		const sender = new PushSender(log, config, {
			...parts,
			random,
			written: () => tasks.written(),
			count: (outcome) => {
				this.counts[outcome] += 1;
			},
		});
		this.#n += 1;
		kept.set(config.id, { config, sender, late, n: before?.n ?? this.#n });
		this.#senders.add(sender);
		void sender.ended.then(() => {
			this.#senders.delete(sender);
			// What has not been told at the end of the process is told by the next one.
			if (late || this.#closed || kept.get(config.id)?.sender !== sender) return;
			kept.delete(config.id);
			this.#note(log);
		});
	}

	/** Every configuration of a task with its secrets, to be written down. */
	all(log: TaskLog): readonly PushConfig[] {
		return [...(this.#kept.get(log)?.values() ?? [])].map(({ config }) => config);
	}

	/**
	 * Takes up what `all` gave in an earlier process: receivers are told the task as it is now, and what follows. What has
	 * been changed on disk until it is no configuration is left out.
	 */
	restore(log: TaskLog, configs: readonly unknown[]): void {
		const known = configs.filter(isKept).slice(0, MAX_PER_TASK);
		if (known.length < configs.length) {
			this.#parts.log.warn(`What was written down of webhooks of ${log.id} cannot be read; they are not told of it`);
		}
		for (const config of known) this.#add(log, config, false);
	}

	/** §3.1.7; one with the same id is replaced. Throws InvalidParamsError and TaskNotFoundError. */
	async create(given: TaskPushNotificationConfig, call: Call): Promise<TaskPushNotificationConfig> {
		const log = this.#log(given, call);
		const config = await this.checked(given, call);
		// The task may have been forgotten meanwhile.
		this.add(this.#log(given, call), config);
		return shown(log, config);
	}

	/** §3.1.8; TaskNotFoundError for an unknown configuration as well. */
	get({ taskId, id }: TaskPushNotificationConfigRef, { caller }: Call): TaskPushNotificationConfig {
		const log = this.#parts.tasks.get(caller.id, taskId);
		const kept = this.#kept.get(log)?.get(id);
		if (kept) return shown(log, kept.config);
		throw new A2AError("TaskNotFoundError", "The task has no push notification configuration of that id", {
			metadata: { taskId, pushNotificationConfigId: id },
		});
	}

	/** §3.1.9, in the order of creation; all when no page size is given. */
	list(params: ListTaskPushNotificationConfigsRequest, { caller }: Call): ListTaskPushNotificationConfigsResponse {
		const { taskId, pageSize = 0, pageToken = "" } = params;
		const log = this.#parts.tasks.get(caller.id, taskId);
		if (!/^\d{0,15}$/.test(pageToken)) throw invalid("pageToken", "expected the nextPageToken of an earlier answer");
		const rest = [...(this.#kept.get(log)?.values() ?? [])].filter(({ n }) => n > Number(pageToken));
		const page = pageSize > 0 ? rest.slice(0, pageSize) : rest;
		const last = page.at(-1);
		return {
			configs: page.map(({ config }) => shown(log, config)),
			nextPageToken: last && page.length < rest.length ? String(last.n) : "",
		};
	}

	/** §3.1.10; one that does not exist is deleted already. */
	delete({ taskId, id }: TaskPushNotificationConfigRef, { caller }: Call): Record<string, never> {
		const kept = this.#kept.get(this.#parts.tasks.get(caller.id, taskId));
		kept?.get(id)?.sender.stop();
		if (kept?.delete(id)) this.#note(this.#parts.tasks.get(caller.id, taskId));
		return {};
	}

	/** Receivers that have still to be told something outlive the process with the task. */
	#note(log: TaskLog): void {
		const waiting = [...(this.#kept.get(log)?.values() ?? [])].filter(({ late }) => !late).map(({ config }) => config);
		if (waiting.length === 0 && log.note === undefined) return;
		this.#parts.tasks.keep(log, waiting.length > 0 ? (waiting as unknown as Json) : undefined);
	}

	/** Gives receivers a moment to take what they have not been told, then stops. May be called twice. */
	async close(): Promise<void> {
		const { clock, log, webhooks } = this.#parts;
		const senders = [...this.#senders];
		for (const sender of senders) sender.finish();
		if (senders.length > 0) {
			const over = new AbortController();
			const told = Promise.all(senders.map(({ ended }) => ended));
			await Promise.race([told, clock.sleep(GRACE_MS, over.signal)]);
			over.abort();
			const left = senders.filter((sender) => sender.pending).length;
			if (left > 0)
				log.warn(`Stopped before ${left === 1 ? "a webhook" : `${left} webhooks`} took the last notification`);
		}
		this.#closed = true;
		for (const sender of senders) sender.stop();
		webhooks.close();
	}

	#log({ taskId }: TaskPushNotificationConfig, { caller }: Call): TaskLog {
		if (taskId === undefined) throw invalid("taskId", "is required");
		return this.#parts.tasks.get(caller.id, taskId);
	}
}
