/**
 * The parts of a running extension, as tools, commands and the host's screen see them; and the one place that puts
 * the parts together. It reads as the flow: a request comes in by `inbound`, a call goes out by `reach`.
 */
import { hostname } from "node:os";
import { join } from "node:path";
import { auditLimits } from "./audit-limits.ts";
import { createHooks } from "./bindings/http/hooks.ts";
import { bindHost } from "./bindings/http/listen.ts";
import { CARD_PATHS } from "./bindings/http/serve-card.ts";
import { changes, isMoved } from "./config/changes.ts";
import { type Loaded, loadConfig } from "./config/load.ts";
import { saveEdits } from "./config/save.ts";
import { secretsOf } from "./config/secrets.ts";
import { createDurable, storeLimits } from "./durable.ts";
import { createGateways, type GatewayStatus } from "./gateways.ts";
import { auditLog } from "./guard/audit.ts";
import { loopGuard } from "./guard/loops.ts";
import { type Metrics, metrics } from "./guard/metrics.ts";
import { policyText } from "./guard/peer-policy.ts";
import { redaction } from "./guard/redact.ts";
import type { Host } from "./host.ts";
import { createInbound } from "./inbound.ts";
import { systemClock } from "./lib/clock.ts";
import { JsonlFile } from "./lib/jsonl.ts";
import { attempt } from "./lib/log.ts";
import { oneLine } from "./lib/text.ts";
import { createMailbox, type Mailbox } from "./mailbox.ts";
import { createAdoption } from "./peers/adopt.ts";
import { createHomecoming, type Homecoming } from "./peers/homecoming.ts";
import type { Outbound } from "./peers/outbound.ts";
import type { Queue } from "./peers/queue.ts";
import { createQueueing } from "./queueing.ts";
import { createReach, type Reach } from "./reach.ts";
import { TaskStore } from "./tasks/store.ts";

/** How the inbound server stands. */
export interface ServerStatus {
	readonly running: boolean;
	/** Where it answers, `http://127.0.0.1:9910/`. */
	readonly url?: string;
	readonly cardUrl?: string;
	/** Port and host really bound. */
	readonly port?: number;
	readonly host?: string;
	/** Inbound tasks that have not ended. */
	readonly inFlight: number;
	/** Labels of the callers of those tasks, each once. */
	readonly callers: readonly string[];
	/** Why it is not running, or what an operator should know. One line. */
	readonly problem?: string;
}

/** A running extension, from `session_start` to `session_shutdown`. */
export interface App {
	/** The configuration in force; a new value after `apply`. */
	readonly loaded: Loaded;
	readonly server: {
		/** Starts listening; when it listens already, says how it stands. Throws an error with one line that says why. */
		start(): Promise<ServerStatus>;
		/**
		 * Gives tasks `server.drainSec` to end, then ends them and their streams and gives the port back. Called again, it cuts
		 * that time short. May be called when it is not running.
		 */
		stop(): Promise<void>;
		status(): ServerStatus;
	};
	/** Calling other agents. */
	readonly outbound: Outbound;
	/** Tasks that were dispatched and not waited for. */
	readonly homecoming: Homecoming;
	/** Messages that wait for their peer. */
	readonly queue: Pick<Queue, "list">;
	/** Inbound tasks. */
	readonly tasks: TaskStore;
	readonly metrics: Metrics;
	/** How this session stands at each gateway, in the order of the configuration. */
	gateways(): readonly GatewayStatus[];
	/** This session in the file mailbox. `start` joins it, where it is switched on; `server.start` does so too. */
	readonly mailbox: Pick<Mailbox, "status" | "list"> & { start(): Promise<void> };
	/** The newest `n` entries, oldest first. */
	readonly audit: { tail(n: number): Promise<readonly object[]> };
	/** Saves edits to settings.json, reloads the configuration and restarts what must restart. One line per effect. */
	apply(edits: ReadonlyMap<string, unknown>): Promise<readonly string[]>;
	/** Gives everything back. May be called twice. */
	close(): Promise<void>;
}

