/** One request at work: asked of the agent, answered item by item, as long as the lease is held. */

import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Agent, Call, Caller } from "../../protocol/agent.ts";
import { decodeParams } from "../../protocol/decode.ts";
import { A2AError, asA2AError } from "../../protocol/errors.ts";
import { type ManyReply, type OneReply, OPERATIONS, type Params } from "../../protocol/operations.ts";
import type { JsonObject } from "../../protocol/types.ts";
import type { Lease } from "./leases.ts";
import type { Mail } from "./messages.ts";
import { type Asked, asked, errorPayload, itemPayload, resultPayload } from "./payload.ts";

export interface JobParts {
	readonly agent: Agent;
	/** Who calls: the sender, and whom it speaks for. Throws `A2AError`. */
	readonly identify: (from: string, behalf: string | undefined) => Caller;
	/** Writes payloads of answers in order, if the lease is held. False: it is not, nothing was written. */
	readonly answer: (job: Job, payloads: readonly JsonObject[]) => Promise<boolean>;
	readonly clock: Clock;
	readonly log: Log;
}

/** Behind the end of its time a job is cut off; the agent itself should have ended it by then. */
const LATE_MS = 1_000;

export class Job {
	readonly mail: Mail;
	/** Under which it is done; a new one of the same request may take its place. */
	lease: Lease;
	/** What was answered, for a request that is given to us again. */
	readonly said: JsonObject[] = [];
	stopped = false;
	readonly ended: Promise<void>;
	done = false;
	readonly #parts: JobParts;
	readonly #left = new AbortController();
	readonly #revoked = new AbortController();
	#queue: JsonObject[] = [];
	#writing: Promise<void> = Promise.resolve();

	constructor(mail: Mail, lease: Lease, parts: JobParts) {
		this.mail = mail;
		this.lease = lease;
		this.#parts = parts;
		this.ended = this.#run().finally(() => {
			this.done = true;
		});
	}

	/** Nobody listens any more. The work goes on. */
	leave(): void {
		this.#left.abort();
	}

	/** The lease is lost, or the request was taken back: the work stops, and nothing of it is said any more. */
	stop(): void {
		this.stopped = true;
		this.#revoked.abort();
		this.#left.abort();
	}

	async #run(): Promise<void> {
		const { clock, log } = this.#parts;
		const { contract } = this.mail;
		let what: Pick<Asked, "plain"> = { plain: this.mail.payload.operation === undefined };
		let cancel: () => void = () => undefined;
		const late = new Promise<never>((_, reject) => {
			const text = `The work did not end within the ${contract.maxDurationMs / 1000} s of its contract`;
			cancel = clock.after(contract.maxDurationMs + LATE_MS, () => reject(new A2AError("RequestTimeoutError", text)));
		});
		try {
			const request = asked(this.mail);
			what = request;
			await Promise.race([this.#serve(request), late]);
		} catch (error) {
			const known = asA2AError(error);
			if (known.name === "InternalError") log.warn("A request failed by a fault of ours", known.details.cause ?? error);
			this.#say({ ...errorPayload(what, known), last: true });
			// Whatever still runs behind its time ends here.
			this.#revoked.abort();
		} finally {
			cancel();
			this.#left.abort();
			await this.#writing;
		}
	}

	async #serve(request: Asked): Promise<void> {
		const { agent } = this.#parts;
		const call = this.#call(request);
		const { operation } = request;
		const params = decodeParams[operation](request.params);
		if (OPERATIONS[operation].reply === "one") {
			const result = await agent.request(operation as OneReply, params as Params[OneReply], call);
			this.#say({ ...resultPayload(request, result), last: true });
			return;
		}
		for await (const item of agent.stream(operation as ManyReply, params as Params[ManyReply], call)) {
			this.#say({ ...itemPayload(item), last: false });
			// Items that come faster than they are written go into one write.
			if (this.#queue.length > 100) await this.#writing;
		}
		this.#say({ last: true });
	}

	#call({ behalf, service, after, trace }: Asked): Call {
		const { contract, from } = this.mail;
		return {
			caller: this.#parts.identify(from, behalf),
			signal: this.#left.signal,
			service,
			...(after === undefined ? {} : { after }),
			...(trace === undefined ? {} : { trace }),
			limits: {
				...(contract.capabilities ? { tools: contract.capabilities } : {}),
				maxTurns: contract.maxToolTurns,
				maxMs: contract.maxDurationMs,
				revoked: this.#revoked.signal,
			},
		};
	}

	#say(payload: JsonObject): void {
		if (this.stopped) return;
		const numbered = { in_reply_to: this.mail.id, seq: this.said.length, ...payload };
		this.said.push(numbered);
		this.#queue.push(numbered);
		if (this.#queue.length > 1) return;
		this.#writing = this.#writing.then(() => this.#write());
	}

	async #write(): Promise<void> {
		const payloads = this.#queue;
		this.#queue = [];
		try {
			if (payloads.length > 0 && !(await this.#parts.answer(this, payloads))) this.stop();
		} catch (error) {
			this.#parts.log.warn(`The answer to ${this.mail.id} could not be written`, error);
			this.stop();
		}
	}
}
