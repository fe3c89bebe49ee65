/** The body of an answer while it comes in. */
import type { IncomingMessage } from "node:http";

/** So much is read ahead of whoever takes it, in bytes. */
const AHEAD = 1024 * 1024;

/**
 * Takes chunks off the wire as they arrive, so that what arrived before a connection broke is not lost with it (a
 * Node stream that is destroyed forgets what it had buffered), and so that an abort is told from an end.
 */
export class Incoming {
	readonly #response: IncomingMessage;
	readonly #signal: AbortSignal;
	#queue: Buffer[] = [];
	#held = 0;
	#ended = false;
	#failed: { readonly error: unknown } | undefined;
	#wake: (() => void) | undefined;

	/** `signal` ends the reading with its reason; whoever listens to it cuts the connection. */
	constructor(response: IncomingMessage, signal: AbortSignal) {
		this.#response = response;
		this.#signal = signal;
		response.on("data", (chunk: Buffer) => {
			this.#queue.push(chunk);
			this.#held += chunk.length;
			if (this.#held > AHEAD) response.pause();
			this.#stir();
		});
		response.once("end", () => {
			this.#ended = true;
			this.#stir();
		});
		response.on("error", (error) => this.fail(error));
		response.once("close", () => {
			signal.removeEventListener("abort", this.#aborted);
			if (!this.#ended) this.fail(new Error("the connection was closed"));
		});
		signal.addEventListener("abort", this.#aborted, { once: true });
		if (signal.aborted) this.#aborted();
	}

	/** The chunks in order. Throws the reason of the signal, or what broke the connection, once all that came is taken. */
	async *chunks(): AsyncGenerator<Buffer, void, undefined> {
		for (;;) {
			if (this.#signal.aborted) throw this.#signal.reason;
			const chunk = this.#queue.shift();
			if (chunk) {
				this.#held -= chunk.length;
				if (this.#held <= AHEAD) this.#response.resume();
				yield chunk;
				continue;
			}
			if (this.#failed) throw this.#failed.error;
			if (this.#ended) return;
			await new Promise<void>((resolve) => {
				this.#wake = resolve;
			});
		}
	}

	/** Nobody reads on: the connection is closed, unless everything has come and it can serve again. */
	drop(): void {
		this.#queue = [];
		if (!this.#ended) this.#response.destroy();
	}

	readonly #aborted = (): void => this.#stir();

	/** The connection failed. Node takes that for the regular end of a body that has no length, so it is told here. */
	fail(error: unknown): void {
		this.#failed ??= { error };
		this.#stir();
	}

	#stir(): void {
		const wake = this.#wake;
		this.#wake = undefined;
		wake?.();
	}
}
