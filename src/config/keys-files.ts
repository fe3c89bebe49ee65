/** Keys of the files that go out with a call and come back with its answer. */
import { whole } from "./key-kinds.ts";
import { type KeyTable, LESS, rows } from "./row.ts";

const sent = rows("Files", "none", "it decides how much of this machine is sent to others");
const received = rows("Files", "none", "it decides how much others may put on this machine");

export const FILE_KEYS = {
	sendFileMaxBytes: sent("files.send.maxBytes", whole(1, 100_000_000), 10_000_000, {
		help: "Largest file that a call may take along, in bytes",
		...LESS,
	}),
	// In base64 this is just under the 16 MiB that most servers take for a request.
	sendFilesMaxBytes: sent("files.send.maxTotalBytes", whole(1, 100_000_000), 12_000_000, {
		help: "All files of one call together, in bytes",
		...LESS,
	}),
	sendFilesMaxCount: sent("files.send.maxCount", whole(1, 1000), 20, {
		help: "Files that one call may take along",
		...LESS,
	}),
	receiveFileMaxBytes: received("files.receive.maxBytes", whole(1, 100_000_000), 20_000_000, {
		help: "Largest file of an answer that is kept, in bytes",
		...LESS,
	}),
	receiveFilesMaxBytes: received("files.receive.maxTotalBytes", whole(1, 1_000_000_000), 50_000_000, {
		help: "All files of one answer that are kept, in bytes",
		...LESS,
	}),
	receiveFilesMaxCount: received("files.receive.maxCount", whole(1, 1000), 100, {
		help: "Files of one answer that are kept",
		...LESS,
	}),
	receivedKeepDays: received("files.receive.keepDays", whole(0, 3650), 30, {
		help: "Days after which received files are deleted; `0` keeps them",
	}),
} as const satisfies KeyTable;
