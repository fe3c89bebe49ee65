/**
 * What peers have this host do, for the person in front of it: a reader of the inbound tasks' logs. Events stay
 * structured up to here; the rows it makes go to the transcript, the ends also into toasts and the footer.
 */
import type { ServerStatus } from "../app.ts";
import type { Clock } from "../lib/clock.ts";
import { dispatchLabel, oneLine } from "../lib/text.ts";
import { type Activity, isInterrupted, isTerminal, type TaskEvent } from "../protocol/task.ts";
import type { Part, Task } from "../protocol/types.ts";
import type { TaskLog } from "../tasks/log.ts";
import type { TaskStore } from "../tasks/store.ts";
import { duration, stateWord } from "./format.ts";
import type { Row } from "./transcript.ts";
import type { Screen } from "./ui.ts";

const PREVIEW = 120;
/** Rows of work shown of one task; a task of a thousand steps must not bury the user's own conversation. */
const STEPS = 100;
/** While the model writes on and on, its newest words are shown this often (milliseconds). */
const TEXT_EVERY_MS = 5000;

const textOf = (parts: readonly Part[] | undefined): string =>
	(parts ?? []).map((part) => ("text" in part ? part.text : "")).join(" ");

const replyOf = (task: Task): string => (task.artifacts ?? []).map((artifact) => textOf(artifact.parts)).join(" ");

/** `⚙ bash ls -la`; undefined for what need not be shown. */
function stepText({ type, name, detail, failed }: Activity): string | undefined {
	const words = oneLine(`${name} ${detail ?? ""}`, PREVIEW);
	if (type === "tool") return `⚙ ${words}`;
	if (type === "refused") return `⛔ ${oneLine(`${name} ${detail ?? ""}`, 240)}`;
	if (type === "tool-end") return failed ? `✗ ${words}` : undefined;
	return `· ${words}`;
}

/** The row for a task that has ended or waits; undefined while it goes on. */
function outcome(log: TaskLog, { status }: TaskEvent & { readonly kind: "status" }): Row | undefined {
	const name = `[A2A inbound] A2A dispatch ${dispatchLabel(log.id)}`;
	const said = oneLine(textOf(status.message?.parts), PREVIEW);
	if (isInterrupted(status.state)) return { kind: "question", text: `${name} waits for ${log.label}: ${said}` };
	if (!isTerminal(status.state)) return undefined;
	const took = `(${duration(log.changed - log.opened)})`;
	if (status.state === "TASK_STATE_COMPLETED") {
		const preview = oneLine(replyOf(log.task), PREVIEW) || said;
		return { kind: "completed", text: `${name} completed ${took}${preview ? ` — ${preview}` : ""}` };
	}
	if (status.state === "TASK_STATE_FAILED") {
		return { kind: "failed", text: `${name} failed: ${said || "no reason was given"} ${took}` };
	}
	return { kind: "failed", text: `${name} ${stateWord(status.state)} ${took}${said ? `: ${said}` : ""}` };
}

/** Turns the events of one task into rows. Give it every event, in order. `policy`: what the caller may do, in a line. */
export function storyOf(log: TaskLog, clock: Pick<Clock, "now">, policy?: string): (event: TaskEvent) => Row[] {
	const who = policy === undefined ? log.label : `${log.label} (${oneLine(policy, PREVIEW)})`;
	const label = `[A2A inbound] ${dispatchLabel(log.id)}`;
	let steps = 0;
	let unsaid = "";
	let saidAt = clock.now();

	function step(row: Row): Row[] {
		if (++steps > STEPS + 1) return [];
		return [steps > STEPS ? { kind: "step", text: `${label} · further steps are not shown` } : row];
	}
	/** The words that were not shown yet. */
	function words(): Row[] {
		const text = oneLine(unsaid, PREVIEW);
		unsaid = "";
		saidAt = clock.now();
		return text === "" ? [] : step({ kind: "text", text: `${label} ✎ ${text}` });
	}

	return (event) => {
		switch (event.kind) {
			case "message": {
				if (event.message.role !== "ROLE_USER") return [];
				const first = (log.task.history ?? []).length <= 1;
				const text = oneLine(textOf(event.message.parts), PREVIEW) || "(no text)";
				return [
					{
						kind: "arrival",
						text: first ? `[A2A inbound] dispatch from ${who}: ${text}` : `${label} answer from ${log.label}: ${text}`,
					},
				];
			}
			case "activity": {
				// It may load at the next start: not to be lost among the steps.
				if (event.activity.type === "changed")
					return [...words(), { kind: "failed", text: `${label} ⚠ ${oneLine(event.activity.detail ?? "", 400)}` }];
				const text = stepText(event.activity);
				return text === undefined ? [] : [...words(), ...step({ kind: "step", text: `${label} ${text}` })];
			}
			case "artifact":
				unsaid += textOf(event.artifact.parts);
				return clock.now() - saidAt >= TEXT_EVERY_MS ? words() : [];
			case "status": {
				const row = outcome(log, event);
				return row ? [row] : [];
			}
		}
	};
}

/** The footer: who is being served, else where the server listens, else nothing. */
export function footer(status: ServerStatus): string | undefined {
	if (status.inFlight > 0) {
		const from = status.callers.map((caller) => oneLine(caller, 30)).slice(0, 4);
		return `A2A ⇠ ${status.inFlight} from ${from.join(", ")}${status.callers.length > from.length ? ", …" : ""}`;
	}
	return status.running ? `A2A :${status.port ?? "?"}` : undefined;
}

/** Where the activity is shown. */
export interface ActivityParts {
	readonly tasks: TaskStore;
	readonly screen: Screen;
	readonly clock: Pick<Clock, "now">;
	/** Takes a row for the transcript; true when it is drawn now. */
	readonly add: (row: Row) => boolean;
	/** The user wants rows in the transcript (`ui.transcript`). */
	readonly wanted: () => boolean;
	readonly status: () => ServerStatus;
	/** The policy for the caller with this id, in a line; `undefined` when it is the usual one. */
	readonly policyOf?: (caller: string) => string | undefined;
}

const TOASTS: { readonly [K in Row["kind"]]?: "info" | "warning" } = {
	arrival: "info",
	question: "info",
	completed: "info",
	failed: "warning",
};

/** Shows the inbound tasks from now on; the result ends that. */
export function showActivity({ tasks, screen, clock, add, wanted, status, policyOf }: ActivityParts): () => void {
	const leaving = new Set<() => void>();
	const stop = tasks.onOpen((log) => {
		const story = storyOf(log, clock, policyOf?.(log.owner));
		const leave = log.on((event) => {
			for (const row of story(event)) {
				const drawn = wanted() && add(row);
				const kind = TOASTS[row.kind];
				// On a terminal a toast is a line of the conversation as well: one is enough.
				if (kind && !(drawn && screen.mode === "tui")) screen.notify(row.text, kind);
			}
			if (event.kind !== "status") return;
			screen.status(footer(status()));
			if (isTerminal(log.state)) leaving.delete(leave);
		});
		leaving.add(leave);
		screen.status(footer(status()));
	});
	return () => {
		stop();
		for (const leave of leaving) leave();
	};
}
