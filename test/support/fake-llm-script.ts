/**
 * What the scripted model does with a request. The script is the LAST USER MESSAGE. Every line that starts with one of
 * the words below is a step; all other lines are ignored, so a script may stand inside a longer prompt. A message
 * without any step is echoed: `echo: <message>`. Pi's own compaction requests are not scripts; they get a summary.
 *
 * Text
 *   SAY text             one line of answer text (several SAYs are joined with newlines; \n is a newline)
 *   STREAM n [ms]        n text chunks `chunk-1 ` … `chunk-n `, ms apart
 *   REPEAT n text        text n times in one chunk
 *   THINK text           a reasoning delta before the text
 *   RESULT               the text of the newest tool results
 *   DUMP what            about this request: roles, tools, system, users, images, messages, params or headers
 *   FIND regex           `FOUND: a | b` over all earlier messages and the system prompt, or `NOT FOUND`
 * Tools
 *   CALL tool {json}     calls the tool, waits for its result, then the next step. When none follows, the answer is
 *                        the tool's result text.
 *   ALSO tool {json}     one more call in the same assistant turn as the CALL (or ALSO) before it
 *   RAWCALL tool text    like CALL, but the arguments are sent as they are
 * Time and failure
 *   SLEEP ms             waits
 *   HANG                 sends headers and then nothing until the client hangs up
 *   ERROR status [text]  answers with this HTTP status and an OpenAI-style error body
 *   FAIL n status [text] as ERROR for the first n attempts; attempt n+1 goes on with the next step
 *   CUT                  closes the socket in the middle of the stream, after `cut here`
 *   CUTONCE              as CUT on the first attempt; the second goes on with the next step
 *   LENGTH               finish reason `length`
 *   FILTER               finish reason `content_filter`
 *   EMPTY                no text at all (overrides the echo)
 *   USAGE in out         token counts to report
 *
 * Steps run in order. A CALL ends one request; the place is found again by counting the assistant turns with tool
 * calls after the last user message, so the server keeps no session state (only FAIL and CUTONCE count attempts).
 */

export interface ChatPart {
	readonly type?: string;
	readonly text?: string;
	readonly image_url?: { readonly url?: string };
}
export interface ChatMessage {
	readonly role: string;
	readonly content?: string | readonly ChatPart[] | null;
	readonly tool_calls?: readonly unknown[];
}
export interface ChatTool {
	readonly function?: { readonly name?: string };
	readonly name?: string;
}
export interface ChatBody {
	readonly model?: string;
	readonly stream?: boolean;
	readonly stream_options?: { readonly include_usage?: boolean };
	readonly messages?: readonly ChatMessage[];
	readonly tools?: readonly ChatTool[];
	readonly [other: string]: unknown;
}
export interface Image {
	readonly mime?: string;
	readonly bytes?: number;
	readonly url?: string;
}
export interface Step {
	readonly op: string;
	readonly arg: string;
}
export interface Plan {
	readonly userText: string;
	readonly all: readonly Step[];
	readonly rest: readonly Step[];
	/** Tool-call turns already answered. */
	readonly done: number;
	readonly resultText: string;
}

const STEP =
	/^\s*(SAY|STREAM|REPEAT|THINK|RESULT|DUMP|FIND|CALL|ALSO|RAWCALL|SLEEP|HANG|ERROR|FAIL|CUTONCE|CUT|LENGTH|FILTER|EMPTY|USAGE)\b[ \t]?(.*)$/;

/** Text of a message content: the string, or its text parts. */
export function textOf(content: ChatMessage["content"]): string {
	if (typeof content === "string") return content;
	if (!content) return "";
	return content.flatMap((part) => (part.type === "text" ? [part.text ?? ""] : [])).join("\n");
}

