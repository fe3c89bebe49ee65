/**
 * The agent behind inbound tasks: every turn runs in an isolated session of the host's Pi, and the turns of one caller
 * in one context share the session's history.
 *
 * A session lives for one turn, so what its extensions started ends with it; what stays is its history, in a file or,
 * without transcripts, in memory.
 */
import type { ToolDefinition } from "@mariozechner/pi-coding-agent";
import type { FileLimits } from "../agent/content.ts";
import type { RunEvent, Runner, Turn } from "../agent/runner.ts";
import { framePrompt } from "../guard/inbound.ts";
import { type PeerPolicy, policyFor, toolsOf } from "../guard/peer-policy.ts";
import { Channel } from "../lib/channel.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { attempt, type Log } from "../lib/log.ts";
import { dispatchLabel } from "../lib/text.ts";
import { accepted } from "../protocol/accepted.ts";
import { toolsNamed } from "../tool-names.ts";
import { ASK, askTool } from "./child-tools.ts";
import type { PiHost } from "./host.ts";
import { goOn, leftOf, markTool, markTurn } from "./session-again.ts";
import { ATTACH, attachTool } from "./session-attach.ts";
import { budgets } from "./session-budget.ts";
import { openChild } from "./session-child.ts";
import { createConversations } from "./session-conversations.ts";
import { drive } from "./session-drive.ts";
import { receive, taskFolder } from "./session-inbox.ts";
import { policyGate, readableOf } from "./session-policy.ts";
import { reasonOf } from "./session-reason.ts";
import { Reply } from "./session-reply.ts";
import { findResources, isFolder, type Resources, sameFolder } from "./session-resources.ts";
import { Meter } from "./session-usage.ts";

export { sweepTranscripts } from "./session-files.ts";
export { sweepFiles } from "./session-inbox.ts";

export interface RunnerParts {
	readonly host: PiHost;
	/** Pi's agent directory; transcripts go into a folder of it. */
	readonly agentDir: string;
	/** Folder in which the sessions work. Absolute. */
	readonly workspace: string;
	/** Whether histories are kept in files; in memory otherwise, and forgotten with this runner. */
	readonly transcripts: boolean;
	/** How much a turn may give back in files. */
	readonly files: FileLimits;
	readonly log: Log;
	readonly clock?: Clock;
	/** Further tools for the session of a turn, such as calling other agents on its behalf. */
	readonly childTools?: (turn: Turn) => readonly ToolDefinition[];
	/** What the caller with this id may do; its workspace absolute. Without it: the usual policy. */
	readonly policyOf?: (callerId: string) => PeerPolicy;
	/** Asks the user of the host; absent where nobody can be asked. */
	readonly confirm?: (question: string, signal: AbortSignal) => Promise<boolean>;
}

/** How long a run may take to stop before its task no longer waits for it; it is given back all the same. */
const STOP_MS = 2_000;

/** Without an ending of its own a turn would count as completed. */
const STOPPED: RunEvent = { type: "failed", reason: "host stopped" };

/** Whether user and policy have left a tool that reads files: giving them out must not be a way around that. */
function mayRead({ flags, activeTools }: PiHost, policy: PeerPolicy): boolean {
	const reads = (names: readonly string[]) => toolsNamed(names).some((name) => name === "read" || name === "bash");
	return (!flags.choosesTools || reads(activeTools())) && reads(toolsOf(policy) ?? ["read"]);
}

