/** One line for every exchange, in both directions, in a file that only the user can read. */
import type { Clock } from "../lib/clock.ts";
import { newId } from "../lib/ids.ts";
import { type JsonlFile, lastLine, readLines } from "../lib/jsonl.ts";
import { attempt, type Log } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import type { Caller, Policy, Step } from "../protocol/agent.ts";
import { asA2AError } from "../protocol/errors.ts";
import { isObject } from "../protocol/json.ts";
import { textOf } from "../protocol/parts.ts";
import { type Activity, isInterrupted, isTerminal } from "../protocol/task.ts";
import { readTrace, TRACE, traceId } from "../protocol/trace.ts";
import type { Message, Task } from "../protocol/types.ts";
import { type ChainEnd, chained, hashOf, unchained } from "./audit-chain.ts";
import { buckets } from "./buckets.ts";
import type { Credential } from "./identity.ts";
import { byLooks, type Redaction } from "./redact.ts";

/** A line of the log. */
export interface AuditEntry {
	/** ISO 8601, UTC. */
	readonly time: string;
	readonly direction: "in" | "out";
	/** Who called us, or whom we called, by the name that people know. */
	readonly peer: string;
	/** Id of the caller, for inbound lines. */
	readonly caller?: string;
	readonly operation: string;
	readonly taskId?: string;
	readonly contextId?: string;
	readonly state?: string;
	/** What the caller may do, in a line, where the operator wrote something about it. */
	readonly policy?: string;
	/** Id of the trace that the exchange belongs to, 32 hexadecimal digits. */
	readonly trace?: string;
	/** URIs of the extensions in force (§4.6), with commas between. */
	readonly extensions?: string;
	readonly durationMs?: number;
	/** The beginning of the message or of the reply. Redacted, one line. */
	readonly preview?: string;
	readonly error?: string;
	/** How many lines before this one could not be written. */
	readonly lost?: number;
}

/** What is followed of a task: the store's logs have this shape. */
export interface AuditedTask {
	readonly id: string;
	readonly contextId: string;
	/** `Caller.id` and `Caller.label` of whoever the task belongs to. */
	readonly owner: string;
	readonly label: string;
	readonly task: Task;
	on(reader: (event: { readonly kind: string; readonly activity?: Activity }) => void): () => void;
}

export interface AuditLog {
	/** Writes what is asked of us, and every refusal. */
	readonly policy: Policy;
	/** `identify`, with a line for everybody who is turned away; a flood of them is counted, not written out. */
	identified(identify: (credential: Credential) => Caller): (credential: Credential) => Caller;
	/** Writes who was turned away at the door, before anybody asked who it is: a flood of them is counted as well. */
	refused(address: string, error: unknown): void;
	/** Writes which settings were changed from within the session, not to what. */
	changed(keys: readonly string[]): void;
	/** Writes how inbound tasks end, whoever waits for them. */
	follow(tasks: { onOpen(opener: (task: AuditedTask) => void): unknown }): void;
	/** Writes one exchange with a peer. */
	outbound(entry: Omit<AuditEntry, "time" | "direction">): void;
	/** The newest `n` entries, oldest first, those included that were not on disk yet. */
	tail(n: number): Promise<readonly object[]>;
	/** Everything is on disk when it resolves. May be called twice. */
	close(): Promise<void>;
}

const PREVIEW = 200;
const MAX_ID = 128;
/** Lines wait this long, in milliseconds, to be written together. A crash loses what waits. */
const WINDOW_MS = 20;
/** So many lines are written at once without waiting. */
const BATCH = 256;
/** Lines about callers who were turned away, from one address in a minute. */
const TURNED_AWAY_PER_MINUTE = 20;
/** Reading how a task stands is no exchange: it would fill the log with polls. */
const QUIET: ReadonlySet<string> = new Set(["GetTask", "ListTasks", "SubscribeToTask", "GetExtendedAgentCard"]);

/** The beginning of a text, redacted, on one line. A word that the cut broke is left out: it may be half a secret. */
function previewOf(text: string, { createRedactor, redact }: Redaction): string {
	const long = text.length > PREVIEW * 3;
	return oneLine(long ? createRedactor().push(text.slice(0, PREVIEW * 3)) : redact(text), PREVIEW);
}

/** Most ids and names; the rest is looked at more closely. */
const PLAIN = /^[!-~](?:[ -~]{0,126}[!-~])?$/;
const nameOf = (text: string): string => (PLAIN.test(text) ? text : oneLine(text, MAX_ID));

type Fields = Omit<AuditEntry, "time" | "direction">;

/** Every field made one line without anything that shows nothing: ids and names come from outside as well. */
function cleaned({ preview, error, durationMs, ...names }: Fields, safe: Redaction): Fields {
	const short = Object.entries(names).map(([name, value]) => [name, nameOf(safe.withoutKnown(String(value)))]);
	return {
		...(Object.fromEntries(short) as Omit<Fields, "preview" | "error" | "durationMs">),
		...(durationMs === undefined ? {} : { durationMs: Math.round(durationMs) }),
		...(preview === undefined ? {} : { preview: previewOf(preview, safe) }),
		...(error === undefined ? {} : { error: previewOf(error, safe) }),
	};
}

function messageIn(step: Step): Message | undefined {
	return step.operation === "SendMessage" || step.operation === "SendStreamingMessage"
		? step.params.message
		: undefined;
}

/**
 * The log over `file`. Writing may fail (a full disk): that is said once and stops nobody. `safe` takes secrets out of
 * what is written, asked at each line; by default by their looks alone. `policyOf`: the policy for a caller, in a line.
 */
