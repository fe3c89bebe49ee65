/** What each command does, by name, and how its end is told. */
import type { App } from "../app.ts";
import type { Clock } from "../lib/clock.ts";
import { plain } from "../lib/text.ts";
import { board } from "./command-board.ts";
import { config } from "./command-config.ts";
import { doctor } from "./command-doctor.ts";
import { agents, discover, mail, peers } from "./command-lists.ts";
import { broadcast, send } from "./command-send.ts";
import { server, status } from "./command-server.ts";
import { type CommandName, helpText } from "./commands.ts";
import type { Screen } from "./ui.ts";

/** What a command works with. */
export interface CommandSetting {
	readonly app: App;
	readonly screen: Screen;
	readonly clock: Clock;
	/** The session ends. */
	readonly signal: AbortSignal;
	/** Shows the outcome: in the transcript where there is a terminal, else like a notice. */
	say(text: string): void;
	/** Starts the inbound server and what goes with it. Throws an error of one line. */
	startServer(): Promise<void>;
	/** Draws the footer anew. */
	refresh(): void;
}

const RUNS: { readonly [K in CommandName]: (args: string, setting: CommandSetting) => void | Promise<void> } = {
	a2a: board,
	"a2a-discover": discover,
	"a2a-agents": agents,
	"a2a-send": send,
	"a2a-list": mail,
	"a2a-broadcast": broadcast,
	"a2a-status": status,
	"a2a-config": config,
	"a2a-server": server,
	"a2a-peers": peers,
	"a2a-doctor": doctor,
	"a2a-help": (_args, setting) => setting.say(helpText()),
};

/** Runs a command. Never throws: a failure is shown. */
export async function runCommand(name: CommandName, args: string, setting: CommandSetting): Promise<void> {
	try {
		await RUNS[name](args, setting);
	} catch (error) {
		setting.screen.notify(plain(error instanceof Error ? error.message : String(error)), "error");
	}
}