/** Puts the parts together. Nothing runs and nothing listens until `server.start` or a call. */
export function createApp(first: Loaded, host: Host): App {
	const clock = systemClock;
	const { agentDir, log } = host;
	const startedAt = clock.now();
	const counts = metrics(clock);
	let loaded = first;
	const auditLines = auditLimits(() => loaded.config);
	const auditFile = new JsonlFile(join(agentDir, "a2a_audit.jsonl"), auditLines, clock.now);
	const policyOf = (caller: string) => policyText(caller, loaded.config.peerPolicies);
	const audit = auditLog(auditFile, clock, log, () => redacting, policyOf);
	const tasks = new TaskStore({ limits: storeLimits(() => loaded.config), clock, log });
	const durable = createDurable({ agentDir, tasks, clock, log });
	audit.follow(tasks);
	let problem: string | undefined;
	let closing: Promise<void> | undefined;
	/** Ends the time that tasks get by a stop under way. */
	let grace: AbortController | undefined;
	const gateways = createGateways({ config: () => loaded.config, agentDir, clock, log });
	const mailbox = createMailbox({ config: () => loaded.config, host, clock });
	/** Rules against leaks, and the tokens of this configuration. */
	const safe = () => redaction([...secretsOf(loaded.config), ...gateways.minted().values()]);
	let redacting = safe();
	const loops = loopGuard(() => loaded.config.selfIdentity || loaded.config.agentName);
	const hooks = createHooks({ secret: () => loaded.config.pushSecret, clock });
	const inbound = createInbound({
		config: () => loaded.config,
		redaction: () => redacting,
		host,
		tasks,
		durable,
		audit,
		metrics: counts,
		loops: loops.policy,
		clock,
		hooks,
		minted: gateways.minted,
		mailbox,
	});
	const adopt = createAdoption(host.confirm);
	const reaching = () =>
		createReach({
			config: loaded.config,
			redaction: redacting,
			host,
			queue: () => queue,
			self: () => inbound.listening(),
			hooks,
			path: loops.path,
			gateways: gateways.source,
			mailbox,
			adopt,
			audit,
			metrics: counts,
			clock,
		});
	let reach = reaching();
	const homecoming = createHomecoming({
		status: (...asked) => reach.outbound.status(...asked),
		hooks,
		pollMs: () => loaded.config.asyncPollMs,
		clock,
	});
	const outbound = () => reach.outbound;
	const queue: Queue = createQueueing({ agentDir, config: () => loaded.config, outbound, homecoming, clock, log });
	/** Replaced by new settings while calls may still run over it. */
	const retired: Reach[] = [];
	/** Starts, stops and changes of settings happen one after another. */
	let last: Promise<unknown> = Promise.resolve();

	function inTurn<T>(work: () => Promise<T>): Promise<T> {
		const next = last.then(work);
		last = next.catch(() => undefined);
		return next;
	}

	async function announce(): Promise<void> {
		const listening = inbound.listening();
		const served = inbound.served();
		if (!listening || !served) return;
		gateways.start(served);
		const { cwd, model, tools, skills, sessionId } = host.describe();
		const { agentName: name, publicUrl } = loaded.config;
		const url = publicUrl === "" ? listening.url : publicUrl;
		await reach.announce({ name, url, cwd, model, tools, skills, startedAt, sessionId }, listening);
	}

	/** A guard that was written down and could not be read would leave the server more open than was meant. */
	function checkGuards(): void {
		const guard = loaded.problems.find(({ level }) => level === "error");
		if (guard) throw new Error(`The A2A server does not start: ${guard.text}`);
	}

	async function joinMailbox(): Promise<void> {
		checkGuards();
		await mailbox.start(inbound.entry());
	}

	async function serve(): Promise<void> {
		checkGuards();
		try {
			const { host: bound } = await inbound.start();
			const wanted = loaded.config.serverHost;
			// Bound closer to home than was wanted.
			problem =
				bound === "127.0.0.1" && bindHost(wanted, true) !== bound
					? `bound to ${bound}: server.host ${wanted} takes effect only with a token`
					: undefined;
			if (problem) log.warn(`A2A server ${problem}`);
		} catch (error) {
			problem = oneLine(error instanceof Error ? error.message : String(error));
			throw new Error(`The A2A server does not start: ${problem}`, { cause: error });
		}
		await attempt("announce this session to others", announce, log);
		if (loaded.config.mailboxEnabled) await attempt("join the mailbox", joinMailbox, log);
	}

	/** In this order: nothing new is taken, what runs gets time until `grace` aborts, ways in close, tasks end on disk. */
	async function stop(reason: string, grace: AbortSignal): Promise<void> {
		const drained = inbound.drain(grace);
		await attempt("withdraw this session's announcement", () => reach.withdraw(), log);
		await drained;
		const left = gateways.stop();
		await attempt("leave the mailbox", () => mailbox.stop(), log);
		await Promise.all([left, inbound.stop(reason)]);
	}

	function status(): ServerStatus {
		const listening = inbound.listening();
		const running = tasks.running();
		const wrong = problem ?? durable.problem();
		const about = {
			inFlight: running.length,
			callers: [...new Set(running.map(({ label }) => label))],
			...(wrong === undefined ? {} : { problem: wrong }),
		};
		if (!listening) return { running: false, ...about };
		const { url, port, host: bound } = listening;
		return { running: true, url, cardUrl: new URL(CARD_PATHS[0], url).href, port, host: bound, ...about };
	}

	async function apply(edits: ReadonlyMap<string, unknown>): Promise<readonly string[]> {
		await saveEdits(agentDir, edits);
		audit.changed([...edits.keys()]);
		const { cwd, env, projectTrusted } = host;
		const before = loaded.config;
		loaded = await loadConfig({ agentDir, cwd, env, projectTrusted, hostname: hostname() });
		redacting = safe();
		const effects = [`Saved ${edits.size === 1 ? "1 setting" : `${edits.size} settings`}.`];
		const changed = changes(before, loaded.config);
		if (changed.size === 0) return effects;
		if (isMoved(before, loaded.config)) await mailbox.stop();
		retired.push(reach);
		await reach.withdraw();
		reach = reaching();
		if (loaded.config.queueOut) queue.start();
		if (inbound.listening() && changed.has("server")) {
			await serve();
			effects.push(`The A2A server was restarted: ${inbound.listening()?.url}`);
		} else {
			await announce();
			if (loaded.config.mailboxEnabled) await attempt("join the mailbox", joinMailbox, log);
		}
		return effects;
	}

	return {
		get loaded() {
			return loaded;
		},
		server: {
			start: () =>
				inTurn(async () => {
					if (!inbound.listening()) await serve();
					return status();
				}),
			stop() {
				grace?.abort();
				const mine = grace ?? new AbortController();
				grace = mine;
				return inTurn(() => stop("the A2A server was stopped", mine.signal)).finally(() => {
					if (grace === mine) grace = undefined;
				});
			},
			status,
		},
		get outbound() {
			return reach.outbound;
		},
		homecoming,
		queue,
		tasks,
		metrics: counts,
		gateways: gateways.status,
		mailbox: { start: () => inTurn(joinMailbox), status: mailbox.status, list: mailbox.list },
		audit,
		apply: (edits) => inTurn(() => apply(edits)),
		close() {
			grace?.abort();
			closing ??= inTurn(async () => {
				await queue.close();
				await homecoming.close();
				await stop("host stopped", AbortSignal.abort());
				for (const each of [reach, ...retired]) await attempt("close outbound calls", () => each.close(), log);
				await gateways.close();
				await audit.close();
			});
			return closing;
		},
	};
}