/** A `Runner` over the sessions of the live host. One for each session of the host: it is closed with it. */
export function piRunner(parts: RunnerParts): Runner {
	const { host, agentDir, log, clock = systemClock } = parts;
	const policyOf = parts.policyOf ?? ((id) => policyFor(id, {}));
	const conversations = createConversations({
		agentDir,
		transcripts: parts.transcripts,
		workspaceOf: (callerId) => policyOf(callerId).workspace ?? parts.workspace,
		clock,
	});
	const budgetOf = budgets(clock);
	/** What runs, and how to stop it. */
	const running = new Map<Promise<void>, AbortController>();
	/** By workspace. */
	const resources = new Map<string, Promise<Resources>>();
	let closed = false;

	/** What the host has loaded, looked up at the first task; after a failure looked up again. */
	function loaded(workspace: string): Promise<Resources> {
		// Trust was given to the host's own folder, not to any other.
		const trusted = host.trusted && sameFolder(workspace, host.cwd);
		const known = resources.get(workspace);
		const found = known ?? findResources({ agentDir, cwd: workspace, trusted, flags: host.flags });
		resources.set(workspace, found);
		return found.catch((error: unknown) => {
			resources.delete(workspace);
			throw error;
		});
	}

	async function serve(
		turn: Turn,
		signal: AbortSignal,
		say: (event: RunEvent) => void,
		settled: () => void,
	): Promise<void> {
		const conversation = conversations.of(turn);
		const { workspace } = conversation.key;
		// Pi itself would find out at the first tool call only, and tell the model instead of the caller.
		if (!(await isFolder(workspace))) throw new Error("The workspace of this agent is missing.");
		const policy = policyOf(turn.caller.id);
		let asked: string | undefined;
		let attached = false;
		const { files, images } = await receive(agentDir, turn.taskId, turn.message.parts);
		const { modes, takes } = accepted(turn.accepts);
		const folder = taskFolder(agentDir, turn.taskId);
		const attach = attachTool({
			workspace,
			folder,
			agentDir,
			limits: parts.files,
			refusal: (part) =>
				takes(part) ? undefined : `the caller takes only ${modes.join(", ")}. Answer in one of these instead.`,
			onAttach(artifact) {
				attached = true;
				say({ type: "artifact", artifact });
			},
		});
		const { manager, resumed } = await conversations.history(conversation, turn);
		const found = await loaded(workspace);
		const free = [ASK, ATTACH];
		const gate = policyGate({
			policy,
			caller: turn.caller,
			places: { workspace, agentDir, taskFolder: folder, readable: readableOf(found.skills) },
			free,
			confirm: parts.confirm,
			say,
			signal,
			clock,
		});
		const left = budgetOf(turn.taskId, policy);
		const child = await openChild({
			host,
			resources: found,
			agentDir,
			cwd: workspace,
			manager,
			resumed,
			tools: [
				askTool((question) => (asked = question)) as ToolDefinition,
				...(mayRead(host, policy) ? [attach as ToolDefinition] : []),
				...(policy.mayCall ? (parts.childTools?.(turn) ?? []) : []),
			],
			limits: turn.limits,
			free,
			policy: gate,
			closedTo: () => {
				if (signal.aborted || left.signal.aborted) return left.reason() ?? "The task was stopped.";
				return asked === undefined ? undefined : "The caller has been asked; end your turn and wait for the answer.";
			},
			onTool: (id) => markTool(manager, id),
			signal,
			clock,
			log,
		});
		try {
			const reply = new Reply([ASK]);
			const meter = new Meter();
			const began = clock.now();
			const { label: peer } = turn.caller;
			const cut = turn.afterCrash ? leftOf(manager.getEntries(), turn.taskId) : undefined;
			const again = cut?.begun && cut.message === turn.message.messageId ? cut : undefined;
			if (!again) markTurn(manager, turn);
			asked = again?.asked;
			attached = again?.attached ?? false;
			// What it had said counts as said in this turn.
			for (const message of again?.said ?? []) reply.on({ type: "message_end", message }).forEach(say);
			const framed = { peer, label: dispatchLabel(turn.taskId), files, accepts: modes };
			const prompt = again
				? { text: goOn(turn.taskId), images: [] }
				: { text: framePrompt(turn.message, framed), images };
			const run = () =>
				drive(child, prompt, {
					onEvent(event) {
						meter.on(event);
						left.on(event);
						reply.on(event).forEach(say);
					},
					signal: AbortSignal.any([signal, left.signal]),
					clock,
					log,
				});
			const { error } = again?.done ? {} : await run();
			const usage = meter.total(clock.now() - began);
			if (usage) say({ type: "usage", usage });
			const reason = left.reason();
			const changed = await gate.changed();
			// Nobody reads the events of a task that was stopped.
			if (changed !== undefined && signal.aborted) log.warn(`Task ${turn.taskId}: ${changed}`);
			else if (changed !== undefined)
				say({ type: "activity", activity: { type: "changed", name: "files", detail: changed } });
			if (!signal.aborted) {
				if (reason !== undefined) say({ type: "failed", reason });
				else say(gate.ending(reply.end({ error, asked, attached })));
			}
			// The answer is complete; giving the session back must not delay it.
			settled();
		} finally {
			left.close();
			await child.close();
		}
	}

	/** Runs the turn behind the last one of its conversation. Never rejects. */
	async function work(turn: Turn, signal: AbortSignal, channel: Channel<RunEvent>): Promise<void> {
		const conversation = conversations.of(turn);
		conversation.turns += 1;
		const before = conversation.last;
		let done: () => void = () => undefined;
		conversation.last = new Promise((resolve) => {
			done = resolve;
		});
		try {
			await before;
			if (!signal.aborted)
				await serve(
					turn,
					signal,
					(event) => void channel.push(event),
					() => channel.end(),
				);
		} catch (error) {
			log.warn(`Could not run the task ${turn.taskId}`, error);
			channel.push({ type: "failed", reason: reasonOf(error) });
		} finally {
			conversation.turns -= 1;
			done();
			channel.end();
		}
	}

	return {
		async *run(turn) {
			const stop = new AbortController();
			const channel = new Channel<RunEvent>();
			const over = () => {
				stop.abort();
				void clock.sleep(STOP_MS).then(() => channel.end());
			};
			if (turn.signal.aborted) return;
			if (closed) {
				yield STOPPED;
				return;
			}
			turn.signal.addEventListener("abort", over, { once: true });
			const task = work(turn, stop.signal, channel).finally(() => running.delete(task));
			running.set(task, stop);
			try {
				for await (const event of channel) if (!stop.signal.aborted) yield event;
				if (stop.signal.aborted && !turn.signal.aborted) yield STOPPED;
			} finally {
				turn.signal.removeEventListener("abort", over);
				stop.abort(); // the reader has left, or all is said
			}
		},
		async resumable(turn) {
			const entries = await attempt("read a transcript", () => conversations.entries(turn), log);
			return entries !== undefined && leftOf(entries, turn.taskId)?.unsure !== true;
		},
		async close() {
			closed = true;
			for (const stop of running.values()) stop.abort();
			await Promise.all(running.keys());
			conversations.clear();
		},
	};
}
