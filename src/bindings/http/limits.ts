/** The time limits of one call. They are ours and the only ones: `node:http` sets none of its own. */
import type { Clock } from "../../lib/clock.ts";

/** Follows a signal and adds a limit that can be set, moved and lifted. Release it when the call is over. */
export class Limit {
	readonly #clock: Clock;
	readonly #parent: AbortSignal;
	readonly #controller = new AbortController();
	#cancel: (() => void) | undefined;

	constructor(clock: Clock, parent: AbortSignal) {
		this.#clock = clock;
		this.#parent = parent;
		if (parent.aborted) this.#follow();
		else parent.addEventListener("abort", this.#follow, { once: true });
	}

	/** Aborts with the parent's reason, or with the error of the limit that passed. */
	get signal(): AbortSignal {
		return this.#controller.signal;
	}

	/** `ms` from now the signal aborts with `error()`; replaces the limit that was set. 0 means no limit. */
	set(ms: number, error: () => Error): void {
		this.lift();
		if (ms > 0) this.#cancel = this.#clock.after(ms, () => this.#controller.abort(error()));
	}

	lift(): void {
		this.#cancel?.();
		this.#cancel = undefined;
	}

	release(): void {
		this.lift();
		this.#parent.removeEventListener("abort", this.#follow);
	}

	readonly #follow = (): void => this.#controller.abort(this.#parent.reason);
}

/** `2.5 s` */
export const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`;
