/** `/a2a-send` and `/a2a-broadcast`: what the user sends by hand. */
import { oneLine, plain } from "../lib/text.ts";
import type { FanOutcome } from "../peers/fanout.ts";
import type { PeerReply, Progress } from "../peers/reply.ts";
import { firstWord, flag, flags, unquoted } from "./command-args.ts";
import type { CommandSetting } from "./command-run.ts";
import { UsageError } from "./commands.ts";
import { failureText, headline, progressText } from "./format.ts";
import { contentLines } from "./format-content.ts";

/** A footer that changes faster is not read. */
const FOOTER_EVERY_MS = 250;

/** What a call by hand runs under: it can be stopped with Esc and is seen in the footer. */
interface Watch {
	readonly signal: AbortSignal;
	readonly onProgress: (peer: string, progress: Progress) => void;
	end(): void;
}

function watch(agents: string, { screen, clock, signal }: CommandSetting): Watch {
	const stop = new AbortController();
	const leave = screen.onEscape(() => stop.abort());
	const show = (line: string) => {
		const short = oneLine(line, 90);
		screen.working(screen.mode === "tui" ? `${short} · Esc stops it` : short);
	};
	let at = Number.NEGATIVE_INFINITY;
	let shown = "";
	show(headline({ peer: agents, state: "calling" }));
	return {
		signal: AbortSignal.any([signal, stop.signal]),
		onProgress(peer, progress) {
			const news = `${peer} ${progress.state} ${progress.activity}`;
			if (news === shown && clock.now() - at < FOOTER_EVERY_MS) return;
			at = clock.now();
			shown = news;
			show(progressText(peer, { ...progress, text: "" }));
		},
		end() {
			leave();
			screen.working(undefined);
		},
	};
}

/** A reply as people read it, with what they can do next. */
function replyLines(agent: string, reply: PeerReply): string[] {
	const next = reply.question !== undefined ? "To answer" : "To follow up";
	const name = /\s/.test(agent) ? `"${agent}"` : agent;
	return [
		headline(reply),
		plain(reply.question ?? reply.text).trim(),
		...contentLines(reply),
		reply.running ? `It is still running there; ask for task ${reply.taskId ?? "?"} with a2a_status.` : "",
		...reply.notes.map((note) => oneLine(note, 400)),
		reply.contextId && !reply.running
			? `${next}: /a2a-send ${oneLine(name, 120)} --context ${reply.contextId} <msg>`
			: "",
	].filter((line) => line !== "");
}

export async function send(args: string, setting: CommandSetting): Promise<void> {
	const [agent, rest] = firstWord(args);
	const { values, rest: text } = flags(rest, ["context", "file"]);
	const contextId = values.context.at(-1);
	const message = unquoted(text);
	if (agent === "" || message === "") throw new UsageError("a2a-send", agent ? "What is the message?" : "To whom?");
	const { signal, onProgress, end } = watch(agent, setting);
	try {
		const reply = await setting.app.outbound.call(agent, message, {
			signal,
			contextId,
			...(values.file.length > 0 ? { files: { paths: values.file } } : {}),
			onProgress: (now) => onProgress(agent, now),
		});
		setting.say(replyLines(agent, reply).join("\n"));
	} catch (error) {
		throw new Error(failureText(agent, error), { cause: error });
	} finally {
		end();
	}
}

function fanLines({ replies, failures }: FanOutcome): string {
	const answers = replies.map((reply) => replyLines(reply.peer, reply).join("\n"));
	return [...answers, ...failures.map(({ peer, error }) => failureText(peer, error))].join("\n\n");
}

export async function broadcast(args: string, setting: CommandSetting): Promise<void> {
	const { value, rest } = flag(args, "agents");
	const agents = [...new Set((value ?? "").split(",").map((name) => name.trim()))].filter((name) => name !== "");
	const message = unquoted(rest);
	if (agents.length === 0) throw new UsageError("a2a-broadcast", "To whom? Name the agents with --agents a,b,c.");
	if (message === "") throw new UsageError("a2a-broadcast", "What is the message?");
	const { end, ...watching } = watch(agents.join(", "), setting);
	try {
		setting.say(fanLines(await setting.app.outbound.broadcast(agents, message, watching)));
	} catch (error) {
		throw new Error(failureText(agents.join(", "), error), { cause: error });
	} finally {
		end();
	}
}
