/**
 * Turns the events of a Pi session into what a peer gets: the reply text as it is written, activities, the ending.
 * Pure: events in, run events out. The answer is taken from `message_end` and not from the session's messages, since
 * Pi 1.x removes cut-off answers from those.
 */
import type { RunEvent } from "../agent/runner.ts";
import { oneLine } from "../lib/text.ts";
import { reasonOf } from "./session-reason.ts";

type Fields = { readonly [key: string]: unknown };
const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const str = (value: unknown): string => (typeof value === "string" ? value : "");

/** A reply that begins so is a question to the caller. */
const MARK = "[INPUT_REQUIRED]";
const BETWEEN = "\n\n";
/** The argument that says most about a tool call, in order of preference. */
const TELLING = ["command", "path", "file_path", "pattern", "query", "url", "name"];

/** One line about a tool call. */
function detailOf(args: unknown): string {
	const given = fields(args);
	const key = TELLING.find((name) => str(given[name]) !== "");
	if (key !== undefined) return oneLine(str(given[key]), 160);
	return Object.keys(given).length > 0 ? oneLine(JSON.stringify(given), 160) : "";
}

function textOf(message: Fields): string {
	const content = Array.isArray(message.content) ? message.content : [];
	return content.map((part) => (fields(part).type === "text" ? str(fields(part).text) : "")).join("");
}

/** What stands behind the mark. */
const questionIn = (text: string): string =>
	text
		.trim()
		.slice(MARK.length)
		.replace(/^[:\s]+/, "");

/** How the session's run ended, as far as events do not tell. */
export interface Outcome {
	/** `prompt` rejected with this. */
	readonly error?: unknown;
	/** The question that the model put to the caller through its tool. */
	readonly asked?: string | undefined;
	/** Files were given back. */
	readonly attached?: boolean;
}

export class Reply {
	readonly #hidden: ReadonlySet<string>;
	/** Text of the finished messages, as it was given out. */
	#kept = "";
	/** What was given out of the message being written, separator included. */
	#given = "";
	/** Text of the message being written, or of the last one. */
	#text = "";
	#mode: "unknown" | "text" | "question" = "unknown";
	#writing = false;
	#last: Fields | undefined;
	#retries = 0;

	/** `hidden`: tools whose calls are no activity, such as asking the caller. */
	constructor(hidden: readonly string[] = []) {
		this.#hidden = new Set(hidden);
	}

	/** The next event of the session. */
	on(event: object): RunEvent[] {
		const it = fields(event);
		const message = fields(it.message);
		switch (it.type) {
			case "message_start":
				return message.role === "assistant" ? this.#begin() : [];
			case "message_update": {
				const update = fields(it.assistantMessageEvent);
				return update.type === "text_delta" ? this.#write(str(update.delta)) : [];
			}
			case "message_end":
				return message.role === "assistant" ? this.#finish(message) : [];
			case "tool_execution_start":
				return this.#tool(it, { type: "tool", name: str(it.toolName), detail: detailOf(it.args) });
			case "tool_execution_end":
				return this.#tool(it, {
					type: "tool-end",
					name: str(it.toolName),
					...(it.isError === true ? { failed: true } : {}),
				});
			case "auto_retry_start": {
				this.#retries = Number(it.attempt) || this.#retries + 1;
				const detail = oneLine(`attempt ${this.#retries}: ${reasonOf(it.errorMessage)}`, 160);
				return [{ type: "activity", activity: { type: "retry", name: "retry", detail } }];
			}
			case "auto_retry_end":
				if (it.success === true) this.#retries = 0;
				return [];
			case "compaction_start":
				return [{ type: "activity", activity: { type: "compaction", name: "compaction" } }];
			default:
				return [];
		}
	}

	/** The ending. Call it once, when the run has ended and was not stopped from outside. */
	end({ error, asked, attached = false }: Outcome): RunEvent {
		if (error !== undefined) return { type: "failed", reason: reasonOf(error) };
		const stop = str(this.#last?.stopReason);
		if (stop === "error") {
			const after = this.#retries > 0 ? ` (after ${this.#retries} ${this.#retries === 1 ? "retry" : "retries"})` : "";
			return { type: "failed", reason: `${reasonOf(this.#last?.errorMessage)}${after}` };
		}
		if (stop === "aborted") return { type: "failed", reason: "the run was stopped on the agent's side" };
		if (asked !== undefined) return { type: "input-required", question: asked };
		if (this.#mode === "question") {
			const question = questionIn(this.#text) || "The agent needs an answer to go on.";
			return { type: "input-required", question };
		}
		if (stop === "length" && this.#text.trim() === "") return unusable("length stop");
		if (this.#last === undefined) return unusable("no output");
		if ((this.#kept + this.#given).trim() === "" && !attached) return unusable("empty answer");
		// Not an error: the caller has the text and may ask for more.
		return stop === "length" ? { type: "completed", metadata: { "pi/stopReason": stop } } : { type: "completed" };
	}

	#tool(it: Fields, activity: Extract<RunEvent, { type: "activity" }>["activity"]): RunEvent[] {
		if (this.#hidden.has(str(it.toolName))) return [];
		const { detail, ...rest } = activity;
		return [{ type: "activity", activity: detail ? { ...rest, detail } : rest }];
	}

	/** A new message. One that was cut off before it is void: the model was asked again. */
	#begin(): RunEvent[] {
		const events: RunEvent[] = [];
		const cutOff = ["error", "length", "aborted"].includes(str(this.#last?.stopReason));
		if (cutOff && this.#given !== "") {
			events.push({ type: "restart" });
			if (this.#kept !== "") events.push({ type: "text", delta: this.#kept });
		} else if (!cutOff) {
			// A question with work after it was none: it belongs to the reply.
			if (this.#mode === "question") events.push(...this.#give(questionIn(this.#text)));
			this.#kept += this.#given;
		}
		this.#given = "";
		this.#text = "";
		this.#mode = "unknown";
		this.#writing = true;
		return events;
	}

	#write(delta: string): RunEvent[] {
		const events = this.#writing ? [] : this.#begin();
		this.#text += delta;
		if (this.#mode === "text") return [...events, ...this.#give(delta)];
		if (this.#mode === "question") return events;
		const start = this.#text.trimStart();
		if (MARK.startsWith(start) && start !== MARK) return events; // may still become the mark
		this.#mode = start.startsWith(MARK) ? "question" : "text";
		return this.#mode === "text" ? [...events, ...this.#give(this.#text)] : events;
	}

	/** The whole message is known: what did not come in pieces, or was changed by an extension, goes out now. */
	#finish(message: Fields): RunEvent[] {
		const events = this.#writing ? [] : this.#begin();
		const whole = textOf(message);
		const written = this.#text;
		if (whole.startsWith(written)) events.push(...this.#write(whole.slice(written.length)));
		else {
			if (this.#given !== "") events.push({ type: "restart" });
			if (this.#given !== "" && this.#kept !== "") events.push({ type: "text", delta: this.#kept });
			this.#given = "";
			this.#text = "";
			this.#mode = "unknown";
			events.push(...this.#write(whole));
		}
		if (this.#mode === "unknown" && this.#text.trim() !== "") events.push(...this.#give(this.#text));
		this.#writing = false;
		this.#last = message;
		return events;
	}

	#give(text: string): RunEvent[] {
		if (text === "") return [];
		const delta = this.#given === "" && this.#kept !== "" ? BETWEEN + text : text;
		this.#given += delta;
		return [{ type: "text", delta }];
	}
}

const unusable = (why: string): RunEvent => ({ type: "failed", reason: `no usable reply was produced (${why})` });
