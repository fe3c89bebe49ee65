/** Keeps the process running for somebody who waits. */

/** Longest delay that `setInterval` honours. */
const LONGEST = 2 ** 31 - 1;

/**
 * What `work` gives; the process does not exit by itself before that. The timers of a `Clock` keep no process alive,
 * so without this a program with nothing else to do would end in a pause before the next try.
 */
export async function keptAlive<T>(work: () => Promise<T>): Promise<T> {
	const hold = setInterval(() => undefined, LONGEST);
	try {
		return await work();
	} finally {
		clearInterval(hold);
	}
}
