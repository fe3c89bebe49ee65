/** The work of `crash-server.ts`, for those who check what has become of it. */

/** The file in its folder with the id of each message that was worked on, one a line. */
export const TALLY = "tally.txt";

/** What the agent answers to `words COUNT SEED`, in the pieces in which it does. */
export function pieces(text: string): string[] {
	const [, count = 1, seed = ""] = /^words (\d+) (\S+)/.exec(text) ?? [];
	return Array.from({ length: Number(count) }, (_, n) => `${seed}-${n};`);
}
