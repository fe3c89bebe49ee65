/**
 * The commands that the user gets: one row each. Registration, `/a2a-help`, usage errors and the README table come
 * from the row; what a command does is loaded when one is first used.
 */
import type { ExtensionAPI, ExtensionCommandContext } from "@mariozechner/pi-coding-agent";

interface CommandRow {
	/** Arguments as the user types them; `<x>` is needed, `[x]` is not. */
	readonly args: string;
	readonly summary: string;
	/** First words to offer. */
	readonly words?: readonly string[];
	/** The first word is a peer. */
	readonly peer?: boolean;
}

export const COMMANDS = {
	"a2a-discover": { args: "<url>", summary: "Fetch an agent's Agent Card", peer: true },
	"a2a-agents": { args: "", summary: "List configured peers" },
	"a2a-send": { args: "<agent> <msg>", summary: "Send a task to a peer; `--file path` sends a file along", peer: true },
	"a2a-list": { args: "", summary: "Agents and messages of the file mailbox, with their status" },
	"a2a-broadcast": { args: "<msg> --agents a,b,c", summary: "Parallel fan-out to listed agents" },
	"a2a-status": { args: "", summary: "Metrics + server status" },
	"a2a-config": { args: "[show]", summary: "Interactive config panel (TUI); `show` for summary", words: ["show"] },
	"a2a-server": {
		args: "start|stop|status",
		summary: "Manage the inbound server",
		words: ["start", "stop", "status"],
	},
	"a2a-peers": { args: "", summary: "List discoverable peers (local registry + mDNS + configured)" },
	"a2a-help": { args: "", summary: "Show help" },
} as const satisfies { readonly [name: string]: CommandRow };

export type CommandName = keyof typeof COMMANDS;

const NAMES = Object.keys(COMMANDS) as CommandName[];

/** `/a2a-send <agent> <msg>` */
export const usage = (name: CommandName): string => `/${name} ${COMMANDS[name].args}`.trim();

/** One line per command. */
export function helpText(): string {
	const width = Math.max(...NAMES.map((name) => usage(name).length));
	return NAMES.map((name) => `${usage(name).padEnd(width)}  ${COMMANDS[name].summary.replaceAll("`", "")}`).join("\n");
}

/** What the user typed is not what the command takes; shown with its usage. */
export class UsageError extends Error {
	override readonly name = "UsageError";
	constructor(command: CommandName, problem: string) {
		super(`${problem}\nUsage: ${usage(command)}`);
	}
}

export type RunCommand = (name: CommandName, args: string, ctx: ExtensionCommandContext) => Promise<void>;

/** A choice that the editor offers: `value` replaces the whole argument text. */
export interface Completion {
	readonly value: string;
	readonly label: string;
	readonly description?: string;
}

/** What to offer after `typed`, the text behind the command's name. Only its first word is completed. */
export async function completions(
	name: CommandName,
	typed: string,
	peers: () => Promise<readonly { readonly name: string; readonly description?: string }[]>,
): Promise<Completion[] | null> {
	const row: CommandRow = COMMANDS[name];
	// Enter takes what is offered: nothing is, where a command without arguments may be complete.
	if (/\s/.test(typed) || (typed === "" && row.args.startsWith("["))) return null;
	const offers: readonly { readonly name: string; readonly description?: string }[] = row.peer
		? await peers()
		: (row.words ?? []).map((word) => ({ name: word }));
	const start = typed.toLowerCase();
	const found = offers
		.filter((offer) => offer.name.toLowerCase().startsWith(start))
		.map((offer) => ({
			value: name === "a2a-send" ? `${offer.name} ` : offer.name,
			label: offer.name,
			...(offer.description ? { description: offer.description } : {}),
		}));
	// A word that is all there is no choice: Enter means run it.
	return found.some(({ value }) => value !== typed) ? found : null;
}

/** Registers all commands; `run` and `peers` are asked when one is used. */
export function registerCommands(pi: ExtensionAPI, run: RunCommand, peers: Parameters<typeof completions>[2]): void {
	for (const name of NAMES) {
		const row: CommandRow = COMMANDS[name];
		pi.registerCommand(name, {
			description: `${row.args} ${row.summary}`.trim(),
			...(row.peer || row.words ? { getArgumentCompletions: (typed: string) => completions(name, typed, peers) } : {}),
			handler: (args, ctx) => run(name, args, ctx),
		});
	}
}
