/** The settings of the audit log as its file takes them. */

import type { Config } from "./config/keys.ts";
import type { JsonlLimits } from "./lib/jsonl.ts";

/** When a file of the audit log is full, and how many stay. */
export function auditLimits(config: () => Config): JsonlLimits {
	return {
		get maxBytes() {
			return config().auditMaxMegabytes * 1_000_000;
		},
		get maxAgeMs() {
			return (config().auditMaxAgeDays || Number.POSITIVE_INFINITY) * 86_400_000;
		},
		get keep() {
			return config().auditKeep;
		},
	};
}
