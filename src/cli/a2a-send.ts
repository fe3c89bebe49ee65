#!/usr/bin/env node
/** `a2a-send <agent-id> <json-message>`: puts a message into the inbox of an agent, and waits for its answer if it is asked to. */
import { realpathSync } from "node:fs";
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { fileURLToPath } from "node:url";
import { EVERYBODY, envelope, MAIL_TYPES, type MailType, readMail } from "../bindings/mailbox/messages.ts";
import { startOrchestrator } from "../bindings/mailbox/orchestrator.ts";
import { ago } from "../bindings/mailbox/overview.ts";
import { startPost } from "../bindings/mailbox/post.ts";
import { type Listed, listAgents, register } from "../bindings/mailbox/roster.ts";
import { fileEvents, noEvents } from "../bindings/mailbox/watch.ts";
import { nearest } from "../config/nearest.ts";
import { newId } from "../lib/ids.ts";
import { oneLine, plain } from "../lib/text.ts";
import { Mismatch } from "../protocol/decode-base.ts";
import { A2AError } from "../protocol/errors.ts";
import { isObject } from "../protocol/json.ts";
import type { JsonObject } from "../protocol/types.ts";
import { EXIT, Exit, read, run, type Setting, settingOf, type Terminal } from "./args.ts";

const USAGE = `a2a-send [options] <agent-id> <json-message>

Puts a message into the inbox of an agent of the file mailbox.

  <agent-id>       an agent that a2a-list shows; * with --type broadcast for all of them
  <json-message>   a payload such as '{"text": "Which tests fail?"}', or a whole message with its envelope;
                   - reads it from the standard input

  --watch          waits for the answer and prints it
  --json           prints JSON, one object on a line
  --type TYPE      ${MAIL_TYPES.join(", ")} (default: request)
  --ttl SECONDS    how long nobody need begin it before it expires (default: 30)
  --from ID        who sends it; the same name goes on with its conversations (default: one for this command alone)
  --root FOLDER    the mailbox (default: mailbox.root of the settings)
  --completion     prints a completion of agent ids for bash
  --help           prints this

Exit codes: 0 sent, or answered; 1 the answer is a failure; 2 wrong arguments; 3 no such agent; 4 no answer in time;
5 the mailbox cannot be used.`;

const OPTIONS = {
	watch: { type: "boolean" },
	json: { type: "boolean" },
	type: { type: "string" },
	ttl: { type: "string" },
	from: { type: "string" },
	root: { type: "string" },
	completion: { type: "boolean" },
	help: { type: "boolean", short: "h" },
} as const;

const COMPLETION = `_a2a_send() {
  [ "$COMP_CWORD" -eq 1 ] && COMPREPLY=( $(compgen -W "$(a2a-list --ids 2>/dev/null)" -- "\${COMP_WORDS[1]}") )
}
complete -F _a2a_send a2a-send`;

/** A message as the arguments say it. */
interface Wanted {
	readonly id: string;
	readonly type: MailType;
	readonly from: string;
	readonly ttlSeconds: number;
	readonly contract: JsonObject;
	readonly payload: JsonObject;
	/** Members of an envelope that was given whole. */
	readonly more: JsonObject;
}

const passingName = (): string => `a2a-send-${process.pid}`;

/** Members that make an object an envelope rather than a payload. */
const ENVELOPE = ["a2a_version", "msg_id", "type", "payload"];

function wanted(text: string, values: { type?: string; ttl?: string; from?: string }): Wanted {
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		throw new Exit(EXIT.usage, `The message is not JSON: ${oneLine(reason)}. Plain text goes in as '{"text": "…"}'.`);
	}
	if (!isObject(value)) throw new Exit(EXIT.usage, "The message must be a JSON object.");
	const isWhole = ENVELOPE.some((name) => Object.hasOwn(value, name));
	const more = (isWhole ? value : {}) as JsonObject;
	const ttl = values.ttl === undefined ? (more.ttl_seconds ?? 30) : Number(values.ttl);
	const draft = {
		id: (more.msg_id as string | undefined) ?? newId("request"),
		type: (values.type ?? more.type ?? "request") as MailType,
		from: values.from ?? (more.from as string | undefined) ?? passingName(),
		ttlSeconds: ttl as number,
		contract: (more.contract ?? {}) as JsonObject,
		payload: (isWhole ? (more.payload ?? {}) : value) as JsonObject,
	};
	try {
		// Whatever would be rejected there is said here.
		readMail(envelope({ ...draft, to: "nobody" }, Date.now()), Date.now());
	} catch (error) {
		if (!(error instanceof Mismatch)) throw error;
		throw new Exit(EXIT.usage, `The message cannot be sent: ${error.path}: ${error.problem}`);
	}
	return { ...draft, more };
}

function known(to: string, agents: readonly Listed[]): Listed {
	const found = agents.find(({ id }) => id === to);
	if (found) return found;
	const ids = agents.map(({ id }) => id);
	const near = nearest(to, ids);
	const others = ids.length > 0 ? `Agents: ${ids.slice(0, 20).join(", ")}.` : "There are no agents.";
	const hint = near === undefined ? others : `Did you mean ${JSON.stringify(near)}?`;
	throw new Exit(EXIT.unknownAgent, `There is no agent ${JSON.stringify(oneLine(to, 80))}. ${hint}`);
}

