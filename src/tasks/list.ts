/** What a caller sees of tasks: history and artifacts as asked for, and pages of a list (§3.1.4, §3.2.4). */
import { A2AError } from "../protocol/errors.ts";
import type { ListTasksRequest, ListTasksResponse, Task } from "../protocol/types.ts";
import type { TaskLog } from "./log.ts";
import type { Order } from "./order.ts";
import { weightOf } from "./residents.ts";

const PAGE = { least: 1, most: 100, usual: 50 } as const;
/** A page that holds so much already ends early: its tasks may have files in them, and it is made in memory. */
const MOST_CHARACTERS = 8 * 1024 * 1024;

function invalid(field: string, description: string): A2AError {
	return new A2AError("InvalidParamsError", `${field}: ${description}`, { violations: [{ field, description }] });
}

/** Throws InvalidParamsError for a length that is not a whole number from 0. */
export function checkHistoryLength(historyLength: number | undefined): void {
	if (historyLength !== undefined && !(Number.isInteger(historyLength) && historyLength >= 0)) {
		throw invalid("historyLength", "expected a whole number, 0 or more");
	}
}

/**
 * The task with its latest `historyLength` messages; all of them when it is not given, no `history` member when there
 * are none to show. Throws like `checkHistoryLength`.
 */
export function recent(task: Task, historyLength: number | undefined): Task {
	checkHistoryLength(historyLength);
	const { history = [], ...rest } = task;
	const messages = history.slice(Math.max(0, history.length - (historyLength ?? history.length)));
	return messages.length > 0 ? { ...rest, history: messages } : rest;
}

/** A place in a list: the moment that the walk began, and the last item that has been shown. */
interface Cursor {
	readonly moment: number;
	readonly touched: number;
}

const token = ({ moment, touched }: Cursor): string => `p${moment.toString(36)}-${touched.toString(36)}`;

function readToken(text: string, now: number): Cursor {
	const [, moment = "", touched = ""] = /^p([0-9a-z]{1,10})-([0-9a-z]{1,10})$/.exec(text) ?? [];
	const cursor = { moment: Number.parseInt(moment, 36), touched: Number.parseInt(touched, 36) };
	if (!(cursor.touched <= cursor.moment && cursor.moment <= now)) {
		throw invalid("pageToken", "expected a token from an earlier page");
	}
	return cursor;
}

/**
 * One page of the tasks in `order`. A walk through pages shows the tasks of its beginning, each once, in the order of
 * its beginning. A page may be shorter than asked for. Throws InvalidParamsError for a bad size, token, time or history length.
 */
export function listPage(order: Order<TaskLog>, request: ListTasksRequest): ListTasksResponse {
	const { contextId, status, statusTimestampAfter, includeArtifacts, historyLength } = request;
	const pageSize = request.pageSize ?? PAGE.usual;
	if (!Number.isInteger(pageSize) || pageSize < PAGE.least || pageSize > PAGE.most) {
		throw invalid("pageSize", `expected a whole number from ${PAGE.least} to ${PAGE.most}`);
	}
	const after = statusTimestampAfter === undefined ? 0 : Date.parse(statusTimestampAfter);
	if (Number.isNaN(after)) throw invalid("statusTimestampAfter", "expected an ISO 8601 time");
	// The token of a last page is empty: there is no other meaning to give it than the beginning.
	const cursor = request.pageToken
		? readToken(request.pageToken, order.now)
		: { moment: order.now, touched: Number.POSITIVE_INFINITY };

	const filtered = contextId !== undefined || status !== undefined || after > 0;
	const matches = (log: TaskLog) =>
		(contextId === undefined || log.contextId === contextId) &&
		(status === undefined || status === "TASK_STATE_UNSPECIFIED" || log.state === status) &&
		log.changed >= after;
	const tasks: Task[] = [];
	let last: { readonly touched: number } | undefined;
	let weight = 0;
	let more = false;
	for (const entry of order.walk(cursor.moment, cursor.touched)) {
		if (!matches(entry.item)) continue;
		more = tasks.length === pageSize || weight > MOST_CHARACTERS;
		if (more) break;
		const { artifacts = [], ...rest } = recent(entry.item.task, historyLength);
		const task = includeArtifacts ? { ...rest, artifacts } : rest;
		weight += weightOf(task);
		tasks.push(task);
		last = entry;
	}
	return {
		tasks,
		nextPageToken: last && more ? token({ moment: cursor.moment, touched: last.touched }) : "",
		pageSize,
		totalSize: filtered ? order.count(cursor.moment, matches) : order.size,
	};
}
