/** The queue of messages to peers that cannot be reached, put together. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { Config } from "./config/keys.ts";
import type { Clock } from "./lib/clock.ts";
import type { Log } from "./lib/log.ts";
import type { Outbound } from "./peers/outbound.ts";
import { createQueue, type Queue, type QueueParts } from "./peers/queue.ts";
import { createQueueStore } from "./peers/queue-store.ts";

const HOUR_MS = 3_600_000;

export interface QueueingParts extends Pick<QueueParts, "homecoming"> {
	/** What sends, at each use. */
	readonly outbound: () => Pick<Outbound, "deliver">;
	readonly agentDir: string;
	/** The configuration in force. */
	readonly config: () => Config;
	readonly clock: Clock;
	readonly log: Log;
}

/** The queue of this workspace's sessions. It delivers from now on where it is switched on, else from its `start` on. */
export function createQueueing({ agentDir, config, outbound, homecoming, clock, log }: QueueingParts): Queue {
	const place = createHash("sha256").update(config().workspace).digest("hex").slice(0, 12);
	const queue = createQueue({
		store: createQueueStore(join(agentDir, "a2a_queue", place), clock, log),
		limits() {
			const { queueOut: on, queueOutMaxAgeHours, queueOutMaxCount: maxCount } = config();
			return { on, maxAgeMs: queueOutMaxAgeHours * HOUR_MS, maxCount };
		},
		deliver: (entry, sending) => outbound().deliver(entry, sending),
		homecoming,
		clock,
		log,
	});
	if (config().queueOut) queue.start();
	return queue;
}
