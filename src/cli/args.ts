/** What the shell commands share: their arguments, their exit codes, and the mailbox that they work on. */
import { homedir, hostname } from "node:os";
import { join } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { MailRoot } from "../bindings/mailbox/root.ts";
import type { Config } from "../config/keys.ts";
import { loadConfig } from "../config/load.ts";
import { mailboxRoot } from "../config/mailbox-root.ts";
import { systemClock } from "../lib/clock.ts";

/** How a command ends. */
export const EXIT = { ok: 0, failed: 1, usage: 2, unknownAgent: 3, noAnswer: 4, mailbox: 5 } as const;

/** The world of a command. */
export interface Terminal {
	readonly out: (line: string) => void;
	readonly err: (line: string) => void;
	/** Everything that is written into it. */
	readonly input: () => Promise<string>;
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly cwd: string;
	/** Whoever waits gives up. */
	readonly signal: AbortSignal;
}

/** A command ends early, with a line that says why. */
export class Exit extends Error {
	readonly code: number;
	constructor(code: number, message: string) {
		super(message);
		this.code = code;
	}
}

/** The options and words of a command. Throws an `Exit` with the usage. */
export function read<T extends NonNullable<ParseArgsConfig["options"]>>(
	argv: readonly string[],
	options: T,
	usage: string,
) {
	try {
		return parseArgs({ args: [...argv], options, allowPositionals: true, strict: true });
	} catch (error) {
		throw new Exit(EXIT.usage, `${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
	}
}

export interface Setting {
	readonly root: MailRoot;
	readonly config: Config;
	/** Silence that means death, in milliseconds. */
	readonly deadMs: number;
}

/** The mailbox that is meant: `--root`, else what the environment or settings.json say, else the usual one. */
export async function settingOf(given: string | undefined, { env, cwd, err }: Terminal): Promise<Setting> {
	const agentDir = env.PI_CODING_AGENT_DIR?.replace(/^~(?=\/|$)/, homedir()) || join(homedir(), ".pi", "agent");
	const asked = { agentDir, cwd, env: { ...env }, projectTrusted: false, hostname: hostname(), secrets: false };
	const { config } = await loadConfig(asked);
	const log = { warn: (text: string) => err(text), info: () => undefined };
	const keep = { forMs: config.mailboxKeepSec * 1000, atMost: config.mailboxKeepMessages };
	const path = mailboxRoot(given ?? config.mailboxRoot, agentDir);
	const root = new MailRoot(path, { clock: systemClock, log, keep, maxBytes: config.mailboxMaxBytes });
	return { root, config, deadMs: config.mailboxHeartbeatSec * 1000 * config.mailboxMissed };
}

/** Runs a command as the process: its output, its exit code, and ^C. */
export async function run(main: (argv: readonly string[], terminal: Terminal) => Promise<number>): Promise<void> {
	const stop = new AbortController();
	process.once("SIGINT", () => stop.abort(new Exit(130, "stopped")));
	process.stdout.on("error", () => process.exit(EXIT.ok)); // whoever read our output has left
	// The timers of a clock keep no process alive.
	const hold = setInterval(() => undefined, 60_000);
	const terminal: Terminal = {
		out: (line) => void process.stdout.write(`${line}\n`),
		err: (line) => void process.stderr.write(`${line}\n`),
		input: async () => {
			let text = "";
			process.stdin.setEncoding("utf8");
			for await (const chunk of process.stdin) text += chunk;
			return text;
		},
		env: process.env,
		cwd: process.cwd(),
		signal: stop.signal,
	};
	try {
		process.exitCode = await main(process.argv.slice(2), terminal);
	} catch (error) {
		terminal.err(error instanceof Error ? error.message : String(error));
		process.exitCode = error instanceof Exit ? error.code : EXIT.mailbox;
	} finally {
		clearInterval(hold);
	}
}