async function put(message: Wanted, to: string, { root }: Setting): Promise<JsonObject> {
	const raw = { ...message.more, ...envelope({ ...message, to }, Date.now()) };
	await root.box(to, "inbox").update([{ put: raw }]);
	return raw;
}

/** Asks from a mailbox of its own, which is there as long as the answer is awaited. */
async function ask(message: Wanted, to: string, setting: Setting, terminal: Terminal, json: boolean): Promise<number> {
	const { root, config, deadMs } = setting;
	const self = { instance: newId("run"), pid: process.pid, host: hostname() };
	const { from } = message;
	// A name of its own is there as long as the command; one that was chosen stays, and may have been there before.
	const isPassing = from === passingName();
	const facts = { name: from, description: "", capabilities: [], slots: 0, passing: true };
	if (isPassing) await register(root, from, { ...self, ...facts }, deadMs);
	else await root.make(from);
	const watch = config.mailboxEvents ? fileEvents : noEvents;
	const { mailboxPollMs: pollMs, mailboxHeartbeatSec, mailboxLeaseSec, mailboxRedeliveries: redeliveries } = config;
	const times = { pollMs, deadMs, redeliveries, beatMs: mailboxHeartbeatSec * 1000, leaseMs: mailboxLeaseSec * 1000 };
	const orchestrator = startOrchestrator({ root, self, times, watch });
	const post = startPost({ root, id: from, pollMs: Math.max(20, pollMs / 5), watch });
	try {
		let failed = false;
		for await (const answer of post.ask(to, message.payload, { ...message, signal: terminal.signal })) {
			failed ||= answer.error !== undefined || answer.state === "failed";
			if (json) terminal.out(JSON.stringify(answer));
			else terminal.out(answerText(answer));
			if (answer.state === "expired") return EXIT.noAnswer;
		}
		return failed ? EXIT.failed : EXIT.ok;
	} catch (error) {
		if (terminal.signal.aborted) throw terminal.signal.reason;
		if (!(error instanceof A2AError)) throw error;
		throw new Exit(error.name === "PeerTimeoutError" ? EXIT.noAnswer : EXIT.failed, error.message);
	} finally {
		await post.close();
		await orchestrator.close();
		if (isPassing) await rm(root.place(from).folder, { recursive: true, force: true });
	}
}

function answerText(answer: JsonObject): string {
	const { text, reason, error, state, result, item } = answer;
	if (typeof text === "string") return plain(text);
	if (isObject(error)) return `${state ?? "failed"}: ${oneLine(String(reason ?? error.message), 400)}`;
	return JSON.stringify(result ?? item ?? answer);
}

/** The command. Gives its exit code; throws an `Exit`. */
export async function main(argv: readonly string[], terminal: Terminal): Promise<number> {
	const { values, positionals } = read(argv, OPTIONS, USAGE);
	if (values.help || values.completion) {
		terminal.out(values.help ? USAGE : COMPLETION);
		return EXIT.ok;
	}
	const [to, said, ...rest] = positionals;
	if (to === undefined || said === undefined || rest.length > 0) throw new Exit(EXIT.usage, USAGE);
	const message = wanted(said === "-" ? await terminal.input() : said, values);
	const setting = await settingOf(values.root, terminal);
	const agents = await listAgents(setting.root, setting.deadMs);
	const json = values.json ?? false;
	const tell = (raw: JsonObject, text: string) => terminal.out(json ? JSON.stringify(raw) : text);
	if (to === EVERYBODY) {
		if (message.type !== "broadcast")
			throw new Exit(EXIT.usage, "Only a broadcast goes to *; a request is for one agent.");
		for (const { id } of agents) await announce(message, id, setting);
		terminal.out(
			json
				? JSON.stringify({ sent: message.id, to: agents.map(({ id }) => id) })
				: `Sent ${message.id} to ${agents.length} agents.`,
		);
		return EXIT.ok;
	}
	const agent = known(to, agents);
	await setting.root.open();
	if (!agent.alive && !json) {
		const silent = agent.seen > 0 ? `has been silent for ${ago(Date.now() - agent.seen)}` : "has given no sign of life";
		terminal.err(`${oneLine(to, 80)} ${silent}; the message waits for ${message.ttlSeconds} s.`);
	}
	if (values.watch && message.type === "request") return ask(message, to, setting, terminal, json);
	tell(await put(message, to, setting), `Sent ${message.id} to ${to}.`);
	return EXIT.ok;
}

/** A broadcast in the inbox of one agent. */
async function announce(message: Wanted, id: string, { root }: Setting): Promise<void> {
	const raw = { ...message.more, ...envelope({ ...message, to: EVERYBODY }, Date.now()) };
	await root.box(id, "inbox").update([{ put: raw }]);
}

if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === fileURLToPath(import.meta.url)) await run(main);
