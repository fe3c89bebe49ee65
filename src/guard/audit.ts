/** One line for every exchange, in both directions, in a file that only the user can read. */
import type { Clock } from "../lib/clock.ts";
import { type JsonlFile, readLines } from "../lib/jsonl.ts";
import { attempt, type Log } from "../lib/log.ts";
import { oneLine } from "../lib/text.ts";
import type { Policy, Step } from "../protocol/agent.ts";
import { asA2AError } from "../protocol/errors.ts";
import { textOf } from "../protocol/parts.ts";
import { isInterrupted, isTerminal } from "../protocol/task.ts";
import type { Message, Task } from "../protocol/types.ts";
import { redact } from "./redact.ts";

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
	readonly durationMs?: number;
	/** The beginning of the message or of the reply. Redacted, one line. */
	readonly preview?: string;
	readonly error?: string;
}

/** What is followed of a task: the store's logs have this shape. */
export interface AuditedTask {
	readonly id: string;
	readonly contextId: string;
	/** `Caller.id` and `Caller.label` of whoever the task belongs to. */
	readonly owner: string;
	readonly label: string;
	readonly task: Task;
	on(reader: (event: { readonly kind: string }) => void): () => void;
}

export interface AuditLog {
	/** Writes what is asked of us, and every refusal. */
	readonly policy: Policy;
	/** Writes how inbound tasks end, whoever waits for them. */
	follow(tasks: { onOpen(opener: (task: AuditedTask) => void): unknown }): void;
	/** Writes one exchange with a peer. */
	outbound(entry: Omit<AuditEntry, "time" | "direction">): void;
	/** The newest `n` entries, oldest first. */
	tail(n: number): Promise<readonly object[]>;
	/** Everything is on disk when it resolves. May be called twice. */
	close(): Promise<void>;
}

const PREVIEW = 200;
/** Reading how a task stands is no exchange: it would fill the log with polls. */
const QUIET: ReadonlySet<string> = new Set(["GetTask", "ListTasks", "SubscribeToTask", "GetExtendedAgentCard"]);

const previewOf = (text: string): string => oneLine(redact(text.slice(0, PREVIEW * 8)), PREVIEW);

function messageIn(step: Step): Message | undefined {
	return step.operation === "SendMessage" || step.operation === "SendStreamingMessage"
		? step.params.message
		: undefined;
}

/** The log over `file`. Writing may fail (a full disk): that is said once and stops nobody. */
export function auditLog(file: JsonlFile, clock: Clock, log: Log): AuditLog {
	let told = false;

	function write(direction: AuditEntry["direction"], entry: Omit<AuditEntry, "time" | "direction">): void {
		const line = { time: new Date(clock.now()).toISOString(), direction, ...entry };
		file.append(line).catch((error: unknown) => {
			if (!told) log.warn("Could not write to the audit log", error);
			told = true;
		});
	}

	function ended({ id, contextId, owner, label, task }: AuditedTask, began: number): void {
		const { status, artifacts = [] } = task;
		const said = textOf((status.message ? [status.message] : artifacts).flatMap(({ parts }) => parts));
		write("in", {
			peer: label,
			caller: owner,
			operation: "task",
			taskId: id,
			contextId,
			state: status.state,
			durationMs: clock.now() - began,
			...(said ? { preview: previewOf(said) } : {}),
		});
	}

	return {
		policy(step) {
			const { operation, call } = step;
			const message = messageIn(step);
			const about = {
				peer: call.caller.label,
				caller: call.caller.id,
				operation,
				...("id" in step.params && typeof step.params.id === "string" ? { taskId: step.params.id } : {}),
				...(message?.taskId === undefined ? {} : { taskId: message.taskId }),
				...(message?.contextId === undefined ? {} : { contextId: message.contextId }),
				...(message ? { preview: previewOf(textOf(message.parts)) } : {}),
			};
			if (message) write("in", about);
			return ({ error }) => {
				if (error !== undefined) write("in", { ...about, error: oneLine(redact(asA2AError(error).message)) });
				else if (!message && !QUIET.has(operation)) write("in", about);
			};
		},
		follow(tasks) {
			tasks.onOpen((task) => {
				const began = clock.now();
				task.on(({ kind }) => {
					const { state } = task.task.status;
					if (kind === "status" && (isTerminal(state) || isInterrupted(state))) ended(task, began);
				});
			});
		},
		outbound: (entry) => write("out", entry),
		tail: async (n) =>
			((await attempt("read the audit log", () => readLines(file.path, { last: n }), log)) ?? []) as object[],
		close: () => file.close(),
	};
}
