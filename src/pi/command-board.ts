/** `/a2a`: the live panel, or its text where there is no terminal. */
import type { App } from "../app.ts";
import { every } from "../lib/clock.ts";
import { oneLine } from "../lib/text.ts";
import type { ConversationSummary } from "../peers/conversations.ts";
import type { Peer } from "../peers/peer.ts";
import { type Activity, isTerminal } from "../protocol/task.ts";
import type { Part } from "../protocol/types.ts";
import type { TaskLog } from "../tasks/log.ts";
import { createBoard, type Outcome } from "./board.ts";
import { type BoardFacts, boardText } from "./board-rows.ts";
import type { CommandSetting } from "./command-run.ts";
import { send } from "./command-send.ts";
import { stateWord } from "./format.ts";

/** How often the panel looks at what has changed, and at what must be asked for (milliseconds). */
const LOOK_MS = 250;
const ASK_MS = 2_000;
const MOST_TASKS = 500;
const AUDIT = 100;
const STEPS = 200;
/** Lines of the screen that are not rows. */
const OTHER_LINES = 12;

interface Asked {
	readonly peers: readonly Peer[];
	readonly conversations: readonly ConversationSummary[];
	readonly audit: readonly object[];
}

async function ask({ outbound, audit }: App): Promise<Asked> {
	const [peers, { conversations }, tail] = await Promise.all([outbound.peers(), outbound.list(), audit.tail(AUDIT)]);
	return { peers, conversations, audit: tail };
}

const textOf = (parts: readonly Part[] | undefined): string =>
	(parts ?? []).map((part) => ("text" in part ? part.text : "")).join(" ");

const stepText = ({ name, detail }: Activity): string => oneLine(`${name} ${detail ?? ""}`, 200);

/** Follows what inbound tasks do while the panel is open. */
function follow(app: App) {
	const steps = new Map<string, string[]>();
	const leaving: (() => void)[] = [];
	const watch = (log: TaskLog): void => {
		const leave = log.on((event) => {
			if (event.kind !== "activity") return;
			const seen = steps.get(log.id) ?? [];
			steps.set(log.id, [...seen.slice(1 - STEPS), stepText(event.activity)]);
		});
		leaving.push(leave);
	};
	for (const log of app.tasks.unfinished()) watch(log);
	leaving.push(app.tasks.onOpen(watch));
	return {
		doing: (): ReadonlyMap<string, string> => {
			const running = app.tasks.unfinished();
			return new Map(running.map((log) => [log.id, steps.get(log.id)?.at(-1) ?? asked(log)]));
		},
		story(id: string): string[] {
			const log = app.tasks.all().find((each) => each.id === id);
			if (!log) return ["The task is forgotten."];
			const { history = [], artifacts = [], status } = log.task;
			return [
				...history.map(({ role, parts }) => `${role === "ROLE_USER" ? "←" : "→"} ${oneLine(textOf(parts), 2000)}`),
				...(steps.get(id) ?? []).map((step) => `⚙ ${step}`),
				...artifacts.map(({ parts }) => `→ ${oneLine(textOf(parts), 8000)}`),
				`${stateWord(status.state)} ${oneLine(textOf(status.message?.parts), 1000)}`.trim(),
			];
		},
		end: () => {
			for (const leave of leaving) leave();
		},
	};
}

const asked = (log: TaskLog): string => oneLine(textOf(log.task.history?.at(-1)?.parts), 200);

function cancel(app: App, id: string): string {
	const log = app.tasks.all().find((each) => each.id === id);
	if (!log || isTerminal(log.state)) return "That task has ended already.";
	const done = log.append({ kind: "status", status: { state: "TASK_STATE_CANCELED" } });
	return done ? "Canceled." : "That task cannot be canceled now.";
}

export async function board(_args: string, setting: CommandSetting): Promise<void> {
	const { app, screen, clock, say } = setting;
	const watching = follow(app);
	let known: Asked = { peers: [], conversations: [], audit: [] };
	const facts = (): BoardFacts => ({
		...known,
		tasks: app.tasks.all().slice(-MOST_TASKS),
		doing: watching.doing(),
		pending: app.homecoming.pending(),
		queued: app.queue.list(),
		server: app.server.status(),
		gateways: app.gateways(),
		mailbox: app.mailbox.status(),
		now: clock.now(),
	});
	const over = new AbortController();
	const signal = AbortSignal.any([setting.signal, over.signal]);
	let outcome: Outcome;
	try {
		known = await ask(app);
		if (screen.mode !== "tui") return say(boardText(facts()));
		const quiet = () => undefined;
		outcome = await screen.dialog((ui) =>
			ui.custom<Outcome>((tui, theme, _keys, done) => {
				const panel = createBoard({
					theme,
					facts,
					story: watching.story,
					cancel: (id) => cancel(app, id),
					height: () => Math.min(24, (process.stdout.rows ?? 24) - OTHER_LINES),
					redraw: () => tui.requestRender(),
					done,
				});
				// What cannot be asked for just now stays as it was.
				every(clock, LOOK_MS, panel.tick, signal, quiet);
				every(
					clock,
					ASK_MS,
					async () => {
						known = await ask(app);
					},
					signal,
					quiet,
				);
				return panel;
			}),
		);
	} finally {
		over.abort();
		watching.end();
	}
	await after(outcome, setting);
}

async function after(outcome: Outcome, setting: CommandSetting): Promise<void> {
	if (!outcome) return;
	if (outcome.deed === "copy") {
		await setting.screen.dialog(async (ui) => ui.setEditorText(outcome.id));
		// Pi 1.x draws its editor anew with the next thing that it shows.
		setting.screen.notify("The id is in the editor.");
		return;
	}
	const { peer } = outcome;
	const text = await setting.screen.dialog((ui) => ui.editor(`Message to ${oneLine(peer, 60)}`));
	if (text !== undefined && text.trim() !== "") await send(`"${peer}" ${text}`, setting);
}
