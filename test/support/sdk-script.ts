/** What the agents behind the SDKs' servers do with a message: its first word says it. In no SDK's terms. */

/** A state as 0.3 spells it; 1.0 says `TASK_STATE_INPUT_REQUIRED` for `input-required`. */
export type State =
	| "submitted"
	| "working"
	| "input-required"
	| "auth-required"
	| "completed"
	| "failed"
	| "rejected"
	| "canceled";

/** One thing that an agent says. */
export type Step =
	| { readonly state: State; readonly text?: string }
	| { readonly artifact: string; readonly text: string; readonly append?: boolean; readonly last?: boolean }
	/** A message instead of a task; only as the first step. */
	| { readonly message: string };

/** Resolves after `ms`, or as soon as `signal` aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		const done = () => {
			clearTimeout(timer);
			signal.removeEventListener("abort", done);
			resolve();
		};
		const timer = setTimeout(done, ms);
		signal.addEventListener("abort", done);
		if (signal.aborted) done();
	});
}

/** Plays the part that `words` ask for. `resumed`: they answer a question of the same task. */
export async function* play(
	words: string,
	resumed: boolean,
	signal: AbortSignal,
): AsyncGenerator<Step, void, undefined> {
	const [, word = "", rest = ""] = /^(\S+)\s?([\s\S]*)$/.exec(words) ?? [];
	if (word === "message") return yield { message: rest };
	if (word === "reject") return yield { state: "rejected", text: "I will not do this." };
	yield { state: "working" };
	if (resumed) {
		yield { artifact: "answer", text: `You said: ${words}`, last: true };
		return yield { state: "completed" };
	}
	switch (word) {
		case "ask":
			return yield { state: "input-required", text: "Which colour?" };
		case "auth":
			return yield { state: "auth-required", text: "Please log in." };
		case "fail":
			return yield { state: "failed", text: "It did not work." };
		case "give-up":
			return yield { state: "canceled", text: "I was told to stop." };
		case "quiet":
			return yield { state: "completed", text: rest };
		case "two":
			yield { artifact: "first", text: "one", last: true };
			yield { artifact: "second", text: "two", last: true };
			break;
		case "chunks":
			for (let n = 0; n < Number(rest); n++) {
				yield { artifact: "chunks", text: `chunk-${n};`, append: n > 0, last: n === Number(rest) - 1 };
				await pause(10, signal);
			}
			break;
		case "slow":
			await pause(Number(rest) / 2, signal);
			yield { state: "working", text: "half way" };
			await pause(Number(rest) / 2, signal);
			yield { artifact: "slow", text: `slept ${rest}`, last: true };
			break;
		default:
			yield { artifact: "reply", text: rest, last: true };
	}
	yield { state: "completed" };
}

/** The agents at work behind one server, to be stopped by task id. */
export class Players {
	readonly #running = new Map<string, AbortController>();
	/** Ids of tasks that were told to stop. */
	readonly canceled: string[] = [];

	/** Plays `words` for a task until it is done or told to stop; `say` puts each step into the SDK's terms. */
	async run(taskId: string, words: string, resumed: boolean, say: (step: Step) => void): Promise<void> {
		const controller = new AbortController();
		this.#running.set(taskId, controller);
		try {
			for await (const step of play(words, resumed, controller.signal)) {
				if (controller.signal.aborted) return;
				say(step);
			}
		} finally {
			this.#running.delete(taskId);
		}
	}

	/** Stops the agent of a task. */
	stop(taskId: string): void {
		this.canceled.push(taskId);
		this.#running.get(taskId)?.abort();
	}

	/** Stops them all. */
	close(): void {
		for (const controller of this.#running.values()) controller.abort();
	}
}
