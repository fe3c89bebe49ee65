/**
 * The file mailbox, put together: this session as one of its agents, who asks, answers, and routes when nobody else
 * does. One instance for the life of the app; it joins when it is started or first used, under the settings in force.
 */
import { hostname } from "node:os";
import { connectMailbox } from "./bindings/mailbox/client.ts";
import { isAgentId } from "./bindings/mailbox/messages.ts";
import { type Orchestrator, startOrchestrator } from "./bindings/mailbox/orchestrator.ts";
import { overview, overviewText } from "./bindings/mailbox/overview.ts";
import { MAILBOX_BINDING } from "./bindings/mailbox/payload.ts";
import { type Post, startPost } from "./bindings/mailbox/post.ts";
import { MailRoot } from "./bindings/mailbox/root.ts";
import { type Facts, type MailServer, serveMailbox } from "./bindings/mailbox/server.ts";
import { fileEvents, noEvents } from "./bindings/mailbox/watch.ts";
import type { Config } from "./config/keys.ts";
import { mailboxRoot } from "./config/mailbox-root.ts";
import type { Credential } from "./guard/identity.ts";
import type { Host } from "./host.ts";
import type { Clock } from "./lib/clock.ts";
import { newId } from "./lib/ids.ts";
import { oneLine } from "./lib/text.ts";
import type { Open } from "./peers/connect.ts";
import type { Address, Source } from "./peers/peer.ts";
import { fromMailbox } from "./peers/sources/mailbox.ts";
import type { Agent, Call, Caller } from "./protocol/agent.ts";
import { A2AError } from "./protocol/errors.ts";
import type { AgentCard, Json } from "./protocol/types.ts";
import { alsoNamed } from "./tool-names.ts";

export interface MailboxParts {
	/** The configuration in force. */
	readonly config: () => Config;
	readonly host: Pick<Host, "agentDir" | "describe" | "log">;
	readonly clock: Clock;
}

/** What a session gives to those who send it requests. */
export interface MailServed {
	/** Guarded as for every other caller. */
	readonly agent: Agent;
	readonly identify: (credential: Credential) => Caller;
	readonly card: () => AgentCard;
}

/** How this session stands in the mailbox. */
export interface MailboxStatus {
	readonly root: string;
	/** Its id; undefined before it has joined. */
	readonly id?: string;
	/** It routes the mail. */
	readonly orchestrator: boolean;
	/** Requests that it works on. */
	readonly running: number;
}

export interface Mailbox {
	/** Joins, if the mailbox is switched on, and serves. Serving already, it serves what is given now. */
	start(served: MailServed): Promise<void>;
	/** Ends what runs and leaves. May be called when it has not joined. */
	stop(): Promise<void>;
	readonly source: Source;
	readonly open: Open<Extract<Address, { via: "mailbox" }>>;
	/** The card with this session's address in the mailbox, if it has one (§12.7). */
	addressed(card: AgentCard): AgentCard;
	/** An agent that hands operations for the tenant `mailbox/<id>` on, where `mailbox.bridge` allows it. */
	bridge(agent: Agent): Agent;
	/** Undefined while the mailbox is switched off. */
	status(): MailboxStatus | undefined;
	/** Agents and messages, as text. Throws when the mailbox is switched off. */
	list(): Promise<string>;
	/** `stop`. May be called twice. */
	close(): Promise<void>;
}

/** This session in the mailbox. */
interface Member {
	readonly root: MailRoot;
	readonly server: MailServer;
	readonly post: Post;
	readonly orchestrator: Orchestrator;
}

/** Of an operation that goes to another agent: `mailbox/worker-1`. */
const TENANT = /^mailbox\/(.+)$/;

