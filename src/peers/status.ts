/** How a task that was dispatched before stands. */
import type { Connection } from "../bindings/binding.ts";
import type { TaskId } from "../protocol/types.ts";
import { bounds } from "./bounds.ts";
import type { CallParts } from "./call.ts";
import { PeerError, type PeerReply, type Progress } from "./reply.ts";
import { isSettled } from "./seen.ts";
import { Work } from "./work.ts";

export interface StatusRequest {
	readonly taskId: TaskId;
	/** Milliseconds to wait for the end; 0 asks once. */
	readonly waitMs: number;
	/** The caller gives up waiting; the task goes on. */
	readonly signal: AbortSignal;
	readonly onProgress?: ((progress: Progress) => void) | undefined;
}

/**
 * Asks once, or until the task ends, asks something, or `waitMs` has passed (then the reply is `running`). Throws a
 * `PeerError` as `callPeer` does, also for a task that the peer does not know.
 */
export async function taskStatus(
	connection: Connection,
	request: StatusRequest,
	parts: Pick<CallParts, "peer" | "clock" | "pollMs" | "clean">,
): Promise<PeerReply> {
	const { taskId, waitMs, signal, onProgress } = request;
	const work = new Work({ ...parts, connection, taskId, onProgress });
	const within = bounds(parts.clock, waitMs, signal);
	try {
		// The first answer is worth having even when it comes after the time to wait.
		await work.fetch(taskId, signal);
		if (waitMs > 0 && !isSettled(work.seen)) await work.follow(within.signal);
		return work.conclude();
	} catch (error) {
		if (error instanceof PeerError) throw error;
		if (within.ended === "stopped") {
			throw new PeerError(`${parts.peer}: waiting was stopped; task ${taskId} goes on at the peer.`, {
				peer: parts.peer,
				state: work.seen.task?.status.state,
				taskId,
			});
		}
		if (within.ended === "limit" && work.seen.task) {
			work.note(`Still running after ${Math.round(waitMs / 100) / 10} s. Ask again later.`);
			return work.conclude();
		}
		throw work.explain(error);
	} finally {
		within.release();
	}
}
