/** Keys of what tasks carry beside text. */
import { whole } from "./key-kinds.ts";
import { type KeyTable, LESS, rows } from "./row.ts";

const files = rows("Files", "server", "it decides how much others may put on this machine");

export const CONTENT_KEYS = {
	fileMaxBytes: files("server.files.maxBytes", whole(1, 100_000_000), 10_000_000, {
		help: "Largest file that a message may bring, and that a task may give back, in bytes",
		...LESS,
	}),
	fileMaxTotalBytes: files("server.files.maxTotalBytes", whole(1, 200_000_000), 20_000_000, {
		help: "All files of one message together, and all that one turn gives back, in bytes",
		...LESS,
	}),
	fileMaxCount: files("server.files.maxCount", whole(1, 1000), 20, {
		help: "Files that one message may bring, and that one turn may give back",
		...LESS,
	}),
} as const satisfies KeyTable;
