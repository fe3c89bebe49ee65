/** One message to many peers: everybody's answer, the first good one, or the best. */
import { sharedController } from "../lib/signals.ts";
import { asPeerError, PeerError, type PeerReply } from "./reply.ts";

export type Mode = "all" | "first" | "best";

/** A peer that gave no usable answer, and why, in one line. */
export interface Failure {
	readonly peer: string;
	readonly error: PeerError;
}

export interface FanOutcome {
	readonly mode: Mode;
	/** In order of the peers. With `first`, without those that were stopped. */
	readonly replies: readonly PeerReply[];
	readonly failures: readonly Failure[];
	/** With `first` and `best`: the answer. Absent when no peer completed the task. */
	readonly chosen?: PeerReply;
	/** How the choice was made, and what else the reader should know. */
	readonly notes: readonly string[];
}

/** Chooses among replies: the index of the best one, `undefined` when it cannot. */
export type Judge = (
	question: string,
	replies: readonly { readonly peer: string; readonly text: string }[],
	signal: AbortSignal,
) => Promise<number | undefined>;

export interface FanRequest {
	/** Names of the peers, each once. */
	readonly peers: readonly string[];
	readonly message: string;
	readonly mode: Mode;
	readonly signal: AbortSignal;
	/** Calls one peer; when `signal` aborts it stops the task there and throws. */
	readonly run: (peer: string, signal: AbortSignal) => Promise<PeerReply>;
	readonly judge?: Judge | undefined;
}

/** The task has ended with an answer: nothing runs and nothing is asked. */
const isComplete = (reply: PeerReply): boolean => !reply.running && reply.question === undefined;

type Outcome = { readonly reply: PeerReply } | { readonly failure: Failure };

/**
 * Runs every peer at once and returns when all of them have ended or have been stopped. Throws a `PeerError` only when
 * `signal` aborts; then every call has been stopped.
 */
export async function fanOut(request: FanRequest): Promise<FanOutcome> {
	const { peers, mode, signal, run } = request;
	const race = sharedController();
	const stop = () => race.abort();
	signal.addEventListener("abort", stop, { once: true });
	let winner: PeerReply | undefined;
	const stopped: string[] = [];

	async function one(peer: string): Promise<Outcome[]> {
		try {
			const reply = await run(peer, race.signal);
			if (mode === "first" && !winner && isComplete(reply)) {
				winner = reply;
				race.abort();
			}
			return [{ reply }];
		} catch (error) {
			if (winner) {
				stopped.push(peer);
				return [];
			}
			return [{ failure: { peer, error: asPeerError(error, { peer }) } }];
		}
	}

	try {
		if (signal.aborted) race.abort();
		const outcomes = (await Promise.all(peers.map(one))).flat();
		if (signal.aborted) throw new PeerError("The calls were stopped.", { peer: peers.join(", ") });
		const replies = outcomes.flatMap((each) => ("reply" in each ? [each.reply] : []));
		const failures = outcomes.flatMap((each) => ("failure" in each ? [each.failure] : []));
		const found = { mode, replies, failures };
		if (mode === "best") return { ...found, ...(await best(request, replies.filter(isComplete))) };
		if (mode === "all") return { ...found, notes: [] };
		return winner ? { ...found, chosen: winner, notes: racing(winner, stopped) } : { ...found, notes: [NOBODY] };
	} finally {
		signal.removeEventListener("abort", stop);
	}
}

const NOBODY = "No peer completed the task.";

function racing(winner: PeerReply, stopped: readonly string[]): readonly string[] {
	return [`${winner.peer} was first.${stopped.length > 0 ? ` Stopped: ${stopped.join(", ")}.` : ""}`];
}

async function best(
	request: FanRequest,
	complete: readonly PeerReply[],
): Promise<{ chosen?: PeerReply; notes: readonly string[] }> {
	const [only] = complete;
	if (!only) return { notes: [NOBODY] };
	if (complete.length === 1) return { chosen: only, notes: [`Only ${only.peer} completed the task.`] };
	const choice = await judged(request, complete);
	if ("chosen" in choice) {
		return { chosen: choice.chosen, notes: [`Chosen by this session's model among ${complete.length} replies.`] };
	}
	const longest = complete.reduce((a, b) => (b.text.length > a.text.length ? b : a));
	return { chosen: longest, notes: [`The longest of ${complete.length} replies: ${choice.why}.`] };
}

async function judged(
	{ judge, message, signal }: FanRequest,
	complete: readonly PeerReply[],
): Promise<{ chosen: PeerReply } | { why: string }> {
	if (!judge) return { why: "there is no model to choose" };
	try {
		const candidates = complete.map(({ peer, text }) => ({ peer, text }));
		const index = await judge(message, candidates, signal);
		const chosen = index === undefined ? undefined : complete[index];
		return chosen ? { chosen } : { why: "the model made no choice" };
	} catch (error) {
		return { why: `the model could not choose (${asPeerError(error, { peer: "judge" }).message})` };
	}
}