export function auditLog(
	file: JsonlFile,
	clock: Clock,
	log: Log,
	safe: () => Redaction = () => byLooks,
	policyOf: (caller: string) => string | undefined = () => undefined,
): AuditLog {
	let told = false;
	let waiting: object[] = [];
	let cancel: (() => void) | undefined;
	const turnedAway = buckets({ perMinute: TURNED_AWAY_PER_MINUTE, clock });
	let unwritten = 0;

	/** Where our chain of lines stands; none before the first, nor after a write that failed: what is on disk is not known then. */
	let end: ChainEnd | undefined;
	let lost = 0;
	let writing: Promise<void> = Promise.resolve();

	async function put(batch: readonly object[]): Promise<void> {
		try {
			if (!end) {
				const last = await lastLine(file.path);
				end = { writer: newId(String(process.pid)), count: 0, last: last === undefined ? "" : hashOf(last) };
			}
			const next = chained(lost > 0 ? [{ ...batch[0], lost }, ...batch.slice(1)] : batch, end);
			await file.appendLines(next.lines);
			end = next.end;
			lost = 0;
		} catch (error) {
			end = undefined;
			lost += batch.length;
			if (!told) log.warn("Could not write to the audit log", error);
			told = true;
		}
	}

	function flush(): void {
		cancel?.();
		cancel = undefined;
		const batch = waiting;
		waiting = [];
		if (batch.length > 0) writing = writing.then(() => put(batch));
	}

	function write(direction: AuditEntry["direction"], entry: Fields): void {
		waiting.push({ time: new Date(clock.now()).toISOString(), direction, ...cleaned(entry, safe()) });
		if (waiting.length >= BATCH) flush();
		else cancel ??= clock.after(WINDOW_MS, flush);
	}

	function ended({ id, contextId, owner, label, task }: AuditedTask, began: number): void {
		const { status, artifacts = [], metadata } = task;
		const trace = readTrace(metadata?.[TRACE]);
		const said = textOf((status.message ? [status.message] : artifacts).flatMap(({ parts }) => parts));
		write("in", {
			peer: label,
			caller: owner,
			operation: "task",
			taskId: id,
			contextId,
			state: status.state,
			...(trace === undefined ? {} : { trace: traceId(trace) }),
			durationMs: clock.now() - began,
			...(said ? { preview: said } : {}),
		});
	}

	/** What the policy for a caller kept from happening, what the host's user allowed beyond it, what came of it. */
	function remark({ id, contextId, owner, label }: AuditedTask, { type, name, detail }: Activity): void {
		if (type !== "refused" && type !== "allowed" && type !== "changed") return;
		const text = `${name}: ${detail ?? ""}`;
		const said = type === "allowed" ? { preview: text } : { error: text };
		write("in", { peer: label, caller: owner, operation: `tool ${type}`, taskId: id, contextId, ...said });
	}

	/** Somebody was not let in. A flood of them is counted, not written out. */
	function turnAway(operation: string, address: string, peer: string, error: unknown): void {
		if (turnedAway.take(address) > 0) {
			unwritten += 1;
			return;
		}
		const more = unwritten > 0 ? ` (and ${unwritten} like it)` : "";
		unwritten = 0;
		write("in", { peer, caller: `ip:${address}`, operation, error: `${asA2AError(error).message}${more}` });
	}

	return {
		refused: (address, error) => turnAway("connect", address, address, error),
		changed(keys) {
			if (keys.length > 0) write("in", { peer: "operator", operation: "settings", preview: keys.join(", ") });
		},
		policy(step) {
			const { operation, call } = step;
			const message = messageIn(step);
			const policy = message && policyOf(call.caller.id);
			const about = {
				peer: call.caller.label,
				caller: call.caller.id,
				operation,
				...("id" in step.params && typeof step.params.id === "string" ? { taskId: step.params.id } : {}),
				...(message?.taskId === undefined ? {} : { taskId: message.taskId }),
				...(message?.contextId === undefined ? {} : { contextId: message.contextId }),
				...(call.trace === undefined ? {} : { trace: traceId(call.trace) }),
				...(call.service.extensions.length > 0 ? { extensions: call.service.extensions.join(", ") } : {}),
				...(policy === undefined ? {} : { policy }),
				...(message ? { preview: textOf(message.parts) } : {}),
			};
			if (message) write("in", about);
			return ({ error }) => {
				if (error !== undefined) write("in", { ...about, error: asA2AError(error).message });
				else if (!message && !QUIET.has(operation)) write("in", about);
			};
		},
		identified: (identify) => (credential) => {
			try {
				return identify(credential);
			} catch (error) {
				turnAway("authenticate", credential.address, credential.asserted ?? credential.address, error);
				throw error;
			}
		},
		follow(tasks) {
			tasks.onOpen((task) => {
				const began = clock.now();
				task.on(({ kind, activity }) => {
					const { state } = task.task.status;
					if (activity) remark(task, activity);
					if (kind === "status" && (isTerminal(state) || isInterrupted(state))) ended(task, began);
				});
			});
		},
		outbound: (entry) => write("out", entry),
		async tail(n) {
			flush();
			await writing;
			const lines = (await attempt("read the audit log", () => readLines(file.path, { last: n }), log)) ?? [];
			return lines.flatMap((line) => (isObject(line) ? unchained(line) : []));
		},
		async close() {
			flush();
			await writing;
			await file.close();
		},
	};
}
