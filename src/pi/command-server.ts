/** `/a2a-server` and `/a2a-status`. */
import type { App, ServerStatus } from "../app.ts";
import type { GatewayStatus } from "../gateways.ts";
import { oneLine } from "../lib/text.ts";
import type { CommandSetting } from "./command-run.ts";
import { UsageError } from "./commands.ts";
import { metricsText, queuedText } from "./format-lists.ts";
import { pendingText } from "./settled.ts";

/** Where the server listens and what it does, or that it does not run and why. */
export function serverText(status: ServerStatus): string {
	const problem = status.problem ? [`  Note: ${oneLine(status.problem, 400)}`] : [];
	if (!status.running) return ["The A2A server is not running.", ...problem].join("\n");
	const callers = status.callers.map((caller) => oneLine(caller, 60)).join(", ");
	return [
		`A2A server listening on ${status.host ?? "?"}:${status.port ?? "?"}.`,
		...(status.cardUrl ? [`  Agent Card: ${status.cardUrl}`] : []),
		...(status.inFlight > 0 ? [`  Inbound tasks: ${status.inFlight} (from ${callers})`] : []),
		...problem,
	].join("\n");
}

/** One line for each gateway. */
export function gatewaysText(gateways: readonly GatewayStatus[]): string {
	return gateways
		.map(({ key, url, state, name, channel, detail }) => {
			const as = name === undefined ? "" : ` as ${oneLine(name, 64)}`;
			const line = channel === undefined ? "" : `, channel ${channel}`;
			return `- ${key} (${oneLine(url, 200)}): ${state}${as}${line}${detail ? `; ${oneLine(detail, 400)}` : ""}`;
		})
		.join("\n");
}

/** One line for this session in the file mailbox. */
export function mailboxText(status: NonNullable<ReturnType<App["mailbox"]["status"]>>): string {
	const { root, id, orchestrator, running } = status;
	if (id === undefined) return `Mailbox ${oneLine(root, 200)}: not joined`;
	const routes = orchestrator ? ", routes its mail" : "";
	const work = running > 0 ? `, ${running} at work` : "";
	return `Mailbox ${oneLine(root, 200)}: this session is ${oneLine(id, 80)}${routes}${work}`;
}

export async function server(args: string, { app, say, startServer, refresh }: CommandSetting): Promise<void> {
	const word = args.trim().toLowerCase();
	if (word === "start") {
		await startServer();
		say(serverText(app.server.status()));
	} else if (word === "stop") {
		const { running, inFlight } = app.server.status();
		const { drainSec } = app.loaded.config;
		if (inFlight > 0 && drainSec > 0) {
			say(`Running tasks get up to ${drainSec} s to end, new ones are refused. Enter it again to end them now.`);
		}
		await app.server.stop();
		say(running ? "A2A server stopped." : "The A2A server is not running.");
	} else if (word === "status") {
		say(serverText(app.server.status()));
	} else {
		throw new UsageError("a2a-server", word === "" ? "What shall it do?" : `There is no "${oneLine(word, 40)}".`);
	}
	refresh();
}

export function status(_args: string, { app, say, clock }: CommandSetting): void {
	const pending = pendingText(app.homecoming.pending(), clock.now());
	const queued = queuedText(app.queue.list(), clock.now());
	const mailbox = app.mailbox.status();
	const problems = app.loaded.problems.map((problem) => `- ${oneLine(problem.text, 400)}`);
	say(
		[
			serverText(app.server.status()),
			...(app.gateways().length > 0 ? ["", "Gateways:", gatewaysText(app.gateways())] : []),
			...(mailbox ? ["", mailboxText(mailbox)] : []),
			...(pending ? ["", pending] : []),
			...(queued ? ["", queued] : []),
			"",
			"Metrics:",
			metricsText(app.metrics.snapshot()) || "(nothing yet)",
			...(problems.length > 0 ? ["", "Settings:", ...problems] : []),
		].join("\n"),
	);
}
