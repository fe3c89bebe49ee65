/** What a peer says that its work used: read from the metadata of a task, in the shapes that agents use. Pure. */
import { isObject } from "../protocol/json.ts";
import type { JsonObject } from "../protocol/types.ts";

/** Tokens, US dollars, milliseconds, as the peer says; what it does not say is absent. */
export interface Used {
	readonly inputTokens?: number;
	readonly outputTokens?: number;
	readonly totalTokens?: number;
	readonly costUsd?: number;
	readonly durationMs?: number;
	readonly model?: string;
}

/** Where it stands, in order. */
const PLACES = ["pi/usage", "usage", "usage_metadata", "usageMetadata", "adk_usage_metadata", "token_usage"];

/** The names of each number, by who says them. */
const NUMBERS = {
	inputTokens: [
		"inputTokens",
		"input_tokens",
		"prompt_tokens",
		"promptTokens",
		"promptTokenCount",
		"prompt_token_count",
	],
	outputTokens: [
		...["outputTokens", "output_tokens", "completion_tokens", "completionTokens"],
		...["candidatesTokenCount", "candidates_token_count"],
	],
	totalTokens: ["totalTokens", "total_tokens", "totalTokenCount", "total_token_count"],
	costUsd: ["costUsd", "cost_usd", "total_cost_usd"],
	durationMs: ["durationMs", "duration_ms"],
} as const;

/** What `metadata` says was used; undefined when it says nothing. */
export function usedIn(metadata: JsonObject | undefined): Used | undefined {
	const places: readonly unknown[] = PLACES.map((name) => metadata?.[name]);
	const place = places.find(isObject);
	if (!place) return undefined;
	const numbers = Object.entries(NUMBERS).flatMap(([key, names]) => {
		const value = names.map((name) => place[name]).find((each) => typeof each === "number" && each >= 0);
		return value === undefined ? [] : [[key, value]];
	});
	const { model } = place;
	const used: Used = { ...Object.fromEntries(numbers), ...(typeof model === "string" && model ? { model } : {}) };
	return Object.keys(used).length > 0 ? used : undefined;
}
