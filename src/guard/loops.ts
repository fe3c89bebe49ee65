/** Work that agents hand on must not come back to one of them: each says in `pi/path` who has passed it on already. */
import { remember } from "../lib/bounded.ts";
import { newId } from "../lib/ids.ts";
import { oneLine } from "../lib/text.ts";
import type { Policy } from "../protocol/agent.ts";
import { A2AError } from "../protocol/errors.ts";
import type { Json } from "../protocol/types.ts";

/** Key of the path in a message's metadata: texts `name#id`, who began first. */
export const PATH = "pi/path";

const MAX_AGENTS = 32;
const MAX_LETTERS = 120;
const MAX_CALLS = 10_000;

export interface LoopGuard {
	/** Refuses work that we have passed on before. An answer to a question of ours may always come. */
	readonly policy: Policy;
	/** The path for work that we pass on; `trace` is the `traceparent` by which it came to us, absent for our own. */
	path(trace: string | undefined): readonly string[];
}

/** The agents in `said`, as far as it is a path. */
function pathIn(said: Json | undefined): readonly string[] {
	if (!Array.isArray(said)) return [];
	return said
		.filter((each) => typeof each === "string")
		.slice(-MAX_AGENTS)
		.map((each) => oneLine(each, MAX_LETTERS));
}

const nameOf = (agent: string): string => agent.replace(/#[^#]*$/, "") || "?";

/** The guard of one agent. `name` is read at each use; `id` tells it from others of the same name. */
export function loopGuard(name: () => string, id: string = newId("agent").slice(-8)): LoopGuard {
	const mark = `#${id}`;
	const self = () => `${oneLine(name(), MAX_LETTERS - mark.length)}${mark}`;
	/** By the `traceparent` of the call, which no two calls share. */
	const paths = new Map<string, readonly string[]>();
	return {
		policy({ operation, params, call }) {
			if (operation !== "SendMessage" && operation !== "SendStreamingMessage") return undefined;
			const { metadata, taskId } = params.message;
			const path = pathIn(metadata?.[PATH]);
			const at = path.findIndex((agent) => agent.endsWith(mark));
			if (at !== -1 && taskId === undefined) {
				const circle = [...path.slice(at), self()].map(nameOf).join(" → ");
				const text = `This work would go in a circle: ${circle}. Do it yourself, or report back what is missing`;
				throw new A2AError("TurnLimitError", text);
			}
			if (call.trace !== undefined && path.length > 0) remember(paths, call.trace, path, MAX_CALLS);
			return undefined;
		},
		path: (trace) => [...((trace !== undefined && paths.get(trace)) || []), self()].slice(-MAX_AGENTS),
	};
}
