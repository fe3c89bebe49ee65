/** The settings of a session that serves a peer: the host's own, with what unattended work needs. Pure. */

export type Settings = { readonly [key: string]: unknown };

/** What the session manager of the host loads by itself; a session that serves a peer is handed its files. */
const RESOURCES = ["packages", "extensions", "skills", "prompts", "themes"];

const objectOf = (value: unknown): Settings =>
	typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Settings) : {};

const positive = (value: unknown): number | undefined => (typeof value === "number" && value > 0 ? value : undefined);

/** Merges a project's settings over the user's as Pi does: nested objects one level deep, the rest replaced. */
export function mergeSettings(user: Settings, project: Settings): Settings {
	const merged: { [key: string]: unknown } = { ...user };
	for (const [key, value] of Object.entries(project)) {
		const nested = typeof value === "object" && value !== null && !Array.isArray(value);
		merged[key] = nested ? { ...objectOf(user[key]), ...value } : value;
	}
	return merged;
}

/**
 * Settings for a model with `contextWindow` tokens (undefined: not known). A long task must survive its context window,
 * so compaction is on whatever the user chose for the terminal; what it keeps and what it leaves free follow the size
 * of the window, since Pi's fixed numbers are larger than a small model's whole window.
 */
export function childSettings(host: Settings, contextWindow: number | undefined): Settings {
	const kept = Object.fromEntries(Object.entries(host).filter(([key]) => !RESOURCES.includes(key)));
	const compaction = objectOf(host.compaction);
	const retry = objectOf(host.retry);
	const window = positive(contextWindow) ?? 128_000;
	return {
		...kept,
		compaction: {
			...compaction,
			enabled: true,
			reserveTokens: Math.min(positive(compaction.reserveTokens) ?? 16_384, Math.floor(window / 4)),
			keepRecentTokens: Math.min(positive(compaction.keepRecentTokens) ?? window, Math.floor(window * 0.15)),
		},
		// Pi retries by itself; a second layer below it would multiply the waits.
		retry: { enabled: true, ...retry, provider: { maxRetries: 0, ...objectOf(retry.provider) } },
	};
}
