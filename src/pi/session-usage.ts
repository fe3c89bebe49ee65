/** What a run used, counted from the events of a Pi session: what the host reports, and nothing made up. Pure. */
import type { Usage } from "../agent/usage.ts";

type Fields = { readonly [key: string]: unknown };
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const amount = (value: unknown): number =>
	typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;

export class Meter {
	readonly #tokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 };
	#cost: number | undefined;
	#turns = 0;
	#model: string | undefined;

	/** The next event of the session. */
	on(event: object): void {
		const { type, message } = event as { type?: unknown; message?: unknown };
		const said = fields(message);
		if (type !== "message_end" || said.role !== "assistant") return;
		const usage = fields(said.usage);
		const cost = fields(usage.cost).total;
		this.#turns += 1;
		this.#tokens.inputTokens += amount(usage.input);
		this.#tokens.outputTokens += amount(usage.output);
		this.#tokens.cacheReadTokens += amount(usage.cacheRead);
		this.#tokens.cacheWriteTokens += amount(usage.cacheWrite);
		if (typeof cost === "number") this.#cost = (this.#cost ?? 0) + amount(cost);
		if (typeof said.model === "string") {
			this.#model = typeof said.provider === "string" ? `${said.provider}/${said.model}` : said.model;
		}
	}

	/** All of it; `undefined` when no model has answered. */
	total(durationMs: number): Usage | undefined {
		if (this.#turns === 0) return undefined;
		return {
			...this.#tokens,
			// Sums of fractions of cents: without the dust of binary fractions.
			...(this.#cost === undefined ? {} : { costUsd: Number(this.#cost.toFixed(8)) }),
			turns: this.#turns,
			durationMs: Math.round(durationMs),
			...(this.#model === undefined ? {} : { model: this.#model }),
		};
	}
}
