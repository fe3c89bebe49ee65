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
	/** A flag whose value is offered too: the id of a conversation, or peers with commas between them. */
	readonly flag?: "context" | "agents";
}

export const COMMANDS = {
	a2a: { args: "", summary: "One live panel over peers, tasks, conversations, gateways and the audit log" },
	"a2a-discover": { args: "<url>", summary: "Fetch an agent's Agent Card", peer: true },
	"a2a-agents": { args: "", summary: "List configured peers" },
	"a2a-send": {
		args: "<agent> <msg>",
		summary: "Send a task to a peer; `--file path` sends a file along",
		peer: true,
		flag: "context",
	},
	"a2a-list": { args: "", summary: "Agents and messages of the file mailbox, with their status" },
	"a2a-broadcast": { args: "<msg> --agents a,b,c", summary: "Parallel fan-out to listed agents", flag: "agents" },
	"a2a-status": { args: "", summary: "Metrics + server status" },
	"a2a-config": { args: "[show]", summary: "Interactive config panel (TUI); `show` for summary", words: ["show"] },
	"a2a-server": {
		args: "start|stop|status",
		summary: "Manage the inbound server",
		words: ["start", "stop", "status"],
	},
	"a2a-peers": { args: "", summary: "List discoverable peers (local registry + mDNS + configured)" },
	"a2a-doctor": { args: "", summary: "Check the whole set-up and say how to fix each finding" },
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

/** What a completion is chosen from. */
export interface Offer {
	readonly name: string;
	readonly description?: string;
}

/** Asks for what there is to choose from. */
export interface Offers {
	readonly peers: () => Promise<readonly Offer[]>;
	/** Ids of conversations, newest first. */
	readonly contexts: () => Promise<readonly Offer[]>;
}

/** The choices that begin with `start`; `value` makes the argument text of one. */
function choices(offers: readonly Offer[], start: string, value: (name: string) => string): Completion[] {
	return offers
		.filter((offer) => offer.name.toLowerCase().startsWith(start.toLowerCase()))
		.map(({ name, description }) => ({ value: value(name), label: name, ...(description ? { description } : {}) }));
}

/**
 * What to offer after `typed`, the text behind the command's name: for its first word, and for the value of a flag at
 * its end.
 */
export async function completions(name: CommandName, typed: string, from: Offers): Promise<Completion[] | null> {
	const row: CommandRow = COMMANDS[name];
	const flagged = row.flag && new RegExp(`^((?:|[^]*\\s)--${row.flag}[ =])(\\S*)$`).exec(typed);
	let found: Completion[];
	if (flagged) {
		const [, before = "", value = ""] = flagged;
		const done = row.flag === "agents" ? value.slice(0, value.lastIndexOf(",") + 1) : "";
		const offers = row.flag === "agents" ? await from.peers() : await from.contexts();
		found = choices(
			offers.filter((offer) => !done.split(",").includes(offer.name)),
			value.slice(done.length),
			(chosen) => `${before}${done}${chosen}${row.flag === "context" ? " " : ""}`,
		);
	} else {
		// Enter takes what is offered: nothing is, where a command without arguments may be complete.
		if (/\s/.test(typed) || (typed === "" && row.args.startsWith("["))) return null;
		const offers = row.peer ? await from.peers() : (row.words ?? []).map((word) => ({ name: word }));
		found = choices(offers, typed, (chosen) => (name === "a2a-send" ? `${chosen} ` : chosen));
	}
	// A word that is all there is no choice: Enter means run it.
	return found.some(({ value }) => value !== typed) ? found : null;
}

/** Registers all commands; `run` and `offers` are asked when one is used. */
export function registerCommands(pi: ExtensionAPI, run: RunCommand, offers: Offers): void {
	for (const name of NAMES) {
		const row: CommandRow = COMMANDS[name];
		pi.registerCommand(name, {
			description: `${row.args} ${row.summary}`.trim(),
			...(row.peer || row.words || row.flag
				? { getArgumentCompletions: (typed: string) => completions(name, typed, offers) }
				: {}),
			handler: (args, ctx) => run(name, args, ctx),
		});
	}
}
