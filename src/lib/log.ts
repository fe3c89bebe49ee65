/** Where a part says what went wrong without failing. Where it ends up is the host's business. */

export interface Log {
	/** Something was not done. `text` is one sentence; `cause` is for the reader of a log file, never for a peer. */
	warn(text: string, cause?: unknown): void;
	/** Something worth knowing was done. */
	info(text: string): void;
}

/** Says nothing. */
export const nullLog: Log = { warn: () => undefined, info: () => undefined };

/**
 * Best effort: the result of `fn`, or `undefined` after one line in the log when it throws. `what` completes
 * "Could not …", such as `write the audit entry`.
 */
export async function attempt<T>(what: string, fn: () => T | Promise<T>, log: Log): Promise<T | undefined> {
	try {
		return await fn();
	} catch (error) {
		log.warn(`Could not ${what}`, error);
		return undefined;
	}
}
