/** Keys of a busy server: who waits, for how long, and how it stops. */
import { LONGEST_SEC } from "./entries.ts";
import { whole } from "./key-kinds.ts";
import { type KeyTable, LESS, rows } from "./row.ts";

const limit = rows("Limits", "none", "it decides how much of your model others may use");

export const QUEUE_IN_KEYS = {
	queueSize: limit("server.queue.size", whole(0, 1000), 0, {
		env: "A2A_QUEUE_SIZE",
		help: "Requests beyond `server.maxConcurrent` that may wait for a slot; 0: they are refused as busy",
	}),
	queueMaxWaitSec: limit("server.queue.maxWaitSec", whole(0, LONGEST_SEC, "no limit"), 600, {
		help: "Seconds that a request may wait for a slot before its task is FAILED",
		...LESS,
	}),
	maxDetached: limit("server.maxDetached", whole(0, 1000, "no limit"), 0, {
		env: "A2A_MAX_DETACHED",
		help: "Slots that tasks may hold for which nobody waits, so that the others stay free for calls that wait",
	}),
	drainSec: limit("server.drainSec", whole(0, 86_400), 0, {
		env: "A2A_DRAIN",
		help: "Seconds that running tasks get to end after `/a2a-server stop`; new ones are refused meanwhile",
		why: "it decides how long others may use your model when you have stopped the server",
	}),
} as const satisfies KeyTable;