export function createMailbox({ config, host, clock }: MailboxParts): Mailbox {
	const { log } = host;
	let served: MailServed | undefined;
	let joining: Promise<Member> | undefined;
	let member: Member | undefined;

	function rootOf(): MailRoot {
		const { mailboxRoot: path, mailboxKeepSec, mailboxKeepMessages, mailboxMaxBytes } = config();
		const keep = { forMs: mailboxKeepSec * 1000, atMost: mailboxKeepMessages };
		return new MailRoot(mailboxRoot(path, host.agentDir), { clock, log, keep, maxBytes: mailboxMaxBytes });
	}

	const deadMs = () => config().mailboxHeartbeatSec * 1000 * config().mailboxMissed;

	/** The session's operations; one that only asks has none. */
	const agent: Agent = {
		request(operation, params, call) {
			if (!served) throw new A2AError("UnsupportedOperationError", "This agent of the mailbox only asks");
			return served.agent.request(operation, params, call);
		},
		stream(operation, params, call) {
			if (!served) throw new A2AError("UnsupportedOperationError", "This agent of the mailbox only asks");
			return served.agent.stream(operation, params, call);
		},
	};

	/** Files have no tokens: whoever may write into the folder is the agent that it says it is. */
	function identify(from: string, behalf: string | undefined): Caller {
		if (!served) throw new A2AError("UnauthorizedError");
		// Whom a bridge speaks for cannot be more than a part of the bridge.
		const key = behalf === undefined ? from : `${from}/${oneLine(behalf, 200)}`;
		return served.identify({ scheme: "mailbox", address: "mailbox", key });
	}

	/** What contracts may ask for: tools by name, and skills. */
	function abilities(): readonly string[] {
		const { tools, skills } = host.describe();
		const shown = config().skills.length > 0 ? config().skills : skills;
		return [...new Set([...alsoNamed(tools), ...shown.flatMap(({ id, tags }) => [id, ...tags])])];
	}

	function facts(): Facts {
		const { agentName, maxConcurrent } = config();
		const card = served?.card();
		return {
			name: agentName,
			description: oneLine(card?.description ?? "", 300),
			capabilities: served ? abilities() : [],
			slots: served ? maxConcurrent : 0,
			...(card ? { card: JSON.parse(JSON.stringify(card)) as { [key: string]: Json } } : {}),
		};
	}

	async function join_(): Promise<Member> {
		const { mailboxId, agentName, mailboxHeartbeatSec, mailboxPollMs, mailboxEvents } = config();
		const { mailboxLeaseSec, mailboxRedeliveries } = config();
		// A name that was chosen for people becomes one that is a folder as it is, for scripts.
		const plain = agentName
			.toLowerCase()
			.replace(/[^a-z0-9._-]+/g, "-")
			.replace(/^[.-]+|[.-]+$/g, "");
		const id = mailboxId.trim() || plain || "session";
		if (!isAgentId(id)) throw new Error(`mailbox.id: ${JSON.stringify(id)} cannot be the id of an agent`);
		const root = rootOf();
		const self = { instance: newId("run"), pid: process.pid, host: hostname() };
		const watch = mailboxEvents ? fileEvents : noEvents;
		const times = { beatMs: mailboxHeartbeatSec * 1000, deadMs: deadMs() };
		// Looking at one file is cheap: the wait that counts is the orchestrator's.
		const pollMs = Math.max(20, mailboxPollMs / 5);
		const server = await serveMailbox({ root, agent, identify, id, self, facts, times: { ...times, pollMs }, watch });
		const post = startPost({ root, id: server.id, pollMs, watch });
		const routing = { leaseMs: mailboxLeaseSec * 1000, redeliveries: mailboxRedeliveries, pollMs: mailboxPollMs };
		const orchestrator = startOrchestrator({ root, self, times: { ...times, ...routing }, watch });
		member = { root, server, post, orchestrator };
		return member;
	}

	function joined(): Promise<Member> {
		if (!config().mailboxEnabled) throw new A2AError("PeerUnreachableError", "The mailbox is off (mailbox.enabled)");
		joining ??= join_().catch((error: unknown) => {
			joining = undefined;
			throw error;
		});
		return joining;
	}

	async function stop(): Promise<void> {
		const left = joining;
		joining = undefined;
		served = undefined;
		const was = await left?.catch(() => undefined);
		if (!was) return;
		member = member === was ? undefined : member;
		await was.post.close();
		await was.server.close();
		await was.orchestrator.close();
	}

	async function connection(to: string, more: { timeoutMs?: number | undefined; behalf?: string }) {
		const { root, post } = await joined();
		const { mailboxTtlSec, mailboxMaxToolTurns, mailboxMaxDurationSec } = config();
		const constraints = { max_tool_turns: mailboxMaxToolTurns, max_duration_seconds: mailboxMaxDurationSec };
		const { timeoutMs, behalf } = more;
		return connectMailbox({
			root,
			post,
			to,
			ttlSeconds: mailboxTtlSec,
			contract: { constraints },
			...(timeoutMs === undefined || timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeoutMs }),
			...(behalf === undefined ? {} : { behalf }),
		});
	}

	/** The agent for an operation of a caller of ours: another one of the mailbox, or our own. */
	async function chosen(own: Agent, params: object, call: Call): Promise<{ agent: Agent; params: object }> {
		const tenant = "tenant" in params && typeof params.tenant === "string" ? params.tenant : "";
		const to = TENANT.exec(tenant)?.[1];
		if (to === undefined) return { agent: own, params };
		// From mailbox to mailbox it would only go in circles.
		if (!config().mailboxBridge || call.caller.id.startsWith("mailbox:")) {
			throw new A2AError("ForbiddenError", "This session hands nothing on to the mailbox");
		}
		const { tenant: _tenant, ...rest } = params as { readonly tenant?: string };
		return { agent: (await connection(to, { behalf: call.caller.id })).agent, params: rest };
	}

	return {
		async start(now) {
			if (!config().mailboxEnabled) return stop();
			served = now;
			const { server } = await joined();
			await server.announce();
		},
		stop,
		source: fromMailbox({
			root: () => (config().mailboxEnabled ? (member?.root ?? rootOf()) : undefined),
			deadMs,
			self: () => member?.server.id,
		}),
		open: (address, { timeoutMs }) => connection(address.id, { timeoutMs }),
		addressed(card) {
			const id = member?.server.id;
			const reachable = card.supportedInterfaces.filter(({ url }) => url !== "");
			if (id === undefined) return card;
			const url = `mailbox:${encodeURIComponent(id)}`;
			const own = { url, protocolBinding: MAILBOX_BINDING, protocolVersion: "1.0" };
			return { ...card, supportedInterfaces: [...reachable, own] };
		},
		bridge: (own) => ({
			async request(operation, params, call) {
				const to = await chosen(own, params, call);
				return to.agent.request(operation, to.params as typeof params, call);
			},
			async *stream(operation, params, call) {
				const to = await chosen(own, params, call);
				yield* to.agent.stream(operation, to.params as typeof params, call);
			},
		}),
		status() {
			if (!config().mailboxEnabled) return undefined;
			const root = member?.root.path ?? rootOf().path;
			if (!member) return { root, orchestrator: false, running: 0 };
			const { server, orchestrator } = member;
			return { root, id: server.id, orchestrator: orchestrator.leads, running: server.running };
		},
		async list() {
			if (!config().mailboxEnabled) throw new Error("The mailbox is off. Switch it on with mailbox.enabled.");
			return overviewText(await overview(member?.root ?? rootOf(), deadMs()));
		},
		close: stop,
	};
}
