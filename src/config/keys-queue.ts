/** Keys of the queue of messages to peers that cannot be reached. */
import { flag, whole } from "./key-kinds.ts";
import { type KeyTable, rows } from "./row.ts";

const queue = rows("Outbound queue", "none", "it decides what of your words is kept, and sent when you do not look");

export const QUEUE_KEYS = {
	queueOut: queue("queue.enabled", flag(), false, {
		env: "A2A_QUEUE",
		help: "Keeps a message to a peer that cannot be reached, and delivers it when the peer is back",
	}),
	queueOutMaxAgeHours: queue("queue.maxAgeHours", whole(1, 24 * 365), 24, {
		help: "Hours that a message waits for its peer; then the session is told that it was not delivered",
	}),
	queueOutMaxCount: queue("queue.maxCount", whole(1, 1000), 100, {
		help: "Messages that a session keeps; one more is refused",
	}),
} as const satisfies KeyTable;
