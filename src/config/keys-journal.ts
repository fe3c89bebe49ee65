/** Keys of what outlives the process: tasks on disk, and messages that are sent again. */
import { LONGEST_SEC } from "./entries.ts";
import { flag, whole } from "./key-kinds.ts";
import { type KeyTable, rows } from "./row.ts";

const journal = rows("Journal", "none", "it decides what is kept for you and your callers");

export const JOURNAL_KEYS = {
	journalEnabled: journal("server.journal.enabled", flag(), true, {
		env: "A2A_JOURNAL",
		help: "Keeps every inbound task on disk, in `a2a_tasks` of the agent folder, so that it outlives a crash and a restart",
		restart: "server",
	}),
	journalMaxAgeDays: journal("server.journal.maxAgeDays", whole(0, 36_500, "no limit"), 30, {
		help: "Days after its end for which a task is kept",
	}),
	journalMaxTasks: journal("server.journal.maxTasks", whole(1, 1_000_000), 10_000, {
		help: "Ended tasks that are kept; beyond it those of the caller that has most are forgotten, oldest first",
	}),
	journalMaxMegabytes: journal("server.journal.maxMegabytes", whole(1, 1_000_000), 256, {
		help: "Size of the journal of one address, in megabytes; beyond it tasks are forgotten, oldest first",
	}),
	resumeTasks: journal("server.resumeTasks", flag(), false, {
		env: "A2A_RESUME_TASKS",
		help: "After a crash, goes on with tasks that were running where their transcript allows it; otherwise they are FAILED",
		why: "it lets work begin again that nobody asked for a second time",
	}),
	retryWindowSec: journal("server.retryWindowSec", whole(0, LONGEST_SEC, "no limit"), 86_400, {
		help: "Seconds in which a message that is sent again with the same id is answered with the task that it had",
	}),
	retryMessages: journal("server.retryMessages", whole(1, 1_000_000), 10_000, {
		help: "Messages of one caller that are known again when they are sent again",
	}),
} as const satisfies KeyTable;
