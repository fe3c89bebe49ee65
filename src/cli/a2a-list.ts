#!/usr/bin/env node
/** `a2a-list`: all messages of all agents of the file mailbox, with their status. */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { messageText, type Overview, overview, overviewText } from "../bindings/mailbox/overview.ts";
import { systemClock } from "../lib/clock.ts";
import { EXIT, Exit, read, run, settingOf, type Terminal } from "./args.ts";

const USAGE = `a2a-list [options] [agent-id]

Shows the agents of the file mailbox, and all messages in their boxes with their status.

  [agent-id]       only this agent
  --watch          goes on, and prints every message that comes or changes its status
  --json           prints JSON: an object for each agent, then one for each message, one on a line
  --ids            prints the ids of agents, and nothing else
  --root FOLDER    the mailbox (default: mailbox.root of the settings)
  --help           prints this

Exit codes: 0 shown; 2 wrong arguments; 3 no such agent; 5 the mailbox cannot be used.`;

const OPTIONS = {
	watch: { type: "boolean" },
	json: { type: "boolean" },
	ids: { type: "boolean" },
	root: { type: "string" },
	help: { type: "boolean", short: "h" },
} as const;

function of(all: Overview, id: string | undefined): Overview {
	if (id === undefined) return all;
	if (!all.agents.some((agent) => agent.id === id)) {
		throw new Exit(EXIT.unknownAgent, `There is no agent ${JSON.stringify(id)} in ${all.root}.`);
	}
	const agents = all.agents.filter((agent) => agent.id === id);
	return { ...all, agents, messages: all.messages.filter(({ agent }) => agent === id) };
}

function jsonLines({ agents, messages }: Overview): string[] {
	return [
		...agents.map(({ id, alive, seen, capabilities, busy, registration }) => {
			const about = registration ? { name: registration.name, pid: registration.pid, host: registration.host } : {};
			return JSON.stringify({ agent: id, alive, seen: new Date(seen).toISOString(), busy, capabilities, ...about });
		}),
		...messages.map((message) => JSON.stringify({ ...message, at: new Date(message.at).toISOString() })),
	];
}

/** The command. Gives its exit code; throws an `Exit`. */
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
	const { values, positionals } = read(argv, OPTIONS, USAGE);
	if (values.help) {
		terminal.out(USAGE);
		return EXIT.ok;
	}
	const [id, ...rest] = positionals;
	if (rest.length > 0) throw new Exit(EXIT.usage, USAGE);
	const { root, deadMs, config } = await settingOf(values.root, terminal);
	const first = of(await overview(root, deadMs), id);
	if (values.ids) {
		for (const agent of first.agents) terminal.out(agent.id);
		return EXIT.ok;
	}
	if (values.json) for (const line of jsonLines(first)) terminal.out(line);
	else terminal.out(overviewText(first));
	if (!values.watch) return EXIT.ok;
	const shown = new Map(
		first.messages.map((message) => [`${message.agent} ${message.box} ${message.id}`, message.status]),
	);
	while (!terminal.signal.aborted) {
		await systemClock.sleep(config.mailboxPollMs, terminal.signal);
		const { messages, now } = of(await overview(root, deadMs), id);
		for (const message of messages) {
			const key = `${message.agent} ${message.box} ${message.id}`;
			if (shown.get(key) === message.status) continue;
			shown.set(key, message.status);
			const json = () => JSON.stringify({ ...message, at: new Date(message.at).toISOString() });
			terminal.out(values.json ? json() : messageText(message, now));
		}
	}
	return EXIT.ok;
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await run(main);
