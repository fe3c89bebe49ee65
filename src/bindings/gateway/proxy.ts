/** Calls that go through a gateway: what it says itself is told apart from what the peer behind it says. */
import { oneLine } from "../../lib/text.ts";
import type { Agent } from "../../protocol/agent.ts";
import { A2AError, type ErrorName } from "../../protocol/errors.ts";
import type { Connection } from "../binding.ts";

/** What every request through a gateway carries: our credential there, and the name that its operator sees. */
export function gatewayHeaders(token: string | undefined, identity: string): Readonly<Record<string, string>> {
	const name = oneLine(identity, 64).replace(/[^\x20-\x7e]/g, "?");
	return {
		...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
		...(name === "" ? {} : { "x-gateway-caller": name }),
	};
}

/** Codes in the gateway's own refusals; A2A gives these numbers to errors that never come with such a status. */
const OWN_CODES: readonly unknown[] = ["-32001", "-32002", "-32003"];

interface Meaning {
	readonly name: ErrorName;
	readonly text: string;
	/** The gateway says this in JSON with a code of its own; the others it says in plain text. */
	readonly coded?: boolean;
}

/** The gateway's own answers, by status. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
	401: {
		name: "UnauthorizedError",
		text: "does not know our token (set the gateway's token under a2a.discovery)",
		coded: true,
	},
	403: {
		name: "ForbiddenError",
		text: "has not accepted this peer (its operator must, before anybody can call it)",
		coded: true,
	},
	404: { name: "PeerUnreachableError", text: "knows no peer of this name (any more)" },
	413: { name: "PayloadTooLargeError", text: "carries no message of this size (4 MiB)" },
	429: { name: "RateLimitedError", text: "limits how often it is asked", coded: true },
	502: { name: "PeerUnreachableError", text: "could not reach the peer" },
	503: { name: "PeerUnreachableError", text: "has too many calls waiting for the peer; call again in a moment" },
	504: { name: "PeerTimeoutError", text: "had no answer from the peer in time; the task may go on there" },
};

/** `error` as the caller should read it, when it is the gateway's own; other errors are returned as they are. */
export function gatewayError(error: unknown, origin: string): unknown {
	if (!(error instanceof A2AError)) return error;
	const { status = "", code } = error.details.metadata ?? {};
	const meaning = Object.hasOwn(MEANINGS, status) ? MEANINGS[status] : undefined;
	const own = meaning?.coded ? OWN_CODES.includes(code) : code === undefined;
	if (!meaning || !own) return error;
	const wait =
		error.details.retryAfter === undefined ? "" : `; it asks to wait ${Math.ceil(error.details.retryAfter)} s`;
	return new A2AError(meaning.name, `The gateway at ${origin} ${meaning.text} (HTTP ${status}${wait})`, {
		...error.details,
		metadata: { ...error.details.metadata, gateway: origin },
		cause: error,
	});
}

/** Opens a connection through the gateway at `origin`. Throws as `open` does. */
export async function throughGateway(open: () => Promise<Connection>, origin: string): Promise<Connection> {
	try {
		const connection = await open();
		return {
			agent: translated(connection.agent, origin),
			card: connection.card,
			found: connection.found,
			// A gateway passes a reply on when it is complete; a stream would be silence, and then all of it.
			streaming: false,
			call: connection.call,
		};
	} catch (error) {
		throw gatewayError(error, origin);
	}
}

function translated(agent: Agent, origin: string): Agent {
	return {
		async request(operation, params, call) {
			try {
				return await agent.request(operation, params, call);
			} catch (error) {
				throw gatewayError(error, origin);
			}
		},
		async *stream(operation, params, call) {
			try {
				yield* agent.stream(operation, params, call);
			} catch (error) {
				throw gatewayError(error, origin);
			}
		},
	};
}
