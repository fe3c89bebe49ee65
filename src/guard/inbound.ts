/** Placeholder until the guard's own framing stands here. */
import { textOf } from "../protocol/parts.ts";
import type { Message } from "../protocol/types.ts";

/** The message as a model reads it. */
export function framePrompt(message: Message, opts: { readonly peer: string; readonly label: string }): string {
	return `Message from ${opts.peer} (${opts.label}):\n${textOf(message.parts)}\nEnd of message.`;
}
