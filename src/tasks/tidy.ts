/** What stays of a journal when its files are written anew. */
import type { Line, Place } from "../lib/segments.ts";
import type { TaskId } from "../protocol/types.ts";
import { aboutOf, sinceOf } from "./load.ts";
import { dropLine, isEmptyNote } from "./records.ts";

/** What is known of tasks. */
export interface Known {
	/** Ended ones, and where they stand. */
	readonly places: ReadonlyMap<TaskId, Place>;
	/** Those that have not ended. */
	readonly began: ReadonlyMap<TaskId, unknown>;
	/** Those with a note that says something. */
	readonly annotated: ReadonlySet<TaskId>;
}

/**
 * What stays of a line, and the id of the ended task that it is the place of. `isOldest`: no file before it has anything
 * that the line would stand against.
 */
export function keptOf(line: Line, isOldest: boolean, known: Known): readonly [string?, TaskId?] {
	const [kind, id] = aboutOf(line);
	if (kind === undefined) return [];
	const place = known.places.get(id);
	if (kind === "whole" && place?.segment === line.place.segment && place.offset === line.place.offset) {
		return [line.text(), id];
	}
	if (kind === "drop") return isOldest ? [] : [line.text()];
	if (known.began.has(id)) return [line.text()];
	if (kind === "note") {
		// One that says nothing stands against those in older files that say something.
		const counts = place && (known.annotated.has(id) || (isEmptyNote(line) && !isOldest));
		return counts ? [line.text()] : [];
	}
	if (kind !== "whole" || place) return [];
	// Older files may still have lines about the task, and without this one it would seem to run.
	const since = sinceOf(line) ?? line.place.segment;
	return since < line.place.segment ? [dropLine(id)] : [];
}
