/** Reading a journal: of ended tasks where they stand and no more, of the others everything. */
import type { Line, Place } from "../lib/segments.ts";
import { apply, isTerminal } from "../protocol/task.ts";
import { type Json, type Task, type TaskId, taskId } from "../protocol/types.ts";
import { type Kept, newTask, type Opening } from "./log.ts";
import type { Happened } from "./past.ts";
import { eventIn, type Head, headOf, idIn, kindOf, type Lines, noteIn, type RecordKind, taskIn } from "./records.ts";

export interface Loaded {
	readonly opening: Opening;
	readonly kept: Kept;
	/** Ids of the caller's messages. */
	readonly messages: readonly string[];
	/** Of a task that has ended: where it stands. */
	readonly place?: Place | undefined;
	/** The file that holds the first line about it. */
	readonly since: number;
}

/** What has been found of a task: `place` is that of its last whole line, `events` came after that. */
interface Found extends Loaded {
	readonly kept: Head;
	events?: Place[];
}

/** What a line is and which task it is about; nothing for a line that cannot be read. */
export function aboutOf(line: Line): readonly [RecordKind, TaskId] | readonly [undefined] {
	try {
		const kind = kindOf(line);
		return [kind, taskId(idIn(line, kind))];
	} catch {
		return [undefined];
	}
}

/** The file of the first line about the task of a whole line; undefined when it is this one, or nobody can say. */
export function sinceOf(line: Line): number | undefined {
	try {
		return headOf(line, "whole").since;
	} catch {
		return undefined;
	}
}

/** The task of the whole line at that place. Throws when it cannot be read. */
export const readTask = (lines: Pick<Lines, "read">, place: Place): Task => taskIn(lines.read(place));

function note(line: Line, tasks: Map<TaskId, Found>, notes: Map<TaskId, Place>): void {
	const kind = kindOf(line);
	const { place } = line;
	if (kind === "open" || kind === "whole") {
		const head = headOf(line, kind);
		const { opening, messages } = head;
		const since = head.since ?? tasks.get(opening.id)?.since ?? place.segment;
		tasks.set(opening.id, { opening, kept: head, messages, since, place: kind === "whole" ? place : undefined });
		return;
	}
	const id = taskId(idIn(line, kind));
	const known = tasks.get(id);
	if (kind === "drop") {
		tasks.delete(id);
		notes.delete(id);
	} else if (kind === "note") notes.set(id, place);
	else if (known) {
		// Events of a task that nothing else is known of are what is left of one that was forgotten.
		known.events ??= [];
		known.events.push(place);
	}
}

/** All tasks of a journal in the order of their last touch; how many lines could not be read, and in which files. */
export function loadRecords(lines: Lines): {
	readonly tasks: readonly Loaded[];
	readonly damaged: readonly [number, ReadonlySet<number>];
} {
	const found = new Map<TaskId, Found>();
	const notes = new Map<TaskId, Place>();
	const files = new Set<number>();
	let count = 0;
	const damage = (segment: number, text: string) => {
		lines.setAside(text);
		files.add(segment);
		count += 1;
	};
	for (const segment of [...lines.sizes.keys()]) {
		for (const line of lines.lines(segment)) {
			try {
				note(line, found, notes);
			} catch {
				damage(segment, line.text()); // said together with the others
			}
		}
	}
	const tasks: Loaded[] = [];
	for (const each of found.values()) {
		const { opening, since } = each;
		const broken: Place[] = [];
		const note = noteAt(lines, notes.get(opening.id), broken);
		const ended = each.place && isTerminal(each.kept.state);
		const kept = ended ? each.kept : unfinished(lines, each, broken);
		for (const at of broken) damage(at.segment, lines.read(at));
		if (ended) {
			tasks.push(note === undefined ? each : { ...each, kept: { ...each.kept, note } });
			continue;
		}
		const sent = (kept.task?.history ?? []).filter(({ role }) => role === "ROLE_USER");
		tasks.push({ opening, kept: { ...kept, note }, since, messages: sent.map(({ messageId }) => messageId) });
	}
	tasks.sort((a, b) => a.kept.touched - b.kept.touched || a.kept.changed - b.kept.changed);
	return { tasks, damaged: [count, files] };
}

/** What the note there says; undefined when nothing is to be kept any more. */
function noteAt(lines: Lines, place: Place | undefined, broken: Place[]): Json | undefined {
	try {
		return (place && noteIn(lines.read(place))) ?? undefined;
	} catch {
		if (place) broken.push(place); // said together with the others
		return undefined;
	}
}

/** A task that had not ended, made again from its events; those that cannot be read join `broken`. */
function unfinished(lines: Lines, found: Found, broken: Place[]): Kept {
	const { opening, kept: head, place, events = [] } = found;
	const { opened } = head;
	const happened: Happened[] = [];
	let task = newTask(opening, opened);
	let { touched, n } = head;
	try {
		if (place) task = readTask(lines, place);
	} catch {
		if (place) broken.push(place);
	}
	for (const at of events) {
		try {
			const each = eventIn(lines.read(at));
			// A whole line that was written late says it already.
			if (each.n <= n) continue;
			task = apply(task, each.event);
			touched = each.touch ?? touched;
			n = each.n;
			happened.push({ n, event: each.event });
		} catch {
			broken.push(at);
		}
	}
	const { state, timestamp } = task.status;
	const changed = timestamp === undefined ? opened : Date.parse(timestamp);
	const past = broken.length === 0 ? { past: { n: head.n, events: happened } } : {};
	return { opened, changed, touched, n, state, task, ...past };
}
