/** What reading a peer's objects has in common, cards and replies alike. */
import { Mismatch } from "./decode-base.ts";
import { A2AError } from "./errors.ts";
import { isDeeperThan, MAX_DEPTH } from "./json.ts";

/** `read` over a peer's value; what is wrong becomes one short `InvalidAgentResponseError` (§3.3.2). */
export function tolerantly<T>(what: string, read: (value: unknown) => T): (value: unknown) => T {
	return (value) => {
		if (isDeeperThan(value, MAX_DEPTH))
			throw new A2AError(
				"InvalidAgentResponseError",
				`The peer's ${what} is nested more than ${MAX_DEPTH} levels deep`,
			);
		try {
			return read(value);
		} catch (error) {
			if (!(error instanceof Mismatch)) throw error;
			const where = error.path === "" ? "" : `${error.path} `;
			throw new A2AError("InvalidAgentResponseError", `The peer's ${what} is not valid A2A: ${where}${error.problem}`);
		}
	};
}
