/** What a turn used, and a task in all its turns. Pure. */
import type { Json, JsonObject } from "../protocol/types.ts";

/** Tokens, US dollars, milliseconds. What the host does not know is absent. */
export interface Usage {
	readonly inputTokens?: number;
	readonly outputTokens?: number;
	readonly cacheReadTokens?: number;
	readonly cacheWriteTokens?: number;
	readonly costUsd?: number;
	/** Answers of the model. */
	readonly turns?: number;
	/** Time at work. */
	readonly durationMs?: number;
	/** `provider/id` */
	readonly model?: string;
}

/** The key in the metadata of a task. */
export const USAGE = "pi/usage";

/** `before`, as it stands in the metadata of a task that has had turns already, and `now` together. */
export function added(before: Json | undefined, now: Usage): JsonObject {
	const earlier = (typeof before === "object" && before !== null ? before : {}) as JsonObject;
	const sum = Object.entries(now).map(([key, value]): [string, Json] => {
		const had = earlier[key];
		return [key, typeof value === "number" && typeof had === "number" ? had + value : value];
	});
	return { ...earlier, ...Object.fromEntries(sum) };
}