/** Images in a message content, as short descriptions. */
export function imagesOf(content: ChatMessage["content"]): readonly Image[] {
	if (typeof content === "string" || !content) return [];
	return content.flatMap((part): Image[] => {
		if (part.type !== "image_url") return [];
		const url = part.image_url?.url ?? "";
		const inline = /^data:([^;]+);base64,(.*)$/s.exec(url);
		if (!inline) return [{ url: url.slice(0, 80) }];
		return [{ mime: inline[1] ?? "", bytes: Buffer.from(inline[2] ?? "", "base64").length }];
	});
}

/** Pi sends the images of a tool result as one more user message; that one is not a script. */
function isToolImages(message: ChatMessage): boolean {
	return /^Attached image\(s\) from tool result/.test(textOf(message.content).trim());
}

function stepsOf(text: string): Step[] {
	return text.split(/\r?\n/).flatMap((line) => {
		const found = STEP.exec(line);
		return found ? [{ op: found[1] ?? "", arg: (found[2] ?? "").trim() }] : [];
	});
}

/** The first word and the rest. */
export function splitFirst(arg: string): readonly [string, string] {
	const found = /^(\S+)\s*([\s\S]*)$/.exec(arg);
	return [found?.[1] ?? "", found?.[2] ?? ""];
}

function afterCalls(all: readonly Step[], done: number): readonly Step[] {
	let seen = 0;
	for (let i = 0; i < all.length; i++) {
		const op = all[i]?.op;
		if (op !== "CALL" && op !== "RAWCALL") continue;
		seen++;
		if (seen < done) continue;
		let next = i + 1;
		while (all[next]?.op === "ALSO") next++;
		return all.slice(next);
	}
	return [];
}

/** The steps to run for this request: those after the CALLs that already have results. */
export function planFor(messages: readonly ChatMessage[]): Plan {
	const lastUser = messages.findLastIndex((message) => message.role === "user" && !isToolImages(message));
	const userText = textOf(messages[lastUser]?.content);
	const after = messages.slice(lastUser + 1);
	const calls = (message: ChatMessage) => message.role === "assistant" && (message.tool_calls?.length ?? 0) > 0;
	const done = after.filter(calls).length;
	const newest = after.findLastIndex(calls);
	const results = newest < 0 ? [] : after.slice(newest + 1).filter((message) => message.role === "tool");
	const summary = userText.trimStart().startsWith("<conversation>");
	const all = summary ? [{ op: "SAY", arg: `summary of ${userText.length} characters` }] : stepsOf(userText);
	return {
		userText,
		all,
		rest: done > 0 ? afterCalls(all, done) : all,
		done,
		resultText: results.map((message) => textOf(message.content)).join("\n"),
	};
}

export const toolNames = (body: ChatBody): readonly string[] =>
	(body.tools ?? []).map((tool) => tool.function?.name ?? tool.name ?? "");

/** The answer to DUMP. */
export function dump(what: string, body: ChatBody, headers: object): string {
	const messages = body.messages ?? [];
	const systems = messages.filter((message) => message.role === "system" || message.role === "developer");
	switch (what.trim()) {
		case "tools":
			return JSON.stringify(toolNames(body));
		case "system":
			return systems.map((message) => textOf(message.content)).join("\n---\n");
		case "users":
			return JSON.stringify(messages.filter((m) => m.role === "user").map((m) => textOf(m.content)));
		case "images":
			return JSON.stringify(messages.flatMap((message) => imagesOf(message.content)));
		case "messages":
			return JSON.stringify(messages);
		case "params":
			return JSON.stringify({ ...body, messages: undefined, tools: undefined });
		case "headers":
			return JSON.stringify(headers);
		default:
			return JSON.stringify(messages.map((message) => message.role));
	}
}

/** The answer to FIND: matches in everything but the script itself. */
export function find(pattern: string, messages: readonly ChatMessage[], script: string): string {
	const earlier = messages.map((m) => textOf(m.content)).filter((text) => text !== script);
	const hits = [...earlier.join("\n").matchAll(new RegExp(pattern, "g"))].map((match) => match[0]);
	return hits.length > 0 ? `FOUND: ${hits.join(" | ")}` : "NOT FOUND";
}
