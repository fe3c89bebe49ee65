/** The extended card (§3.1.11). */
import type { Call } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";
import type { AgentCard, GetExtendedAgentCardRequest } from "../protocol/types.ts";

/** Answers with what `card` gives; throws ExtendedAgentCardNotConfiguredError when that is nothing. */
export function cardOperation(card: () => AgentCard | undefined) {
	return (_params: GetExtendedAgentCardRequest, _call: Call): AgentCard => {
		const extended = card();
		if (!extended) throw new A2AError("ExtendedAgentCardNotConfiguredError");
		return extended;
	};
}
